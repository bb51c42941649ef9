// Shared pieces of the record codecs: bounded fields and the "all of it or kCorrupt" ending.
//
// Internal to state/records*.cc.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/state/records.h"

namespace ackline::state::codec {

// One below the largest number, so that the offset after any offset, and the length of any range,
// are numbers too.
inline constexpr std::uint64_t kOffsetMax =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 1;

// Reads fields and remembers whether each lay in its range.
class FieldReader {
 public:
  explicit FieldReader(ByteView body) : in_(body) {}
  std::uint8_t u8() { return in_.u8(); }
  std::uint64_t u64() { return in_.u64(); }
  std::int64_t svarint() { return in_.svarint(); }
  std::uint64_t varint_up_to(std::uint64_t most) {
    const std::uint64_t value = in_.varint();
    good_ = good_ && value <= most;
    return good_ ? value : 0;
  }
  std::uint32_t u32() {
    return static_cast<std::uint32_t>(varint_up_to(std::numeric_limits<std::uint32_t>::max()));
  }
  Offset offset() { return Offset(static_cast<std::int64_t>(varint_up_to(kOffsetMax))); }
  // Stored as the next one, so that -1 ("before the first") is 0.
  Offset offset_or_before() {
    return Offset(static_cast<std::int64_t>(varint_up_to(kOffsetMax)) - 1);
  }
  ProgressNumber progress() { return ProgressNumber(u32()); }
  std::uint64_t duration_ms() { return varint_up_to(kDurationMaxMs); }
  std::string text(std::size_t most) {
    const std::string_view text = in_.blob();
    good_ = good_ && text.size() <= most;
    return good_ ? std::string(text) : std::string();
  }
  // How many elements of at least `bytes_each` follow; more than the body can hold is damage.
  std::size_t count(std::size_t bytes_each) {
    return static_cast<std::size_t>(varint_up_to(in_.left() / bytes_each));
  }
  void require(bool holds) { good_ = good_ && holds; }
  [[nodiscard]] bool good() const { return good_ && in_.ok(); }
  [[nodiscard]] bool complete() const { return good() && in_.empty(); }

 private:
  ByteReader in_;
  bool good_ = true;
};

template <class Record>
[[nodiscard]] Result<Record> finish(const FieldReader& in, Record record) {
  if (!in.complete()) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("a record of type {} ({}) cannot be read",
                            static_cast<unsigned>(Record::kType), record_name(Record::kType)),
                "The journal is damaged here, or was written by a newer version.");
  }
  return record;
}

inline void put_offset_or_before(ByteWriter& out, Offset offset) {
  out.varint(static_cast<std::uint64_t>(offset.value() + 1));
}
inline void put_offset(ByteWriter& out, Offset offset) {
  out.varint(static_cast<std::uint64_t>(offset.value()));
}

}  // namespace ackline::state::codec
