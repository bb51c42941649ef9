#include "ackline/event/cloud_event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ackline/base/base64.h"
#include "ackline/base/time_text.h"

namespace ackline::event {
namespace {

constexpr std::array<std::string_view, 10> kDlqAttributes = {
    "dlqreason", "dlqattempts", "dlqerror", "dlqtopic", "dlqpartition",
    "dlqoffset", "dlqgroup",    "dlqtime",  "dlqkey",   "dlqdeliveryid"};

}  // namespace

const Attribute* CloudEvent::find(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name, &Attribute::name);
  return found == attributes_.end() ? nullptr : &*found;
}

std::string_view CloudEvent::get(std::string_view name) const {
  if (name == "specversion") {
    return kSpecVersion;
  }
  const Attribute* const found = find(name);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

std::optional<WallMs> CloudEvent::time() const {
  return parse_rfc3339(get("time"));
}

void CloudEvent::set(std::string_view name, std::string_view text) {
  set(name, attribute_type(name), std::string(text));
}

void CloudEvent::set(std::string_view name, AttributeType type, std::string value) {
  const auto found = std::ranges::find(attributes_, name, &Attribute::name);
  if (found == attributes_.end()) {
    attributes_.push_back(Attribute{std::string(name), type, std::move(value)});
    return;
  }
  found->type = type;
  found->value = std::move(value);
}

void CloudEvent::set_integer(std::string_view name, std::int32_t value) {
  set(name, AttributeType::kInteger, std::to_string(value));
}

void CloudEvent::set_boolean(std::string_view name, bool value) {
  set(name, AttributeType::kBoolean, value ? "true" : "false");
}

void CloudEvent::set_timestamp(std::string_view name, WallMs time) {
  set(name, AttributeType::kTimestamp, format_rfc3339(time));
}

void CloudEvent::remove(std::string_view name) {
  std::erase_if(attributes_, [name](const Attribute& each) { return each.name == name; });
}

void CloudEvent::set_data(DataKind kind, std::string data) {
  data_kind_ = kind;
  data_ = std::move(data);
}

AttributeType attribute_type(std::string_view name) {
  if (name == "source") {
    return AttributeType::kUriReference;
  }
  if (name == "dataschema") {
    return AttributeType::kUri;
  }
  if (name == "time" || name == "expirytime") {
    return AttributeType::kTimestamp;
  }
  return AttributeType::kString;
}

std::string_view type_name(AttributeType type) {
  switch (type) {
    case AttributeType::kString:
      return "string";
    case AttributeType::kBoolean:
      return "boolean";
    case AttributeType::kInteger:
      return "integer";
    case AttributeType::kBinary:
      return "binary";
    case AttributeType::kUri:
      return "URI";
    case AttributeType::kUriReference:
      return "URI-reference";
    case AttributeType::kTimestamp:
      return "timestamp";
  }
  return "unknown";
}

bool is_internal_attribute(std::string_view name) {
  return name.starts_with("emmq") || name.starts_with("empop");
}

bool is_dlq_attribute(std::string_view name) {
  return name.starts_with("dlq") && std::ranges::find(kDlqAttributes, name) != kDlqAttributes.end();
}

void append_canonical(std::string& out, AttributeView attribute) {
  if (attribute.type == AttributeType::kBinary) {
    append_base64(out, attribute.value);
  } else {
    out.append(attribute.value);
  }
}

}  // namespace ackline::event
