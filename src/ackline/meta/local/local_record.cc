#include "ackline/meta/local/local_record.h"

#include <fmt/format.h>

#include "ackline/base/bytes.h"
#include "ackline/base/log_text.h"

namespace ackline::meta {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::uint8_t kInSession = 0x01;

std::string sealed(std::string_view key, std::string bytes) {
  const std::uint64_t sum = checksum64(as_bytes(bytes), checksum64(as_bytes(key)));
  ByteWriter(bytes).u64(sum);
  return bytes;
}

std::unexpected<Error> corrupt(std::string_view key) {
  return fail(ErrorCode::kCorrupt,
              fmt::format("the meta record '{}' is damaged", log_text::name(key)),
              "Restore the meta directory from a backup.");
}

// The bytes before the checksum, when it and the version are right.
Result<std::string_view> unsealed(std::string_view key, std::string_view bytes) {
  if (bytes.size() <= kChecksumBytes) {
    return corrupt(key);
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader sum(as_bytes(bytes.substr(body.size())));
  if (sum.u64() != checksum64(as_bytes(body), checksum64(as_bytes(key)))) {
    return corrupt(key);
  }
  const auto version = static_cast<std::uint8_t>(body.front());
  if (version != kVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the meta record '{}' has version {}; this build knows version {}",
                            log_text::name(key), version, kVersion),
                "Use the newer version of Ackline that wrote it.");
  }
  return body.substr(1);
}

}  // namespace

std::string record_key(std::string_view key) {
  std::string out(kRecordPrefix);
  out.append(key);
  return out;
}

std::string encode_record(std::string_view key, const LocalRecord& record) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.u8(record.in_session ? kInSession : 0);
  writer.u64(record.revision.value());
  writer.blob(record.value);
  return sealed(key, std::move(out));
}

Result<LocalRecord> decode_record(std::string_view key, std::string_view bytes) {
  const Result<std::string_view> body = unsealed(key, bytes);
  if (!body) {
    return fail(body);
  }
  ByteReader in(as_bytes(*body));
  LocalRecord record;
  const std::uint8_t flags = in.u8();
  record.in_session = (flags & kInSession) != 0;
  record.revision = Revision(in.u64());
  record.value = std::string(in.blob());
  if (!in.ok() || !in.empty() || (flags & ~kInSession) != 0 || record.revision == Revision()) {
    return corrupt(key);
  }
  return record;
}

std::string encode_revision(Revision revision) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.u64(revision.value());
  return sealed(kRevisionKey, std::move(out));
}

Result<Revision> decode_revision(std::string_view bytes) {
  const Result<std::string_view> body = unsealed(kRevisionKey, bytes);
  if (!body) {
    return fail(body);
  }
  ByteReader in(as_bytes(*body));
  const Revision revision(in.u64());
  if (!in.ok() || !in.empty()) {
    return corrupt(kRevisionKey);
  }
  return revision;
}

}  // namespace ackline::meta
