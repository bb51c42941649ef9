// Lanes: redrives and replays by filter, under way or done.
#include <fmt/format.h>

#include <array>

#include "ackline/api/handlers.h"
#include "ackline/api/lane_json.h"
#include "ackline/api/page.h"

namespace ackline::api {

void append_lane(JsonWriter& writer, const LaneItem& lane) {
  writer.begin_object()
      .field_or_null("laneId", lane.lane_id)
      .field("kind", lane.kind.empty() ? std::string_view("redrive") : lane.kind)
      .field("topic", lane.topic)
      .field_or_null("group", lane.group)
      .field("dryRun", lane.dry_run)
      .field("matched", lane.matched)
      .field("started", lane.started)
      .field("alreadyRedriven", lane.already_redriven)
      .field_or_null("state", lane.state)
      .field("offered", lane.offered)
      .field("resolved", lane.resolved)
      .field("deadAgain", lane.dead_again)
      .field("gone", lane.gone)
      .raw_or_null("filter", lane.filter_json)
      .field_or_null("auditId", lane.audit_id)
      .end_object();
}

void list_lanes(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 5> kParameters = {"topic", "group", "limit", "max",
                                                           "after"};
  Input input = call.query(kParameters);
  auto topic = input.optional_topic();
  auto group = input.optional_group();
  const PageRequest page = read_page(input, "lanes");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().lanes(
      std::move(topic), std::move(group),
      [page, responder = std::move(call.responder)](Result<std::vector<LaneItem>> lanes) mutable {
        if (!lanes) {
          responder.respond(lanes.error());
          return;
        }
        std::vector<Keyed> items;
        for (const LaneItem& lane : *lanes) {
          JsonWriter writer;
          append_lane(writer, lane);
          // "r-7" before "r-10".
          items.push_back(
              {fmt::format("{:03}{}", lane.lane_id.size(), lane.lane_id), writer.take()});
        }
        answer_json(responder, render_page("lanes", page, std::move(items)));
      });
}

void get_lane(const Api& api, Call& call) {
  const Input input = call.query({});
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().lane(call.names[0], answer_with<LaneItem>(std::move(call.responder), append_lane));
}

void end_lane(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 1> kParameters = {"confirm"};
  Input input = call.query(kParameters);
  confirmed(input, "ending a lane");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().end_lane(call.names[0], answer_removed(std::move(call.responder)));
}

}  // namespace ackline::api
