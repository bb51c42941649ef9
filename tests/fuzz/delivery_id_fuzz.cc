// The deliveryId. Law: every id reads back as itself, and only the very text that the codec writes
// is read.
#include <cstdint>
#include <string>

#include "ackline/delivery/delivery_id.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using ackline::delivery::DeliveryId;
using ackline::delivery::DeliveryIdCodec;
using ackline::fuzz::Input;
using ackline::fuzz::law;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const DeliveryIdCodec codec(0x54321, DeliveryIdCodec::Key{std::byte{1}, std::byte{2}});
  Input input(data, size);
  if (const auto id = codec.decode(input.rest())) {
    std::string text;
    codec.encode(*id, text);
    law(text == input.rest(), "only the written text is read");
  }
  const DeliveryId id{
      .epoch = ackline::Epoch(static_cast<std::uint32_t>(input.number())),
      .progress = ackline::ProgressNumber(static_cast<std::uint32_t>(input.number())),
      .partition = ackline::PartitionIndex(static_cast<std::uint32_t>(input.number())),
      .offset = ackline::Offset(static_cast<std::int64_t>(input.number() >> 1U)),
      .slot = static_cast<std::uint32_t>(input.number()),
      .offer = static_cast<std::uint32_t>(input.number())};
  std::string text;
  codec.encode(id, text);
  law(text.size() <= DeliveryIdCodec::kTextBytesMax, "an id is within its length");
  const auto read = codec.decode(text);
  law(read.has_value() && *read == id, "an id reads back as itself");
  ackline::fuzz::planted(read->slot == 4711 && read->offer > 2);
  // Another data directory has another key: the check refuses all but one in 2^24, so only a law of
  // that codec is asked for.
  static const DeliveryIdCodec other(0x54322, DeliveryIdCodec::Key{std::byte{3}});
  law(!other.decode(text).has_value(), "another salt is refused");
  return 0;
}
