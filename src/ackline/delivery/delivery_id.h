// The deliveryId: the name of one offer, which routes itself and needs no memory (invariant 12).
//
// `<epoch>-<salt>-<seq>`, lower-case base32 (digits, then a to v). The text carries everything that
// finds the slot it stands for, and a 24-bit keyed check, so that an id from another data
// directory, a guessed or a damaged one is refused before anything is looked up. Byte table:
// docs/formats/delivery-id.md.
//
// A codec is immutable after construction: any thread. Any text is safe to decode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/base/sip_hash.h"
#include "ackline/base/types.h"

namespace ackline::delivery {

struct DeliveryId {
  Epoch epoch;
  ProgressNumber progress;
  PartitionIndex partition;
  Offset offset;  // >= 0
  std::uint32_t slot = 0;
  std::uint32_t offer = 0;
  friend bool operator==(const DeliveryId&, const DeliveryId&) = default;
};

class DeliveryIdCodec {
 public:
  static constexpr std::uint32_t kSaltBits = 20;
  static constexpr std::size_t kTextBytesMax = 65;
  using Key = std::array<std::byte, 16>;

  // `salt` (its low 20 bits count) and `key` belong to a data directory and never change there.
  DeliveryIdCodec(std::uint32_t salt, const Key& key);

  // Appends the text of `id`.
  void encode(const DeliveryId& id, std::string& out) const;
  // Only what `encode` of this codec wrote is accepted, byte for byte. Errors: kDeliveryUnknown.
  [[nodiscard]] Result<DeliveryId> decode(std::string_view text) const;

 private:
  [[nodiscard]] std::uint32_t check_of(Epoch epoch, std::span<std::uint8_t> bytes) const;

  std::uint32_t salt_;
  std::array<char, 4> salt_text_;
  SipKey key_;
};

}  // namespace ackline::delivery
