// The composition root: from a configuration to a running server, and back.
//
// The only place that names concrete backends, threads and sockets. `start` makes everything in
// order (data directory and its lock, stores, recovery, loops, listeners) and returns when the
// server serves; `stop` takes it down in reverse. Used by one thread, not one of the server's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackline/base/config.h"
#include "ackline/base/result.h"

namespace ackline::runtime {

struct RuntimeAddresses {
  std::string http;   // "127.0.0.1:10105"
  std::string admin;  // "127.0.0.1:10106"
};

class Runtime {
 public:
  // Errors: kInUse (the data directory or a port is taken; says by whom), kUnsupported (a newer
  // data directory), kCorrupt, kBadValue (a setting that this build cannot follow), kForbidden (a
  // listener for others without a gate), kUnavailable.
  [[nodiscard]] static Result<std::unique_ptr<Runtime>> start(const Config& config);
  // As `stop`, when it was not called.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const RuntimeAddresses& addresses() const;
  // Refuses new work, ends streams, lets what is under way finish for at most `timeout_ms`, then
  // checkpoints and closes everything. What is in flight stays in flight, with the time that it has
  // left.
  void stop(std::int64_t timeout_ms);

 private:
  class Impl;
  explicit Runtime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The version of this build, e.g. "0.1.0".
[[nodiscard]] std::string_view version();

}  // namespace ackline::runtime
