#include "ackline/base/properties.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "ackline/base/ascii.h"
#include "ackline/base/utf8.h"

namespace ackline {
namespace {

constexpr std::string_view kBlanks = " \t\f";

bool is_blank(char c) {
  return kBlanks.contains(c);
}

std::string from_latin1(std::string_view text) {
  std::string out;
  for (const char c : text) append_utf8(out, static_cast<unsigned char>(c));
  return out;
}

// Four hexadecimal digits at the front.
std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t code = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    code = code << 4U | static_cast<std::uint32_t>(digit);
  }
  return code;
}

// The character of "\uXXXX", or of two of them that are a pair; moves `at` behind it. `at` is at
// the backslash.
std::optional<std::uint32_t> unicode_escape(std::string_view text, std::size_t& at) {
  const auto first = hex4(text.substr(at + 2));
  if (!first || (*first >= 0xDC00 && *first < 0xE000)) return std::nullopt;
  if (*first < 0xD800 || *first >= 0xE000) {
    at += 6;
    return first;
  }
  if (!text.substr(at + 6).starts_with("\\u")) return std::nullopt;
  const auto second = hex4(text.substr(at + 8));
  if (!second || *second < 0xDC00 || *second >= 0xE000) return std::nullopt;
  at += 12;
  return 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00);
}

// False: an escape that names no character.
bool unescape(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    if (at + 1 == text.size()) return true;  // Java drops it, too
    const char c = text[at + 1];
    if (c == 'u') {
      const auto code = unicode_escape(text, at);
      if (!code) return false;
      append_utf8(out, *code);
      continue;
    }
    switch (c) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 'f':
        out += '\f';
        break;
      default:
        out += c;
    }
    at += 2;
  }
  return true;
}

// Lines as they stand and as they are meant.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // A logical line: without comments, blank lines and the blanks before it, continued lines
  // joined, still escaped. False at the end.
  bool next(std::string& line, std::size_t& number) {
    while (!text_.empty()) {
      std::string_view natural = take_line();
      if (natural.empty() || natural.front() == '#' || natural.front() == '!') continue;
      number = number_;
      line.clear();
      while (continues(natural)) {
        line += natural.substr(0, natural.size() - 1);
        if (text_.empty()) return true;
        natural = take_line();
      }
      line += natural;
      return true;
    }
    return false;
  }

 private:
  // The next natural line from its first character that is no blank.
  std::string_view take_line() {
    const std::size_t end = std::min(text_.find_first_of("\r\n"), text_.size());
    std::string_view line = text_.substr(0, end);
    const bool crlf = text_.substr(end).starts_with("\r\n");
    text_.remove_prefix(std::min(end + (crlf ? 2 : 1), text_.size()));
    ++number_;
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    return line;
  }

  // An odd number of backslashes at its end.
  static bool continues(std::string_view line) {
    const std::size_t other = line.find_last_not_of('\\');
    const std::size_t count = line.size() - (other == std::string_view::npos ? 0 : other + 1);
    return count % 2 == 1;
  }

  std::string_view text_;
  std::size_t number_ = 0;
};

// Where the key ends: at the first separator that is not escaped.
std::size_t key_end(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && line[at] != '=' && line[at] != ':' && !is_blank(line[at])) {
    at += line[at] == '\\' ? 2 : 1;
  }
  return std::min(at, line.size());
}

}  // namespace

Properties parse_properties(std::string_view name, std::string_view text) {
  Properties out;
  const std::string latin1 = is_utf8(text) ? std::string() : from_latin1(text);
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // editors put it there
  if (!latin1.empty()) text = latin1;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  Reader reader(text);
  std::string line;
  Property item;
  while (reader.next(line, item.line)) {
    const std::size_t end = key_end(line);
    std::string_view rest = std::string_view(line).substr(end);
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (!rest.empty() && (rest.front() == '=' || rest.front() == ':')) {
      rest.remove_prefix(1);
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    }
    item.key.clear();
    item.value.clear();
    if (unescape(std::string_view(line).substr(0, end), item.key) && unescape(rest, item.value)) {
      out.items.push_back(item);
    } else {
      out.problems.push_back(Error{
          ErrorCode::kBadValue,
          fmt::format("an escape \\u names no character (file {}:{})", name, item.line),
          "Write four hexadecimal digits, two of them for a character above U+FFFF; \\\\ is a "
          "backslash.",
          item.key});
    }
  }
  return out;
}

std::string escaped_property_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case ' ':
        out += out.empty() ? "\\ " : " ";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace ackline
