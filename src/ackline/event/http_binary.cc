#include "ackline/event/http_binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ackline/base/ascii.h"
#include "ackline/base/percent.h"
#include "ackline/base/utf8.h"

namespace ackline::event {
namespace {

constexpr std::string_view kPrefix = "ce-";

// Takes the quotes and backslashes of a quoted string off, as the binding asks of receivers.
std::string unquoted(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') {
    return std::string(value);
  }
  std::string out;
  value = value.substr(1, value.size() - 2);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) {
      ++i;
    }
    out.push_back(value[i]);
  }
  return out;
}

// Space, quote, percent and all that is not printable ASCII, byte by byte of the UTF-8.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F || c == '"' || c == '%') {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

struct Reader {
  CloudEvent event;
  std::vector<std::string> dropped;  // internal ones: seen, but not kept
  std::optional<std::string_view> content_type;
  std::optional<std::string> declared_type;  // ce-datacontenttype, which should not be there
  std::size_t counted = 0;
  bool specversion_seen = false;

  std::unexpected<Error> duplicate(std::string_view header) const {
    return fail(ErrorCode::kDuplicateKey,
                fmt::format("the header {} stands more than once", header), "Send it once.",
                std::string(header.starts_with(kPrefix) ? header.substr(kPrefix.size()) : header));
  }

  Result<void> take(const HeaderField& field) {
    if (same_ignoring_case(field.name, "content-type")) {
      if (content_type) {
        return duplicate("content-type");
      }
      content_type = trim_blanks(field.value);
      return {};
    }
    if (!starts_ignoring_case(field.name, kPrefix)) {
      return {};
    }
    const std::string header = ascii_lower(field.name);
    const std::string_view name = std::string_view(header).substr(kPrefix.size());
    if (auto fits = check_attribute_name(name); !fits) {
      return fits;
    }
    auto value = percent_decoded(unquoted(trim_blanks(field.value)));
    if (!value) {
      return fail(ErrorCode::kBadAttribute,
                  fmt::format("{} has a % without two hex digits after it", header),
                  "Percent-encode the percent sign as %25.", std::string(name));
    }
    return take_attribute(header, name, std::move(*value));
  }

  Result<void> take_attribute(std::string_view header, std::string_view name, std::string value) {
    if (event.find(name) != nullptr || std::ranges::find(dropped, name) != dropped.end() ||
        (name == "specversion" && specversion_seen) ||
        (name == "datacontenttype" && declared_type)) {
      return duplicate(header);
    }
    if (name == "specversion") {
      specversion_seen = true;
      return check_attribute({name, AttributeType::kString, value});
    }
    if (name == "datacontenttype") {
      declared_type = std::move(value);
      return {};
    }
    if (auto fits = count(name); !fits) {
      return fits;
    }
    if (is_internal_attribute(name)) {
      dropped.emplace_back(name);
      return {};
    }
    event.set(name, attribute_type(name), std::move(value));
    return {};
  }

  Result<void> count(std::string_view name) {
    counted += is_dlq_attribute(name) ? 0 : 1;
    if (counted > kMaxAttributes) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the event has more than {} attributes", kMaxAttributes),
                  "Put them into data.");
    }
    return {};
  }

  Result<void> settle_type() {
    if (declared_type && declared_type != content_type.value_or(std::string_view())) {
      return fail(ErrorCode::kBadAttribute, "ce-datacontenttype differs from Content-Type",
                  "Leave ce-datacontenttype out: Content-Type carries it.", "datacontenttype");
    }
    if (!content_type || content_type->empty()) {
      return {};
    }
    event.set("datacontenttype", *content_type);
    return count("datacontenttype");
  }

  void settle_data(std::string_view body) {
    if (body.empty()) {
      return;
    }
    const std::string_view type = content_type.value_or(std::string_view());
    DataKind kind = DataKind::kBinary;
    if (is_json_media_type(type)) {
      kind = DataKind::kJson;
    } else if (is_text_media_type(type) && is_utf8(body)) {
      kind = DataKind::kText;
    }
    event.set_data(kind, std::string(body));
  }
};

}  // namespace

Result<CloudEvent> parse_http_binary(std::span<const HeaderField> headers, std::string_view body,
                                     const ParseLimits& limits) {
  Reader reader;
  reader.event.reserve(8);
  std::size_t size_bytes = body.size();
  for (const HeaderField& field : headers) {
    if (auto taken = reader.take(field); !taken) {
      return fail(taken);
    }
  }
  for (const Attribute& attribute : reader.event.attributes()) {
    size_bytes += attribute.name.size() + attribute.value.size();
  }
  if (size_bytes > limits.event_bytes) {
    return fail(
        ErrorCode::kTooLarge,
        fmt::format("the event has {} bytes; the limit is {}", size_bytes, limits.event_bytes),
        "Send a smaller event, or raise limits.event.");
  }
  if (!reader.specversion_seen) {
    return fail(ErrorCode::kMissingAttribute, "specversion is required by CloudEvents 1.0",
                "Add the header ce-specversion: 1.0.", "specversion");
  }
  if (auto type = reader.settle_type(); !type) {
    return fail(type);
  }
  reader.settle_data(body);
  if (auto checked = check_event(reader.event); !checked) {
    return fail(checked);
  }
  return std::move(reader.event);
}

HttpMessage to_http_binary(const CloudEvent& event) {
  HttpMessage message;
  message.headers.emplace_back("ce-specversion", kSpecVersion);
  for (const Attribute& attribute : event.attributes()) {
    if (is_internal_attribute(attribute.name)) {
      continue;
    }
    if (attribute.name == "datacontenttype") {
      message.headers.emplace_back("content-type", attribute.value);
      continue;
    }
    std::string text;
    append_canonical(text, attribute.view());
    message.headers.emplace_back(std::string(kPrefix) + attribute.name, percent_encoded(text));
  }
  // In JSON, data without a media type is JSON; on this wire it has to be said.
  if (event.data_kind() == DataKind::kJson && event.find("datacontenttype") == nullptr) {
    message.headers.emplace_back("content-type", "application/json");
  }
  message.body = event.data();
  return message;
}

}  // namespace ackline::event
