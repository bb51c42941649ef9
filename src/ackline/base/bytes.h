// Bytes in and out: little-endian integers, varints, length-prefixed strings, and the checksum of
// every format.
//
// ByteReader never reads past its end and never throws: after a failed read `ok()` is false and
// every value is zero or empty, so a decoder reads all its fields and asks once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ackline {

using ByteView = std::span<const std::byte>;

[[nodiscard]] inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// XXH3, 64 bits. Every on-disk format uses this one (docs/formats).
[[nodiscard]] std::uint64_t checksum64(ByteView bytes, std::uint64_t seed = 0);

// Appends to a string that it does not own.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { fixed(value); }
  void u32(std::uint32_t value) { fixed(value); }
  void u64(std::uint64_t value) { fixed(value); }
  // LEB128, 1 to 10 bytes.
  void varint(std::uint64_t value) {
    while (value >= 0x80U) {
      u8(static_cast<std::uint8_t>(value | 0x80U));
      value >>= 7U;
    }
    u8(static_cast<std::uint8_t>(value));
  }
  // Zigzag, then LEB128.
  void svarint(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void raw(ByteView bytes) { out_.append(as_text(bytes)); }
  // varint length, then the bytes.
  void blob(std::string_view bytes) {
    varint(bytes.size());
    out_.append(bytes);
  }
  [[nodiscard]] std::size_t size() const { return out_.size(); }

 private:
  template <class T>
  void fixed(T value) {
    char raw[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      raw[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    out_.append(raw, sizeof(T));
  }
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : rest_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint64_t varint();
  std::int64_t svarint() {
    const std::uint64_t raw = varint();
    return static_cast<std::int64_t>(raw >> 1U) ^ -static_cast<std::int64_t>(raw & 1U);
  }
  ByteView raw(std::size_t count);
  std::string_view blob() {
    const std::uint64_t count = varint();
    return as_text(raw(count > rest_.size() ? rest_.size() + 1 : static_cast<std::size_t>(count)));
  }

 private:
  template <class T>
  T fixed() {
    const ByteView bytes = raw(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    }
    return static_cast<T>(value);
  }
  ByteView rest_;
  bool ok_ = true;
};

}  // namespace ackline
