#include "ackline/io/journal/batch_builder.h"

#include <algorithm>
#include <cstring>

#include "ackline/base/check.h"

namespace ackline::io::journal {
namespace {

constexpr std::size_t kFirstBuffer = 64 * 1024;
constexpr std::size_t kKeptBuffer = std::size_t{8} << 20;
constexpr std::size_t kRecordHeadMax = 1 + 5 + 10;

std::byte* put_varint(std::byte* out, std::uint64_t value) {
  while (value >= 0x80U) {
    *out++ = static_cast<std::byte>(value | 0x80U);
    value >>= 7U;
  }
  *out++ = static_cast<std::byte>(value);
  return out;
}

// A hash that wraps in 32 bits on purpose.
std::uint32_t first_slot(PartitionNumber partition) {
  return partition.value() * 0x9e3779b1U;
}

}  // namespace

BatchBuilder::BatchBuilder() : buffer_(kFirstBuffer), slots_(64) {}

void BatchBuilder::grow(std::size_t more) {
  ACKLINE_CHECK(end_ + more < kBodyBytesMax + kGap);
  buffer_.resize(std::max(buffer_.size() * 2, end_ + more));
}

void BatchBuilder::add(std::uint8_t type, PartitionNumber partition, ByteView body) {
  reserve(kRecordHeadMax + body.size());
  std::byte* at = buffer_.data() + end_;
  *at++ = static_cast<std::byte>(type);
  at = put_varint(at, partition.value());
  at = put_varint(at, body.size());
  if (!body.empty()) std::memcpy(at, body.data(), body.size());
  end_ = static_cast<std::size_t>(at - buffer_.data()) + body.size();
  ++records_;
  touch(partition);
}

void BatchBuilder::add_body(ByteView body, std::span<const PartitionNumber> partitions) {
  reserve(body.size());
  if (!body.empty()) std::memcpy(buffer_.data() + end_, body.data(), body.size());
  end_ += body.size();
  for (const PartitionNumber partition : partitions) touch(partition);
}

void BatchBuilder::clear() {
  if (buffer_.size() > kKeptBuffer) {
    buffer_.resize(kFirstBuffer);
    buffer_.shrink_to_fit();
  }
  end_ = kGap;
  records_ = 0;
  touched_.clear();
  if (++round_ == 0) {
    std::ranges::fill(slots_, Slot{});
    round_ = 1;
  }
}

void BatchBuilder::touch_slowly(PartitionNumber partition) {
  if (touched_.size() * 2 >= slots_.size()) widen_slots();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = first_slot(partition) & mask;
  while (slots_[at].round == round_ && slots_[at].partition != partition.value()) {
    at = (at + 1) & mask;
  }
  if (slots_[at].round != round_) {
    slots_[at] = {partition.value(), round_};
    touched_.push_back(partition);
  }
}

void BatchBuilder::widen_slots() {
  slots_.assign(slots_.size() * 2, Slot{});
  const std::size_t mask = slots_.size() - 1;
  for (const PartitionNumber touched : touched_) {
    std::size_t at = first_slot(touched) & mask;
    while (slots_[at].round == round_) at = (at + 1) & mask;
    slots_[at] = {touched.value(), round_};
  }
}

BatchBuilder::Sealed BatchBuilder::seal(std::uint64_t journal_id, Lsn lsn, Lsn synced_through,
                                        std::uint64_t previous) {
  mark_.journal_id = journal_id;
  mark_.lsn = lsn;
  mark_.body_bytes = static_cast<std::uint32_t>(body_bytes());
  mark_.synced_through = synced_through;
  mark_.previous = previous;
  if (touched_.size() <= kInlinePartitionsMax) {
    mark_.partitions.assign(touched_.begin(), touched_.end());
    mark_.listed = 0;
  } else {
    mark_.partitions.clear();
    mark_.listed = static_cast<std::uint32_t>(touched_.size());
  }
  const std::size_t tail_at = static_cast<std::size_t>(align_up(end_, 8));
  const std::size_t tail_bytes = tail_at - end_ + mark_.list_bytes() + mark_.mark_bytes();
  reserve(tail_bytes);
  mark_.body_checksum = checksum64({buffer_.data() + kGap, body_bytes()});
  std::memset(buffer_.data() + end_, 0, tail_at - end_);
  if (mark_.listed != 0) encode_list(touched_, buffer_.data() + tail_at);
  encode_mark(mark_, kTrailerMagic, buffer_.data() + tail_at + mark_.list_bytes());
  std::byte* start = buffer_.data() + kGap - mark_.mark_bytes();
  const std::uint64_t checksum = encode_mark(mark_, kHeaderMagic, start);
  return {{start, static_cast<std::size_t>(mark_.batch_bytes())}, checksum};
}

}  // namespace ackline::io::journal
