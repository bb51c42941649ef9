#include <string>

#include "ackline/base/ascii.h"
#include "ackline/event/cloud_event.h"

namespace ackline::event {
namespace {

std::string_view essence(std::string_view media_type) {
  return trim_blanks(media_type.substr(0, media_type.find(';')));
}

// The value of the parameter `charset`, in lower case; empty when there is none.
std::string charset(std::string_view media_type) {
  std::size_t at = media_type.find(';');
  while (at != std::string_view::npos) {
    const std::size_t next = media_type.find(';', at + 1);
    const std::string parameter =
        ascii_lower(trim_blanks(media_type.substr(at + 1, next - at - 1)));
    if (parameter.starts_with("charset=")) {
      std::string_view value = trim_blanks(std::string_view(parameter).substr(8));
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      return std::string(value);
    }
    at = next;
  }
  return {};
}

}  // namespace

bool is_json_media_type(std::string_view media_type) {
  const std::string_view type = essence(media_type);
  return ends_ignoring_case(type, "/json") || ends_ignoring_case(type, "+json");
}

bool is_text_media_type(std::string_view media_type) {
  const std::string_view type = essence(media_type);
  if (!starts_ignoring_case(type, "text/") && !ends_ignoring_case(type, "/xml") &&
      !ends_ignoring_case(type, "+xml")) {
    return false;
  }
  const std::string set = charset(media_type);
  return set.empty() || set == "utf-8" || set == "utf8" || set == "us-ascii";
}

}  // namespace ackline::event
