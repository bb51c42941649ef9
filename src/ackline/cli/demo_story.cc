#include "ackline/cli/demo_story.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/clock.h"

namespace ackline::cli {
namespace {

constexpr std::size_t kPartitions = 4;
constexpr std::int64_t kEvents = 10'000;
constexpr std::int64_t kBatch = 500;
constexpr std::int64_t kBeforeKill = 6'000;
constexpr std::int64_t kAttempts = 3;
constexpr std::size_t kHoldPartition = 2;
constexpr std::int64_t kHoldOffset = 100;
constexpr int kEmptyPollsMax = 20;

std::string numbers(std::size_t count, const std::function<std::int64_t(std::size_t)>& number) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : " ", number(i));
  }
  return out;
}

}  // namespace

DemoStory::DemoStory(Console& console, DemoServer& server, std::function<bool()> stop)
    : console_(console),
      server_(server),
      stop_(std::move(stop)),
      api_(ApiOptions{}),
      published_(kPartitions, 0),
      fast_(kPartitions),
      slow_(kPartitions) {
  connect();
}

Target DemoStory::group_target(std::string_view path, std::string_view group) {
  return Target(path).query("topic", kTopic).query("group", group);
}

void DemoStory::connect() {
  ApiOptions options;
  options.server = "http://" + server_.http();
  options.admin = "http://" + server_.admin();
  options.data_path = server_.data_path();
  api_ = ApiClient(options);
}

Result<void> DemoStory::play() {
  using Step = Result<void> (DemoStory::*)();
  for (const Step step : {&DemoStory::publish_all, &DemoStory::subscribe_groups,
                          &DemoStory::run_fast_group, &DemoStory::look_at_dead_letter}) {
    if (stop_()) return fail(ErrorCode::kUnavailable, "stopped by a signal");
    if (auto done = (this->*step)(); !done) return done;
  }
  title(fmt::format("{}: acks out of order and holds one event back", kSlow));
  if (auto done = run_slow_group(kBeforeKill); !done) return done;
  if (auto done = look_at_hole("before the kill"); !done) return done;
  for (const Step step : {&DemoStory::kill_and_restart, &DemoStory::finish_slow_group,
                          &DemoStory::redrive, &DemoStory::replay_dry_run}) {
    if (stop_()) return fail(ErrorCode::kUnavailable, "stopped by a signal");
    if (auto done = (this->*step)(); !done) return done;
  }
  return {};
}

Result<void> DemoStory::publish_batch(std::int64_t first, std::int64_t count) {
  std::string body;
  for (std::int64_t i = first; i < first + count; ++i) {
    body += body.empty() ? "[" : ",";
    body += JsonObject()
                .text("specversion", "1.0")
                .text("id", fmt::format("order-{}", i))
                .text("source", "/shop")
                .text("type", "order.created")
                .text("partitionkey", fmt::format("customer-{}", i % 397))
                .raw("data", fmt::format(R"({{"order":{},"cents":{}}})", i, 100 + i % 9000))
                .str();
  }
  const auto answer = api_.post(Port::kTraffic, Target("/events/publish").query("topic", kTopic),
                                body + "]", "application/cloudevents-batch+json");
  if (!answer) return fail(answer);
  const auto json = answer->json();
  if (!json) return fail(json);
  for (const Json& result : (*json)["results"].items()) {
    if (result["status"].text() != "accepted") {
      return fail(ErrorCode::kUnavailable, "an event was rejected: " + result["detail"].text());
    }
    ++published_[static_cast<std::size_t>(result["partition"].integer())];
  }
  return {};
}

Result<void> DemoStory::publish_all() {
  title(fmt::format("{} CloudEvents over {} partitions", kEvents, kPartitions));
  const auto created = post(Port::kAdmin, "/admin/topics",
                            JsonObject().text("name", kTopic).integer("partitions", kPartitions));
  if (!created) return fail(created);
  const SystemClock clock;
  const MonoMs from = clock.mono();
  for (std::int64_t i = 0; i < kEvents; i += kBatch) {
    if (auto done = publish_batch(i, kBatch); !done) return done;
    console_.progress(fmt::format("published {} of {}", i + kBatch, kEvents));
  }
  say(fmt::format("published in {} ms, each batch on disk before its answer",
                  clock.mono().value() - from.value()));
  const auto topic = get(Target("/admin/topics").segment(kTopic));
  if (!topic) return fail(topic);
  check("high watermarks",
        numbers(kPartitions,
                [&](std::size_t i) {
                  return (*topic)["offsets"][std::to_string(i)]["highWatermark"].integer();
                }),
        numbers(kPartitions, [&](std::size_t i) { return published_[i] - 1; }));
  return {};
}

Result<void> DemoStory::subscribe_groups() {
  for (const bool fast : {true, false}) {
    JsonObject body;
    body.text("clientId", fast ? kFastClient : kSlowClient)
        .text("topic", kTopic)
        .text("group", fast ? kFast : kSlow)
        .text("start", "earliest")
        .integer("maxAttempts", kAttempts)
        .raw("backoffMs", "[100,200]")
        .integer("ackTimeoutMs", 300'000);
    const auto subscribed = post(Port::kTraffic, "/events/subscribe", body);
    if (!subscribed) return fail(subscribed);
  }
  return {};
}

Result<std::vector<DemoStory::Delivery>> DemoStory::poll(std::string_view client,
                                                         std::int64_t max) {
  Target target("/events/poll");
  target.query("clientId", client).query("max", max).query("timeoutMs", 1000);
  const auto answer = api_.get(Port::kTraffic, target);
  if (!answer) return fail(answer);
  const auto json = answer->json();
  if (!json) return fail(json);
  std::vector<Delivery> deliveries;
  for (const Json& one : json->items()) {
    const auto partition = static_cast<std::size_t>(one["partition"].integer());
    if (partition >= kPartitions) return fail(ErrorCode::kBadValue, "a partition out of range");
    deliveries.push_back({one["deliveryId"].text(), one["event"]["id"].text(), partition,
                          one["offset"].integer(), one["lane"]["laneId"].text()});
  }
  return deliveries;
}

Result<void> DemoStory::ack(std::string_view client, GroupRecord& group,
                            const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return {};
  std::vector<std::string> ids;
  ids.reserve(deliveries.size());
  for (const Delivery& one : deliveries) ids.push_back(one.id);
  const auto answer = post(Port::kTraffic, "/events/ack",
                           JsonObject().text("clientId", client).texts("deliveryIds", ids));
  if (!answer) return fail(answer);
  const std::vector<Json> results = (*answer)["results"].items();
  for (std::size_t i = 0; i < std::min(results.size(), deliveries.size()); ++i) {
    if (results[i]["status"].text() != "acked") {
      return fail(ErrorCode::kStale, fmt::format("an ack of {} was refused: {}",
                                                 deliveries[i].event_id, results[i].dump()));
    }
    group.settle(deliveries[i].partition, deliveries[i].offset);
  }
  return {};
}

Result<void> DemoStory::run_fast_group() {
  title(fmt::format("{}: a fast consumer; {} fails each time", kFast, kPoison));
  std::int64_t nacks = 0;
  for (int empty = 0; fast_.settled() < kEvents && empty < kEmptyPollsMax;) {
    auto deliveries = poll(kFastClient, kBatch);
    if (!deliveries) return fail(deliveries);
    if (deliveries->empty()) ++empty;
    std::vector<Delivery> good;
    for (const Delivery& one : *deliveries) {
      if (one.event_id != kPoison) {
        good.push_back(one);
        continue;
      }
      const auto nacked = post(Port::kTraffic, "/events/nack",
                               JsonObject()
                                   .text("clientId", kFastClient)
                                   .text("deliveryId", one.id)
                                   .integer("delayMs", 50)
                                   .text("reason", "the card was declined"));
      if (!nacked) return fail(nacked);
      // The last one ends it for the group: a dead letter is terminal.
      if (++nacks == kAttempts) fast_.settle(one.partition, one.offset);
    }
    if (auto done = ack(kFastClient, fast_, good); !done) return done;
    console_.progress(fmt::format("settled {} of {}", fast_.settled(), kEvents));
  }
  check("offers of the failing event", std::to_string(nacks), std::to_string(kAttempts));
  return compare_progress(kFast, fast_);
}

Result<void> DemoStory::run_slow_group(std::int64_t until) {
  for (int empty = 0; slow_.settled() < until && empty < kEmptyPollsMax;) {
    auto deliveries = poll(kSlowClient, std::min(kBatch, until - slow_.settled()));
    if (!deliveries) return fail(deliveries);
    if (deliveries->empty()) ++empty;
    if (!holds_) {
      const auto found = std::ranges::find_if(*deliveries, [](const Delivery& one) {
        return one.partition == kHoldPartition && one.offset >= kHoldOffset;
      });
      if (found != deliveries->end()) {
        held_back_ = *found;
        holds_ = true;
        deliveries->erase(found);
      }
    }
    std::ranges::reverse(*deliveries);
    if (auto done = ack(kSlowClient, slow_, *deliveries); !done) return done;
    console_.progress(fmt::format("settled {} of {}", slow_.settled(), until));
  }
  return {};
}

Result<void> DemoStory::look_at_hole(std::string_view when) {
  if (auto done = compare_progress(kSlow, slow_); !done) return done;
  const auto holes = get(group_target("/admin/holes", kSlow));
  if (!holes) return fail(holes);
  const std::vector<Json> items = (*holes)["items"].items();
  const Json hole = items.empty() ? Json() : items.front();
  check(fmt::format("the hole {}", when),
        fmt::format("{} hole, partition {} offset {} to {}", (*holes)["total"].text("?"),
                    hole["partition"].text("?"), hole["from"].text("?"), hole["to"].text("?")),
        fmt::format("1 hole, partition {} offset {} to {}", held_back_.partition, held_back_.offset,
                    held_back_.offset));
  const auto explain = get(group_target("/admin/explain", kSlow));
  if (!explain) return fail(explain);
  const Json blocker = (*explain)["partitions"][std::to_string(held_back_.partition)]["blocker"];
  check("who blocks",
        fmt::format("{} held by {}, attempt {}", blocker["eventId"].text("?"),
                    blocker["clientId"].text("?"), blocker["attempt"].text("?")),
        fmt::format("{} held by {}, attempt 1", held_back_.event_id, kSlowClient));
  say("explain: " + (*explain)["sentence"].text());
  return {};
}

Result<void> DemoStory::kill_and_restart() {
  title("kill -9, and a start on the same data");
  const SystemClock clock;
  const MonoMs from = clock.mono();
  server_.kill();
  if (auto done = server_.start(); !done) return done;
  connect();
  say(fmt::format("serves again after {} ms", clock.mono().value() - from.value()));
  return look_at_hole("after the kill");
}

Result<void> DemoStory::finish_slow_group() {
  title(fmt::format("{} goes on, then settles what it held", kSlow));
  if (auto done = run_slow_group(kEvents - 1); !done) return done;
  if (auto done = compare_progress(kSlow, slow_); !done) return done;
  // Its id is from before the kill.
  if (auto done = ack(kSlowClient, slow_, {held_back_}); !done) return done;
  say(fmt::format("acked {}: the frontier walks in one step", held_back_.event_id));
  if (auto done = compare_progress(kSlow, slow_); !done) return done;
  const auto lag = get(group_target("/admin/lag", kSlow).query("audit", "true"));
  if (!lag) return fail(lag);
  check("recount from the files on disk", (*lag)["audit"]["recount"].text("?"), "0");
  check("caught up", (*lag)["caughtUp"].text("?"), "true");
  return {};
}

Result<Json> DemoStory::get(const Target& target) {
  const auto answer = api_.get(Port::kAdmin, target);
  if (!answer) return fail(answer);
  return answer->json();
}

Result<Json> DemoStory::post(Port port, std::string_view path, const JsonObject& body) {
  const auto answer = api_.post(port, Target(path), body.str());
  if (!answer) return fail(answer);
  return answer->json();
}

}  // namespace ackline::cli
