#include "ackline/state/backend/subscription_codec.h"

#include "ackline/base/bytes.h"
#include "ackline/state/backend/sealed_value.h"

namespace ackline::state {
namespace {

constexpr std::string_view kWhat = "subscription";
constexpr std::uint8_t kVersion = 1;

}  // namespace

std::string encode_subscription(std::string_view key, const Subscription& value) {
  std::string fields;
  ByteWriter writer(fields);
  writer.blob(value.topic);
  writer.blob(value.client_id);
  writer.blob(value.group);
  writer.varint(value.incarnation.value());
  writer.u32(value.number.value());
  writer.blob(value.mode);
  writer.blob(value.principal);
  writer.blob(value.instance);
  writer.varint(value.partitions.size());
  for (const PartitionIndex partition : value.partitions) {
    writer.u32(partition.value());
  }
  writer.u32(value.max_in_flight);
  writer.varint(value.max_in_flight_bytes);
  writer.varint(value.ack_timeout_ms);
  writer.varint(value.max_lease_ms);
  writer.blob(value.filter);
  writer.blob(value.webhook);
  writer.svarint(value.created_at.value());
  writer.svarint(value.last_seen_at.value());
  return seal(kVersion, key, fields);
}

Result<Subscription> decode_subscription(std::string_view key, std::string_view bytes) {
  const Result<std::string_view> fields = unseal(kWhat, kVersion, key, bytes);
  if (!fields) {
    return fail(fields);
  }
  ByteReader in(as_bytes(*fields));
  Subscription value;
  value.topic = in.blob();
  value.client_id = in.blob();
  value.group = in.blob();
  value.incarnation = Incarnation(in.varint());
  value.number = ClientNumber(in.u32());
  value.mode = in.blob();
  value.principal = in.blob();
  value.instance = in.blob();
  const std::uint64_t partitions = in.varint();
  for (std::uint64_t i = 0; i < partitions && in.ok(); ++i) {
    value.partitions.push_back(PartitionIndex(in.u32()));
  }
  value.max_in_flight = in.u32();
  value.max_in_flight_bytes = in.varint();
  value.ack_timeout_ms = in.varint();
  value.max_lease_ms = in.varint();
  value.filter = in.blob();
  value.webhook = in.blob();
  value.created_at = WallMs(in.svarint());
  value.last_seen_at = WallMs(in.svarint());
  if (!in.ok() || !in.empty()) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  return value;
}

}  // namespace ackline::state
