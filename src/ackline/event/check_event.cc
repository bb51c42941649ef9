// What makes a value a CloudEvent: the specification's rules, one function a type.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "ackline/base/ascii.h"
#include "ackline/base/time_text.h"
#include "ackline/base/utf8.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/expiry.h"
#include "ackline/event/json_scan.h"

namespace ackline::event {
namespace {

constexpr std::array<std::string_view, 3> kRequired = {"id", "source", "type"};
constexpr std::size_t kMaxShown = 64;

// `text` short enough for a sentence, and cut between characters.
std::string shown(std::string_view text) {
  if (text.size() <= kMaxShown) {
    return std::string(text);
  }
  std::size_t cut = kMaxShown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) {
    --cut;
  }
  return std::string(text.substr(0, cut)) + "...";
}

std::unexpected<Error> bad(std::string_view name, std::string detail, std::string remedy) {
  return fail(ErrorCode::kBadAttribute, std::move(detail), std::move(remedy), shown(name));
}

// The code point at `at` and its length; the text is UTF-8.
struct CodePoint {
  std::uint32_t value;
  std::size_t length;
};
CodePoint code_point(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_sequence_length(text.substr(at));
  const auto lead = static_cast<unsigned char>(text[at]);
  if (length <= 1) {
    return {lead, 1};
  }
  std::uint32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    value = value << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return {value, length};
}

// The first code point that a CloudEvents String must not have: controls and noncharacters.
std::optional<std::uint32_t> forbidden_code_point(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x20 && c < 0x7F) {
      ++at;
      continue;
    }
    const CodePoint point = code_point(text, at);
    const bool control = point.value < 0x20 || (point.value >= 0x7F && point.value <= 0x9F);
    const bool noncharacter =
        (point.value >= 0xFDD0 && point.value <= 0xFDEF) || (point.value & 0xFFFEU) == 0xFFFEU;
    if (control || noncharacter) {
      return point.value;
    }
    at += point.length;
  }
  return std::nullopt;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

using CharacterSet = std::array<bool, 256>;

constexpr CharacterSet set_of(std::string_view characters, bool letters_and_digits) {
  CharacterSet set{};
  for (const char c : characters) {
    set[static_cast<unsigned char>(c)] = true;
  }
  for (unsigned c = 0; letters_and_digits && c < 128; ++c) {
    const unsigned lower = c | 0x20U;
    set[c] = set[c] || (c >= '0' && c <= '9') || (c >= 'A' && lower >= 'a' && lower <= 'z');
  }
  return set;
}

constexpr CharacterSet kNeverInUri = set_of(" \"<>\\^`{|}", false);
constexpr CharacterSet kInToken = set_of("!#$%&'*+-.^_`|~", true);
constexpr CharacterSet kInName = set_of("abcdefghijklmnopqrstuvwxyz0123456789", false);

bool all_in(const CharacterSet& set, std::string_view text) {
  return std::ranges::all_of(text, [&](char c) { return set[static_cast<unsigned char>(c)]; });
}

// The first character that RFC 3986 has no place for; letters beyond ASCII pass (RFC 3987).
std::optional<std::size_t> bad_uri_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kNeverInUri[static_cast<unsigned char>(text[i])]) {
      return i;
    }
    if (text[i] == '%' && (text.size() - i < 3 || !is_hex(text[i + 1]) || !is_hex(text[i + 2]))) {
      return i;
    }
  }
  return std::nullopt;
}

bool has_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  if (colon == 0 || colon == std::string_view::npos) {
    return false;
  }
  for (std::size_t i = 0; i < colon; ++i) {
    const char c = uri[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && !(i > 0 && later)) {
      return false;
    }
  }
  return true;
}

Result<void> check_uri(const AttributeView& attribute, bool absolute) {
  const std::string_view what = type_name(attribute.type);
  if (attribute.value.empty()) {
    return bad(attribute.name, fmt::format("{} is empty; it must be a {}", attribute.name, what),
               "Give it a value.");
  }
  if (const auto at = bad_uri_character(attribute.value)) {
    return bad(attribute.name,
               fmt::format("{} is not a {}: \"{}\" has '{}' at position {}", attribute.name, what,
                           shown(attribute.value), attribute.value[*at], *at),
               "Percent-encode it.");
  }
  if (absolute && !has_scheme(attribute.value)) {
    return bad(attribute.name,
               fmt::format("{} is not a URI: \"{}\" has no scheme", attribute.name,
                           shown(attribute.value)),
               "Start it with a scheme, such as https:.");
  }
  return {};
}

bool is_canonical_int32(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text == std::to_string(value);
}

Result<void> check_typed_value(const AttributeView& attribute) {
  switch (attribute.type) {
    case AttributeType::kString:
    case AttributeType::kBinary:
      return {};
    case AttributeType::kBoolean:
      if (attribute.value != "true" && attribute.value != "false") {
        return bad(attribute.name, fmt::format("{} is not a boolean", attribute.name),
                   "Make it true or false.");
      }
      return {};
    case AttributeType::kInteger:
      if (!is_canonical_int32(attribute.value)) {
        return bad(attribute.name,
                   fmt::format("{} is not an integer of 32 bits: {}", attribute.name,
                               shown(attribute.value)),
                   "Use -2147483648 to 2147483647, or a string.");
      }
      return {};
    case AttributeType::kUri:
      return check_uri(attribute, true);
    case AttributeType::kUriReference:
      return check_uri(attribute, false);
    case AttributeType::kTimestamp:
      if (!parse_rfc3339(attribute.value)) {
        return bad(attribute.name,
                   fmt::format("{} is not an RFC 3339 timestamp: \"{}\"", attribute.name,
                               shown(attribute.value)),
                   "Write it like 2026-11-29T12:00:00Z.");
      }
      return {};
  }
  return bad(attribute.name, fmt::format("{} has an unknown type", attribute.name), {});
}

bool is_token(std::string_view text) {
  return !text.empty() && all_in(kInToken, text);
}

// With or without parameters; these only so far that they can stand in a header as they are.
bool is_media_type(std::string_view text) {
  std::string_view essence = text.substr(0, text.find(';'));
  while (essence.ends_with(' ')) {
    essence.remove_suffix(1);
  }
  const std::size_t slash = essence.find('/');
  return is_printable_ascii(text) && !text.ends_with(' ') && slash != std::string_view::npos &&
         is_token(essence.substr(0, slash)) && is_token(essence.substr(slash + 1));
}

// Rules of single attributes, beyond their type.
Result<void> check_own_rule(const AttributeView& attribute) {
  const std::string_view name = attribute.name;
  if (name == "specversion" && attribute.value != kSpecVersion) {
    return bad(name,
               fmt::format("specversion is \"{}\"; only 1.0 is known", shown(attribute.value)),
               "Send CloudEvents 1.0.");
  }
  const bool needs_text =
      name == "id" || name == "type" || name == "subject" || name == "partitionkey";
  if (needs_text && attribute.value.empty()) {
    return bad(name, fmt::format("{} is empty; it must be a non-empty string", name),
               "Give it a value or leave it out.");
  }
  if (name == "datacontenttype" && !is_media_type(attribute.value)) {
    return bad(name,
               fmt::format("datacontenttype is not a media type: \"{}\"", shown(attribute.value)),
               "Write it like application/json.");
  }
  const bool number_or_text =
      attribute.type == AttributeType::kInteger || attribute.type == AttributeType::kString;
  if (name == kTtlAttribute && !(number_or_text && parse_ttl_ms(attribute.value))) {
    return bad(name, fmt::format("emttl is not a number of ms: \"{}\"", shown(attribute.value)),
               "Use a whole number, 0 or more.");
  }
  if (name == kExpiryAttribute && attribute.type != AttributeType::kTimestamp) {
    return bad(name, "expirytime must be a timestamp", "Write it like 2026-11-29T12:00:00Z.");
  }
  return {};
}

bool is_specified(std::string_view name) {
  return name == "id" || name == "source" || name == "type" || name == "subject" ||
         name == "time" || name == "datacontenttype" || name == "dataschema" ||
         name == "specversion";
}

// One less than a document may have: data stands inside an event.
constexpr std::size_t kMaxDataDepth = kMaxJsonDepth - 1;

Result<void> check_json_data(const CloudEvent& event) {
  if (auto utf8 = check_utf8(event.data()); !utf8) {
    utf8.error().field = "data";
    return utf8;
  }
  auto json = json_document(event.data(), kMaxDataDepth);
  if (!json) {
    json.error().field = "data";
    return fail(json);
  }
  const std::string_view type = event.get("datacontenttype");
  if (json_kind(*json) == JsonKind::kString && !type.empty() && !is_json_media_type(type)) {
    return bad("data", fmt::format("data is a JSON string, but its media type is {}", shown(type)),
               "Make it text, or its media type JSON.");
  }
  return {};
}

Result<void> check_data(const CloudEvent& event) {
  switch (event.data_kind()) {
    case DataKind::kNone:
      return event.data().empty() ? Result<void>()
                                  : bad("data", "data has bytes but no kind", "Set its kind.");
    case DataKind::kJson:
      return check_json_data(event);
    case DataKind::kBinary:
      return {};
    case DataKind::kText:
      break;
  }
  if (!is_utf8(event.data())) {
    return fail(ErrorCode::kBadUtf8, "data is text but not UTF-8", "Send it in UTF-8.", "data");
  }
  // Without a media type, or with one of JSON, a string in JSON is a JSON value.
  const std::string_view type = event.get("datacontenttype");
  if (type.empty() || is_json_media_type(type)) {
    return bad("data", "data is text, but has no media type of text", "Set datacontenttype.");
  }
  return {};
}

}  // namespace

Result<void> check_attribute_name(std::string_view name) {
  constexpr std::string_view kRemedy = "Use 1 to 128 of a-z and 0-9.";
  if (name.empty()) {
    return bad(name, "an attribute has an empty name", std::string(kRemedy));
  }
  if (!all_in(kInName, name)) {
    return bad(
        name,
        fmt::format("attribute name \"{}\" has characters other than a-z and 0-9", shown(name)),
        std::string(kRemedy));
  }
  if (name.size() > kMaxAttributeName) {
    return bad(name, fmt::format("attribute name {} has {} characters", shown(name), name.size()),
               std::string(kRemedy));
  }
  if (name == "data") {
    return bad(name, "data is not an attribute", "Use another name.");
  }
  return {};
}

Result<void> check_attribute(AttributeView attribute) {
  if (auto name = check_attribute_name(attribute.name); !name) {
    return name;
  }
  if (attribute.type != AttributeType::kBinary && !is_printable_ascii(attribute.value)) {
    if (!is_utf8(attribute.value)) {
      return fail(ErrorCode::kBadUtf8, fmt::format("{} is not UTF-8", attribute.name),
                  "Send it in UTF-8.", std::string(attribute.name));
    }
    if (const auto point = forbidden_code_point(attribute.value)) {
      return bad(attribute.name,
                 fmt::format("{} has the character U+{:04X}, which CloudEvents forbids",
                             attribute.name, *point),
                 "Leave control characters out.");
    }
  }
  if (is_specified(attribute.name) && attribute.type != attribute_type(attribute.name)) {
    return bad(attribute.name,
               fmt::format("{} must be a {}, not a {}", attribute.name,
                           type_name(attribute_type(attribute.name)), type_name(attribute.type)),
               {});
  }
  if (auto value = check_typed_value(attribute); !value) {
    return value;
  }
  return check_own_rule(attribute);
}

Result<void> check_attributes(const CloudEvent& event) {
  for (const std::string_view name : kRequired) {
    if (event.find(name) == nullptr) {
      return fail(ErrorCode::kMissingAttribute,
                  fmt::format("{} is required by CloudEvents 1.0", name),
                  fmt::format("Add {}.", name), std::string(name));
    }
  }
  for (const Attribute& attribute : event.attributes()) {
    if (auto checked = check_attribute(attribute.view()); !checked) {
      return checked;
    }
  }
  return {};
}

Result<void> check_event(const CloudEvent& event) {
  if (auto attributes = check_attributes(event); !attributes) {
    return attributes;
  }
  return check_data(event);
}

}  // namespace ackline::event
