// Subscribe and unsubscribe.
#include <fmt/format.h>

#include <array>

#include "ackline/api/handlers.h"
#include "ackline/api/words.h"

namespace ackline::api {
namespace {

constexpr std::array<std::string_view, 16> kSubscribeFields = {
    "clientId",     "topic",      "mode",        "group",       "partitions",
    "start",        "filter",     "ordering",    "maxInFlight", "maxInFlightBytes",
    "ackTimeoutMs", "maxLeaseMs", "maxAttempts", "backoffMs",   "deadLetterExpired",
    "webhook"};

constexpr std::int64_t kDayMs = 86'400'000;

// A group of one is named by its client.
void check_group_of_one(Input& input, const SubscribeRequest& request) {
  const bool of_one = request.mode && *request.mode != delivery::Mode::kClustering;
  if (of_one && request.group && *request.group != request.client_id) {
    input.set_error({ErrorCode::kBadValue,
                     fmt::format("group is {}; in mode {} it is always the clientId",
                                 *request.group, word_of(kModes, *request.mode)),
                     "Leave group out, or use CLUSTERING.", "group"});
  }
}

SubscribeRequest read_subscribe(Input& input, Caller caller) {
  SubscribeRequest request;
  request.caller = std::move(caller);
  request.client_id = input.client_id();
  request.topic = input.topic(false);
  if (input.has("webhook")) {
    input.set_error(unsupported("this build has no webhook push",
                                "Use /events/poll or /events/stream.", "webhook"));
  }
  PolicyInput policy = read_policy(input);
  request.mode = policy.mode;
  request.group = input.optional_group();
  request.partitions = input.partitions("partitions");
  request.start = input.position("start");
  request.filter_json = std::move(policy.filter_json);
  request.ordering = policy.ordering;
  request.max_in_flight =
      input.whole32("maxInFlight", {1, 1'000'000}, "Leave it out for the default of 1000.");
  if (const auto bytes = input.whole("maxInFlightBytes", {1, std::int64_t{1} << 40},
                                     "Leave it out for the default of 67108864.")) {
    request.max_in_flight_bytes = static_cast<std::uint64_t>(*bytes);
  }
  request.ack_timeout_ms =
      input.whole("ackTimeoutMs", {1, kDayMs}, "Leave it out for the default of 30000.");
  request.max_lease_ms =
      input.whole("maxLeaseMs", {1, 7 * kDayMs}, "Leave it out for the default of 600000.");
  request.max_attempts = policy.max_attempts;
  request.backoff_ms = std::move(policy.backoff_ms);
  request.dead_letter_expired = policy.dead_letter_expired;
  check_group_of_one(input, request);
  if (request.ack_timeout_ms && request.max_lease_ms &&
      *request.max_lease_ms < *request.ack_timeout_ms) {
    input.set_error({ErrorCode::kBadValue,
                     fmt::format("maxLeaseMs is {}, less than ackTimeoutMs {}",
                                 *request.max_lease_ms, *request.ack_timeout_ms),
                     "Make maxLeaseMs at least ackTimeoutMs.", "maxLeaseMs"});
  }
  return request;
}

void render_conflict(http::Responder& responder, const Subscribed& answer) {
  JsonWriter conflicts;
  conflicts.key("conflicts").begin_array();
  for (const Conflict& one : answer.conflicts) {
    conflicts.begin_object()
        .field("key", one.key)
        .raw_or_null("have", one.have_json)
        .raw_or_null("want", one.want_json)
        .end_object();
  }
  conflicts.end_array();
  const Error error{
      ErrorCode::kGroupConflict,
      fmt::format("group {} of {} has another policy and is in use", answer.group, answer.topic),
      "Leave the conflicting fields out, or change the group with PATCH "
      "/admin/groups/{topic}/{group}.",
      answer.conflicts.front().key};
  responder.respond(http::problem_response(
      error, {.retry_after_seconds = 1, .allow = {}, .extra_members = conflicts.take()}));
}

}  // namespace

PolicyInput read_policy(Input& input) {
  PolicyInput policy;
  if (input.raw("mode") == R"("A2A_DISPATCH")") {
    input.set_error(unsupported("this build has no mode A2A_DISPATCH",
                                "Use CLUSTERING, BROADCASTING or MULTICAST.", "mode"));
  }
  policy.mode = input.word("mode", kModes);
  policy.ordering = input.word("ordering", kOrderings);
  policy.max_attempts =
      input.whole32("maxAttempts", {1, 1000}, "Leave it out for the default of 6.");
  policy.backoff_ms = input.wholes("backoffMs", {0, kDayMs}, 100);
  policy.filter_json = input.filter("filter");
  policy.dead_letter_expired = input.flag("deadLetterExpired");
  return policy;
}

void subscribe(const Api& api, Call& call) {
  Input input = call.only_body(kSubscribeFields);
  SubscribeRequest request = read_subscribe(input, call.take_caller());
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.traffic().subscribe(std::move(request), [responder = std::move(call.responder)](
                                                  Result<Subscribed> answer) mutable {
    if (!answer) {
      responder.respond(answer.error());
      return;
    }
    if (!answer->conflicts.empty()) {
      render_conflict(responder, *answer);
      return;
    }
    JsonWriter writer;
    writer.begin_object()
        .field("subscriptionId", answer->subscription_id)
        .field("clientId", answer->client_id)
        .field("topic", answer->topic)
        .field("group", answer->group)
        .field("mode", word_of(kModes, answer->mode))
        .field("created", answer->created)
        .field("start", answer->start)
        .field("instanceUrl", answer->instance_url)
        .end_object();
    answer_json(responder, std::move(writer));
  });
}

void unsubscribe(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 2> kFields = {"clientId", "topic"};
  Input input = call.only_body(kFields);
  std::string client_id = input.client_id();
  auto topic = input.optional_topic();
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.traffic().unsubscribe(
      std::move(client_id), std::move(topic), call.take_caller(),
      answer_with<Unsubscribed>(std::move(call.responder),
                                [](JsonWriter& writer, const Unsubscribed& answer) {
                                  writer.begin_object()
                                      .field("removed", answer.removed)
                                      .field("topics", answer.topics)
                                      .end_object();
                                }));
}

}  // namespace ackline::api
