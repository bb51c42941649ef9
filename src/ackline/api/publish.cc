// Publish: one event, or a batch with a result for each. No tree of values is built: the event
// codec goes from the bytes to the frame that the log keeps.
#include <fmt/format.h>

#include <array>

#include "ackline/api/handlers.h"
#include "ackline/event/frame.h"
#include "ackline/event/http_binary.h"
#include "ackline/event/json_codec.h"

namespace ackline::api {
namespace {

constexpr std::array<std::string_view, 2> kParameters = {"topic", "partition"};

PublishEvent to_publish(const event::CloudEvent& event) {
  PublishEvent out;
  event::append_frame(event, out.frame);
  if (const event::Attribute* key = event.find("partitionkey")) {
    out.partition_key = key->value;
  }
  return out;
}

// The answer to a batch: what the codec refused, and what the log said of the others.
struct Batch {
  std::string topic;
  http::Responder responder;
  std::int64_t retry_after_seconds = 1;
  std::vector<std::optional<Error>> refused;  // by the codec, one an event
};

void append_result(JsonWriter& writer, std::size_t index, const Result<Published>& result) {
  writer.begin_object().field("index", index);
  if (result) {
    writer.field("status", "accepted")
        .field("partition", result->partition)
        .field("offset", result->offset);
  } else {
    const Error& error = result.error();
    writer.field("status", "rejected").field("error", error.word());
    if (!error.field.empty()) {
      writer.field("attribute", error.field);
    }
    writer.field("detail", error.detail);
  }
  writer.end_object();
}

void answer_batch(Batch& batch, const PublishResults& kept) {
  JsonWriter results;
  results.begin_array();
  std::size_t accepted = 0;
  std::size_t next_kept = 0;
  std::optional<Error> first_error;
  for (std::size_t i = 0; i < batch.refused.size(); ++i) {
    const Result<Published> result = batch.refused[i]
                                         ? Result<Published>(std::unexpected(*batch.refused[i]))
                                         : kept.at(next_kept++);
    append_result(results, i, result);
    if (result) {
      ++accepted;
    } else if (!first_error) {
      first_error = result.error();
    }
  }
  results.end_array();
  const std::size_t rejected = batch.refused.size() - accepted;
  JsonWriter members;
  members.field("topic", batch.topic)
      .field("accepted", accepted)
      .field("rejected", rejected)
      .key("results")
      .raw(results.text());
  if (accepted == 0 && first_error) {
    batch.responder.respond(
        http::problem_response(*first_error, {.retry_after_seconds = batch.retry_after_seconds,
                                              .allow = {},
                                              .extra_members = members.take()}));
    return;
  }
  answer_json(batch.responder,
              fmt::format(R"({{"status":"{}",{}}})", rejected == 0 ? "accepted" : "partial",
                          members.text()),
              202);
}

void publish_events(const Api& api, Call& call, PublishRequest request) {
  auto events = event::parse_batch(call.request.body, api.options.limits);
  if (!events) {
    call.responder.respond(events.error());
    return;
  }
  auto batch = std::make_shared<Batch>();
  batch->topic = request.topic;
  batch->responder = std::move(call.responder);
  batch->retry_after_seconds = api.options.retry_after_seconds;
  batch->refused.resize(events->size());
  for (std::size_t i = 0; i < events->size(); ++i) {
    const auto& event = (*events)[i];
    if (event) {
      request.events.push_back(to_publish(*event));
    } else {
      batch->refused[i] = event.error();
    }
  }
  if (request.events.empty()) {
    answer_batch(*batch, {});
    return;
  }
  api.traffic().publish(std::move(request), [batch](Result<PublishResults> results) {
    if (results) {
      answer_batch(*batch, *results);
    } else {
      batch->responder.respond(results.error());
    }
  });
}

Result<event::CloudEvent> parse_binary(const Api& api, const http::Request& request) {
  std::vector<event::HeaderField> fields;
  fields.reserve(request.headers.size());
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    fields.push_back({request.headers.name(i), request.headers.value(i)});
  }
  return event::parse_http_binary(fields, request.body, api.options.limits);
}

void publish_event(const Api& api, Call& call, PublishRequest request, bool binary) {
  const auto event = binary ? parse_binary(api, call.request)
                            : event::parse_event(call.request.body, api.options.limits);
  if (!event) {
    call.responder.respond(event.error());
    return;
  }
  request.events.push_back(to_publish(*event));
  std::string topic = request.topic;
  api.traffic().publish(std::move(request),
                        [topic = std::move(topic), responder = std::move(call.responder)](
                            Result<PublishResults> results) mutable {
                          if (!results) {
                            responder.respond(results.error());
                            return;
                          }
                          const Result<Published>& result = results->at(0);
                          if (!result) {
                            responder.respond(result.error());
                            return;
                          }
                          JsonWriter answer;
                          answer.begin_object()
                              .field("status", "accepted")
                              .field("topic", topic)
                              .field("partition", result->partition)
                              .field("offset", result->offset)
                              .end_object();
                          answer_json(responder, std::move(answer), 202);
                        });
}

// Topic and partition; nothing when the problem has been answered.
std::optional<PublishRequest> read_query(Call& call) {
  Input input = call.query(kParameters);
  PublishRequest request;
  request.topic = input.topic(false);
  request.partition = input.whole32("partition", {0, 0xFFFF'FFFE});
  request.caller = call.take_caller();
  if (input.failed()) {
    call.responder.respond(input.error());
    return std::nullopt;
  }
  return request;
}

}  // namespace

void publish(const Api& api, Call& call) {
  auto request = read_query(call);
  if (!request) {
    return;
  }
  const auto mode =
      event::content_mode(call.request.header("content-type").value_or(""),
                          call.request.header("ce-specversion").has_value(), call.request.body);
  if (!mode) {
    call.responder.respond(mode.error());
  } else if (*mode == event::ContentMode::kBatch) {
    publish_events(api, call, std::move(*request));
  } else {
    publish_event(api, call, std::move(*request), *mode == event::ContentMode::kBinary);
  }
}

void publish_batch(const Api& api, Call& call) {
  auto request = read_query(call);
  if (!request) {
    return;
  }
  const std::string_view type = call.request.header("content-type").value_or("");
  const auto mode = event::content_mode(type, false, "[");
  if (!mode || *mode != event::ContentMode::kBatch) {
    call.responder.respond(
        Error{ErrorCode::kMediaType,
              type.empty() ? std::string("the request has no Content-Type")
                           : fmt::format("Content-Type {} is no batch", type.substr(0, 64)),
              "Use application/cloudevents-batch+json or application/json with an array.",
              {}});
    return;
  }
  publish_events(api, call, std::move(*request));
}

}  // namespace ackline::api
