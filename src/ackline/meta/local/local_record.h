// How the local meta store writes records into its KeyValue (docs/formats/stores.md).
//
// Each record carries a checksum over its key and value, so that a flipped bit, or a value under
// another key, is seen. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/meta/meta_store.h"

namespace ackline::meta {

inline constexpr std::string_view kRevisionKey = "r";
inline constexpr std::string_view kRecordPrefix = "k";

struct LocalRecord {
  Revision revision;
  bool in_session = false;
  std::string value;
};

[[nodiscard]] std::string record_key(std::string_view key);
[[nodiscard]] std::string encode_record(std::string_view key, const LocalRecord& record);
// kCorrupt names `key`; kUnsupported names a version that this build does not know.
[[nodiscard]] Result<LocalRecord> decode_record(std::string_view key, std::string_view bytes);

[[nodiscard]] std::string encode_revision(Revision revision);
[[nodiscard]] Result<Revision> decode_revision(std::string_view bytes);

}  // namespace ackline::meta
