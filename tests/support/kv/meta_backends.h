// MetaStore backends as test parameters.
#pragma once

#include <memory>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/meta/local/local_meta_store.h"
#include "tests/support/kv/kv_backends.h"
#include "tests/support/manual_clock.h"

namespace ackline::testing {

// A meta service that can be restarted; stores of an earlier start are gone then.
class MetaService {
 public:
  virtual ~MetaService() = default;
  [[nodiscard]] virtual meta::MetaStore& store() = 0;
  virtual void restart() = 0;
  // Lets the time of sessions pass.
  virtual void advance(std::int64_t ms) = 0;
  [[nodiscard]] virtual const Clock& clock() const = 0;
};
using MetaServiceFactory = std::unique_ptr<MetaService> (*)();

class LocalMetaService final : public MetaService {
 public:
  explicit LocalMetaService(std::unique_ptr<KvDisk> disk) : disk_(std::move(disk)) { restart(); }
  meta::MetaStore& store() override { return *store_; }
  void restart() override {
    store_.reset();
    kv_.reset();
    auto kv = disk_->open();
    ACKLINE_CHECK(kv.has_value());
    kv_ = std::move(*kv);
    auto store = meta::open_local_meta_store(*kv_, clock_);
    ACKLINE_CHECK(store.has_value());
    store_ = std::move(*store);
  }
  void advance(std::int64_t ms) override {
    clock_.advance(ms);
    ACKLINE_CHECK(store_->expire_sessions().has_value());
  }
  const Clock& clock() const override { return clock_; }

 private:
  ManualClock clock_;
  std::unique_ptr<KvDisk> disk_;
  std::unique_ptr<io::KeyValue> kv_;
  std::unique_ptr<meta::LocalMetaStore> store_;
};

inline std::unique_ptr<MetaService> local_meta_in_memory() {
  return std::make_unique<LocalMetaService>(memory_kv_disk());
}
inline std::unique_ptr<MetaService> local_meta_on_rocksdb() {
  return std::make_unique<LocalMetaService>(rocksdb_kv_disk());
}

}  // namespace ackline::testing
