#include "ackline/cli/table.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "ackline/base/utf8.h"

namespace ackline::cli {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// The blocks that terminals draw two columns wide (East Asian wide and full-width, emoji).
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x23E9, 0x23EC},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},
    Range{0x26A1, 0x26A1},   Range{0x26BD, 0x26BE},   Range{0x2705, 0x2705},
    Range{0x270A, 0x270B},   Range{0x2728, 0x2728},   Range{0x274C, 0x274C},
    Range{0x2753, 0x2755},   Range{0x2795, 0x2797},   Range{0x2B1B, 0x2B1C},
    Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},
    Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
    Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
// Marks that sit on the character before them, joiners and variation selectors.
constexpr std::array kNone = {Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},
                              Range{0x064B, 0x065F}, Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF},
                              Range{0x200B, 0x200F}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F},
                              Range{0xFE20, 0xFE2F}};

bool is_in(std::uint32_t point, auto& ranges) {
  return std::ranges::any_of(ranges,
                             [point](Range r) { return point >= r.first && point <= r.last; });
}

std::uint32_t code_point(std::string_view sequence) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return at(0);
  std::uint32_t point = at(0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) point = (point << 6U) | (at(i) & 0x3FU);
  return point;
}

std::size_t width_of(std::uint32_t point) {
  if (point < 0x300) return 1;
  if (is_in(point, kNone)) return 0;
  return is_in(point, kWide) ? 2 : 1;
}

// One character of `text` at `at`: its bytes and its columns.
struct Glyph {
  std::size_t bytes;
  std::size_t width;
};
Glyph glyph_at(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_sequence_length(text.substr(at));
  if (length == 0) return {1, 1};
  return {length, width_of(code_point(text.substr(at, length)))};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    width += glyph.width;
    at += glyph.bytes;
  }
  return width;
}

std::string printable(std::string_view text, std::size_t width_max) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool c1 =
        glyph.bytes == 2 && byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    if (byte == '\t' || byte == '\n') {
      clean += ' ';
    } else if (byte < 0x20 || byte == 0x7F || c1 || (glyph.bytes == 1 && byte >= 0x80)) {
      clean += '.';
    } else {
      clean += text.substr(at, glyph.bytes);
    }
    at += glyph.bytes;
  }
  if (width_max == 0 || display_width(clean) <= width_max) return clean;
  std::string cut;
  std::size_t width = 0;
  for (std::size_t at = 0; at < clean.size();) {
    const Glyph glyph = glyph_at(clean, at);
    if (width + glyph.width > width_max - 1) break;
    cut += clean.substr(at, glyph.bytes);
    width += glyph.width;
    at += glyph.bytes;
  }
  return cut + "…";
}

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    right_.push_back(heading.starts_with('>'));
    if (right_.back()) heading.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::render() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    std::size_t width = display_width(headings_[i]);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths[i] - display_width(cells[i]), ' ');
      if (i > 0) text += "  ";
      text += right_[i] ? pad + cells[i] : cells[i] + pad;
    }
    text.resize(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(headings_);
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace ackline::cli
