#include "ackline/state/store_factory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/state/backend/kv_offset_store.h"
#include "ackline/state/backend/meta_subscription_store.h"
#include "ackline/state/data_directory.h"
#include "ackline/state/delivery_state_store.h"

namespace ackline::state {
namespace {

Result<void> check_type(std::string_view option, std::string_view type,
                        const std::vector<std::string_view>& known) {
  if (std::ranges::find(known, type) != known.end()) {
    return {};
  }
  return fail(ErrorCode::kBadValue,
              fmt::format("{} is '{}'; this build knows {}", option, type, fmt::join(known, ", ")),
              "Use one of those.", std::string(option));
}

Result<void> check_types(const StoreOptions& options) {
  if (const auto fine = check_type("meta.type", options.meta_type, {"local"}); !fine) {
    return fine;
  }
  if (const auto fine = check_type("offset.type", options.offset_type, {"rocksdb"}); !fine) {
    return fine;
  }
  return check_type("delivery.store", options.delivery_type, {"journal", "rocksdb"});
}

// What a commit writes is gone again soon: buffers that take it without a flush every moment.
constexpr std::uint64_t kDeliveryBufferBytes = 32ULL << 20U;

Result<std::unique_ptr<io::KeyValue>> open_deliveries(io::FileSystem& fs,
                                                      const StoreOptions& options) {
  if (options.delivery_type != "rocksdb") {
    // One that was used before is read once more.
    const Result<bool> there =
        options.delivery_path.empty() ? Result<bool>(false) : fs.exists(options.delivery_path);
    if (!there) {
      return fail(there);
    }
    if (!*there) {
      return std::unique_ptr<io::KeyValue>();
    }
  }
  io::RocksDbOptions rocksdb;
  rocksdb.write_buffer_bytes = kDeliveryBufferBytes;
  rocksdb.damaged_remedy = kDeliveriesRemedy;
  return io::open_rocksdb(fs, options.delivery_path, rocksdb);
}

}  // namespace

Result<bool> meta_is_made(io::FileSystem& fs, const DataDirectory& data) {
  auto made = io::rocksdb_is_made(fs, data.meta_path(), std::string(kMetaRemedy));
  if (!made || *made) {
    return made;
  }
  for (const std::string& path : {data.log_path(), data.journal_path()}) {
    const auto names = fs.list(path);
    if (!names && names.error().code != ErrorCode::kNotFound) {
      return fail(names);
    }
    if (names && !names->empty()) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("there is no store in {}, but data in {}", data.meta_path(), path),
                  std::string(kMetaRemedy));
    }
  }
  return false;
}

Result<Stores> open_stores(io::FileSystem& fs, const Clock& clock, const StoreOptions& options) {
  if (const Result<void> fine = check_types(options); !fine) {
    return fail(fine);
  }
  Stores stores;
  io::RocksDbOptions meta_options;
  meta_options.damaged_remedy = kMetaRemedy;
  auto meta_kv = io::open_rocksdb(fs, options.meta_path, meta_options);
  if (!meta_kv) {
    return fail(meta_kv);
  }
  stores.meta_kv = std::move(*meta_kv);
  auto meta = meta::open_local_meta_store(*stores.meta_kv, clock);
  if (!meta) {
    return fail(meta);
  }
  stores.meta = std::move(*meta);
  auto offset_kv = io::open_rocksdb(fs, options.offset_path);
  if (!offset_kv) {
    return fail(offset_kv);
  }
  stores.offset_kv = std::move(*offset_kv);
  auto offsets = open_kv_offset_store(*stores.offset_kv);
  if (!offsets) {
    return fail(offsets);
  }
  stores.offsets = std::move(*offsets);
  auto delivery_kv = open_deliveries(fs, options);
  if (!delivery_kv) {
    return fail(delivery_kv);
  }
  stores.delivery_kv = std::move(*delivery_kv);
  auto subscriptions =
      open_meta_subscription_store(*stores.meta, clock, {.on_lost = options.on_subscriptions_lost});
  if (!subscriptions) {
    return fail(subscriptions);
  }
  stores.subscriptions = std::move(*subscriptions);
  return stores;
}

}  // namespace ackline::state
