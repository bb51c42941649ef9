// JSON without a tree: checks a text and walks its values as pieces of that text, so that what is
// only passed on (`data`) keeps its very bytes: big numbers, their digits, the order of members.
//
// `json_document` checks; the walkers take only text that it has accepted (or a piece of such
// text) and cannot fail. Pure functions over memory that the caller keeps; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/result.h"

namespace ackline::event {

inline constexpr std::size_t kMaxJsonDepth = 512;

enum class JsonKind : std::uint8_t { kObject, kArray, kString, kNumber, kTrue, kFalse, kNull };

// The one value of `text`, without the space around it. Else `bad_json` with the byte at fault.
// UTF-8 is not looked at: `check_utf8`.
[[nodiscard]] Result<std::string_view> json_document(std::string_view text,
                                                     std::size_t max_depth = kMaxJsonDepth);
// `bad_utf8` with the byte at fault.
[[nodiscard]] Result<void> check_utf8(std::string_view text);

[[nodiscard]] JsonKind json_kind(std::string_view value);
// With an article: "a string", "an object".
[[nodiscard]] std::string_view json_kind_name(JsonKind kind);

// The text that a JSON string stands for; nothing when an escape is half of a surrogate pair.
[[nodiscard]] std::optional<std::string> json_string(std::string_view value);

// A whole number of at most 32 bits, written without fraction and exponent.
[[nodiscard]] std::optional<std::int32_t> json_int32(std::string_view value);

struct JsonMember {
  std::string_view name;  // with its quotes, escapes not resolved
  std::string_view value;
};

// Walks the members of an object, or the elements of an array.
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view object_or_array);
  [[nodiscard]] bool next(JsonMember& member);
  [[nodiscard]] bool next(std::string_view& element);

 private:
  [[nodiscard]] bool at_end();
  std::string_view take();
  std::string_view rest_;
};

// The value at an RFC 6901 pointer ("" is the whole); nothing when there is none.
[[nodiscard]] std::optional<std::string_view> json_at(std::string_view value,
                                                      std::string_view pointer);

}  // namespace ackline::event
