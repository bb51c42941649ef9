// The stores under a node on disks in memory: what of them outlives a process, and the process's
// own handles on it, opened and closed in the order in which the product does it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ackline/meta/local/local_meta_store.h"
#include "ackline/runtime/node.h"
#include "ackline/state/backend/kv_offset_store.h"
#include "ackline/state/backend/meta_subscription_store.h"
#include "tests/support/kv/memory_key_value.h"

namespace ackline::testing {

struct StoreDisks {
  MemoryKeyValueDisk meta;
  MemoryKeyValueDisk offsets;
  MemoryKeyValueDisk deliveries;  // of `delivery.store: rocksdb`

  void kill() {
    for (MemoryKeyValueDisk* disk : all()) disk->kill();
  }
  void power_cut(Random& random) {
    for (MemoryKeyValueDisk* disk : all()) disk->power_cut(random);
  }
  void set_fault_hook(const KvFaultHook& hook) {
    for (MemoryKeyValueDisk* disk : all()) disk->set_fault_hook(hook);
  }
  // A copy without handles and hooks.
  [[nodiscard]] StoreDisks clone() const {
    return {meta.clone(), offsets.clone(), deliveries.clone()};
  }
  [[nodiscard]] std::vector<MemoryKeyValueDisk*> all() { return {&meta, &offsets, &deliveries}; }
};

class NodeStores {
 public:
  // `clock` outlives the stores. After a failure: `close`.
  [[nodiscard]] Result<void> open(StoreDisks& disks, const Clock& clock) {
    auto meta_kv = disks.meta.open();
    if (!meta_kv) return fail(meta_kv);
    meta_kv_ = std::move(*meta_kv);
    auto meta = meta::open_local_meta_store(*meta_kv_, clock);
    if (!meta) return fail(meta);
    meta_ = std::move(*meta);
    auto offset_kv = disks.offsets.open();
    if (!offset_kv) return fail(offset_kv);
    offset_kv_ = std::move(*offset_kv);
    auto offsets = state::open_kv_offset_store(*offset_kv_);
    if (!offsets) return fail(offsets);
    offsets_ = std::move(*offsets);
    auto subscriptions = state::open_meta_subscription_store(*meta_, clock);
    if (!subscriptions) return fail(subscriptions);
    subscriptions_ = std::move(*subscriptions);
    auto deliveries = disks.deliveries.open();
    if (!deliveries) return fail(deliveries);
    deliveries_ = std::move(*deliveries);
    return {};
  }
  // After the node is gone.
  void close() {
    deliveries_.reset();
    subscriptions_.reset();
    offsets_.reset();
    offset_kv_.reset();
    meta_.reset();
    meta_kv_.reset();
  }

  [[nodiscard]] state::OffsetStore& offsets() { return *offsets_; }
  // What a node asks for; the rest comes from its world.
  [[nodiscard]] runtime::NodeDependencies dependencies(std::vector<Executor*> executors,
                                                       StorageExecutor& storage, io::FileSystem& fs,
                                                       MetricRegistry& metrics,
                                                       const delivery::DeliveryIdCodec& ids) {
    return {std::move(executors), storage, fs, *meta_, *subscriptions_, *offsets_, metrics, ids,
            deliveries_.get()};
  }

 private:
  std::unique_ptr<io::KeyValue> meta_kv_;
  std::unique_ptr<meta::LocalMetaStore> meta_;
  std::unique_ptr<io::KeyValue> offset_kv_;
  std::unique_ptr<state::OffsetStore> offsets_;
  std::unique_ptr<state::SubscriptionStore> subscriptions_;
  std::unique_ptr<io::KeyValue> deliveries_;
};

}  // namespace ackline::testing
