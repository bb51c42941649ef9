// Topics: list, describe, create, delete.
#include <array>

#include "ackline/api/handlers.h"
#include "ackline/api/page.h"
#include "ackline/event/names.h"

namespace ackline::api {
namespace {

std::string_view state_word(PartitionState state) {
  switch (state) {
    case PartitionState::kOk:
      return "ok";
    case PartitionState::kQuarantined:
      return "quarantined";
    case PartitionState::kPoisoned:
      return "poisoned";
  }
  return "ok";
}

void append_topic(JsonWriter& writer, const TopicItem& topic) {
  writer.begin_object()
      .field("name", topic.name)
      .field("partitions", topic.partitions)
      .field("partitioner", topic.partitioner)
      .field("dlq", topic.dlq);
  writer.key("retention")
      .begin_object()
      .field("ageMs", topic.retention.age_ms)
      .field("bytes", topic.retention.bytes)
      .end_object();
  writer.field("bytes", topic.bytes).key("offsets").begin_object();
  for (const auto& [partition, offsets] : topic.offsets) {
    const bool known = offsets.state != PartitionState::kQuarantined;
    writer.key(partition)
        .begin_object()
        .field("logStart", known ? std::optional(offsets.log_start) : std::nullopt)
        .field("highWatermark", known ? std::optional(offsets.high_watermark) : std::nullopt)
        .field("state", state_word(offsets.state))
        .end_object();
  }
  writer.end_object().end_object();
}

Retention read_retention(Input& input) {
  Retention retention;
  const auto raw = input.raw("retention");
  if (!raw) {
    return retention;
  }
  constexpr std::array<std::string_view, 2> kFields = {"ageMs", "bytes"};
  Input inner = Input::from_body(*raw, kFields);
  retention.age_ms = inner.whole("ageMs", {1, INT64_MAX}, "Leave it out to keep events for ever.");
  if (const auto bytes =
          inner.whole("bytes", {1, INT64_MAX}, "Leave it out to keep any number of bytes.")) {
    retention.bytes = static_cast<std::uint64_t>(*bytes);
  }
  if (inner.failed()) {
    Error error = inner.error();
    // A retention that is no object is a wrong type of a field, not a broken body.
    if (error.code == ErrorCode::kBadJson) {
      error = {ErrorCode::kBadValue,
               "retention is not an object",
               "Write it like {\"ageMs\":86400000}.",
               {}};
    }
    error.field = error.field.empty() ? "retention" : "retention." + error.field;
    input.set_error(std::move(error));
  }
  return retention;
}

}  // namespace

void list_topics(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 3> kParameters = {"limit", "max", "after"};
  Input input = call.query(kParameters);
  const PageRequest page = read_page(input, "topics");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().topics(
      [page, responder = std::move(call.responder)](Result<std::vector<TopicItem>> topics) mutable {
        if (!topics) {
          responder.respond(topics.error());
          return;
        }
        std::vector<Keyed> items;
        for (const TopicItem& topic : *topics) {
          JsonWriter writer;
          append_topic(writer, topic);
          items.push_back({topic.name, writer.take()});
        }
        answer_json(responder, render_page("topics", page, std::move(items)));
      });
}

void get_topic(const Api& api, Call& call) {
  Input input = call.query({});
  input.check(event::check_any_topic_name(call.names[0]));
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().topic(call.names[0], answer_with<TopicItem>(std::move(call.responder), append_topic));
}

void create_topic(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 4> kFields = {"name", "partitions", "partitioner",
                                                       "retention"};
  Input input = call.only_body(kFields);
  TopicCreate request;
  request.name = input.required_text("name");
  if (!input.failed()) {
    if (auto named = event::check_topic_name(request.name); !named) {
      Error error = named.error();
      error.field = "name";
      input.set_error(std::move(error));
    }
  }
  request.partitions =
      input.whole32("partitions", {1, 1024}, "Leave it out for the configured default.");
  constexpr Word<std::string_view> kPartitioners[] = {{"murmur2", "murmur2"}, {"phash2", "phash2"}};
  if (const auto word = input.word("partitioner", kPartitioners)) {
    request.partitioner = std::string(*word);
  }
  request.retention = read_retention(input);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().create_topic(std::move(request),
                           answer_with<TopicItem>(std::move(call.responder), append_topic, 201));
}

void delete_topic(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 2> kParameters = {"confirm", "force"};
  Input input = call.query(kParameters);
  input.check(event::check_any_topic_name(call.names[0]));
  const bool force = input.flag("force").value_or(false);
  confirmed(input, "deleting a topic with its events");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().delete_topic(call.names[0], force, answer_removed(std::move(call.responder)));
}

}  // namespace ackline::api
