// Replay and reset: a new generation of a group's progress; and replay by filter, a lane.
#include <array>

#include "ackline/api/handlers.h"

namespace ackline::api {
namespace {

// The error of one partition beside the others that went well.
void append_failed(JsonWriter& writer, const Error& error) {
  writer.begin_object()
      .field("error", error.word())
      .field("detail", error.detail)
      .field_or_null("remedy", error.remedy)
      .end_object();
}

// The first error, when nothing went well.
const Error* all_failed(const ReopenAnswer& answer) {
  const Error* first = nullptr;
  for (const auto& [partition, one] : answer.partitions) {
    if (one) {
      return nullptr;
    }
    first = first == nullptr ? &one.error() : first;
  }
  return first;
}

void append_replayed(JsonWriter& writer, const ReopenAnswer& answer) {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t left_out = 0;
  for (const auto& [partition, one] : answer.partitions) {
    events += one ? one->events : 0;
    bytes += one ? one->bytes : 0;
    left_out += one ? one->left_out : 0;
  }
  writer.field("events", events).field("bytes", bytes);
  if (left_out > 0) writer.field("leftOut", left_out);
  writer.key("partitions").begin_object();
  for (const auto& [partition, one] : answer.partitions) {
    writer.key(partition);
    if (!one) {
      append_failed(writer, one.error());
      continue;
    }
    writer.begin_object()
        .field("frontierBefore", one->report.frontier_before)
        .field("frontierAfter", one->report.frontier_after)
        .field("events", one->events)
        .field("first", one->first)
        .field("last", one->last)
        .end_object();
  }
  writer.end_object().field_or_null("laneId", answer.lane_id);
}

void append_reset(JsonWriter& writer, const ReopenAnswer& answer) {
  writer.key("partitions").begin_object();
  for (const auto& [partition, one] : answer.partitions) {
    writer.key(partition);
    if (!one) {
      append_failed(writer, one.error());
      continue;
    }
    writer.begin_object()
        .field("frontierBefore", one->report.frontier_before)
        .field("frontierAfter", one->report.frontier_after)
        .field("reopened", one->report.reopened)
        .field("skipped", one->report.skipped)
        .field("droppedInFlight", one->report.dropped_in_flight)
        .end_object();
  }
  writer.end_object();
}

void reopen(const Api& api, Call& call, ReopenQuery query) {
  ReopenQuery asked = query;
  api.admin().reopen(
      std::move(query), [asked = std::move(asked), responder = std::move(call.responder)](
                            Result<ReopenAnswer> answer) mutable {
        if (!answer) {
          responder.respond(answer.error());
          return;
        }
        if (const Error* error = all_failed(*answer)) {
          responder.respond(*error);
          return;
        }
        JsonWriter writer;
        writer.begin_object()
            .field("topic", asked.topic)
            .field("group", asked.group)
            .field("dryRun", asked.dry_run);
        if (asked.reset) {
          append_reset(writer, *answer);
        } else {
          append_replayed(writer, *answer);
        }
        answer_json(responder,
                    std::move(writer.field_or_null("auditId", answer->audit_id).end_object()));
      });
}

void require_position(Input& input, std::string_view name, ReopenQuery& query) {
  auto position = input.position(name);
  if (position) {
    query.to = std::move(*position);
  } else {
    // Says that it is missing, unless something else was wrong before.
    (void)input.required_text(name);
  }
}

// Whether nothing can lie in [from, until), whatever the partitions hold.
bool is_empty_range(const Position& from, const Position& until) {
  if (std::holds_alternative<Earliest>(until)) return true;
  if (const auto* first = std::get_if<AtTime>(&from)) {
    const auto* end = std::get_if<AtTime>(&until);
    return end != nullptr && end->time <= first->time;
  }
  const auto* first = std::get_if<AtOffsets>(&from);
  const auto* end = std::get_if<AtOffsets>(&until);
  return first != nullptr && end != nullptr && first->all && end->all && *end->all <= *first->all;
}

}  // namespace

void replay(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 8> kFields = {
      "topic", "group", "from", "until", "partitions", "filter", "ratePerSecond", "dryRun"};
  Input input = call.only_body(kFields);
  ReopenQuery query;
  query.topic = input.topic();
  query.group = input.group();
  query.until = input.position("until");
  query.filter_json = input.filter("filter");
  if (query.is_lane()) {
    query.to = input.position("from").value_or(Earliest{});
  } else {
    require_position(input, "from", query);
  }
  if (query.until && is_empty_range(query.to, *query.until)) {
    input.set_error(Error{ErrorCode::kBadValue, "until does not lie after from: nothing is meant",
                          "until is exclusive; name one behind the last event that is meant.",
                          "until"});
  }
  query.partitions = input.partitions("partitions");
  const auto rate =
      input.whole32("ratePerSecond", {1, 1'000'000}, "Leave it out for no limit but credit.");
  if (rate && !query.is_lane()) {
    input.set_error(Error{ErrorCode::kBadValue,
                          "ratePerSecond is for a replay with filter or until", "Leave it out.",
                          "ratePerSecond"});
  }
  query.rate_per_second = rate.value_or(0);
  query.dry_run = input.flag("dryRun").value_or(false);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  reopen(api, call, std::move(query));
}

void reset(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 6> kFields = {"topic",      "group",   "to",
                                                       "partitions", "confirm", "dryRun"};
  Input input = call.only_body(kFields);
  ReopenQuery query;
  query.reset = true;
  query.topic = input.topic();
  query.group = input.group();
  require_position(input, "to", query);
  query.partitions = input.partitions("partitions");
  query.dry_run = input.flag("dryRun").value_or(false);
  if (!query.dry_run) {
    confirmed(input, "a reset of a group's progress");
  }
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  reopen(api, call, std::move(query));
}

}  // namespace ackline::api
