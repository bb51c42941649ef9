#include "ackline/log/local/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"

namespace ackline::log {

namespace {

constexpr std::uint32_t kSmallestChunkBytes = 4 * 1024;
constexpr std::uint32_t kLargestChunkBytes = 64 * 1024;

}  // namespace

LocalPartition::LocalPartition(io::FileSystem& fs, std::string directory, PartitionNumber number,
                               ReadCache& cache, PartitionOptions options)
    : fs_(fs),
      directory_(std::move(directory)),
      number_(number),
      cache_(cache),
      options_(options) {}

LocalPartition::~LocalPartition() = default;

std::string LocalPartition::path_of(const Segment& segment) const {
  return io::join(directory_, format::segment_name(segment.facts.base));
}

Result<void> LocalPartition::usable() const {
  if (damage_) return std::unexpected<Error>(*damage_);
  return {};
}

Error LocalPartition::damaged(const Error& found) {
  if (!damage_) {
    damage_ = Error{ErrorCode::kQuarantined,
                    fmt::format("Partition {} is quarantined: {}.", number_.value(), found.detail),
                    "Stop Ackline and run `ackline doctor`.",
                    {}};
  }
  return *damage_;
}

// Who says it knows the partition by its topic: its words replace ours.
void LocalPartition::quarantine(Error why) {
  if (!damage_ || damage_->code == ErrorCode::kQuarantined) damage_ = std::move(why);
}

Capabilities LocalPartition::capabilities() const {
  return {Capability::kDurable,        Capability::kOrdered,    Capability::kContiguousOffsets,
          Capability::kEndOffset,      Capability::kLogStart,   Capability::kReadByOffset,
          Capability::kReadByTime,     Capability::kTruncation, Capability::kNotification,
          Capability::kTopicManagement};
}

// A batch stays in one segment: a publish record names one place.
Segment& LocalPartition::segment_for_append(std::uint64_t batch_bytes) {
  // The last one may be sealed although there is room: a batch that did not fit began the next, was
  // taken back, and a restart forgot the next, which was empty.
  const bool fits = !segments_.empty() && !segments_.back().sealed &&
                    (segments_.back().empty() ||
                     segments_.back().facts.length + batch_bytes <= options_.segment_bytes);
  if (!fits) {
    Segment segment;
    segment.facts = {next_, next_, format::kSegmentHeaderBytes, kNoTime};
    segment.identity = format::segment_identity(number_, next_);
    segment.index = std::make_shared<SegmentIndex>();
    segments_.push_back(std::move(segment));
  }
  return segments_.back();
}

std::byte* LocalPartition::add_record(Segment& segment, std::uint32_t bytes, WallMs time) {
  const bool follows = !tail_.empty() && tail_.back()->segment() == segment.facts.base &&
                       tail_.back()->end() == next_;
  if (!follows || tail_.back()->room() < bytes) {
    // Chunks start small, so that a thousand partitions with an event a day stay cheap.
    const std::uint32_t last = follows ? tail_.back()->capacity() : 0;
    const std::uint32_t usual = std::clamp(last * 2, kSmallestChunkBytes, kLargestChunkBytes);
    tail_.push_back(std::make_shared<Chunk>(
        segment.facts.base, ChunkStart{next_, segment.facts.length}, std::max(usual, bytes)));
    tail_bytes_ += tail_.back()->capacity();
  }
  segment.index->add({next_, segment.facts.length, segment.facts.max_time},
                     format::kIndexStepBytes);
  std::byte* at = tail_.back()->add(bytes);
  segment.facts.length += bytes;
  segment.facts.max_time = std::max(segment.facts.max_time, time);
  ++next_;
  segment.facts.end = next_;
  unflushed_bytes_ += bytes;
  return at;
}

Result<Offset> LocalPartition::append(std::span<const ByteView> frames, WallMs now,
                                      std::string& body) {
  if (const Result<void> good = usable(); !good) return fail(good);
  std::uint64_t batch_bytes = 0;
  for (const ByteView frame : frames) {
    if (frame.size() > options_.max_frame_bytes) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("An event of {} bytes is over the log's limit of {}.", frame.size(),
                              options_.max_frame_bytes),
                  "Send a smaller event.");
    }
    batch_bytes += format::kRecordHeaderBytes + frame.size();
  }
  const Offset base = next_;
  if (frames.empty()) return base;
  Segment& segment = segment_for_append(batch_bytes);
  encode_publish_head(body,
                      {base,
                       static_cast<std::uint32_t>(frames.size()),
                       now,
                       segment.facts.base,
                       segment.facts.length,
                       {}},
                      batch_bytes);
  for (const ByteView frame : frames) {
    const auto bytes = static_cast<std::uint32_t>(format::kRecordHeaderBytes + frame.size());
    const Offset offset = next_;
    std::byte* at = add_record(segment, bytes, now);
    format::encode_record(at, segment.identity, offset, now, frame);
    body.append(reinterpret_cast<const char*>(at), bytes);
  }
  return base;
}

void LocalPartition::on_synced(Offset end) {
  ACKLINE_CHECK(end <= next_);
  synced_end_ = std::max(synced_end_, end);
  trim_tail(options_.tail_keep_bytes);
}

void LocalPartition::rollback(Offset to) {
  ACKLINE_CHECK(to >= synced_end_ && to <= next_);
  if (to == next_) return;
  // What is not synced never leaves the tail, so `to` lies in a chunk or begins one.
  std::uint64_t position = 0;
  while (!tail_.empty() && tail_.back()->first() >= to) {
    position = tail_.back()->position();
    unflushed_bytes_ -= tail_.back()->unflushed();
    tail_bytes_ -= tail_.back()->capacity();
    tail_.pop_back();
  }
  if (!tail_.empty() && tail_.back()->contains(to)) {
    Chunk& last = *tail_.back();
    unflushed_bytes_ -= last.unflushed();
    last.cut(to);
    unflushed_bytes_ += last.unflushed();
    position = last.end_position();
  }
  while (segments_.back().facts.base > to) {
    if (segments_.back().on_disk) doomed_.push_back(segments_.back().facts.base);
    segments_.pop_back();
  }
  Segment& segment = segments_.back();
  segment.index->cut(to);
  segment.facts.end = to;
  segment.facts.length = position;
  next_ = to;
}

void LocalPartition::trim_tail(std::uint64_t keep_bytes) {
  while (!tail_.empty() && tail_bytes_ > keep_bytes) {
    const Chunk& first = *tail_.front();
    // The last one still takes records; giving it up is for memory pressure only.
    const bool filling = tail_.size() == 1 && keep_bytes > 0;
    if (filling || first.unflushed() > 0 || first.end() > synced_end_) return;
    tail_bytes_ -= first.capacity();
    tail_.pop_front();
  }
}

void LocalPartition::release_memory() {
  trim_tail(0);
  for (Segment& segment : segments_) {
    if (segment.sealed) segment.index = nullptr;
  }
}

std::uint64_t LocalPartition::memory_bytes() const {
  std::uint64_t bytes = sizeof(LocalPartition) + segments_.size() * sizeof(Segment);
  for (const std::shared_ptr<Chunk>& chunk : tail_) bytes += chunk->memory_bytes();
  for (const Segment& segment : segments_) {
    if (segment.index != nullptr) bytes += segment.index->memory_bytes();
  }
  return bytes;
}

std::uint64_t LocalPartition::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const Segment& segment : segments_) bytes += segment.facts.length;
  return bytes;
}

}  // namespace ackline::log
