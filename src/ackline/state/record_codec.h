// Shared pieces of the record codecs: bounded fields and the "all of it or kCorrupt" ending.
//
// Internal to state/records*.cc.
#pragma once

#include <fmt/format.h>

#include <array>
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
  // `value` as one of the enumerators from `first` to `last`, which have no gaps.
  template <class Enum>
  Enum one_of(unsigned value, Enum first, Enum last) {
    const bool known =
        value >= static_cast<unsigned>(first) && value <= static_cast<unsigned>(last);
    good_ = good_ && known;
    return known ? static_cast<Enum>(value) : first;
  }
  void require(bool holds) { good_ = good_ && holds; }
  [[nodiscard]] bool good() const { return good_ && in_.ok(); }
  [[nodiscard]] bool complete() const { return good() && in_.empty(); }

 private:
  ByteReader in_;
  bool good_ = true;
};

// Gathers the fields of a short record and appends them in one piece: offers and settles are
// encoded for every delivery, and growing a string byte by byte is what that would mostly cost.
class ShortWriter {
 public:
  void u8(std::uint8_t value) { bytes_[size_++] = static_cast<char>(value); }
  void varint(std::uint64_t value) {
    while (value >= 0x80U) {
      u8(static_cast<std::uint8_t>(value | 0x80U));
      value >>= 7U;
    }
    u8(static_cast<std::uint8_t>(value));
  }
  void offset(Offset offset) { varint(static_cast<std::uint64_t>(offset.value())); }
  void append_to(std::string& out) const { out.append(bytes_.data(), size_); }

 private:
  static constexpr std::size_t kVarintBytesMax = 10;
  static constexpr std::size_t kFieldsMax = 10;
  std::array<char, kFieldsMax * kVarintBytesMax> bytes_;
  std::size_t size_ = 0;
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
