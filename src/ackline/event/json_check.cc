// The check of JSON text: RFC 8259, without building anything.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <utility>

#include "ackline/event/json_scan.h"

namespace ackline::event {
namespace {

// True for the bytes that a string goes on through: not `"`, `\` and controls.
constexpr std::array<bool, 256> kInString = [] {
  std::array<bool, 256> in{};
  for (std::size_t c = 0x20; c < 256; ++c) {
    in[c] = c != '"' && c != '\\';
  }
  return in;
}();

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The deepest that may be asked for: an event as deep as it may be, in the answer that holds it.
constexpr std::size_t kDepthEnd = kMaxJsonDepth + 32;

// Checks one document, without recursion: the open arrays and objects are bits.
class Checker {
 public:
  Checker(std::string_view text, std::size_t max_depth)
      : text_(text), max_depth_(std::min(max_depth, kDepthEnd)) {}

  Result<std::string_view> document() {
    skip_space();
    const std::size_t start = at_;
    if (start == text_.size()) {
      return fail(ErrorCode::kBadJson, "the JSON text is empty", "Send a JSON value.");
    }
    bool ok = value();
    const std::size_t end = at_;
    if (ok) {
      skip_space();
      ok = at_ == text_.size() || error("the end of the text");
    }
    if (!ok) {
      return fail(ErrorCode::kBadJson, std::move(problem_), "Send well-formed JSON.");
    }
    return text_.substr(start, end - start);
  }

 private:
  bool error(std::string_view expected) {
    problem_ =
        at_ >= text_.size()
            ? fmt::format("the JSON text ends at byte {} where {} is expected", at_, expected)
            : fmt::format("the JSON text has no {} at byte {}", expected, at_);
    return false;
  }
  [[nodiscard]] bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      ++at_;
    }
  }

  bool value() {
    bool more = true;
    while (more) {
      skip_space();
      if (peek('{') || peek('[')) {
        bool empty = false;
        if (!open(empty)) {
          return false;
        }
        if (!empty) {
          continue;
        }
      } else if (!scalar()) {
        return false;
      }
      if (!after_value(more)) {
        return false;
      }
    }
    return true;
  }

  // Steps into an array or object, past the first key; over it when it is empty.
  bool open(bool& empty) {
    if (depth_ == max_depth_) {
      problem_ = fmt::format("the JSON text is nested deeper than {} at byte {}", max_depth_, at_);
      return false;
    }
    const bool object = text_[at_++] == '{';
    skip_space();
    if (peek(object ? '}' : ']')) {
      ++at_;
      empty = true;
      return true;
    }
    objects_[depth_++] = object;
    return !object || key();
  }

  // Closes what ends here; `more` when another value follows.
  bool after_value(bool& more) {
    while (depth_ > 0) {
      const bool object = objects_[depth_ - 1];
      skip_space();
      if (peek(',')) {
        ++at_;
        skip_space();
        return !object || key();
      }
      if (!peek(object ? '}' : ']')) {
        return error(object ? "comma or closing brace" : "comma or closing bracket");
      }
      ++at_;
      --depth_;
    }
    more = false;
    return true;
  }

  bool key() {
    if (!peek('"')) {
      return error("member name in quotes");
    }
    if (!string()) {
      return false;
    }
    skip_space();
    if (!peek(':')) {
      return error("colon");
    }
    ++at_;
    return true;
  }

  bool scalar() {
    if (at_ >= text_.size()) {
      return error("value");
    }
    switch (text_[at_]) {
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) {
      return error("value");
    }
    at_ += expected.size();
    return true;
  }

  bool digits() {
    if (at_ >= text_.size() || !is_digit(text_[at_])) {
      return error("digit");
    }
    while (at_ < text_.size() && is_digit(text_[at_])) {
      ++at_;
    }
    return true;
  }

  bool number() {
    if (!peek('-') && !is_digit(text_[at_])) {
      return error("value");
    }
    at_ += peek('-') ? 1 : 0;
    if (peek('0')) {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (peek('.')) {
      ++at_;
      if (!digits()) {
        return false;
      }
    }
    if (peek('e') || peek('E')) {
      ++at_;
      at_ += peek('+') || peek('-') ? 1 : 0;
      return digits();
    }
    return true;
  }

  bool string() {
    ++at_;
    while (true) {
      while (at_ < text_.size() && kInString[static_cast<unsigned char>(text_[at_])]) {
        ++at_;
      }
      if (peek('"')) {
        ++at_;
        return true;
      }
      if (!peek('\\')) {
        return error("closing quote or an escape for a control character");
      }
      if (!escape()) {
        return false;
      }
    }
  }

  bool escape() {
    ++at_;
    if (at_ < text_.size() &&
        std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos) {
      ++at_;
      return true;
    }
    if (!peek('u')) {
      return error("valid escape");
    }
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size() || !is_hex(text_[at_])) {
        return error("hex digit");
      }
    }
    return true;
  }

  std::string_view text_;
  std::size_t max_depth_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::bitset<kDepthEnd> objects_;
  std::string problem_;
};

}  // namespace

Result<std::string_view> json_document(std::string_view text, std::size_t max_depth) {
  return Checker(text, max_depth).document();
}

}  // namespace ackline::event
