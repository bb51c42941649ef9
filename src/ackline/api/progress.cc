// Lag and holes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "ackline/api/handlers.h"
#include "ackline/api/page.h"

namespace ackline::api {
namespace {

struct Sums {
  std::uint64_t lag = 0;
  std::uint64_t pending = 0;
  std::uint64_t lag_bytes = 0;
  double lag_seconds = 0;
  bool clamped = false;
  bool caught_up = true;
  bool known = true;
};

Sums sum_up(const GroupLag& group) {
  Sums sums;
  for (const auto& [partition, one] : group.partitions) {
    sums.known = sums.known && one.known;
    sums.lag += one.lag;
    sums.pending += one.pending;
    sums.lag_bytes += one.lag_bytes;
    sums.lag_seconds = std::max(sums.lag_seconds, one.lag_seconds);
    sums.clamped = sums.clamped || one.clamped;
    sums.caught_up = sums.caught_up && one.lag == 0 && one.report.in_flight == 0;
  }
  return sums;
}

// Unknown is null, never 0 (invariant 8).
void append_partition(JsonWriter& writer, const PartitionLag& one) {
  const auto told = [&one](auto value) { return one.known ? std::optional(value) : std::nullopt; };
  writer.begin_object()
      .field("frontier", told(one.report.frontier))
      .field("committed", told(one.report.frontier.next()))
      .field("cursor", told(one.report.cursor))
      .field("logStart", told(one.log_start))
      .field("highWatermark", told(one.high_watermark))
      .field("lag", told(one.lag))
      .field("pending", told(one.pending))
      .field("settledAhead", told(one.report.settled_ahead))
      .field("inFlight", told(one.report.in_flight))
      .field("waiting", told(one.report.waiting))
      .field("blocked", told(one.report.blocked))
      .field("holes", told(one.report.holes))
      .field("lagBytes", told(one.lag_bytes))
      .field("lagSeconds", told(one.lag_seconds))
      .field("clamped", one.clamped)
      .end_object();
}

void append_lag(JsonWriter& writer, const GroupLag& group) {
  const Sums sums = sum_up(group);
  // One partition that is unknown makes the sum unknown.
  const auto told = [&sums](auto value) {
    return sums.known ? std::optional(value) : std::nullopt;
  };
  writer.begin_object()
      .field("topic", group.topic)
      .field("group", group.group)
      .field("asOf", group.as_of)
      .field("lag", told(sums.lag))
      .field("pending", told(sums.pending))
      .field("caughtUp", sums.known && sums.caught_up)
      .field("lagBytes", told(sums.lag_bytes))
      .field("lagSeconds", told(sums.lag_seconds))
      .field("clamped", sums.clamped)
      // The local log has no gaps: its distances are exact.
      .field("estimated", false)
      .field("approximate", false);
  writer.key("partitions").begin_object();
  for (const auto& [partition, one] : group.partitions) {
    writer.key(partition);
    append_partition(writer, one);
  }
  writer.end_object().key("audit");
  if (group.audit) {
    writer.begin_object()
        .field("recount", group.audit->recount)
        .field("equal", group.audit->equal)
        .end_object();
  } else {
    writer.value(nullptr);
  }
  writer.end_object();
}

using HoleCursor = std::pair<std::uint32_t, Offset>;

std::string hole_key(const HoleCursor& at) {
  return fmt::format("{}:{}", at.first, at.second.value());
}

std::optional<HoleCursor> parse_hole_key(std::string_view key) {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint32_t partition = 0;
  std::int64_t offset = 0;
  const char* const end = key.data() + key.size();
  const auto first = std::from_chars(key.data(), key.data() + colon, partition);
  const auto second = std::from_chars(key.data() + colon + 1, end, offset);
  if (first.ec != std::errc() || first.ptr != key.data() + colon || second.ec != std::errc() ||
      second.ptr != end || offset < 0) {
    return std::nullopt;
  }
  return HoleCursor{partition, Offset(offset)};
}

void append_holes(JsonWriter& writer, const HolesQuery& query, const HolesAnswer& answer) {
  writer.begin_object()
      .field("topic", query.topic)
      .field("group", query.group)
      .field("asOf", answer.as_of)
      .field("total", answer.total)
      .left_out(answer.quarantined);
  writer.key("next");
  if (answer.next) {
    writer.value(encode_cursor("holes", hole_key(*answer.next)));
  } else {
    writer.value(nullptr);
  }
  writer.key("items").begin_array();
  for (const HoleItem& item : answer.items) {
    writer.begin_object()
        .field("partition", item.partition)
        .field("from", item.hole.from)
        .field("to", item.hole.to)
        .field("events", item.hole.events)
        .field("leased", item.hole.leased)
        .field("waiting", item.hole.waiting)
        .field("blocked", item.hole.blocked)
        .field("deadLettering", item.hole.dead_lettering)
        .field("oldestTime", item.oldest_time)
        .end_object();
  }
  writer.end_array().end_object();
}

}  // namespace

void lag(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 6> kParameters = {"topic", "group", "audit",
                                                           "limit", "max",   "after"};
  Input input = call.query(kParameters);
  auto topic = input.optional_topic();
  auto group = input.optional_group();
  const bool audit = input.flag("audit").value_or(false);
  const PageRequest page = read_page(input, "lag");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  const bool one = topic && group;
  std::string name = one ? fmt::format("topic {} has no group {}", *topic, *group) : std::string();
  api.admin().lag(
      std::move(topic), std::move(group), audit,
      [one, page, name = std::move(name),
       responder = std::move(call.responder)](Result<std::vector<GroupLag>> groups) mutable {
        if (!groups) {
          responder.respond(groups.error());
          return;
        }
        if (one && groups->empty()) {
          responder.respond(
              Error{ErrorCode::kGroupUnknown, std::move(name), "See /admin/groups.", "group"});
          return;
        }
        std::vector<Keyed> items;
        for (const GroupLag& group_lag : *groups) {
          JsonWriter writer;
          append_lag(writer, group_lag);
          if (one) {
            answer_json(responder, std::move(writer));
            return;
          }
          items.push_back({join_key({group_lag.topic, group_lag.group}), writer.take()});
        }
        answer_json(responder, render_page("lag", page, std::move(items)));
      });
}

void holes(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 6> kParameters = {"topic", "group", "partition",
                                                           "limit", "max",   "after"};
  Input input = call.query(kParameters);
  HolesQuery query;
  query.topic = input.topic();
  query.group = input.group();
  query.partition = input.whole32("partition", {0, 0xFFFF'FFFE});
  const PageRequest page = read_page(input, "holes");
  query.limit = page.limit;
  if (page.after) {
    query.after = parse_hole_key(*page.after);
    if (!query.after) {
      input.set_error({ErrorCode::kBadCursor, "after is no cursor of this list",
                       "Use `next` of the page before, as it is.", "after"});
    }
  }
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  HolesQuery asked = query;
  api.admin().holes(std::move(query),
                    answer_with<HolesAnswer>(
                        std::move(call.responder),
                        [asked = std::move(asked)](JsonWriter& writer, const HolesAnswer& answer) {
                          append_holes(writer, asked, answer);
                        }));
}

}  // namespace ackline::api
