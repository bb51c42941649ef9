#include "ackline/base/logging.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <utility>

#include "ackline/base/log_text.h"

namespace ackline {
namespace {

std::atomic<LogLevel> current_level{LogLevel::kInfo};
std::mutex capture_mutex;
LogCapture* newest_capture = nullptr;  // guarded by capture_mutex

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarn:
      return "WARN";
    case LogLevel::kError:
      return "ERROR";
  }
  return "ERROR";
}

// Never destroyed: threads may still log while the process exits.
spdlog::logger& logger() {
  static spdlog::logger& instance = [] -> spdlog::logger& {
    auto made = std::make_unique<spdlog::logger>("ackline",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    made->set_error_handler([](const std::string&) {});
    return *made.release();
  }();
  return instance;
}

}  // namespace

LogField::LogField(std::string_view name, double number)
    : key(name), value(log_text::number(number)) {}

void set_log_level(LogLevel level) {
  current_level.store(level, std::memory_order_relaxed);
}
LogLevel log_level() {
  return current_level.load(std::memory_order_relaxed);
}

std::string format_log_line(std::string_view message, LogFields fields) {
  std::string line;
  log_text::append_message(message, line);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    log_text::append_value(field.value, line);
  }
  return line;
}

void log_line(LogLevel level, std::string_view message, LogFields fields) {
  {
    const std::scoped_lock lock(capture_mutex);
    if (newest_capture != nullptr) {
      newest_capture->take(std::string(level_name(level)) + ' ' + format_log_line(message, fields));
      return;
    }
  }
  if (level < log_level()) return;
  logger().log(spdlog_level(level), "{} {}", level_name(level), format_log_line(message, fields));
}

LogCapture::LogCapture() {
  const std::scoped_lock lock(capture_mutex);
  outer_ = std::exchange(newest_capture, this);
}

LogCapture::~LogCapture() {
  const std::scoped_lock lock(capture_mutex);
  newest_capture = outer_;
}

void LogCapture::take(std::string line) {
  const std::scoped_lock lock(mutex_);
  lines_.push_back(std::move(line));
}

std::vector<std::string> LogCapture::lines() const {
  const std::scoped_lock lock(mutex_);
  return lines_;
}

bool LogCapture::contains(std::string_view text) const {
  const std::scoped_lock lock(mutex_);
  for (const std::string& line : lines_) {
    if (line.contains(text)) return true;
  }
  return false;
}

}  // namespace ackline
