// The table of routes, and of what this build does not have but knows by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/api/call.h"

namespace ackline::api {

inline constexpr std::uint8_t kOnTraffic = 1;
inline constexpr std::uint8_t kOnAdmin = 2;
inline constexpr std::uint8_t kOnBoth = kOnTraffic | kOnAdmin;

// What a route does with a body.
enum class BodyKind : std::uint8_t {
  kNone,
  kJson,  // a JSON media type, when it says one
  kOwn,   // the handler looks
};

struct Route {
  std::string_view method;
  std::string_view path;  // "{…}" stands for one segment
  std::uint8_t listeners;
  Handler handler;
  BodyKind body = BodyKind::kNone;
  bool changes = false;  // needs the admin token
};
// Those of the hot path first.
[[nodiscard]] std::span<const Route> routes();

struct AbsentRoute {
  std::string_view path;  // a trailing "*" stands for anything
  std::uint8_t listeners;
  std::string_view part;  // "this build has no …"
};
[[nodiscard]] std::span<const AbsentRoute> absent_routes();

// True when `path` is one of `pattern`; `names` gets what stood for "{…}".
[[nodiscard]] bool match_path(std::string_view pattern, std::string_view path,
                              std::vector<std::string>& names);

}  // namespace ackline::api
