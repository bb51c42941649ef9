#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <cstdio>

#include "tests/simulation/client_channel.h"

namespace ackline::sim {
namespace {

constexpr Ms kDrainMs = 240'000;

}  // namespace

Simulation::Simulation(SimulationOptions options)
    : options_(options),
      random_(options.seed * 0x9e3779b97f4a7c15ULL + 0x51ed270b),
      more_(options.seed * 0xd1342543de82ef95ULL + 0x2545f491) {}

Simulation::~Simulation() {
  if (world_ && world_->running()) world_->end(Death::kKill);
}

void Simulation::note(const std::string& line) const {
  if (!options_.verbose) return;
  fmt::print(stderr, "{:>8} {}\n", world_->time().now(), line);
}

void Simulation::sync_time() {
  checker_->set_time(world_->time().now(), world_->time().clock().wall().value());
}

// Layout and policies of this seed.
void Simulation::plan() {
  WorldOptions world;
  world.seed = random_.next();
  world.shards = static_cast<std::uint32_t>(random_.between(1, 3));
  world.times.handover_max_ms = random_.chance(1, 2) ? 0 : 2;
  world.times.storage_max_ms = random_.between(0, 6);
  world.segment_bytes = random_.chance(1, 2) ? 8U << 10U : 256U << 10U;
  world.journal_file_bytes = random_.chance(1, 2) ? 64U << 10U : 512U << 10U;
  world.checkpoint_bytes = random_.chance(1, 2) ? 32U << 10U : 1U << 20U;
  world.checkpoint_interval_ms = random_.between(1000, 12'000);
  world.retention_interval_ms = 2000;
  world.retention_hold = random_.chance(4, 5);
  hold_ = world.retention_hold;
  world.reconnect_grace_ms = random_.between(1000, 5000);
  if (more_.chance(1, 5)) world.ahead_max = static_cast<std::uint64_t>(more_.between(5, 60));
  if (more_.chance(1, 4)) world.suspects_per_client = 3;
  if (more_.chance(1, 3)) {
    world.read_events = static_cast<std::uint32_t>(more_.between(1, 8));
    world.read_bytes = static_cast<std::uint32_t>(more_.between(200, 4000));
  }
  world.ack_sync = more_.chance(1, 5);
  if (more_.chance(1, 5)) {
    world.sync_commit = false;
    world.sync_interval_ms = more_.between(10, 100);
  }
  if (more_.chance(1, 3)) {
    world.rows = true;
    world.cache_entries = more_.chance(1, 3) ? 0 : static_cast<std::size_t>(more_.between(3, 300));
    world.flush_ms = more_.between(10, 200);
  }
  moves_rows_ = more_.chance(1, 8);
  if (more_.chance(1, 3)) world.restarts_max = static_cast<std::uint32_t>(more_.between(2, 4));
  result_.rows = world.rows || moves_rows_;
  admins_ = more_.chance(1, 2);
  drains_ = more_.chance(1, 6);
  checker_ = std::make_unique<Checker>(
      3 + 6 * world.times.handover_max_ms + 5 * world.times.storage_max_ms,
      world.reconnect_grace_ms,
      Checker::Modes{world.retention_hold, world.sync_commit, world.ack_sync, world.restarts_max});
  world_ = std::make_unique<World>(world);
  world_->on_death = [this](Death how, Durable durable) { on_death(how, durable); };
  active_ms_ = random_.between(32'000, 68'000);
  deletes_topics_ = random_.chance(1, 4);
  purges_ = random_.chance(1, 6);
  resets_ = random_.chance(1, 3);

  const auto topics = static_cast<std::size_t>(random_.between(1, 2));
  for (std::size_t t = 0; t < topics; ++t) {
    TopicPlan topic;
    topic.name = fmt::format("t{}", t);
    topic.partitions = static_cast<std::uint32_t>(random_.between(1, 4));
    if (random_.chance(1, 4)) topic.retention.age_ms = random_.between(8000, 40'000);
    if (hold_ && more_.chance(1, 6)) {
      topic.retention.bytes = static_cast<std::uint64_t>(more_.between(6'000, 60'000));
    }
    topics_.push_back(topic);
  }
  const auto groups = static_cast<std::size_t>(random_.between(2, 4));
  for (std::size_t g = 0; g < groups; ++g) {
    GroupPlan group;
    const std::size_t topic = g < topics ? g : random_.below(topics);
    group.facts.topic = topics_[topic].name;
    const api::Retention& retention = topics_[topic].retention;
    group.facts.fleeting = retention.bytes.has_value() || retention.age_ms.has_value();
    group.facts.broadcast = g >= 2 && random_.chance(1, 2);
    group.facts.name = group.facts.broadcast ? fmt::format("b{}", g) : fmt::format("g{}", g);
    group.facts.max_attempts = static_cast<std::uint32_t>(random_.between(2, 5));
    const std::uint64_t ordering = random_.below(5);
    group.facts.ordering = ordering < 2   ? Ordering::kNone
                           : ordering < 4 ? Ordering::kKey
                                          : Ordering::kPartition;
    group.ordering = group.facts.ordering;
    if (more_.chance(1, 4)) {
      group.max_in_flight_bytes = static_cast<std::uint64_t>(more_.between(1500, 8000));
    }
    if (random_.chance(1, 4)) group.facts.filter_type = "t.a";
    group.ack_timeout_ms = random_.between(800, 5000);
    group.max_lease_ms = group.ack_timeout_ms * random_.between(1, 4);
    group.max_in_flight = static_cast<std::uint32_t>(random_.between(2, 30));
    group.backoff_ms = {random_.between(0, 200), random_.between(100, 1500)};
    group.earliest = !group.facts.broadcast || random_.chance(1, 2);
    if (more_.chance(1, 5)) {
      group.start_offset = more_.between(0, 20);
    } else if (more_.chance(1, 5)) {
      group.start_back_ms = more_.between(0, 20'000);
    }
    group.dead_letter_expired = more_.chance(1, 4);
    if (!group.facts.filter_type.empty()) {
      // All say the same.
      static constexpr const char* kForms[] = {
          R"({"exact":{"type":"t.a"}})",
          R"({"prefix":{"type":"t.a"}})",
          R"({"suffix":{"type":".a"}})",
          R"({"not":{"exact":{"type":"t.b"}}})",
          R"({"any":[{"exact":{"type":"t.a"}},{"exact":{"type":"t.x"}}]})",
          R"({"all":[{"prefix":{"type":"t."}},{"suffix":{"type":"a"}}]})"};
      group.filter_json = kForms[more_.below(std::size(kForms))];
    }
    if (random_.chance(2, 3)) {
      group.poison_modulo = static_cast<std::uint32_t>(random_.between(7, 40));
    }
    groups_.push_back(group);
    const std::int64_t clients = group.facts.broadcast ? 1 : random_.between(1, 3);
    for (std::int64_t c = 0; c < clients; ++c) {
      auto client = std::make_unique<Client>();
      client->id = group.facts.broadcast ? group.facts.name : fmt::format("c{}-{}", g, c);
      client->group = g;
      client->topic = topic;
      client->streams = random_.chance(1, 2);
      if (c > 0 && more_.chance(1, 4)) client->partitions = {0};
      clients_.push_back(std::move(client));
    }
  }
}

void Simulation::every(Ms least, Ms most, std::function<void()> what) {
  const Ms at = world_->time().now() + random_.between(least, most);
  world_->time().outside(at, [this, least, most, what = std::move(what)]() mutable {
    sync_time();
    what();
    every(least, most, std::move(what));
  });
}

void Simulation::call(std::uint32_t edge, std::function<void()> work) {
  if (!world_->alive()) return;
  world_->on_shard(edge, [this, work = std::move(work)] {
    sync_time();
    work();
  });
}

api::Traffic& Simulation::traffic(std::uint32_t edge) {
  return world_->node().traffic(ShardIndex(edge % world_->shards()));
}
api::Admin& Simulation::admin(std::uint32_t edge) {
  return world_->node().admin(ShardIndex(edge % world_->shards()));
}
std::uint32_t Simulation::any_edge() {
  return static_cast<std::uint32_t>(random_.below(world_->shards()));
}

void Simulation::on_death(Death how, Durable durable) {
  sync_time();
  note(fmt::format("DEATH {} (durable before {}, first offers before {})",
                   how == Death::kKill       ? "kill"
                   : how == Death::kPowerCut ? "power cut"
                                             : "stop",
                   durable.answers, durable.offers));
  if (how == Death::kKill) ++result_.kills;
  if (how == Death::kPowerCut) ++result_.power_cuts;
  if (how == Death::kStop) ++result_.stops;
  // A server that was stopped in order has written all, where it could.
  const Ms offers =
      how == Death::kStop && world_->calm() ? world_->time().now() + 1 : durable.offers;
  checker_->died(how == Death::kPowerCut, durable.answers, offers);
  for (auto& client : clients_) {
    ++client->turn;
    client->attachment.reset();
    client->attached = false;
    client->busy = false;
    if (client->channel) old_channels_.push_back(std::move(client->channel));
  }
  for (TopicPlan& topic : topics_) {
    topic.publishes = topic.changes = 0;
    // Whether it was done is asked again: both changes are told apart by their answers.
    if (topic.state == TopicPlan::State::kBusy) topic.state = TopicPlan::State::kAbsent;
  }
  for (GroupPlan& group : groups_) {
    group.unsure = group.unsure || group.leaving;
    group.reopening = group.leaving = group.patching = false;
  }
}

void Simulation::die(Death how) {
  world_->end(how);
  died_at_ = world_->time().now();  // an orderly stop takes its time
  old_channels_.clear();
}

void Simulation::come_back() {
  world_->time().skip(random_.between(1, healing_ ? 10 : 8000));
  if (!healing_ && random_.chance(1, 6)) {
    world_->set_shards(static_cast<std::uint32_t>(random_.between(1, 3)));
  }
  if (!healing_ && moves_rows_ && more_.chance(1, 3)) {
    world_->set_rows(!world_->rows());
    ++result_.moves;
  }
  // Power may fail again while it starts.
  if (!healing_ && random_.chance(1, 8)) {
    world_->strike_after(random_.below(60) + 1,
                         random_.chance(1, 2) ? Death::kPowerCut : Death::kKill);
  }
  const bool up = world_->boot();
  sync_time();
  if (!up) {
    checker_->fail("the server starts after a crash", world_->trouble());
    return;
  }
  note(fmt::format("UP with {} shards", world_->shards()));
  checker_->came_back(world_->time().now() - died_at_);
  // A crash soon after a start meets what only a start does.
  if (!healing_ && early_deaths_ < 3 && more_.chance(1, 4)) {
    ++early_deaths_;
    restart_soon(more_.chance(2, 3) ? Death::kPowerCut : Death::kKill,
                 more_.between(1, more_.chance(1, 2) ? 120 : 1500));
  }
  // Clients do not know of the death: what they had is settled late.
  for (auto& client : clients_) {
    for (std::size_t i = 0; i < std::min<std::size_t>(client->ids.size(), 3); ++i) {
      if (!more_.chance(1, 3)) continue;
      settle_later(*client, more_.between(0, 1500), more_.chance(3, 4) ? Verb::kAck : Verb::kNack,
                   client->ids[client->ids.size() - 1 - i], std::nullopt);
    }
  }
}

// Runs the world until `at`; who dies comes back.
void Simulation::live_until(Ms at, const std::function<bool()>& done) {
  while (world_->time().now() < at && !checker_->broken() && !done()) {
    world_->time().run_until(
        at, [&] { return world_->struck() || death_wanted_ || checker_->broken() || done(); });
    if (world_->time().restless()) checker_->fail("an idle server rests", "a busy loop");
    if (checker_->broken()) return;
    if (world_->struck()) {
      death_wanted_.reset();
      die(world_->struck_how());
    } else if (death_wanted_) {
      const Death how = *death_wanted_;
      death_wanted_.reset();
      die(how);
    } else {
      continue;
    }
    come_back();
  }
}

SimulationResult Simulation::run() {
  plan();
  const Ms from = world_->time().now();
  sync_time();
  if (!world_->boot()) {
    checker_->fail("the server starts", world_->trouble());
  } else {
    start_work();
    start_operators();
    start_faults();
    live_until(from + active_ms_, [] { return false; });
    // A world that refused much works on until enough was done.
    for (int more = 0; more < 20 && checker_->accepted() < 230; ++more) {
      live_until(world_->time().now() + 4000, [] { return false; });
    }
    // No seed without a crash and a fault of the disk.
    if (result_.kills + result_.power_cuts == 0) death_wanted_ = Death::kPowerCut;
    live_until(world_->time().now() + 500, [] { return false; });
    if (result_.disk_faults + world_->faults_fired() == 0) {
      ++result_.disk_faults;
      const Ms until = world_->time().now() + 800;
      world_->time().stall_storage(until);
    }
    drain();
    if (!checker_->broken()) audit();
  }
  result_.broken = checker_->broken();
  result_.events = checker_->accepted();
  result_.deliveries = checker_->deliveries();
  result_.checks = checker_->checks();
  result_.groups = checker_->groups();
  result_.disk_faults += world_->faults_fired();
  result_.virtual_ms = world_->time().now() - from;
  result_.tasks = world_->time().tasks_run();
  result_.trace = world_->time().trace();
  return result_;
}

// No more faults; everything that is owed must be delivered and settled within bounded time.
void Simulation::drain() {
  if (checker_->broken()) return;
  note("HEALING");
  healing_ = true;
  world_->disarm();
  // An operator restarts a server whose disk had failed.
  if (world_->poisoned()) death_wanted_ = Death::kKill;
  const Ms until = world_->time().now() + kDrainMs;
  auto settled = std::make_shared<bool>(false);
  auto last = std::make_shared<std::string>("nothing was answered");
  auto stuck = std::make_shared<std::pair<std::string, std::string>>();
  every(300, 700, [this, settled, last, stuck] {
    if (!world_->alive() || *settled) return;
    ask_lag(false, [this, settled, last, stuck](const std::vector<api::GroupLag>& groups) {
      std::size_t known = 0;
      bool all = true;
      for (const api::GroupLag& one : groups) {
        ++known;
        for (const auto& [partition, lag] : one.partitions) {
          if (lag.pending == 0 && lag.lag == 0) continue;
          all = false;
          *stuck = {one.topic, one.group};
          *last = fmt::format(
              "{}/{} partition {}: frontier {} pending {} leased {} waiting {} "
              "blocked {}",
              one.topic, one.group, partition, lag.report.frontier.value(), lag.pending,
              lag.report.in_flight, lag.report.waiting, lag.report.blocked);
        }
      }
      bool joined = true;
      for (const auto& client : clients_) joined = joined && client->subscribed;
      for (const TopicPlan& topic : topics_) {
        joined = joined && topic.state == TopicPlan::State::kReady;
      }
      if (!joined) *last = "a client could not subscribe";
      if (all && joined && known >= groups_.size()) lanes_end(settled, last);
    });
  });
  live_until(until, [settled] { return *settled; });
  if (!*settled && !checker_->broken()) {
    auto story = std::make_shared<std::string>();
    explain(stuck->first, stuck->second, story);
    live_until(world_->time().now() + 1000, [] { return false; });
    *last += *story;
    sync_time();
    checker_->fail("the backlog drains once all is well", *last);
  }
}

// `settled` once nothing is under way and every lane came to its end.
void Simulation::lanes_end(std::shared_ptr<bool> settled, std::shared_ptr<std::string> last) {
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, settled, last] {
    admin(edge).lanes(
        std::nullopt, std::nullopt,
        [this, settled, last](Result<std::vector<api::LaneItem>> lanes) {
          if (dying() || !lanes) return;
          bool done = true;
          for (const api::LaneItem& one : *lanes) {
            if (one.state == "done") continue;
            done = false;
            *last = fmt::format(
                "{} lane {} of {}/{} is {}: {} started, {} offered, {} resolved, {} dead again, "
                "{} gone",
                one.kind, one.lane_id, one.topic, one.group, one.state, one.started, one.offered,
                one.resolved, one.dead_again, one.gone);
          }
          *settled = done && quiet();
        });
  });
}

// What the server says of a group that does not come to its end.
void Simulation::explain(const std::string& topic, const std::string& group,
                         std::shared_ptr<std::string> story) {
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, topic, group, story] {
    admin(edge).explain(topic, group, std::nullopt, [story](Result<api::ExplainAnswer> answer) {
      if (!answer) {
        *story += "; explain: " + answer.error().detail;
        return;
      }
      for (const auto& [partition, one] : answer->partitions) {
        if (one.blocker.caught_up) continue;
        *story += fmt::format(
            "; {}: state {} at {} client '{}' attempt {} of {} next in {} error '{}' has client {} "
            "limited {}{}",
            partition, static_cast<int>(one.blocker.state), one.blocker.offset.value(),
            one.blocker.client_id, one.blocker.attempt, one.blocker.max_attempts,
            one.blocker.next_attempt_in_ms.value_or(-1), one.blocker.last_error,
            one.blocker.has_client, one.blocker.ahead_limited, one.quarantine_detail);
      }
    });
  });
}

bool Simulation::quiet() {
  for (const TopicPlan& topic : topics_) {
    if (topic.publishes > 0 || topic.changes > 0) return false;
  }
  return true;
}

// The log, the dead letters and the progress of all, against what was promised.
void Simulation::audit() {
  for (std::size_t t = 0; t < topics_.size(); ++t) {
    auto log = std::make_shared<std::vector<LogSeen>>();
    auto dead = std::make_shared<std::vector<DeadSeen>>();
    auto done = std::make_shared<int>(0);
    call(any_edge(), [this, t, log, done] { ask_log(t, {}, log, [done] { ++*done; }); });
    call(any_edge(),
         [this, t, dead, done] { ask_dead(t, std::nullopt, dead, [done] { ++*done; }); });
    call(any_edge(), [this, done] {
      ask_lag(true, [this, done](const std::vector<api::GroupLag>& groups) {
        for (const api::GroupLag& one : groups) {
          if (one.audit && one.audit->equal == false) {
            checker_->fail("lag can be audited (6)",
                           fmt::format("{}/{}: recount {}", one.topic, one.group,
                                       one.audit->recount.value_or(0)));
          }
        }
        ++*done;
      });
    });
    live_until(world_->time().now() + 60'000, [done] { return *done == 3; });
    // Where each log begins is asked once it was read: retention goes on.
    call(any_edge(),
         [this, done] { ask_lag(false, [done](const std::vector<api::GroupLag>&) { ++*done; }); });
    live_until(world_->time().now() + 60'000, [done] { return *done == 4; });
    sync_time();
    if (checker_->broken()) return;
    if (*done != 4) {
      checker_->fail("questions are answered", "the last audit");
      return;
    }
    result_.dead_letters += dead->size();
    std::map<std::uint32_t, std::int64_t> starts;
    for (const auto& [key, ends] : ends_) {
      if (key.first == topics_[t].name) starts[key.second] = ends.log_start;
    }
    checker_->finish(topics_[t].name, *log, starts, *dead);
  }
}

}  // namespace ackline::sim
