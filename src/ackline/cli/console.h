// Where a command prints, and what it knows about the terminal.
//
// One thread at a time, except `out_line` and `err_line`, which may be called by any. Tests give it
// functions that collect.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace ackline::cli {

enum class Colour { kGreen, kRed, kYellow, kDim, kBold };

class Console {
 public:
  struct Options {
    std::function<void(std::string_view)> out;
    std::function<void(std::string_view)> err;
    bool out_is_terminal = false;
    bool in_is_terminal = false;
    bool colours = false;
  };
  // stdout and stderr of the process; colours on a terminal unless NO_COLOR is set.
  [[nodiscard]] static Options standard();
  explicit Console(Options options) : options_(std::move(options)) {}

  void out(std::string_view text);
  void out_line(std::string_view text);
  void err_line(std::string_view text);
  // `text` with the colour when there are colours, else as it is.
  [[nodiscard]] std::string paint(Colour colour, std::string_view text) const;
  [[nodiscard]] bool out_is_terminal() const { return options_.out_is_terminal; }
  [[nodiscard]] bool in_is_terminal() const { return options_.in_is_terminal; }
  // A line that replaces itself on a terminal ("published 5000 of 10000"); nothing elsewhere.
  void progress(std::string_view text);
  void end_progress();
  // Asks on a terminal and reads one line; true for y or yes.
  [[nodiscard]] bool confirm(std::string_view question);

 private:
  Options options_;
  std::mutex mutex_;
  bool in_progress_ = false;
};

}  // namespace ackline::cli
