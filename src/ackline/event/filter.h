// Filters by attributes, as in the CloudEvents Subscriptions specification: `exact`, `prefix`,
// `suffix`, `all`, `any`, `not`; an array means all of them.
//
// A filter is immutable and cheap to copy; any thread may use it at once. Reading its JSON fails
// with `bad_json`, `bad_utf8`, `duplicate_key`, `unknown_field` (with the nearest dialect),
// `bad_value`, `unsupported` (`sql`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/event/frame.h"

namespace ackline::event {

inline constexpr std::size_t kMaxFilterDepth = 16;
inline constexpr std::size_t kMaxFilterBytes = 65'536;
inline constexpr std::size_t kMaxFilterNodes = 1000;

// kError counts as a match and is counted by the caller (invariant 21).
enum class FilterResult : std::uint8_t { kNoMatch, kMatch, kError };

class Filter {
 public:
  struct Node;

  // Matches everything.
  Filter();
  [[nodiscard]] static Result<Filter> parse(std::string_view json);

  // Attributes are compared by their canonical strings; a missing one does not match. An attribute
  // that is not what its type says is an error, unless the rest decides.
  [[nodiscard]] FilterResult evaluate(const FrameView& event) const;
  [[nodiscard]] bool matches_everything() const;

  // The canonical text: attribute names in order, no space, an array of one as its element. Two
  // filters with one text are the same filter. "[]" matches everything.
  [[nodiscard]] const std::string& to_json() const { return text_; }
  friend bool operator==(const Filter& a, const Filter& b) { return a.text_ == b.text_; }

 private:
  Filter(std::shared_ptr<const Node> root, std::string text);
  std::shared_ptr<const Node> root_;
  std::string text_;
};

}  // namespace ackline::event
