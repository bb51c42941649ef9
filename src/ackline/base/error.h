// Errors as values: a stable word, a sentence for a person, and the remedy.
//
// Every operation that can fail returns `Result<T>`. The code is one of a closed list; its word
// (`"topic_unknown"`) is part of the public contract, so a code is added, never renamed.
// `docs/errors.md` lists them for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ackline {

enum class ErrorCode : std::uint8_t {
  // Bad input.
  kBadRequest,
  kBadJson,
  kBadUtf8,
  kDuplicateKey,
  kMissingField,
  kUnknownField,
  kBadValue,
  kMissingAttribute,
  kBadAttribute,
  kBadName,
  kBadCursor,
  kConfirmRequired,
  // Not allowed.
  kUnauthorized,
  kForbidden,
  kNotOwner,
  // Not there.
  kTopicUnknown,
  kGroupUnknown,
  kClientUnknown,
  kDeliveryUnknown,
  kNotFound,
  kMethodNotAllowed,
  // The request itself.
  kRequestTimeout,
  kTooLarge,
  kMediaType,
  kHeadersTooLarge,
  // Conflicts with what is there. kStale is also the stores' "lost a compare-and-set".
  kStale,
  kFenced,
  kSettled,
  kLeaseLimit,
  kGroupConflict,
  kAlreadySubscribed,
  kAlreadyExists,
  kStreamOpen,
  kInUse,
  kRateLimited,
  kUnsupported,
  // The server cannot now. kAmbiguous: perhaps done; kCorrupt: what is on disk is damaged.
  kUnavailable,
  kDraining,
  kStarting,
  kPoisoned,
  kQuarantined,
  kOwnerElsewhere,
  kAmbiguous,
  kCorrupt,
  kTimeout,
  kFull,
};

// The stable word of `code`, e.g. "bad_value". Never empty.
[[nodiscard]] std::string_view error_word(ErrorCode code);
// A title for a person, e.g. "Bad value".
[[nodiscard]] std::string_view error_title(ErrorCode code);
// The HTTP status of the word (docs/errors.md).
[[nodiscard]] int error_status(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string detail;  // one sentence: what is wrong, with the values at fault
  std::string remedy;  // one sentence: what to do about it; may be empty
  std::string field;   // the field, parameter or attribute at fault; may be empty

  [[nodiscard]] std::string_view word() const { return error_word(code); }
};

}  // namespace ackline
