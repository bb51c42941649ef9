#include "ackline/delivery/delivery_id.h"

#include <bit>
#include <limits>
#include <span>

#include "ackline/base/check.h"

namespace ackline::delivery {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
constexpr std::uint8_t kBad = 0xFF;
constexpr std::size_t kCheckBytes = 3;
constexpr std::size_t kFieldBytesMax = 5 + 5 + 9 + 5 + 5;
constexpr std::size_t kPrefixBytes = 8;  // epoch and salt, of the bytes that are checked
constexpr std::size_t kEpochTextMax = 7;
constexpr std::size_t kSaltText = 4;
static_assert(DeliveryIdCodec::kTextBytesMax ==
              kEpochTextMax + 1 + kSaltText + 1 + ((kFieldBytesMax + kCheckBytes) * 8 + 4) / 5);

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kBad);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

std::uint8_t value_of(char digit) {
  return kValues[static_cast<unsigned char>(digit)];
}

std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80U) {
    *out++ = static_cast<std::uint8_t>(value | 0x80U);
    value >>= 7U;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

std::uint64_t load64(const std::byte* bytes) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) {
    word |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return word;
}

// Shortest form only, at most `max`: one number has one text.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  std::uint64_t read(std::uint64_t max) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const std::uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) {
        ok_ = ok_ && (byte != 0 || shift == 0) && value <= max;
        return value;
      }
    }
    ok_ = false;
    return 0;
  }
  std::uint32_t read32() {
    return static_cast<std::uint32_t>(read(std::numeric_limits<std::uint32_t>::max()));
  }
  [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
  bool ok_ = true;
};

std::unexpected<Error> unknown() {
  return fail(ErrorCode::kDeliveryUnknown, "this server never issued that deliveryId",
              "Send the deliveryId as it came with the delivery.", "deliveryId");
}

// False when it is not the one text of a u32 above all zeros but "0".
bool parse_epoch(std::string_view text, std::uint64_t& epoch) {
  if (text.empty() || text.size() > kEpochTextMax || (text.size() > 1 && text[0] == '0')) {
    return false;
  }
  epoch = 0;
  for (const char digit : text) {
    if (value_of(digit) == kBad) {
      return false;
    }
    epoch = epoch << 5U | value_of(digit);
  }
  return epoch <= std::numeric_limits<std::uint32_t>::max();
}

// The bytes that `text` stands for; none when it is no base32, or not the shortest.
std::span<const std::uint8_t> parse_base32(std::string_view text, std::span<std::uint8_t> out) {
  std::uint64_t bits = 0;
  unsigned count = 0;
  std::size_t size = 0;
  for (const char digit : text) {
    if (value_of(digit) == kBad) {
      return {};
    }
    bits = bits << 5U | value_of(digit);
    count += 5;
    if (count >= 8) {
      if (size == out.size()) {
        return {};
      }
      count -= 8;
      out[size++] = static_cast<std::uint8_t>(bits >> count);
    }
  }
  const bool padding_is_zero = (bits & ((1ULL << count) - 1)) == 0;
  return count < 5 && padding_is_zero ? out.first(size) : std::span<std::uint8_t>();
}

}  // namespace

DeliveryIdCodec::DeliveryIdCodec(std::uint32_t salt, const Key& key)
    : salt_(salt & ((1U << kSaltBits) - 1)),
      salt_text_{kDigits[salt_ >> 15U & 31U], kDigits[salt_ >> 10U & 31U],
                 kDigits[salt_ >> 5U & 31U], kDigits[salt_ & 31U]},
      key_{load64(key.data()), load64(key.data() + 8)} {}

// `bytes`: room for epoch and salt, then the fields.
std::uint32_t DeliveryIdCodec::check_of(Epoch epoch, std::span<std::uint8_t> bytes) const {
  for (unsigned i = 0; i < 4; ++i) {
    bytes[i] = static_cast<std::uint8_t>(epoch.value() >> (8 * i));
    bytes[i + 4] = static_cast<std::uint8_t>(salt_ >> (8 * i));
  }
  return static_cast<std::uint32_t>(sip_hash(key_, std::as_bytes(bytes))) & 0xFFFFFFU;
}

void DeliveryIdCodec::encode(const DeliveryId& id, std::string& out) const {
  ACKLINE_CHECK(id.offset.value() >= 0);
  std::array<std::uint8_t, kPrefixBytes + kFieldBytesMax + kCheckBytes> bytes;
  std::uint8_t* end = bytes.data() + kPrefixBytes;
  end = put_varint(end, id.progress.value());
  end = put_varint(end, id.partition.value());
  end = put_varint(end, static_cast<std::uint64_t>(id.offset.value()));
  end = put_varint(end, id.slot);
  end = put_varint(end, id.offer);
  const std::uint32_t check = check_of(id.epoch, std::span<std::uint8_t>(bytes.data(), end));
  for (unsigned i = 0; i < kCheckBytes; ++i) {
    *end++ = static_cast<std::uint8_t>(check >> (8 * i));
  }

  std::array<char, kTextBytesMax> text;
  char* to = text.data();
  const std::uint32_t epoch = id.epoch.value();
  const unsigned epoch_digits = (static_cast<unsigned>(std::bit_width(epoch | 1U)) + 4) / 5;
  for (unsigned i = epoch_digits; i-- > 0;) {
    *to++ = kDigits[epoch >> (5 * i) & 31U];
  }
  *to++ = '-';
  for (const char digit : salt_text_) {
    *to++ = digit;
  }
  *to++ = '-';
  std::uint64_t bits = 0;
  unsigned count = 0;
  for (const std::uint8_t* byte = bytes.data() + kPrefixBytes; byte != end; ++byte) {
    bits = bits << 8U | *byte;
    count += 8;
    while (count >= 5) {
      count -= 5;
      *to++ = kDigits[bits >> count & 31U];
    }
  }
  if (count > 0) {
    *to++ = kDigits[bits << (5 - count) & 31U];
  }
  out.append(text.data(), static_cast<std::size_t>(to - text.data()));
}

Result<DeliveryId> DeliveryIdCodec::decode(std::string_view text) const {
  const std::size_t dash = text.find('-');
  std::uint64_t epoch = 0;
  if (text.size() > kTextBytesMax || dash == std::string_view::npos ||
      !parse_epoch(text.substr(0, dash), epoch)) {
    return unknown();
  }
  const std::string_view rest = text.substr(dash + 1);
  if (rest.size() <= kSaltText || rest[kSaltText] != '-' ||
      rest.substr(0, kSaltText) != std::string_view(salt_text_.data(), kSaltText)) {
    return unknown();
  }
  std::array<std::uint8_t, kPrefixBytes + kFieldBytesMax + kCheckBytes> bytes;
  const std::span<const std::uint8_t> seq =
      parse_base32(rest.substr(kSaltText + 1), std::span(bytes).subspan(kPrefixBytes));
  if (seq.size() <= kCheckBytes) {
    return unknown();
  }
  const std::span<const std::uint8_t> fields = seq.first(seq.size() - kCheckBytes);
  const std::span<const std::uint8_t> check = seq.last(kCheckBytes);
  const std::uint32_t expected = check_of(Epoch(static_cast<std::uint32_t>(epoch)),
                                          std::span(bytes).first(kPrefixBytes + fields.size()));
  if ((check[0] | unsigned{check[1]} << 8U | unsigned{check[2]} << 16U) != expected) {
    return unknown();
  }
  FieldReader reader(fields);
  DeliveryId id;
  id.epoch = Epoch(static_cast<std::uint32_t>(epoch));
  id.progress = ProgressNumber(reader.read32());
  id.partition = PartitionIndex(reader.read32());
  id.offset = Offset(static_cast<std::int64_t>(
      reader.read(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))));
  id.slot = reader.read32();
  id.offer = reader.read32();
  if (!reader.complete()) {
    return unknown();
  }
  return id;
}

}  // namespace ackline::delivery
