// Ack, nack, reject, extend: one delivery or many.
#include <fmt/format.h>

#include <array>

#include "ackline/api/handlers.h"

namespace ackline::api {
namespace {

using delivery::SettleStatus;
using delivery::Verb;

constexpr std::size_t kMaxIds = 1000;
constexpr std::size_t kMaxReasonBytes = 1024;

struct VerbInfo {
  Verb verb;
  std::string_view done;  // the word of success, and the name of its count
  Names fields;
};

constexpr std::array<std::string_view, 3> kAckFields = {"clientId", "deliveryId", "deliveryIds"};
constexpr std::array<std::string_view, 5> kNackFields = {"clientId", "deliveryId", "deliveryIds",
                                                         "delayMs", "reason"};
constexpr std::array<std::string_view, 4> kRejectFields = {"clientId", "deliveryId", "deliveryIds",
                                                           "reason"};
constexpr std::array<std::string_view, 4> kExtendFields = {"clientId", "deliveryId", "deliveryIds",
                                                           "extendMs"};

std::string_view status_word(SettleStatus status) {
  switch (status) {
    case SettleStatus::kAcked:
      return "acked";
    case SettleStatus::kNacked:
      return "nacked";
    case SettleStatus::kRejected:
      return "rejected";
    case SettleStatus::kExtended:
      return "extended";
    case SettleStatus::kAlready:
      return "already";
  }
  return "already";
}

// Which deliveries; true when one was named alone.
bool read_ids(Input& input, std::vector<std::string>& ids) {
  const bool one = input.has("deliveryId");
  const bool many = input.has("deliveryIds");
  if (one && many) {
    input.set_error({ErrorCode::kBadValue, "both deliveryId and deliveryIds are there",
                     "Name one of them.", "deliveryIds"});
  } else if (!one && !many) {
    input.set_error({ErrorCode::kMissingField, "deliveryId is required",
                     "Add \"deliveryId\" or \"deliveryIds\" to the body.", "deliveryId"});
  } else if (one) {
    ids.push_back(input.text("deliveryId").value_or(""));
  } else {
    ids = input.texts("deliveryIds", kMaxIds).value_or(std::vector<std::string>());
    if (ids.empty()) {
      input.set_error({ErrorCode::kBadValue, "deliveryIds is empty",
                       fmt::format("Send 1 to {} ids.", kMaxIds), "deliveryIds"});
    }
  }
  return one;
}

SettleCall read_call(Input& input, Verb verb) {
  constexpr std::int64_t kDayMs = 86'400'000;
  SettleCall settle;
  settle.verb = verb;
  settle.client_id = input.client_id();
  settle.delay_ms =
      input.whole("delayMs", {0, kDayMs}, "Leave it out for the backoff of the group.");
  settle.extend_ms = input.whole("extendMs", {1, 7 * kDayMs}, "Leave it out for ackTimeoutMs.");
  settle.reason = input.text("reason").value_or("");
  if (settle.reason.size() > kMaxReasonBytes) {
    input.set_error({ErrorCode::kBadValue,
                     fmt::format("reason has {} bytes; at most {} are allowed",
                                 settle.reason.size(), kMaxReasonBytes),
                     "Shorten it.", "reason"});
  }
  return settle;
}

void answer_one(http::Responder& responder, std::string_view id, const Result<Settled>& result) {
  if (!result) {
    Error error = result.error();
    http::ProblemOptions options;
    if (error.code == ErrorCode::kSettled) {
      JsonWriter entry;
      options.extra_members = entry.field_or_null("entry", std::exchange(error.field, {})).take();
    }
    responder.respond(http::problem_response(error, options));
    return;
  }
  JsonWriter writer;
  writer.begin_object().field("status", status_word(result->status)).field("deliveryId", id);
  if (result->status == SettleStatus::kExtended) {
    writer.field("leaseMs", result->lease_ms);
  }
  answer_json(responder, std::move(writer.end_object()));
}

void append_one(JsonWriter& writer, std::string_view id, const Result<Settled>& result) {
  writer.begin_object().field("deliveryId", id);
  if (result) {
    writer.field("status", status_word(result->status));
    if (result->status == SettleStatus::kExtended) {
      writer.field("leaseMs", result->lease_ms);
    }
  } else {
    const Error& error = result.error();
    writer.field("status", "error").field("error", error.word());
    if (error.code == ErrorCode::kSettled) {
      writer.field_or_null("entry", error.field);
    }
    writer.field("detail", error.detail);
  }
  writer.end_object();
}

void answer_many(http::Responder& responder, std::string_view done,
                 const std::vector<std::string>& ids, const SettleResults& results) {
  std::size_t failed = 0;
  for (const auto& result : results) {
    failed += result ? 0 : 1;
  }
  JsonWriter writer;
  writer.begin_object().field(done, results.size() - failed).field("failed", failed);
  writer.key("results").begin_array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    append_one(writer, ids[i], results[i]);
  }
  answer_json(responder, std::move(writer.end_array().end_object()));
}

void settle(const Api& api, Call& call, const VerbInfo& info) {
  Input input = call.only_body(info.fields);
  SettleCall request = read_call(input, info.verb);
  const bool one = read_ids(input, request.delivery_ids);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  request.caller = call.take_caller();
  std::vector<std::string> ids = request.delivery_ids;
  api.traffic().settle(std::move(request),
                       [responder = std::move(call.responder), one, done = info.done,
                        ids = std::move(ids)](Result<SettleResults> results) mutable {
                         if (!results) {
                           responder.respond(results.error());
                         } else if (one) {
                           answer_one(responder, ids.front(), results->at(0));
                         } else {
                           answer_many(responder, done, ids, *results);
                         }
                       });
}

}  // namespace

void ack(const Api& api, Call& call) {
  settle(api, call, {Verb::kAck, "acked", kAckFields});
}
void nack(const Api& api, Call& call) {
  settle(api, call, {Verb::kNack, "nacked", kNackFields});
}
void reject(const Api& api, Call& call) {
  settle(api, call, {Verb::kReject, "rejected", kRejectFields});
}
void extend(const Api& api, Call& call) {
  settle(api, call, {Verb::kExtend, "extended", kExtendFields});
}

}  // namespace ackline::api
