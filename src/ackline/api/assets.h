// Files that are part of the binary; the build makes them from api/openapi.json and api/ui.
#pragma once

#include <string_view>

namespace ackline::api::assets {

[[nodiscard]] std::string_view openapi_json();
[[nodiscard]] std::string_view ui_index_html();
[[nodiscard]] std::string_view ui_live_css();
[[nodiscard]] std::string_view ui_live_js();

}  // namespace ackline::api::assets
