// Apart, because simdjson's header is large: its UTF-8 check runs at memory speed.
#include <fmt/format.h>
#include <simdjson.h>

#include "ackline/base/utf8.h"
#include "ackline/event/json_scan.h"

namespace ackline::event {

Result<void> check_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) {
    return {};
  }
  return fail(ErrorCode::kBadUtf8, fmt::format("byte {} is not UTF-8", utf8_valid_prefix(text)),
              "Send the text in UTF-8.");
}

}  // namespace ackline::event
