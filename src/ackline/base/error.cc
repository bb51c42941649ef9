#include "ackline/base/error.h"

#include <array>

#include "ackline/base/check.h"

namespace ackline {
namespace {

struct Row {
  ErrorCode code;
  int status;
  std::string_view word;
  std::string_view title;
};

// In the order of the enumeration; `row()` checks it.
constexpr std::array kRows = {
    Row{ErrorCode::kBadRequest, 400, "bad_request", "Bad request"},
    Row{ErrorCode::kBadJson, 400, "bad_json", "Bad JSON"},
    Row{ErrorCode::kBadUtf8, 400, "bad_utf8", "Bad UTF-8"},
    Row{ErrorCode::kDuplicateKey, 400, "duplicate_key", "Duplicate key"},
    Row{ErrorCode::kMissingField, 400, "missing_field", "Missing field"},
    Row{ErrorCode::kUnknownField, 400, "unknown_field", "Unknown field"},
    Row{ErrorCode::kBadValue, 400, "bad_value", "Bad value"},
    Row{ErrorCode::kMissingAttribute, 400, "missing_attribute", "Missing attribute"},
    Row{ErrorCode::kBadAttribute, 400, "bad_attribute", "Bad attribute"},
    Row{ErrorCode::kBadName, 400, "bad_name", "Bad name"},
    Row{ErrorCode::kBadCursor, 400, "bad_cursor", "Bad cursor"},
    Row{ErrorCode::kConfirmRequired, 400, "confirm_required", "Confirmation required"},
    Row{ErrorCode::kUnauthorized, 401, "unauthorized", "Unauthorized"},
    Row{ErrorCode::kForbidden, 403, "forbidden", "Forbidden"},
    Row{ErrorCode::kNotOwner, 403, "not_owner", "Not the owner"},
    Row{ErrorCode::kTopicUnknown, 404, "topic_unknown", "Unknown topic"},
    Row{ErrorCode::kGroupUnknown, 404, "group_unknown", "Unknown group"},
    Row{ErrorCode::kClientUnknown, 404, "client_unknown", "Unknown client"},
    Row{ErrorCode::kDeliveryUnknown, 404, "delivery_unknown", "Unknown delivery"},
    Row{ErrorCode::kNotFound, 404, "not_found", "Not found"},
    Row{ErrorCode::kMethodNotAllowed, 405, "method_not_allowed", "Method not allowed"},
    Row{ErrorCode::kRequestTimeout, 408, "request_timeout", "Request timeout"},
    Row{ErrorCode::kTooLarge, 413, "too_large", "Too large"},
    Row{ErrorCode::kMediaType, 415, "media_type", "Unsupported media type"},
    Row{ErrorCode::kHeadersTooLarge, 431, "headers_too_large", "Headers too large"},
    Row{ErrorCode::kStale, 409, "stale", "Stale"},
    Row{ErrorCode::kFenced, 409, "fenced", "Fenced"},
    Row{ErrorCode::kSettled, 409, "settled", "Already settled"},
    Row{ErrorCode::kLeaseLimit, 409, "lease_limit", "Lease limit"},
    Row{ErrorCode::kGroupConflict, 409, "group_conflict", "Group conflict"},
    Row{ErrorCode::kAlreadySubscribed, 409, "already_subscribed", "Already subscribed"},
    Row{ErrorCode::kAlreadyExists, 409, "already_exists", "Already exists"},
    Row{ErrorCode::kStreamOpen, 409, "stream_open", "Stream open"},
    Row{ErrorCode::kInUse, 409, "in_use", "In use"},
    Row{ErrorCode::kRateLimited, 429, "rate_limited", "Rate limited"},
    Row{ErrorCode::kUnsupported, 501, "unsupported", "Unsupported"},
    Row{ErrorCode::kUnavailable, 503, "unavailable", "Unavailable"},
    Row{ErrorCode::kDraining, 503, "draining", "Draining"},
    Row{ErrorCode::kStarting, 503, "starting", "Starting"},
    Row{ErrorCode::kPoisoned, 503, "poisoned", "Journal poisoned"},
    Row{ErrorCode::kQuarantined, 503, "quarantined", "Partition quarantined"},
    Row{ErrorCode::kOwnerElsewhere, 503, "owner_elsewhere", "Owner elsewhere"},
    Row{ErrorCode::kAmbiguous, 503, "ambiguous", "Outcome unknown"},
    Row{ErrorCode::kCorrupt, 503, "corrupt", "Damaged data"},
    Row{ErrorCode::kTimeout, 504, "timeout", "Timeout"},
    Row{ErrorCode::kFull, 507, "full", "Disk full"},
};

const Row& row(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  ACKLINE_CHECK(index < kRows.size() && kRows[index].code == code);
  return kRows[index];
}

}  // namespace

std::string_view error_word(ErrorCode code) {
  return row(code).word;
}
std::string_view error_title(ErrorCode code) {
  return row(code).title;
}
int error_status(ErrorCode code) {
  return row(code).status;
}

}  // namespace ackline
