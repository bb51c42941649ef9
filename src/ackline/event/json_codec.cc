#include "ackline/event/json_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ackline/base/ascii.h"
#include "ackline/base/base64.h"
#include "ackline/event/json_scan.h"

namespace ackline::event {
namespace {

std::unexpected<Error> bad(std::string_view name, std::string detail, std::string remedy) {
  return fail(ErrorCode::kBadAttribute, std::move(detail), std::move(remedy), std::string(name));
}

std::unexpected<Error> duplicate(std::string_view name) {
  return fail(ErrorCode::kDuplicateKey, fmt::format("{} stands more than once in the event", name),
              "Send each attribute once.", std::string(name));
}

std::string described(std::string_view value) {
  const JsonKind kind = json_kind(value);
  return kind == JsonKind::kNumber ? fmt::format("the number {}", value.substr(0, 64))
                                   : std::string(json_kind_name(kind));
}

// Reads the members of one event object into an event.
class EventReader {
 public:
  Result<CloudEvent> read(std::string_view object) {
    event_.reserve(8);
    JsonMember member;
    for (JsonWalker walker(object); walker.next(member);) {
      if (auto taken = take_member(member); !taken) {
        return fail(taken);
      }
    }
    if (!specversion_seen_) {
      return fail(ErrorCode::kMissingAttribute, "specversion is required by CloudEvents 1.0",
                  "Add \"specversion\":\"1.0\".", "specversion");
    }
    if (auto data = settle_data(); !data) {
      return fail(data);
    }
    // The data needs no second look: it is a piece of a checked text.
    if (auto checked = check_attributes(event_); !checked) {
      return fail(checked);
    }
    return std::move(event_);
  }

 private:
  Result<void> take_member(const JsonMember& member) {
    if (member.name.find('\\') == std::string_view::npos) {
      return take(member.name.substr(1, member.name.size() - 2), member.value);
    }
    const auto name = json_string(member.name);
    if (!name) {
      return bad("", "an attribute name has half of a surrogate pair", "Use a-z and 0-9.");
    }
    return take(*name, member.value);
  }

  Result<void> take(std::string_view name, std::string_view value) {
    if (name == "data" || name == "data_base64") {
      std::string_view& slot = name == "data" ? data_ : base64_;
      if (!slot.empty()) {
        return duplicate(name);
      }
      slot = value;
      return {};
    }
    if (auto fits = check_attribute_name(name); !fits) {
      return fits;
    }
    if (event_.find(name) != nullptr || std::ranges::find(unset_, name) != unset_.end() ||
        (name == "specversion" && specversion_seen_)) {
      return duplicate(name);
    }
    counted_ += is_dlq_attribute(name) || name == "specversion" ? 0 : 1;
    if (counted_ > kMaxAttributes) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the event has more than {} attributes", kMaxAttributes),
                  "Put them into data.");
    }
    if (json_kind(value) == JsonKind::kNull || is_internal_attribute(name)) {
      unset_.emplace_back(name);
      return {};
    }
    return take_value(name, value);
  }

  Result<void> take_value(std::string_view name, std::string_view value) {
    const JsonKind kind = json_kind(value);
    if (kind == JsonKind::kString) {
      auto text = json_string(value);
      if (!text) {
        return bad(name, fmt::format("{} has half of a surrogate pair", name),
                   "Write both halves.");
      }
      if (name == "specversion") {
        specversion_seen_ = true;
        return check_attribute({name, AttributeType::kString, *text});
      }
      event_.set(name, attribute_type(name), std::move(*text));
      return {};
    }
    if (is_specified(name)) {
      return bad(name, fmt::format("{} must be a string, not {}", name, described(value)),
                 "Put it in quotes.");
    }
    if (kind == JsonKind::kTrue || kind == JsonKind::kFalse) {
      event_.set_boolean(name, kind == JsonKind::kTrue);
      return {};
    }
    if (kind != JsonKind::kNumber) {
      return bad(name,
                 fmt::format("{} is {}; an extension is a string, a boolean or an integer", name,
                             described(value)),
                 "Put it into data, or send it as a string.");
    }
    const auto number = json_int32(value);
    if (!number) {
      return bad(name,
                 fmt::format("{} is {}; a CloudEvents integer has 32 bits and no fraction", name,
                             described(value)),
                 "Send it as a string.");
    }
    event_.set_integer(name, *number);
    return {};
  }

  static bool is_specified(std::string_view name) {
    return name == "specversion" || name == "id" || name == "source" || name == "type" ||
           name == "subject" || name == "time" || name == "datacontenttype" || name == "dataschema";
  }

  Result<void> settle_data() {
    if (base64_ == "null") {
      base64_ = {};
    }
    if (!data_.empty() && !base64_.empty()) {
      return bad("data_base64", "the event has both data and data_base64", "Send one of them.");
    }
    if (!base64_.empty()) {
      return settle_base64();
    }
    if (data_.empty()) {
      return {};
    }
    const std::string_view type = event_.get("datacontenttype");
    if (json_kind(data_) != JsonKind::kString || type.empty() || is_json_media_type(type)) {
      event_.set_data(DataKind::kJson, std::string(data_));
      return {};
    }
    auto text = json_string(data_);
    if (!text) {
      return bad("data", "data has half of a surrogate pair", "Write both halves.");
    }
    event_.set_data(DataKind::kText, std::move(*text));
    return {};
  }

  Result<void> settle_base64() {
    if (json_kind(base64_) != JsonKind::kString) {
      return bad("data_base64", fmt::format("data_base64 is {}", described(base64_)),
                 "Make it a string of base64.");
    }
    const auto text = json_string(base64_);
    auto bytes = text ? decode_base64(*text) : std::nullopt;
    if (!bytes) {
      return bad("data_base64", "data_base64 is not base64",
                 "Use the standard alphabet with padding.");
    }
    event_.set_data(DataKind::kBinary, std::move(*bytes));
    return {};
  }

  CloudEvent event_;
  std::vector<std::string> unset_;  // null and internal ones: seen, but not kept
  std::string_view data_;
  std::string_view base64_;
  std::size_t counted_ = 0;
  bool specversion_seen_ = false;
};

// `json` was accepted by json_document.
Result<CloudEvent> read_event(std::string_view json, const ParseLimits& limits) {
  if (json.size() > limits.event_bytes) {
    return fail(
        ErrorCode::kTooLarge,
        fmt::format("the event has {} bytes; the limit is {}", json.size(), limits.event_bytes),
        "Send a smaller event, or raise limits.event.");
  }
  if (auto utf8 = check_utf8(json); !utf8) {
    return fail(utf8);
  }
  if (json_kind(json) != JsonKind::kObject) {
    return fail(ErrorCode::kBadJson,
                fmt::format("an event is an object, not {}", json_kind_name(json_kind(json))),
                "Send one CloudEvent as a JSON object.");
  }
  return EventReader().read(json);
}

// Text that is neither JSON nor UTF-8 is called the latter: that is the cause.
Result<std::string_view> document(std::string_view json) {
  auto checked = json_document(json);
  if (!checked) {
    if (auto utf8 = check_utf8(json); !utf8) {
      return fail(utf8);
    }
  }
  return checked;
}

}  // namespace

Result<CloudEvent> parse_event(std::string_view json, const ParseLimits& limits) {
  const auto checked = document(json);
  if (!checked) {
    return fail(checked);
  }
  return read_event(*checked, limits);
}

Result<std::vector<Result<CloudEvent>>> parse_batch(std::string_view json,
                                                    const ParseLimits& limits) {
  const auto checked = document(json);
  if (!checked) {
    return fail(checked);
  }
  if (json_kind(*checked) != JsonKind::kArray) {
    return fail(ErrorCode::kBadJson,
                fmt::format("a batch is an array, not {}", json_kind_name(json_kind(*checked))),
                "Send a JSON array of CloudEvents.");
  }
  std::vector<Result<CloudEvent>> events;
  std::string_view element;
  for (JsonWalker walker(*checked); walker.next(element);) {
    if (events.size() == limits.batch_events) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the batch has more than {} events", limits.batch_events),
                  "Send several batches.");
    }
    events.push_back(read_event(element, limits));
  }
  if (events.empty()) {
    return fail(ErrorCode::kBadValue, "the batch is empty", "Send at least one event.");
  }
  return events;
}

Result<ContentMode> content_mode(std::string_view content_type, bool has_specversion,
                                 std::string_view body) {
  const std::string_view type = trim_blanks(content_type.substr(0, content_type.find(';')));
  if (same_ignoring_case(type, "application/cloudevents+json")) {
    return ContentMode::kStructured;
  }
  if (same_ignoring_case(type, "application/cloudevents-batch+json")) {
    return ContentMode::kBatch;
  }
  if (has_specversion && !starts_ignoring_case(type, "application/cloudevents")) {
    return ContentMode::kBinary;
  }
  if (same_ignoring_case(type, "application/json")) {
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    const bool array = first != std::string_view::npos && body[first] == '[';
    return array ? ContentMode::kBatch : ContentMode::kStructured;
  }
  return fail(
      ErrorCode::kMediaType,
      type.empty() ? std::string("the request has no Content-Type and no ce-specversion")
                   : fmt::format("Content-Type {} carries no CloudEvent", type.substr(0, 64)),
      "Use application/cloudevents+json, application/cloudevents-batch+json, or ce- headers.");
}

}  // namespace ackline::event
