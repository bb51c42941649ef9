// OffsetStore on a KeyValue: key `topic#group#partition`, values sealed with a checksum.
//
// One lock covers compare and put, so two writers cannot both find the old value and the lower one
// win (EventMesh #5289). Blocking, any thread.
#pragma once

#include <memory>
#include <string>

#include "ackline/io/kv/key_value.h"
#include "ackline/state/offset_store.h"

namespace ackline::state {

struct KvOffsetStoreOptions {
  std::string backend_name = "rocksdb";  // for `name()`
};

// `kv` outlives the store; nobody else writes to it. Reads every value once, so that damage is
// found at the start: kCorrupt names the key.
[[nodiscard]] Result<std::unique_ptr<OffsetStore>> open_kv_offset_store(
    io::KeyValue& kv, const KvOffsetStoreOptions& options = {});

}  // namespace ackline::state
