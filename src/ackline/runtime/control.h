// The control plane: the one place that changes what exists.
//
// Changes are made one at a time: planned on this thread against the catalog as it is, written to
// meta in one transaction where it fits (synced), and only then handed to every shard (invariant
// 31). `done` comes when all shards have adopted it. The first transaction of a large removal
// decides; what a crash or a refused write leaves of it, the next `load` or change removes.
//
// Home executor's thread, except `load`, which blocks and runs at boot.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/executor.h"
#include "ackline/base/result.h"
#include "ackline/meta/meta_store.h"
#include "ackline/runtime/catalog.h"
#include "ackline/state/offset_store.h"
#include "ackline/state/subscription_store.h"

namespace ackline::runtime {

// What one change does. Subscriptions are written through their store, after the transaction
// (before it, when removed).
struct Plan {
  std::vector<meta::WriteOp> writes;
  std::vector<SubscriptionPtr> put_subscriptions;
  std::vector<RemoveSubscription> remove_subscriptions;
  std::vector<std::pair<std::string, std::string>> forget_offsets;  // topic, group ("" = all)
  Delta delta;
};

class Control {
 public:
  struct Dependencies {
    Executor& home;
    StorageExecutor& storage;
    meta::MetaStore& meta;
    state::SubscriptionStore& subscriptions;
    state::OffsetStore& offsets;
  };
  // Hands a delta to all shards and calls back on the home thread when all have it.
  using Broadcast = std::move_only_function<void(std::shared_ptr<const Delta>, Task adopted)>;
  // Sees the catalog and the next numbers; takes numbers by raising them. An empty delta and no
  // writes: nothing to do.
  using Planner = std::move_only_function<Result<Plan>(const Catalog&, Numbers&)>;
  using Done = std::move_only_function<void(Result<void>)>;

  Control(Dependencies dependencies, Broadcast broadcast);

  // Reads everything from meta and removes what a crash left without its topic or group.
  [[nodiscard]] Result<void> load();
  void change(Planner planner, Done done);

  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  [[nodiscard]] const Numbers& numbers() const { return numbers_; }

 private:
  struct Pending {
    Planner planner;
    Done done;
  };
  struct Outcome {
    Result<void> done;
    bool numbers_taken = false;
  };
  void next();
  void write(const std::shared_ptr<Plan>& plan, Numbers numbers, Done done);
  [[nodiscard]] Result<void> commit(const Plan& plan, const Numbers& numbers, Outcome& outcome);
  [[nodiscard]] Result<void> commit_some(const std::vector<meta::WriteOp>& writes, std::size_t& at);
  [[nodiscard]] Result<void> finish_left();
  [[nodiscard]] Result<void> commit_writes(const Plan& plan, const Numbers& numbers,
                                           Outcome& outcome);
  [[nodiscard]] Result<void> load_entities(std::vector<std::string>& orphans);
  [[nodiscard]] Result<void> look_after_left_groups(std::vector<std::string>& orphans);

  Dependencies deps_;
  Broadcast broadcast_;
  Catalog catalog_;
  Numbers numbers_;
  std::deque<Pending> queue_;
  std::vector<meta::WriteOp> left_;  // decided, and not written yet; a storage thread's while busy_
  bool busy_ = false;
};

}  // namespace ackline::runtime
