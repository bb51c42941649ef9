// A CloudEvent 1.0 as a value: attributes with their types, and data with its kind.
//
// Attributes are kept in text form (CloudEvents' canonical strings; binary ones as their bytes),
// in the order given, extensions beside the specified ones. `specversion` is not stored: it is
// always 1.0. A timestamp keeps the text it came with, so that it leaves as it came.
// A plain value, owned by whoever holds it; not thread-safe. It holds anything: `check_event` says
// whether it is a CloudEvent, and the codecs call it on everything they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/base/types.h"

namespace ackline::event {

// The numbers are those of the frame (docs/formats/frame.md): add, never renumber.
enum class AttributeType : std::uint8_t {
  kString = 0,
  kBoolean = 1,
  kInteger = 2,  // 32 bits, signed
  kBinary = 3,
  kUri = 4,
  kUriReference = 5,
  kTimestamp = 6,
};
inline constexpr std::uint8_t kLastAttributeType = 6;

// What the data is, and so how it stands in JSON: a value, a string, or `data_base64`.
// The numbers are those of the frame.
enum class DataKind : std::uint8_t { kNone = 0, kJson = 1, kText = 2, kBinary = 3 };

inline constexpr std::string_view kSpecVersion = "1.0";
// CloudEvents advises at most 20; longer names are taken, up to this.
inline constexpr std::size_t kMaxAttributeName = 128;
// Of one event; the extensions of a dead letter do not count.
inline constexpr std::size_t kMaxAttributes = 256;

struct AttributeView {
  std::string_view name;
  AttributeType type = AttributeType::kString;
  std::string_view value;
};

struct Attribute {
  std::string name;
  AttributeType type = AttributeType::kString;
  std::string value;

  [[nodiscard]] AttributeView view() const { return {name, type, value}; }
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

class CloudEvent {
 public:
  [[nodiscard]] const std::vector<Attribute>& attributes() const { return attributes_; }
  [[nodiscard]] const Attribute* find(std::string_view name) const;
  // The text form; empty when the attribute is missing. `specversion` is "1.0".
  [[nodiscard]] std::string_view get(std::string_view name) const;
  // `time` in milliseconds; nothing when it is missing or not a timestamp.
  [[nodiscard]] std::optional<WallMs> time() const;

  // Sets or replaces. The type of a specified attribute (`id`, `time`…) is the specification's.
  void set(std::string_view name, std::string_view text);
  void set(std::string_view name, AttributeType type, std::string value);
  void set_integer(std::string_view name, std::int32_t value);
  void set_boolean(std::string_view name, bool value);
  void set_timestamp(std::string_view name, WallMs time);
  void remove(std::string_view name);
  void reserve(std::size_t attributes) { attributes_.reserve(attributes); }

  [[nodiscard]] DataKind data_kind() const { return data_kind_; }
  [[nodiscard]] const std::string& data() const { return data_; }
  // JSON: its text. Text: UTF-8. Binary: the bytes (not base64).
  void set_data(DataKind kind, std::string data);

  friend bool operator==(const CloudEvent&, const CloudEvent&) = default;

 private:
  std::vector<Attribute> attributes_;
  std::string data_;
  DataKind data_kind_ = DataKind::kNone;
};

// The type that the specification, or an extension that we read, gives `name`; string for others.
[[nodiscard]] AttributeType attribute_type(std::string_view name);
// The type's name in the specification, e.g. "URI-reference".
[[nodiscard]] std::string_view type_name(AttributeType type);

// Attributes that a backend stamps on an event for its own use (`empopck`, `emmqoffset`,
// `emmqpartition`: every name that starts with "empop" or "emmq"). They never leave the process,
// and those of a publisher are dropped.
[[nodiscard]] bool is_internal_attribute(std::string_view name);
// The extensions of a dead letter, `dlqreason` to `dlqdeliveryid`; other names that start with
// "dlq" are the user's.
[[nodiscard]] bool is_dlq_attribute(std::string_view name);

// A name by the specification: 1 to 128 of a-z and 0-9, and not `data`. Else `bad_attribute`.
[[nodiscard]] Result<void> check_attribute_name(std::string_view name);
// Name and value by type and by the attribute's own rules. Else `bad_attribute`, `bad_utf8`.
[[nodiscard]] Result<void> check_attribute(AttributeView attribute);
// All attributes: the required ones are there, each is as it must be.
[[nodiscard]] Result<void> check_attributes(const CloudEvent& event);
// The whole event, data included. Else `missing_attribute`, or what its first bad attribute or its
// data has.
[[nodiscard]] Result<void> check_event(const CloudEvent& event);

// Appends the canonical string of a value: as it is, binary in base64.
void append_canonical(std::string& out, AttributeView attribute);

// `application/json`, `text/json`, `application/vnd.api+json; charset=utf-8`.
[[nodiscard]] bool is_json_media_type(std::string_view media_type);
// Media types whose data is text in UTF-8: text/…, XML; not another charset.
[[nodiscard]] bool is_text_media_type(std::string_view media_type);

}  // namespace ackline::event
