#include "ackline/runtime/node.h"

#include <fmt/format.h>

#include "ackline/base/counted.h"
#include "ackline/base/logging.h"
#include "ackline/base/metric_names.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

// Sends what a shard offers to the sessions of the clients' home shards.
class Router final : public OfferRouter {
 public:
  Router(Node& node, ShardIndex from) : node_(node), from_(from) {}

  void offers(std::vector<delivery::Offer> offers) override {
    const Catalog& catalog = node_.unit(from_).shard->catalog();
    if (node_.shard_count() == 1) {
      node_.unit(from_).sessions->on_offers(offers);
      return;
    }
    std::vector<std::vector<delivery::Offer>> by_home(node_.shard_count());
    for (delivery::Offer& offer : offers) {
      const SubscriptionPtr one = catalog.subscription(offer.client);
      if (!one) continue;  // unsubscribed: its lease ends by itself
      by_home[shard_of_client(one->client_id, node_.shard_count()).value()].push_back(
          std::move(offer));
    }
    for (std::uint32_t i = 0; i < by_home.size(); ++i) {
      if (by_home[i].empty()) continue;
      ShardUnit& home = node_.unit(ShardIndex(i));
      run_on(home.executor,
             [&home, batch = std::move(by_home[i])] { home.sessions->on_offers(batch); });
    }
  }

  void lane_part_done(ProgressNumber lane, ShardIndex /*shard*/) override {
    node_.control_executor().post([node = &node_, lane] { node->lane_part_done(lane); });
  }

 private:
  Node& node_;
  ShardIndex from_;
};

OwnerLink owner_link(Node& node, ShardIndex home) {
  OwnerLink link;
  link.set_window = [&node](ShardIndex owner, ClientNumber client, std::uint32_t events,
                            std::uint64_t bytes) {
    ShardUnit& unit = node.unit(owner);
    run_on(unit.executor,
           [&unit, client, events, bytes] { unit.shard->set_window(client, events, bytes); });
  };
  link.set_demand = [&node](ShardIndex owner, ClientNumber client, std::uint32_t events) {
    ShardUnit& unit = node.unit(owner);
    run_on(unit.executor, [&unit, client, events] { unit.shard->set_demand(client, events); });
  };
  link.connected = [&node](ShardIndex owner, ClientNumber client) {
    ShardUnit& unit = node.unit(owner);
    run_on(unit.executor, [&unit, client] { unit.shard->connected(client); });
  };
  link.disconnected = [&node](ShardIndex owner, ClientNumber client) {
    ShardUnit& unit = node.unit(owner);
    run_on(unit.executor, [&unit, client] { unit.shard->disconnected(client); });
  };
  link.when_offered = [&node, home](ShardIndex owner, Task done) {
    ShardUnit& unit = node.unit(owner);
    Executor& back = node.unit(home).executor;
    run_on(unit.executor, [&unit, &back, done = std::move(done)]() mutable {
      unit.shard->when_offered(
          [&back, done = std::move(done)]() mutable { run_on(back, std::move(done)); });
    });
  };
  link.withdraw = [&node](ShardIndex owner, delivery::DeliveryId id) {
    ShardUnit& unit = node.unit(owner);
    run_on(unit.executor, [&unit, id] { unit.shard->withdraw(id); });
  };
  return link;
}

}  // namespace

void run_on(Executor& target, Task task) {
  if (target.here()) {
    task();
  } else {
    target.post(std::move(task));
  }
}

ShardUnit::ShardUnit(Executor& its) : executor(its) {}
ShardUnit::~ShardUnit() = default;

Node::Node(NodeOptions options, NodeDependencies dependencies)
    : options_(std::move(options)), deps_(std::move(dependencies)) {}

Node::~Node() = default;

void Node::make_units() {
  const auto count = static_cast<std::uint32_t>(deps_.executors.size());
  options_.shard.delivery_rows_before = rows_before_;
  Random random(options_.random_seed);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto unit = std::make_unique<ShardUnit>(*deps_.executors[i]);
    unit->router = std::make_unique<Router>(*this, ShardIndex(i));
    ShardOptions shard = options_.shard;
    shard.index = ShardIndex(i);
    shard.shards = count;
    shard.epoch = options_.epoch;
    shard.ids = &deps_.ids;
    shard.log_path = options_.data_path;
    shard.journal_path = shard_path(count, i);
    shard.random_seed = random.next();
    unit->shard = std::make_unique<Shard>(
        std::move(shard), ShardDependencies{unit->executor, deps_.storage, deps_.fs, deps_.offsets,
                                            deps_.metrics, *unit->router, deps_.deliveries});
    Sessions::Options sessions;
    sessions.home = ShardIndex(i);
    sessions.shards = count;
    sessions.max_in_flight = options_.max_in_flight;
    sessions.max_in_flight_bytes = options_.max_in_flight_bytes;
    unit->sessions = std::make_unique<Sessions>(sessions, unit->executor, unit->shard->catalog(),
                                                deps_.ids, owner_link(*this, ShardIndex(i)));
    unit->edge = std::make_unique<Edge>(*this, ShardIndex(i));
    units_.push_back(std::move(unit));
  }
}

std::string Node::shard_path(std::uint32_t count, std::uint32_t index) const {
  return fmt::format("{}/journal/{}-{}", options_.data_path, count, index);
}

api::Traffic& Node::traffic(ShardIndex index) {
  return *unit(index).edge;
}
api::Admin& Node::admin(ShardIndex index) {
  return *unit(index).edge;
}

void Node::start(Task started) {
  for (auto& unit : units_) {
    unit->executor.post([this, at = unit.get()] { at->shard->resume(was_clean_); });
  }
  // Only then: sessions lend credit to other shards, which must know the client by then. Each
  // shard resumes before it answers, since its tasks run in order.
  control_executor().post([this, started = std::move(started)]() mutable {
    gather<bool>(
        *this, control_executor(),
        [](ShardUnit&, std::move_only_function<void(bool)> answer) { answer(true); },
        [this, started = std::move(started)](const std::vector<bool>&) mutable {
          gather<bool>(
              *this, control_executor(),
              [](ShardUnit& unit, std::move_only_function<void(bool)> answer) {
                unit.sessions->start();
                answer(true);
              },
              [this, started = std::move(started)](const std::vector<bool>&) mutable {
                resume_lanes();
                arm_reaper();
                started_ = true;
                if (started) started();
              });
        });
  });
}

void Node::broadcast(const std::shared_ptr<const Delta>& delta, Task adopted) {
  next_progress_ = control_->numbers().progress;
  gather<bool>(
      *this, control_executor(),
      [delta](ShardUnit& unit, std::move_only_function<void(bool)> answer) {
        unit.shard->adopt(*delta);
        answer(true);
      },
      // Sessions lend credit to other shards, which must know the client by then.
      [this, delta, adopted = std::move(adopted)](const std::vector<bool>&) mutable {
        gather<bool>(
            *this, control_executor(),
            [delta](ShardUnit& unit, std::move_only_function<void(bool)> answer) {
              unit.sessions->adopt(*delta);
              answer(true);
            },
            [adopted = std::move(adopted)](const std::vector<bool>&) mutable { adopted(); });
      });
}

void Node::set_draining(bool on) {
  draining_ = on;
  for (auto& unit : units_) {
    // The last word counts, whichever of two calls comes through last.
    run_on(unit->executor, [this, at = unit.get()] {
      const bool on = draining_.load();
      at->sessions->set_draining(on);
      if (on) at->sessions->end_all(channel::EndReason::kDraining);
      at->shard->set_draining(on);
    });
  }
}

void Node::stop(Task done) {
  auto shared = std::make_shared<Task>(std::move(done));
  run_on(control_executor(), [this, shared] {
    stopping_ = true;
    if (reaper_ != 0) control_executor().cancel(reaper_);
    reaper_ = 0;
    if (lanes_timer_ != 0) control_executor().cancel(lanes_timer_);
    lanes_timer_ = 0;
    gather<bool>(
        *this, control_executor(),
        [](ShardUnit& unit, std::move_only_function<void(bool)> answer) {
          // A stop while the disk refuses or the journal is poisoned is not a clean one.
          const bool sound = !unit.shard->health().poisoned;
          unit.shard->stop([sound, answer = std::move(answer)]() mutable { answer(sound); });
        },
        [this, shared](const std::vector<bool>& sound) {
          const bool clean = std::ranges::all_of(sound, [](bool one) { return one; });
          auto outcome = std::make_shared<Result<void>>();
          deps_.storage.run(
              storage_lane::meta(),
              [this, clean, outcome] {
                if (clean) {
                  auto put = deps_.meta.put(kCleanKey, "1");
                  if (!put) *outcome = fail(put);
                  io::failpoint(io::Failpoint::kStopMarked);
                }
                if (auto flushed = deps_.offsets.flush(); !flushed) *outcome = flushed;
              },
              control_executor(),
              [shared, outcome] {
                if (!*outcome) {
                  log_warn("the stop could not be marked as clean",
                           {{"error", outcome->error().detail}});
                }
                (*shared)();
              });
        });
  });
}

std::vector<api::HealthCheck> Node::readiness() const {
  std::vector<api::HealthCheck> checks;
  checks.push_back({"started", started_.load(), started_ ? "" : "recovering"});
  checks.push_back({"accepting", !draining_.load(), draining_ ? "draining" : ""});
  api::HealthCheck log{"log", true, {}};
  for (const auto& unit : units_) {
    const Shard::Health health = unit->shard->health_view();
    if (health.poisoned || health.full) {
      log.ok = false;
      log.detail = health.detail;
    } else if (health.quarantined > 0 && log.ok) {
      log.detail = counted(health.quarantined, "partition is", "partitions are") +
                   " quarantined; run ackline doctor";
    }
  }
  checks.push_back(log);
  return checks;
}

}  // namespace ackline::runtime
