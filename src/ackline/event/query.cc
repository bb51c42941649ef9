#include "ackline/event/query.h"

#include <charconv>

#include "ackline/event/json_scan.h"

namespace ackline::event {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool equals(const std::optional<std::string>& wanted, const FrameView& event,
            std::string_view name) {
  if (!wanted) {
    return true;
  }
  const auto attribute = event.find(name);
  return attribute && attribute->value == *wanted;
}

bool value_equals(std::string_view json, const std::string& wanted) {
  switch (json_kind(json)) {
    case JsonKind::kString:
      return json_string(json) == wanted;
    case JsonKind::kNumber: {
      // First by the digits: integers beyond 2^53 are not the same for being near.
      const bool both_integers = json.find_first_of(".eE") == std::string_view::npos &&
                                 wanted.find_first_of(".eE") == std::string::npos;
      return json == wanted || (!both_integers && number(json) && number(json) == number(wanted));
    }
    case JsonKind::kTrue:
    case JsonKind::kFalse:
    case JsonKind::kNull:
      return json == wanted;
    default:
      return false;
  }
}

}  // namespace

Result<DataMatch> DataMatch::parse(std::string_view text) {
  const std::size_t equal = text.find('=');
  if (!text.starts_with('/') || equal == std::string_view::npos) {
    return fail(ErrorCode::kBadValue, "data is not of the form /path=value",
                "Write it like /order/state=paid.", "data");
  }
  DataMatch match;
  match.pointer_ = std::string(text.substr(0, equal));
  match.value_ = std::string(text.substr(equal + 1));
  return match;
}

bool DataMatch::matches(const FrameView& event) const {
  if (event.data_kind() != DataKind::kJson) {
    return false;
  }
  // Checked again, because the walk trusts its text and a frame that was only opened does not say.
  const auto document = json_document(event.data());
  if (!document) {
    return false;
  }
  const auto found = json_at(*document, pointer_);
  return found && value_equals(*found, value_);
}

bool EventQuery::matches(const FrameView& event, WallMs append_time) const {
  if ((since && append_time < *since) || (until && append_time >= *until)) {
    return false;
  }
  if (!equals(id, event, "id") || !equals(type, event, "type") ||
      !equals(source, event, "source") || !equals(subject, event, "subject") ||
      !equals(key, event, "partitionkey")) {
    return false;
  }
  if (filter && filter->evaluate(event) == FilterResult::kNoMatch) {
    return false;
  }
  return !data || data->matches(event);
}

}  // namespace ackline::event
