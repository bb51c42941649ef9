// LocalPartition: reading, by offset and by time.
#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/partition.h"
#include "ackline/log/local/read_job.h"

namespace ackline::log {

namespace {

// Sealed segments of one partition that keep a handle and an index.
constexpr std::size_t kSealedOpenMax = 4;

}  // namespace

Segment* LocalPartition::segment_of(Offset offset) {
  const auto above = std::ranges::upper_bound(segments_, offset, {},
                                              [](const Segment& one) { return one.facts.base; });
  if (above == segments_.begin()) return nullptr;
  Segment& segment = *std::prev(above);
  return offset < segment.facts.end ? &segment : nullptr;
}

const std::shared_ptr<Chunk>* LocalPartition::in_tail(Offset offset) const {
  if (tail_.empty() || offset < tail_.front()->first()) return nullptr;
  const auto above = std::ranges::upper_bound(
      tail_, offset, {}, [](const std::shared_ptr<Chunk>& one) { return one->first(); });
  const std::shared_ptr<Chunk>& chunk = *std::prev(above);
  return chunk->contains(offset) ? &chunk : nullptr;
}

// Where a read of `offset` may begin: right behind what was read before it, so that a sequential
// reader fetches nothing twice; else at the index entry below it.
std::optional<ChunkStart> LocalPartition::start_in(const Segment& segment, Offset offset) {
  if (offset == segment.facts.base) return ChunkStart{offset, format::kSegmentHeaderBytes};
  const std::shared_ptr<const Chunk> before = cache_.find(number_, offset.previous());
  if (before != nullptr && before->segment() == segment.facts.base && before->end() == offset) {
    return ChunkStart{offset, before->end_position()};
  }
  if (segment.index == nullptr) return std::nullopt;
  return segment.index->before(offset);
}

ChunkRequest LocalPartition::request_for(const Segment& segment, Offset offset) const {
  ChunkRequest request;
  request.partition = number_;
  request.segment = segment.facts.base;
  request.start = {segment.facts.base, format::kSegmentHeaderBytes};
  request.must_have = offset;
  // What is in the tail may not be in the file; all before it is.
  const bool tail_here = !tail_.empty() && tail_.front()->segment() == segment.facts.base;
  request.segment_length = tail_here ? tail_.front()->position() : segment.facts.length;
  request.fetch_bytes = options_.fetch_bytes;
  request.path = path_of(segment);
  return request;
}

// What a job failed with is told once to who asks again, else a bad disk would be asked for ever.
Error LocalPartition::cold(Offset offset) {
  if (read_error_ && read_error_->first == offset) {
    Error error = std::move(read_error_->second);
    read_error_.reset();
    return error;
  }
  return Error{ErrorCode::kTimeout, "not in memory", {}, {}};
}

Result<std::shared_ptr<const Chunk>> LocalPartition::chunk_of(Offset offset, bool single) {
  if (const std::shared_ptr<Chunk>* chunk = in_tail(offset)) return *chunk;
  if (std::shared_ptr<const Chunk> cached = cache_.find(number_, offset)) return cached;
  Segment* segment = segment_of(offset);
  ACKLINE_CHECK(segment != nullptr);
  const std::shared_ptr<io::File> file = segment->readable();
  const std::optional<ChunkStart> start = start_in(*segment, offset);
  if (file == nullptr || !start) return std::unexpected<Error>(cold(offset));
  touch(*segment);
  ChunkRequest request = request_for(*segment, offset);
  request.start = *start;
  // One event alone: just the records between two index entries. Reading on from a cached chunk is
  // a sequential reader, however small its credit.
  if (single && start->offset != offset) {
    const std::optional<ChunkStart> next = segment->index->after(offset);
    const std::uint64_t end = next ? next->position : request.segment_length;
    request.fetch_bytes = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(end - start->position, 512, options_.fetch_bytes));
  }
  Result<std::shared_ptr<const Chunk>> chunk = load_chunk(*file, request, false);
  if (!chunk) {
    if (chunk.error().code == ErrorCode::kTimeout) return std::unexpected<Error>(cold(offset));
    if (chunk.error().code != ErrorCode::kCorrupt) return chunk;
    return std::unexpected<Error>(damaged(chunk.error()));
  }
  cache_.insert(number_, *chunk);
  return chunk;
}

Result<ReadBatch> LocalPartition::read(Offset from, ReadLimits limits) {
  if (const Result<void> good = usable(); !good) return fail(good);
  if (from > synced_end_) {
    return fail(ErrorCode::kBadValue,
                fmt::format("Offset {} is beyond the end of partition {}, {}.", from.value(),
                            number_.value(), synced_end_.value()));
  }
  ReadBatch batch;
  batch.next = std::max(from, log_start_);
  std::uint64_t bytes = 0;
  while (batch.next < synced_end_ && batch.events.size() < limits.max_events) {
    Result<std::shared_ptr<const Chunk>> chunk = chunk_of(batch.next, limits.max_events == 1);
    if (!chunk) {
      if (batch.events.empty()) return fail(chunk);
      break;  // what there is; the next read says why
    }
    // Before any of its events: whatever ends the loop, what is in the batch is kept alive.
    const Chunk& events = **chunk;
    batch.buffers.push_back(*std::move(chunk));
    const Offset end = std::min(events.end(), synced_end_);
    while (batch.next < end && batch.events.size() < limits.max_events) {
      const StoredEvent event = events.event(batch.next);
      const bool full = !batch.events.empty() && bytes + event.frame.size() > limits.max_bytes;
      if (full) return batch;
      bytes += event.frame.size();
      batch.events.push_back(event);
      ++batch.next;
    }
  }
  return batch;
}

Result<WallMs> LocalPartition::append_time(Offset offset) {
  if (const Result<void> good = usable(); !good) return fail(good);
  if (offset < log_start_ || offset >= synced_end_) {
    return fail(ErrorCode::kBadValue,
                fmt::format("Offset {} is not in partition {}.", offset.value(), number_.value()));
  }
  const Result<std::shared_ptr<const Chunk>> chunk = chunk_of(offset, true);
  if (!chunk) return fail(chunk);
  return (*chunk)->event(offset).append_time;
}

Result<Offset> LocalPartition::offset_at_time(WallMs time) {
  if (const Result<void> good = usable(); !good) return fail(good);
  Offset blocked;
  return search_time(time, blocked);
}

// Segments and index entries carry the highest time before them: the first record at or after
// `time` is the one at which that maximum gets there, even if the clock went back in between. A log
// start inside a segment may have taken that record; then the search goes on behind it.
Result<Offset> LocalPartition::search_time(WallMs time, Offset& blocked) {
  for (const Segment& segment : segments_) {
    const Offset end = std::min(segment.facts.end, synced_end_);
    if (end <= log_start_ || segment.facts.max_time < time) continue;
    blocked = std::max(segment.facts.base, log_start_);
    if (segment.index != nullptr) {
      const std::optional<ChunkStart> start = segment.index->before_time(time);
      if (start) blocked = std::max(blocked, start->offset);
    } else if (in_tail(blocked) == nullptr) {
      return std::unexpected<Error>(cold(blocked));
    }
    while (blocked < end) {
      const Result<std::shared_ptr<const Chunk>> chunk = chunk_of(blocked, false);
      if (!chunk) return fail(chunk);
      const Offset chunk_end = std::min((*chunk)->end(), end);
      for (; blocked < chunk_end; ++blocked) {
        if ((*chunk)->event(blocked).append_time >= time) return blocked;
      }
    }
  }
  return synced_end_;
}

ByteCount LocalPartition::bytes_between(Offset from, Offset to) {
  from = std::max(from, log_start_);
  to = std::min(to, synced_end_);
  if (from >= to || damage_) return {0, !damage_};
  const ByteCount low = bytes_below(from);
  const ByteCount high = bytes_below(to);
  return {high.bytes > low.bytes ? high.bytes - low.bytes : 0, low.exact && high.exact};
}

ByteCount LocalPartition::bytes_below(Offset offset) {
  std::uint64_t bytes = 0;
  for (const Segment& segment : segments_) {
    const SegmentFacts& facts = segment.facts;
    const auto frames = [&](std::uint64_t position, Offset at) {
      return bytes + position - format::kSegmentHeaderBytes -
             format::kRecordHeaderBytes *
                 static_cast<std::uint64_t>(at.value() - facts.base.value());
    };
    if (offset >= facts.end) {
      bytes = frames(facts.length, facts.end);
      continue;
    }
    if (offset <= facts.base) break;
    if (const auto chunk = chunk_of(offset, true)) {
      return {frames((*chunk)->position_of(offset), offset), true};
    }
    // Not in memory: in proportion between the index entries around it.
    ChunkStart low{facts.base, format::kSegmentHeaderBytes};
    ChunkStart high{facts.end, facts.length};
    if (segment.index != nullptr) {
      low = segment.index->before(offset).value_or(low);
      high = segment.index->after(offset).value_or(high);
    }
    const auto part = static_cast<std::uint64_t>(offset.value() - low.offset.value());
    const auto whole = static_cast<std::uint64_t>(high.offset.value() - low.offset.value());
    const std::uint64_t position = low.position + (high.position - low.position) / whole * part;
    return {frames(std::max(position, format::kSegmentHeaderBytes +
                                          format::kRecordHeaderBytes *
                                              static_cast<std::uint64_t>(offset.value() -
                                                                         facts.base.value())),
                   offset),
            false};
  }
  return {bytes, true};
}

std::unique_ptr<ReadJob> LocalPartition::read_job(Offset from) {
  const Offset offset = std::max(from, log_start_);
  LocalReadJob::Input input;
  input.fs = &fs_;
  input.request.partition = number_;
  Segment* segment = segment_of(offset);
  if (damage_ || offset >= synced_end_ || segment == nullptr || in_tail(offset) != nullptr) {
    return std::make_unique<LocalReadJob>(std::move(input));
  }
  input.request = request_for(*segment, offset);
  input.facts = segment->facts;
  input.index_path = io::join(directory_, format::index_name(segment->facts.base));
  input.file = segment->readable();
  // The one being written changes under the job: it gets a copy.
  if (segment->index != nullptr) {
    input.index =
        segment->sealed ? segment->index : std::make_shared<const SegmentIndex>(*segment->index);
  }
  input.idle = false;
  return std::make_unique<LocalReadJob>(std::move(input));
}

std::unique_ptr<ReadJob> LocalPartition::time_job(WallMs time) {
  Offset blocked = synced_end_;
  const Result<Offset> found = search_time(time, blocked);
  return read_job(found ? synced_end_ : blocked);
}

Result<void> LocalPartition::absorb(std::unique_ptr<ReadJob> finished) {
  auto* job = dynamic_cast<LocalReadJob*>(finished.get());
  ACKLINE_CHECK(job != nullptr && job->in.request.partition == number_);
  if (job->in.idle) return {};
  Segment* segment = segment_of(job->in.request.must_have);
  const bool gone = segment == nullptr || segment->facts.base != job->in.request.segment ||
                    job->in.request.must_have < log_start_;
  if (job->error) {
    // Retention may have removed the file before the job opened it.
    if (gone) return {};
    if (job->error->code == ErrorCode::kCorrupt) {
      return std::unexpected<Error>(damaged(*job->error));
    }
    read_error_.emplace(job->in.request.must_have, *job->error);
    return std::unexpected<Error>(*job->error);
  }
  read_error_.reset();
  if (gone) return {};
  if (segment->readable() == nullptr) segment->reader = job->in.file;
  if (segment->index == nullptr) segment->index = job->loaded_index;
  touch(*segment);
  cache_.insert(number_, job->chunk);
  return {};
}

void LocalPartition::touch(Segment& segment) {
  segment.last_use = ++use_counter_;
  if (!segment.sealed) return;
  std::size_t open = 0;
  Segment* oldest = nullptr;
  for (Segment& one : segments_) {
    if (!one.sealed || one.unsynced || one.syncing) continue;
    if (one.reader == nullptr && one.index == nullptr) continue;
    ++open;
    if (oldest == nullptr || one.last_use < oldest->last_use) oldest = &one;
  }
  if (open > kSealedOpenMax) {
    oldest->reader = nullptr;
    oldest->index = nullptr;
  }
}

}  // namespace ackline::log
