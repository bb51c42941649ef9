// The audit log: one JSON line for each change that an operator or the server itself made, in
// `data.path/audit.log`. Recorded when the change is made, or just before where the change needs
// the line's id.
//
// `record` returns the line's id ("a-91") at once and writes on a storage thread; a line that
// cannot be written is an ERROR in the log and nothing else (a change is not undone for it). Any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "ackline/base/executor.h"
#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::runtime {

class AuditLog {
 public:
  // Goes on after the last line of `path`. Blocking.
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(io::FileSystem& fs,
                                                              const std::string& path,
                                                              StorageExecutor& storage,
                                                              Executor& home);
  // `what`: "topic.delete"; `subject`: "orders"; `details_json`: an object or "".
  std::string record(std::string_view what, std::string_view subject,
                     std::string_view details_json);

 private:
  AuditLog(std::unique_ptr<io::File> file, std::uint64_t end, std::uint64_t next,
           StorageExecutor& storage, Executor& home);

  std::mutex mutex_;
  std::shared_ptr<io::File> file_;  // shared with writes under way
  std::uint64_t end_;
  std::uint64_t next_;
  StorageExecutor& storage_;
  Executor& home_;
};

}  // namespace ackline::runtime
