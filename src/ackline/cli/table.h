// Aligned tables for people, and the width of text on a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ackline::cli {

// Columns that `text` takes: wide characters two, combining marks none. Bytes that are not UTF-8
// count as one each.
[[nodiscard]] std::size_t display_width(std::string_view text);
// Control characters as spaces or dots, so that an event's id cannot move the cursor; cut to
// `width_max` columns with an ellipsis (0: never).
[[nodiscard]] std::string printable(std::string_view text, std::size_t width_max = 0);

class Table {
 public:
  // A heading that starts with '>' is a column of numbers, aligned to the right.
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Lines with two spaces between columns, no trailing blanks.
  [[nodiscard]] std::string render() const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ackline::cli
