#include <algorithm>
#include <string>

#include "ackline/event/cloud_event.h"

namespace ackline::event {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string essence(std::string_view media_type) {
  return lower(trimmed(media_type.substr(0, media_type.find(';'))));
}

// The value of the parameter `charset`, in lower case; empty when there is none.
std::string charset(std::string_view media_type) {
  std::size_t at = media_type.find(';');
  while (at != std::string_view::npos) {
    const std::size_t next = media_type.find(';', at + 1);
    const std::string parameter = lower(trimmed(media_type.substr(at + 1, next - at - 1)));
    if (parameter.starts_with("charset=")) {
      std::string_view value = trimmed(std::string_view(parameter).substr(8));
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
  const std::string type = essence(media_type);
  return type.ends_with("/json") || type.ends_with("+json");
}

bool is_text_media_type(std::string_view media_type) {
  const std::string type = essence(media_type);
  if (!type.starts_with("text/") && !type.ends_with("/xml") && !type.ends_with("+xml")) {
    return false;
  }
  const std::string set = charset(media_type);
  return set.empty() || set == "utf-8" || set == "utf8" || set == "us-ascii";
}

}  // namespace ackline::event
