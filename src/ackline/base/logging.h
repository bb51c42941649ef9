// The log: one line an event on stderr, `TIME LEVEL message key=value …`.
//
// For operators and for grep: the message is a constant of ours, everything that varies is a field.
// Values come from clients, files and peers, so they are escaped here: a newline, a control
// character or a quote in one can neither start a line of its own nor pass for another field, and
// a long one is cut at 2 KiB.
//
// The one process-wide object of the product. Any thread; a line is written whole. It never fails:
// what stderr refuses is lost.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ackline/base/types.h"

namespace ackline {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

// One `key=value` of a line. `key` is a literal of ours.
struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : key(name), value(text) {}
  LogField(std::string_view name, const std::string& text) : key(name), value(text) {}
  LogField(std::string_view name, bool truth) : key(name), value(truth ? "true" : "false") {}
  LogField(std::string_view name, double number);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  LogField(std::string_view name, T number) : key(name), value(std::to_string(number)) {}
  template <class Tag, class Rep>
  LogField(std::string_view name, Strong<Tag, Rep> strong) : LogField(name, strong.value()) {}

  std::string_view key;
  std::string value;
};

using LogFields = std::initializer_list<LogField>;

// Lines below `level` are dropped. Starts at kInfo.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level();

void log_line(LogLevel level, std::string_view message, LogFields fields = {});

inline void log_debug(std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::kDebug, message, fields);
}
inline void log_info(std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::kInfo, message, fields);
}
inline void log_warn(std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::kWarn, message, fields);
}
inline void log_error(std::string_view message, LogFields fields = {}) {
  log_line(LogLevel::kError, message, fields);
}

// `message key=value …` as it follows the level, without a newline.
[[nodiscard]] std::string format_log_line(std::string_view message, LogFields fields);

// While it lives, every line of every level comes here instead of to stderr. For tests; the newest
// one gets the lines.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // "LEVEL message key=value …", oldest first. Any thread.
  [[nodiscard]] std::vector<std::string> lines() const;
  // True if a line holds `text`. Any thread.
  [[nodiscard]] bool contains(std::string_view text) const;

 private:
  friend void log_line(LogLevel, std::string_view, LogFields);
  void take(std::string line);

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  LogCapture* outer_ = nullptr;
};

}  // namespace ackline
