// The one place that turns options into stores.
//
// An unknown backend is refused, listing the known ones. No in-memory store is linked here: those
// live with the tests. Blocking; the runtime calls it at start.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ackline/base/clock.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/io/kv/key_value.h"
#include "ackline/meta/local/local_meta_store.h"
#include "ackline/meta/meta_store.h"
#include "ackline/state/data_directory.h"
#include "ackline/state/offset_store.h"
#include "ackline/state/subscription_store.h"

namespace ackline::state {

struct StoreOptions {
  std::string meta_type = "local";        // "local"
  std::string meta_path;                  // directory of the local meta store
  std::string offset_type = "rocksdb";    // "rocksdb"
  std::string offset_path;                // directory of the offset store
  std::string delivery_type = "journal";  // "journal", "rocksdb"
  std::string delivery_path;              // directory of the delivery store of rows
  // Told when the subscription cache lost its watch; the owner then calls `refresh` on a storage
  // thread. Must not block.
  std::function<void()> on_subscriptions_lost;
};

// The stores of one process, in the order in which they are made; destroyed in reverse.
struct Stores {
  std::unique_ptr<io::KeyValue> meta_kv;
  std::unique_ptr<meta::LocalMetaStore> meta;
  std::unique_ptr<io::KeyValue> offset_kv;
  std::unique_ptr<OffsetStore> offsets;
  // Of `KvDeliveryStateStore`, one a shard; also there when it was used before. Null: no such
  // store.
  std::unique_ptr<io::KeyValue> delivery_kv;
  std::unique_ptr<SubscriptionStore> subscriptions;
};

// Whether there is a meta store in the directory; false where no server has started yet. kCorrupt
// when there is none, or not all of one, and others hold data: it is not to be made anew.
[[nodiscard]] Result<bool> meta_is_made(io::FileSystem& fs, const DataDirectory& data);

// Errors: kBadValue (unknown type, with `field` naming the option), the backends'. `fs` and `clock`
// outlive the stores.
[[nodiscard]] Result<Stores> open_stores(io::FileSystem& fs, const Clock& clock,
                                         const StoreOptions& options);

}  // namespace ackline::state
