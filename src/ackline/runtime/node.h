// One process's worth of Ackline without sockets: shards, sessions, control plane, and the edges
// that the routes call.
//
// Everything that blocks or tells time comes in from outside, so that the product (threads, disks)
// and the simulation (one thread, virtual time, a fake disk) run the same node. `boot` blocks and
// runs before any executor does; after `start` everything runs on the executors.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/api/traffic.h"
#include "ackline/base/executor.h"
#include "ackline/base/metrics.h"
#include "ackline/base/random.h"
#include "ackline/delivery/delivery_id.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/meta/meta_store.h"
#include "ackline/runtime/audit_log.h"
#include "ackline/runtime/control.h"
#include "ackline/runtime/known_damage.h"
#include "ackline/runtime/sessions.h"
#include "ackline/runtime/shard.h"
#include "ackline/state/offset_store.h"
#include "ackline/state/subscription_store.h"

namespace ackline::runtime {

class Edge;

struct NodeOptions {
  std::string data_path;
  Epoch epoch;
  ShardOptions shard;  // index, shards, paths and epoch are filled in by the node
  bool auto_create = true;
  std::uint32_t default_partitions = 4;
  std::string default_partitioner = "murmur2";
  api::Retention default_retention;
  delivery::GroupPolicy default_policy;
  std::int64_t ack_timeout_ms = 30'000;
  std::int64_t max_lease_ms = 600'000;
  std::uint32_t max_in_flight = 1000;
  std::uint64_t max_in_flight_bytes = 64U << 20U;
  std::int64_t client_idle_ms = 60'000;
  std::int64_t client_ttl_ms = 24 * 3'600'000LL;
  std::int64_t group_ttl_ms = 30LL * 24 * 3'600'000;
  std::int64_t reap_interval_ms = 60'000;
  std::uint64_t topics_max = 10'000;
  std::uint64_t groups_max = 100'000;
  std::uint64_t clients_max = 100'000;
  std::uint32_t partitions_max = 10'000;  // of one topic
  std::string instance_url;               // what clients are told
  std::string instance_id;
  // A lane's offsets are one value in meta; the numbers that are written with it take the rest.
  std::size_t lane_record_max_bytes = meta::kTransactionMaxBytes - 4096;
  std::uint64_t random_seed = 1;
};

struct NodeDependencies {
  std::vector<Executor*> executors;  // one a shard
  StorageExecutor& storage;
  io::FileSystem& fs;
  meta::MetaStore& meta;
  state::SubscriptionStore& subscriptions;
  state::OffsetStore& offsets;
  MetricRegistry& metrics;
  const delivery::DeliveryIdCodec& ids;
  // Of the delivery store of rows; there when the options ask for it or when it was used before.
  io::KeyValue* deliveries = nullptr;
};

// What one shard's thread has.
struct ShardUnit {
  explicit ShardUnit(Executor& its);
  ~ShardUnit();
  Executor& executor;
  std::unique_ptr<OfferRouter> router;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<Sessions> sessions;
  std::unique_ptr<Edge> edge;
};

class Node {
 public:
  // Locks nothing and opens no store: those come in open. Blocking.
  [[nodiscard]] static Result<std::unique_ptr<Node>> boot(NodeOptions options,
                                                          NodeDependencies dependencies);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Work begins on the executors: leases go on, unfinished jobs are taken up.
  // `started`, on shard 0's thread: from then on clients are known. Nobody may call before.
  void start(Task started = {});
  // On the thread of shard `index`.
  [[nodiscard]] api::Traffic& traffic(ShardIndex index);
  [[nodiscard]] api::Admin& admin(ShardIndex index);
  // Ends streams and polls, refuses new ones; `on` false goes back to work. Any thread.
  void set_draining(bool on);
  [[nodiscard]] bool draining() const { return draining_.load(); }
  // `done` once nothing is in flight any more, or at `until`. Any thread.
  void when_settled(MonoMs until, Task done);
  // Over all shards; `done` on `home`.
  void count_in_flight(Executor& home, std::move_only_function<void(std::uint64_t)> done);
  // Before the executors run.
  void set_instance(const std::string& address, bool name_too) {
    options_.instance_url = "http://" + address;
    if (name_too) options_.instance_id = address;
  }
  // Commits, checkpoints and marks the stop as clean; `done` on shard 0's thread. Any thread; once.
  void stop(Task done);
  [[nodiscard]] std::vector<api::HealthCheck> readiness() const;
  // Numbers for `/metrics` that nobody counts as they happen: lag, pending, frontiers.
  void refresh_gauges(Task done);

  // --- for the edges
  [[nodiscard]] const NodeOptions& options() const { return options_; }
  [[nodiscard]] NodeDependencies& deps() { return deps_; }
  [[nodiscard]] std::uint32_t shard_count() const {
    return static_cast<std::uint32_t>(units_.size());
  }
  [[nodiscard]] ShardUnit& unit(ShardIndex index) { return *units_[index.value()]; }
  [[nodiscard]] ShardUnit& owner(std::string_view topic, PartitionIndex partition) {
    return unit(shard_of_partition(topic, partition, shard_count()));
  }
  [[nodiscard]] ShardUnit& home(std::string_view client_id) {
    return unit(shard_of_client(client_id, shard_count()));
  }
  [[nodiscard]] Control& control() { return *control_; }
  [[nodiscard]] Executor& control_executor() { return units_.front()->executor; }
  [[nodiscard]] AuditLog& audit() { return *audit_; }
  // Lower progress numbers that nothing has are deleted ones.
  [[nodiscard]] std::uint32_t next_progress() const { return next_progress_.load(); }
  void lane_part_done(ProgressNumber lane);
  // A lane that is in meta as `starting`: the shards take their parts, then it is `running`.
  // Control executor.
  void start_lane_parts(const LanePtr& lane, std::move_only_function<void(Result<LanePtr>)> done);

 private:
  Node(NodeOptions options, NodeDependencies dependencies);
  void make_units();
  [[nodiscard]] Result<void> recover();
  [[nodiscard]] Result<void> look_for_rows();
  [[nodiscard]] Result<void> take_clean_mark();
  [[nodiscard]] Result<Lsn> rows_contain(std::uint32_t old_count, std::uint32_t index);
  [[nodiscard]] Result<void> start_rows();
  [[nodiscard]] Result<void> recover_from(std::uint32_t old_count);
  struct OldShard;
  [[nodiscard]] Result<void> check_parts(std::optional<std::uint32_t> shards);
  [[nodiscard]] Result<void> know_started(std::vector<OldShard>& old);
  [[nodiscard]] Result<void> note_started();
  // What was known before (node_known.cc).
  [[nodiscard]] Result<KnownDamage> known_damage(std::uint32_t shards, std::uint32_t index);
  [[nodiscard]] Result<void> note_damage(const io::JournalRecovery& recovered, Lsn lowest_needed,
                                         std::uint32_t shards, std::uint32_t index,
                                         const KnownDamage& before);
  void tell_exported();
  [[nodiscard]] Result<void> replay_journal(OldShard& old, std::uint32_t index,
                                            std::uint32_t old_count, std::uint64_t& skipped);
  [[nodiscard]] Result<void> move_layout(const std::vector<OldShard>& old);
  [[nodiscard]] std::string shard_path(std::uint32_t count, std::uint32_t index) const;
  void broadcast(const std::shared_ptr<const Delta>& delta, Task adopted);
  void finish_lane(ProgressNumber lane);
  void resume_lanes();
  void lane_later(ProgressNumber lane, std::string_view what, const Error& why);
  void reap();
  void reap_with(const std::vector<SessionView>& views);
  void arm_reaper();
  void refresh_ages(const std::shared_ptr<Task>& done);

  NodeOptions options_;
  NodeDependencies deps_;
  std::vector<std::unique_ptr<ShardUnit>> units_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<AuditLog> audit_;
  std::atomic<std::uint32_t> next_progress_{1};
  std::atomic<bool> draining_{false};
  std::atomic<bool> started_{false};
  bool was_clean_ = false;
  bool rows_before_ = false;  // where the deliveries were when the data directory was used last
  bool stopping_ = false;
  Executor::TimerId reaper_ = 0;
  Executor::TimerId lanes_timer_ = 0;
  std::set<ProgressNumber> lanes_behind_;  // of which it was said
};

// Runs `task` on `target`: at once when this is its thread, else posted. Order is kept per pair of
// threads.
void run_on(Executor& target, Task task);

// Asks every shard and hands all answers to `done` on `home`, in shard order. `ask` runs on each
// shard's thread and calls its `answer` once, at once or later.
template <class T>
void gather(Node& node, Executor& home,
            std::function<void(ShardUnit&, std::move_only_function<void(T)> answer)> ask,
            std::move_only_function<void(std::vector<T>)> done) {
  struct State {
    std::vector<T> answers;
    std::size_t left;
    std::move_only_function<void(std::vector<T>)> done;
  };
  const std::uint32_t count = node.shard_count();
  auto state = std::make_shared<State>();
  state->answers.resize(count);
  state->left = count;
  state->done = std::move(done);
  auto shared_ask = std::make_shared<decltype(ask)>(std::move(ask));
  for (std::uint32_t i = 0; i < count; ++i) {
    ShardUnit& unit = node.unit(ShardIndex(i));
    run_on(unit.executor, [&unit, &home, state, shared_ask, i] {
      (*shared_ask)(unit, [&home, state, i](T answer) {
        run_on(home, [state, i, answer = std::move(answer)]() mutable {
          state->answers[i] = std::move(answer);
          if (--state->left == 0) state->done(std::move(state->answers));
        });
      });
    });
  }
}

// The same for what may fail. All or the first error: part of an answer would read as less lag than
// there is (invariant 8).
template <class T>
using ReportDone = std::move_only_function<void(Result<T>)>;
template <class T>
void gather_reports(Node& node, Executor& home,
                    std::function<void(ShardUnit&, ReportDone<T> answer)> ask,
                    ReportDone<std::vector<T>> done) {
  gather<Result<T>>(node, home, std::move(ask),
                    [done = std::move(done)](std::vector<Result<T>> answers) mutable {
                      std::vector<T> parts;
                      for (Result<T>& one : answers) {
                        if (!one) {
                          done(fail(one));
                          return;
                        }
                        parts.push_back(std::move(*one));
                      }
                      done(std::move(parts));
                    });
}

}  // namespace ackline::runtime
