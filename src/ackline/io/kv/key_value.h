// A small ordered key-value store with atomic, synced batches: the seam in front of RocksDB.
//
// For what is rarely written (meta, offsets). Blocking; any thread. Errors: kFull (refused before
// anything was written; works again when space is free), kCorrupt (damaged store, at open or read:
// names the path), kAmbiguous (the disk failed in the middle of a write: perhaps done), kPoisoned
// (every write after such a failure, until the store is opened again), kUnavailable.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"

namespace ackline::io {

struct KeyValueWrite {
  std::string key;
  std::optional<std::string> value;  // nullopt removes the key
};

class KeyValue {
 public:
  virtual ~KeyValue() = default;
  [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;
  // Calls `visit` for each key that starts with `prefix`, in byte order, from `from` on (inclusive;
  // "" = the first), until it returns false. Sees one moment of the store.
  [[nodiscard]] virtual Result<void> scan(
      std::string_view prefix, std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const = 0;
  // All or nothing. `sync`: durable before it returns; else a power cut may lose it, a kill -9 does
  // not.
  [[nodiscard]] virtual Result<void> write(const std::vector<KeyValueWrite>& batch, bool sync) = 0;
  // Makes every earlier write durable.
  [[nodiscard]] virtual Result<void> flush() = 0;
};

}  // namespace ackline::io
