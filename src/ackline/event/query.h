// What `/admin/events` and selections of dead letters look for in one event. The partition, the
// cursor and the limit are the caller's.
//
// A plain value; `matches` is const and may run on any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/event/filter.h"
#include "ackline/event/frame.h"

namespace ackline::event {

// "/pointer=value": the JSON data has this value at that place. The first `=` ends the pointer. A
// string is compared by its text, a number by its value, true, false and null by their word.
class DataMatch {
 public:
  // `bad_value` when there is no pointer or no `=`.
  [[nodiscard]] static Result<DataMatch> parse(std::string_view text);
  [[nodiscard]] bool matches(const FrameView& event) const;

 private:
  std::string pointer_;
  std::string value_;
};

struct EventQuery {
  std::optional<std::string> id;
  std::optional<std::string> type;
  std::optional<std::string> source;
  std::optional<std::string> subject;
  std::optional<std::string> key;  // partitionkey
  std::optional<WallMs> since;     // append time, inclusive
  std::optional<WallMs> until;     // append time, exclusive
  std::optional<Filter> filter;    // its error counts as a match
  std::optional<DataMatch> data;

  [[nodiscard]] bool matches(const FrameView& event, WallMs append_time) const;
};

}  // namespace ackline::event
