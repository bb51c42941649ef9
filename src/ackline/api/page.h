// Lists in pages: `{"items":[…],"next":"opaque"|null}`.
//
// A cursor names the list and the key of the last item shown, so that it stays right while items
// come and go. Pure functions, any thread; a cursor that is none of ours is `bad_cursor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/api/input.h"
#include "ackline/api/json_writer.h"

namespace ackline::api {

[[nodiscard]] std::string encode_cursor(std::string_view list, std::string_view key);
[[nodiscard]] Result<std::string> decode_cursor(std::string_view list, std::string_view text);

struct PageRequest {
  std::uint32_t limit = 100;
  std::optional<std::string> after;  // the key
};
// Reads `limit`, `max` and `after`.
[[nodiscard]] PageRequest read_page(Input& input, std::string_view list);

// An item and the key that orders it.
struct Keyed {
  std::string key;
  std::string json;
};
// `{"items":…,"next":…}` of the items past `page.after`.
[[nodiscard]] std::string render_page(std::string_view list, const PageRequest& page,
                                      std::vector<Keyed> items);

// Parts of a key in an order that is that of the parts, whatever is in them.
[[nodiscard]] std::string join_key(std::initializer_list<std::string_view> parts);

}  // namespace ackline::api
