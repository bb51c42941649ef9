#include "ackline/state/backend/sealed_value.h"

#include <fmt/format.h>

#include "ackline/base/bytes.h"
#include "ackline/base/log_text.h"

namespace ackline::state {
namespace {

constexpr std::size_t kChecksumBytes = 8;

}  // namespace

std::string seal(std::uint8_t version, std::string_view key, std::string_view fields) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(version);
  writer.raw(as_bytes(fields));
  const std::uint64_t sum = checksum64(as_bytes(out), checksum64(as_bytes(key)));
  writer.u64(sum);
  return out;
}

Result<std::string_view> unseal(std::string_view what, std::uint8_t version, std::string_view key,
                                std::string_view bytes) {
  if (bytes.size() <= kChecksumBytes) {
    return std::unexpected(corrupt_value(what, key));
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader sum(as_bytes(bytes.substr(body.size())));
  if (sum.u64() != checksum64(as_bytes(body), checksum64(as_bytes(key)))) {
    return std::unexpected(corrupt_value(what, key));
  }
  const auto found = static_cast<std::uint8_t>(body.front());
  if (found != version) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the {} record '{}' has version {}; this build knows version {}", what,
                            log_text::name(key), found, version),
                "Use the newer version of Ackline that wrote it.");
  }
  return body.substr(1);
}

Error corrupt_value(std::string_view what, std::string_view key) {
  return {ErrorCode::kCorrupt,
          fmt::format("the {} record '{}' is damaged", what, log_text::name(key)),
          "Run `ackline doctor`: it says what can be repaired.",
          {}};
}

Result<void> check_key_part(std::string_view what, std::string_view name) {
  if (name.empty()) {
    return fail(ErrorCode::kBadName, fmt::format("the {} is empty", what), {}, std::string(what));
  }
  if (name.find_first_of("#/@") != std::string_view::npos) {
    return fail(ErrorCode::kBadName,
                fmt::format("the {} '{}' holds one of '#', '/' and '@'", what, name),
                "Choose a name without them.", std::string(what));
  }
  return {};
}

}  // namespace ackline::state
