#include "ackline/api/page.h"

#include <algorithm>

#include "ackline/base/base64.h"

namespace ackline::api {
namespace {

// The alphabet that needs no escape in a query.
std::string to_url(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  while (text.ends_with('=')) {
    text.pop_back();
  }
  return text;
}

std::optional<std::string> from_url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) {
    return std::nullopt;
  }
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return decode_base64(padded);
}

}  // namespace

std::string encode_cursor(std::string_view list, std::string_view key) {
  return to_url(std::string(list).append(":").append(key));
}

Result<std::string> decode_cursor(std::string_view list, std::string_view text) {
  const auto bytes = from_url(text);
  const std::string prefix = std::string(list) + ":";
  if (!bytes || !bytes->starts_with(prefix)) {
    return fail(ErrorCode::kBadCursor, "after is no cursor of this list",
                "Use `next` of the page before, as it is, or leave it out for the first page.",
                "after");
  }
  return bytes->substr(prefix.size());
}

PageRequest read_page(Input& input, std::string_view list) {
  PageRequest page;
  page.limit = input.limit();
  if (const auto after = input.text("after")) {
    auto key = decode_cursor(list, *after);
    if (key) {
      page.after = std::move(*key);
    } else {
      input.set_error(key.error());
    }
  }
  return page;
}

std::string render_page(std::string_view list, const PageRequest& page, std::vector<Keyed> items) {
  std::ranges::sort(items, {}, &Keyed::key);
  auto at = items.begin();
  if (page.after) {
    at = std::ranges::upper_bound(items, *page.after, {}, &Keyed::key);
  }
  JsonWriter writer;
  writer.begin_object().key("items").begin_array();
  std::uint32_t count = 0;
  for (; at != items.end() && count < page.limit; ++at, ++count) {
    writer.raw(at->json);
  }
  writer.end_array();
  if (at != items.end() && count > 0) {
    writer.field("next", encode_cursor(list, std::prev(at)->key));
  } else {
    writer.field("next", nullptr);
  }
  return writer.end_object().take();
}

std::string join_key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key.append(part).push_back('\0');
  }
  return key;
}

}  // namespace ackline::api
