// The second half of the demo's story: dead letters, replay, and how it prints.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "ackline/cli/demo_story.h"

namespace ackline::cli {
namespace {

constexpr std::int64_t kReplayFrom = 1'000;
constexpr int kLaneWaitSteps = 100;
constexpr int kStepMs = 50;
constexpr std::size_t kWhatColumns = 38;

}  // namespace

void DemoStory::title(std::string_view text) {
  console_.end_progress();
  console_.out_line("");
  console_.out_line(console_.paint(Colour::kBold, fmt::format("{}. {}", ++step_, text)));
}

void DemoStory::say(std::string_view text) {
  console_.end_progress();
  console_.out_line("   " + console_.paint(Colour::kDim, text));
}

void DemoStory::check(std::string_view what, std::string_view server_says,
                      std::string_view record_says) {
  console_.end_progress();
  const bool same = server_says == record_says;
  ++(same ? held_ : failed_);
  console_.out_line(same ? fmt::format("   {} {:{}} {}", console_.paint(Colour::kGreen, "✓"), what,
                                       kWhatColumns, server_says)
                         : fmt::format("   {} {:{}} server: {}   record: {}",
                                       console_.paint(Colour::kRed, "✗"), what, kWhatColumns,
                                       server_says, record_says));
}

Result<void> DemoStory::compare_progress(std::string_view group, const GroupRecord& record) {
  const auto lag = get(Target("/admin/lag").query("topic", kTopic).query("group", group));
  if (!lag) return fail(lag);
  std::string server_frontiers;
  std::string record_frontiers;
  std::int64_t record_lag = 0;
  std::int64_t record_pending = 0;
  for (std::size_t i = 0; i < published_.size(); ++i) {
    const Json one = (*lag)["partitions"][std::to_string(i)];
    server_frontiers += fmt::format("{}{}", i == 0 ? "" : " ", one["frontier"].text("?"));
    record_frontiers += fmt::format("{}{}", i == 0 ? "" : " ", record.frontier(i));
    record_lag += record.lag(i, published_);
    record_pending += record.pending(i, published_);
  }
  check(fmt::format("{}: frontiers", group), server_frontiers, record_frontiers);
  check(fmt::format("{}: lag, pending", group),
        fmt::format("{}, {}", (*lag)["lag"].text("?"), (*lag)["pending"].text("?")),
        fmt::format("{}, {}", record_lag, record_pending));
  return {};
}

Result<void> DemoStory::look_at_dead_letter() {
  const auto dead = get(Target("/admin/dlq/browse").query("topic", kTopic).query("group", kFast));
  if (!dead) return fail(dead);
  const std::vector<Json> items = (*dead)["items"].items();
  const Json entry = items.empty() ? Json() : items.front();
  check("dead letters",
        fmt::format("{}: {} after {} attempts, {}", (*dead)["total"].text("?"),
                    entry["event"]["id"].text("?"), entry["attempts"].text("?"),
                    entry["reason"].text("?")),
        fmt::format("1: {} after 3 attempts, max_attempts", kPoison));
  return {};
}

Result<void> DemoStory::redrive() {
  title("the dead letter is redriven to its group");
  JsonObject body;
  body.text("topic", kTopic).text("group", kFast);
  JsonObject dry = body;
  const auto would = post(Port::kAdmin, "/admin/dlq/redrive", dry.boolean("dryRun", true));
  if (!would) return fail(would);
  check("a dry run matches", (*would)["matched"].text("?"), "1");
  const auto lane = post(Port::kAdmin, "/admin/dlq/redrive", body);
  if (!lane) return fail(lane);
  const std::string lane_id = (*lane)["laneId"].text();
  std::vector<Delivery> all;
  for (int i = 0; i < 10 && all.empty(); ++i) {
    auto deliveries = poll(kFastClient, 10);
    if (!deliveries) return fail(deliveries);
    all = std::move(*deliveries);
  }
  const Delivery first = all.empty() ? Delivery{} : all.front();
  check("delivered again",
        fmt::format("{} of {} by lane {}", all.size(), first.event_id, first.lane),
        fmt::format("1 of {} by lane {}", kPoison, lane_id));
  if (auto done = ack(kFastClient, fast_, all); !done) return done;
  if (auto done = wait_for_lane(lane_id); !done) return done;
  const auto dead = get(Target("/admin/dlq/browse").query("topic", kTopic).query("group", kFast));
  if (!dead) return fail(dead);
  const std::vector<Json> items = (*dead)["items"].items();
  check("its entry", items.empty() ? "?" : items.front()["state"].text("?"), "resolved");
  return compare_progress(kFast, fast_);
}

Result<void> DemoStory::wait_for_lane(const std::string& lane) {
  std::string state;
  std::string resolved;
  for (int i = 0; i < kLaneWaitSteps && state != "done"; ++i) {
    if (i > 0) static_cast<void>(::poll(nullptr, 0, kStepMs));
    const auto answer = get(Target("/admin/lanes").segment(lane));
    if (!answer) return fail(answer);
    state = (*answer)["state"].text("?");
    resolved = (*answer)["resolved"].text("?");
  }
  check("the lane", fmt::format("{}, {} resolved", state, resolved), "done, 1 resolved");
  return {};
}

Result<void> DemoStory::replay_dry_run() {
  title(fmt::format("a replay of {} from offset {}, as a dry run", kSlow, kReplayFrom));
  const auto answer = post(Port::kAdmin, "/admin/replay",
                           JsonObject()
                               .text("topic", kTopic)
                               .text("group", kSlow)
                               .raw("from", fmt::format("{{\"offset\":{}}}", kReplayFrom))
                               .boolean("dryRun", true));
  if (!answer) return fail(answer);
  std::int64_t events = 0;
  for (const std::int64_t count : published_) {
    events += std::max<std::int64_t>(0, count - kReplayFrom);
  }
  check("it would deliver again", (*answer)["events"].text("?"), std::to_string(events));
  return compare_progress(kSlow, slow_);
}

Result<void> DemoStory::leave_something() {
  constexpr std::int64_t kMore = 40;
  if (auto done = publish_batch(10'000, kMore); !done) return done;
  for (const bool fast : {true, false}) {
    const std::string_view client = fast ? kFastClient : kSlowClient;
    std::vector<Delivery> all;
    for (int i = 0; i < 20 && all.size() < kMore; ++i) {
      auto some = poll(client, kMore);
      if (!some) return fail(some);
      all.insert(all.end(), some->begin(), some->end());
    }
    if (all.empty()) return fail(ErrorCode::kTimeout, "no deliveries came");
    const Delivery odd = all.front();
    all.erase(all.begin());
    if (auto done = ack(client, fast ? fast_ : slow_, all); !done) return done;
    if (!fast) continue;  // shipping-1 sits on it
    const auto rejected = post(Port::kTraffic, "/events/reject",
                               JsonObject()
                                   .text("clientId", client)
                                   .text("deliveryId", odd.id)
                                   .text("reason", "no such product"));
    if (!rejected) return fail(rejected);
    fast_.settle(odd.partition, odd.offset);
  }
  return {};
}

}  // namespace ackline::cli
