#include "ackline/runtime/audit_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ackline/base/json_text.h"
#include "ackline/base/logging.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/base/time_text.h"
#include "ackline/io/failpoint.h"

namespace ackline::runtime {

Result<std::unique_ptr<AuditLog>> AuditLog::open(io::FileSystem& fs, const std::string& path,
                                                 StorageExecutor& storage, Executor& home) {
  auto file = fs.open(path, io::OpenMode::kCreate);
  if (!file) return fail(file);
  auto size = (*file)->size();
  if (!size) return fail(size);
  // The last line tells the next number; a torn one is left as it is and closed by a newline.
  const std::uint64_t tail = std::min<std::uint64_t>(*size, 4096);
  std::string text(static_cast<std::size_t>(tail), '\0');
  if (auto got = (*file)->read(*size - tail, std::as_writable_bytes(std::span(text))); !got) {
    return fail(got);
  }
  std::uint64_t next = 1;
  for (std::size_t at = text.find("\"a-"); at != std::string::npos;
       at = text.find("\"a-", at + 1)) {
    next = std::max<std::uint64_t>(next, std::strtoull(text.c_str() + at + 3, nullptr, 10) + 1);
  }
  std::uint64_t end = *size;
  if (!text.empty() && text.back() != '\n') {
    if (auto done = (*file)->write(end, as_bytes("\n")); !done) return fail(done);
    ++end;
  }
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(*file), end, next, storage, home));
}

AuditLog::AuditLog(std::unique_ptr<io::File> file, std::uint64_t end, std::uint64_t next,
                   StorageExecutor& storage, Executor& home)
    : file_(std::move(file)), end_(end), next_(next), storage_(storage), home_(home) {}

std::string AuditLog::record(std::string_view what, std::string_view subject,
                             std::string_view details_json) {
  std::string line = "{\"auditId\":";
  std::string id;
  std::uint64_t place = 0;
  {
    const std::scoped_lock lock(mutex_);
    id = fmt::format("a-{}", next_++);
    append_json_string(line, id);
    line += ",\"time\":\"";
    append_rfc3339(line, home_.clock().wall());
    line += "\",\"what\":";
    append_json_string(line, what);
    line += ",\"subject\":";
    append_json_string(line, subject);
    if (!details_json.empty()) {
      line += ",\"details\":";
      line += details_json;
    }
    line += "}\n";
    place = end_;
    end_ += line.size();
  }
  storage_.run(
      storage_lane::audit(),
      [file = file_, line, place, id] {
        auto done = file->write(place, as_bytes(line));
        io::failpoint(io::Failpoint::kAuditWritten);
        if (done) done = file->sync();
        io::failpoint(io::Failpoint::kAuditSynced);
        if (!done) {
          log_error("an audit line could not be written",
                    {{"auditId", id}, {"error", done.error().detail}});
        }
      },
      home_, [] {});
  log_info("audit", {{"auditId", id}, {"what", what}, {"subject", subject}});
  return id;
}

}  // namespace ackline::runtime
