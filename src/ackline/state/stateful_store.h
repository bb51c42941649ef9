// What every store of state has: a name, its health, flush and close.
//
// Stores block: they are called on storage threads unless a contract says otherwise, and from any
// of them. Their outcomes are those of docs/errors.md; a backend's own errors
// never reach a caller.
#pragma once

#include <string>
#include <string_view>

#include "ackline/base/result.h"

namespace ackline::state {

struct StoreHealth {
  bool ok = true;
  std::string detail;  // when not ok: what is wrong and what to do
};

class StatefulStore {
 public:
  virtual ~StatefulStore() = default;
  // Of the contract and its backend, e.g. "offsets (rocksdb)".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Of the latest operations; does not block.
  [[nodiscard]] virtual StoreHealth health() const = 0;
  // What was accepted before the call is durable after it.
  [[nodiscard]] virtual Result<void> flush() = 0;
  // Flushes and gives everything back; later calls are kUnavailable. Fine to call twice.
  [[nodiscard]] virtual Result<void> close() = 0;
};

}  // namespace ackline::state
