// A key-value store for the DeliveryStateStore's tests, behind a door.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ackline/base/check.h"
#include "ackline/state/backend/kv_delivery_state_store.h"
#include "tests/conformance/delivery_state_home.h"
#include "tests/support/kv/kv_backends.h"
#include "tests/support/manual_clock.h"

namespace ackline::testing {

// What passes through to a key-value store: counted, and refused when the door is shut.
class KvDoor final : public io::KeyValue {
 public:
  explicit KvDoor(std::unique_ptr<io::KeyValue> below) : below_(std::move(below)) {}
  bool shut = false;
  int batches = 0;
  int puts = 0;
  int removes = 0;
  int flushes = 0;
  Result<std::optional<std::string>> get(std::string_view key) const override {
    return below_->get(key);
  }
  Result<void> scan(
      std::string_view prefix, std::string_view from,
      const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    return below_->scan(prefix, from, visit);
  }
  Result<void> write(const std::vector<io::KeyValueWrite>& batch, bool sync) override {
    if (shut) {
      return fail(ErrorCode::kFull, "the door is shut");
    }
    ++batches;
    for (const io::KeyValueWrite& write : batch) {
      if (write.key.front() == 'd') {
        ++(write.value ? puts : removes);
      }
    }
    return below_->write(batch, sync);
  }
  Result<void> flush() override {
    ++flushes;
    return shut ? fail(ErrorCode::kFull, "the door is shut") : below_->flush();
  }

 private:
  const std::unique_ptr<io::KeyValue> below_;
};

class KvHome final : public DeliveryStateHome {
 public:
  KvHome(std::unique_ptr<KvDisk> disk, std::size_t cache_entries)
      : disk_(std::move(disk)), cache_entries_(cache_entries) {
    start();
  }
  state::DeliveryStateStore& store() override { return *store_; }
  state::KvDeliveryStateStore& kv_store() { return *store_; }
  KvDoor& door() { return *door_; }
  void restart() override {
    store_.reset();
    door_.reset();
    start();
  }
  void power_cut() override {
    store_.reset();
    door_.reset();
    disk_->power_cut(random_);
    start();
  }
  Epoch epoch() const override { return Epoch(epoch_); }
  bool writes_behind() const override { return cache_entries_ > 0; }
  void advance(std::int64_t ms) override {
    clock_.advance(ms);
    store_->mark_alive();
    ACKLINE_CHECK(store_->commit().has_value());
  }
  void fail_writes(bool failing) override { door_->shut = failing; }

 private:
  void start() {
    ++epoch_;
    clock_.advance(1'000'000);  // the machine was off for a while
    auto kv = disk_->open();
    ACKLINE_CHECK(kv.has_value());
    door_ = std::make_unique<KvDoor>(std::move(*kv));
    auto store = state::KvDeliveryStateStore::open(*door_, clock_, options());
    ACKLINE_CHECK(store.has_value());
    store_ = std::move(*store);
  }
  [[nodiscard]] state::KvDeliveryOptions options() const {
    state::KvDeliveryOptions options;
    options.cache_entries = cache_entries_;
    return options;
  }

  std::unique_ptr<KvDisk> disk_;
  const std::size_t cache_entries_;
  ManualClock clock_;
  Random random_{5};
  std::uint32_t epoch_ = 0;
  std::unique_ptr<KvDoor> door_;
  std::unique_ptr<state::KvDeliveryStateStore> store_;
};

}  // namespace ackline::testing
