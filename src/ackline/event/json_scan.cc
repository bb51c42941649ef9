#include "ackline/event/json_scan.h"

#include <array>
#include <charconv>

#include "ackline/base/ascii.h"
#include "ackline/base/utf8.h"

namespace ackline::event {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
std::string_view trim_front(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(text[at])) {
    ++at;
  }
  return text.substr(at);
}

// The place after the string that opens at `at`, in accepted text.
std::size_t after_string(std::string_view text, std::size_t at) {
  std::size_t quote = at;
  while (true) {
    quote = text.find('"', quote + 1);
    if (quote == std::string_view::npos) {
      return text.size();
    }
    std::size_t escapes = 0;
    while (text[quote - 1 - escapes] == '\\') {
      ++escapes;
    }
    if (escapes % 2 == 0) {
      return quote + 1;
    }
  }
}

// The bytes that matter when an array or object is skipped.
constexpr std::array<bool, 256> kStructural = [] {
  std::array<bool, 256> structural{};
  for (const char c : std::string_view("\"[]{}")) {
    structural[static_cast<unsigned char>(c)] = true;
  }
  return structural;
}();

std::size_t after_nested(std::string_view text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (!kStructural[static_cast<unsigned char>(c)]) {
      ++at;
      continue;
    }
    if (c == '"') {
      at = after_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') {
      ++depth;
    } else {
      --depth;
    }
    if (depth == 0) {
      return at;
    }
  }
  return text.size();
}

// Length of the value at the front of accepted text.
std::size_t value_length(std::string_view text) {
  if (text.starts_with('"')) {
    return after_string(text, 0);
  }
  if (text.starts_with('{') || text.starts_with('[')) {
    return after_nested(text);
  }
  std::size_t end = 0;
  while (end < text.size() && text[end] != ',' && !is_space(text[end])) {
    ++end;
  }
  return end;
}

std::uint32_t hex4(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    value = value << 4U | static_cast<std::uint32_t>(hex_digit(c));
  }
  return value;
}

// Resolves the `\uXXXX` whose digits stand at the front of `rest`; false for half a pair.
bool take_unicode_escape(std::string_view& rest, std::string& out) {
  const std::uint32_t first = hex4(rest);
  rest.remove_prefix(4);
  if (first >= 0xDC00 && first <= 0xDFFF) {
    return false;
  }
  if (first < 0xD800 || first > 0xDBFF) {
    append_utf8(out, first);
    return true;
  }
  if (!rest.starts_with("\\u")) {
    return false;
  }
  const std::uint32_t second = hex4(rest.substr(2));
  if (second < 0xDC00 || second > 0xDFFF) {
    return false;
  }
  rest.remove_prefix(6);
  append_utf8(out, 0x10000 + ((first - 0xD800) << 10U) + (second - 0xDC00));
  return true;
}

std::string unescaped_token(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out.push_back(token[++i] == '0' ? '~' : '/');
    } else {
      out.push_back(token[i]);
    }
  }
  return out;
}

std::optional<std::string_view> child(std::string_view value, const std::string& token) {
  const JsonKind kind = json_kind(value);
  if (kind == JsonKind::kObject) {
    std::optional<std::string_view> found;
    JsonMember member;
    for (JsonWalker walker(value); walker.next(member);) {
      if (json_string(member.name) == token) {
        found = member.value;  // of equal names the last counts, as most parsers have it
      }
    }
    return found;
  }
  if (kind != JsonKind::kArray || token.empty() || (token.size() > 1 && token[0] == '0')) {
    return std::nullopt;
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size()) {
    return std::nullopt;
  }
  std::string_view element;
  for (JsonWalker walker(value); walker.next(element);) {
    if (index-- == 0) {
      return element;
    }
  }
  return std::nullopt;
}

}  // namespace

JsonKind json_kind(std::string_view value) {
  switch (value.empty() ? 'n' : value.front()) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
      return JsonKind::kTrue;
    case 'f':
      return JsonKind::kFalse;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

std::string_view json_kind_name(JsonKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {
      "an object", "an array", "a string", "a number", "true", "false", "null"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<std::string> json_string(std::string_view value) {
  std::string_view rest = value.substr(1, value.size() - 2);
  std::string out;
  out.reserve(rest.size());
  while (true) {
    const std::size_t backslash = rest.find('\\');
    out.append(rest.substr(0, backslash));
    if (backslash == std::string_view::npos) {
      return out;
    }
    const char kind = rest[backslash + 1];
    rest.remove_prefix(backslash + 2);
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kControls = "\b\f\n\r\t";
    if (kind == 'u') {
      if (!take_unicode_escape(rest, out)) {
        return std::nullopt;
      }
    } else if (const std::size_t at = kLetters.find(kind); at != std::string_view::npos) {
      out.push_back(kControls[at]);
    } else {
      out.push_back(kind);
    }
  }
}

std::optional<std::int32_t> json_int32(std::string_view value) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    return std::nullopt;
  }
  return number;
}

JsonWalker::JsonWalker(std::string_view object_or_array)
    : rest_(object_or_array.substr(1, object_or_array.size() - 2)) {}

bool JsonWalker::at_end() {
  rest_ = trim_front(rest_);
  if (rest_.starts_with(',')) {
    rest_ = trim_front(rest_.substr(1));
  }
  return rest_.empty();
}

std::string_view JsonWalker::take() {
  const std::size_t length = value_length(rest_);
  const std::string_view value = rest_.substr(0, length);
  rest_ = trim_front(rest_.substr(length));
  return value;
}

bool JsonWalker::next(JsonMember& member) {
  if (at_end()) {
    return false;
  }
  member.name = take();
  rest_ = trim_front(rest_.substr(1));  // the colon
  member.value = take();
  return true;
}

bool JsonWalker::next(std::string_view& element) {
  if (at_end()) {
    return false;
  }
  element = take();
  return true;
}

std::optional<std::string_view> json_at(std::string_view value, std::string_view pointer) {
  if (!pointer.empty() && pointer.front() != '/') {
    return std::nullopt;
  }
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = pointer.find('/');
    const std::string_view token = pointer.substr(0, end);
    const auto found = child(value, unescaped_token(token));
    if (!found) {
      return std::nullopt;
    }
    value = *found;
    pointer = end == std::string_view::npos ? std::string_view() : pointer.substr(end);
  }
  return value;
}

}  // namespace ackline::event
