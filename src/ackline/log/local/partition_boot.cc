// LocalPartition: open from a checkpoint's section and refill from the journal (J9).
#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/partition.h"
#include "ackline/log/local/records.h"

namespace ackline::log {

Result<std::unique_ptr<LocalPartition>> LocalPartition::open(
    io::FileSystem& fs, std::string directory, PartitionNumber number,
    std::optional<std::string_view> section, ReadCache& cache, PartitionOptions options) {
  std::unique_ptr<LocalPartition> partition(
      new LocalPartition(fs, std::move(directory), number, cache, options));
  if (section) {
    if (const Result<void> restored = partition->restore(*section); !restored)
      return fail(restored);
  }
  return partition;
}

Result<void> LocalPartition::restore(std::string_view bytes) {
  Result<Section> section = decode_section(bytes);
  if (!section) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("Partition {}: {}.", number_.value(), section.error().detail),
                "Run `ackline doctor`.");
  }
  log_start_ = section->log_start;
  next_ = section->next;
  synced_end_ = section->next;
  checkpoint_next_ = section->next;
  for (SectionSegment& known : section->segments) {
    Segment segment;
    segment.facts = known.facts;
    segment.identity = format::segment_identity(number_, known.facts.base);
    segment.sealed = known.sealed;
    segment.on_disk = true;
    if (!known.sealed) {
      segment.index = std::make_shared<SegmentIndex>(std::move(known.index));
      segment.cut_pending = true;
    }
    segments_.push_back(std::move(segment));
  }
  return check_files();
}

// Looks that every file is there and the unsealed ones are long enough. What is wrong counts only
// after the replay, which may say that retention had removed the file.
Result<void> LocalPartition::check_files() {
  if (segments_.empty()) return {};
  directory_made_ = true;
  Result<std::vector<std::string>> names = fs_.list(directory_);
  if (!names && names.error().code != ErrorCode::kNotFound) return fail(names);
  if (!names) {
    directory_made_ = false;
    names = std::vector<std::string>();
  }
  for (Segment& segment : segments_) {
    const std::string path = path_of(segment);
    if (!std::ranges::binary_search(*names, format::segment_name(segment.facts.base))) {
      segment.incomplete = true;
      segment.fault = fmt::format("{}, byte 0: the file is missing", path);
      continue;
    }
    if (segment.sealed) continue;
    Result<std::unique_ptr<io::File>> file = fs_.open(path, io::OpenMode::kReadWrite);
    if (!file) return fail(file);
    const Result<std::uint64_t> size = (*file)->size();
    if (!size) return fail(size);
    if (*size < segment.facts.length) {
      segment.incomplete = true;
      segment.fault = fmt::format("{}, byte {}: the file ends here, the checkpoint has {} bytes",
                                  path, *size, segment.facts.length);
      continue;
    }
    segment.file = *std::move(file);
    segment.allocated = *size;
  }
  return {};
}

Result<LocalPartition::PublishInfo> LocalPartition::describe_publish(ByteView body) {
  const Result<PublishBody> publish = decode_publish(body);
  if (!publish) return fail(publish);
  return PublishInfo{publish->base, publish->events, publish->time};
}

Result<void> LocalPartition::replay_publish(ByteView bytes) {
  const auto refuse = [this](std::string_view what) -> Result<void> {
    frozen_ = true;
    Error error{ErrorCode::kCorrupt, fmt::format("in the journal {}", what), {}, {}};
    error.detail = damaged(error).detail;
    return std::unexpected<Error>(std::move(error));
  };
  if (frozen_) return refuse("there was damage before");
  const Result<PublishBody> publish = decode_publish(bytes);
  if (!publish) return refuse(publish.error().detail);
  const Offset end = publish->base.plus(publish->events);
  if (end <= next_) return {};  // in the segments already
  if (publish->base != next_) {
    return refuse(fmt::format("a publish record begins at offset {}, expected was {}",
                              publish->base.value(), next_.value()));
  }
  const bool begins = publish->segment == next_;
  if (begins && publish->position == format::kSegmentHeaderBytes &&
      (segments_.empty() || !segments_.back().empty())) {
    Segment segment;
    segment.facts = {next_, next_, format::kSegmentHeaderBytes, kNoTime};
    segment.identity = format::segment_identity(number_, next_);
    segment.index = std::make_shared<SegmentIndex>();
    segments_.push_back(std::move(segment));
  }
  if (segments_.empty() || segments_.back().facts.base != publish->segment ||
      segments_.back().facts.length != publish->position || segments_.back().sealed) {
    return refuse(fmt::format("a publish record at offset {} names a place that is not the end",
                              publish->base.value()));
  }
  // All or nothing: verify before taking the first.
  Segment& segment = segments_.back();
  ByteView rest = publish->records;
  for (Offset at = publish->base; at < end; ++at) {
    const Result<std::uint32_t> length = verify_record(rest, segment.identity, at);
    if (!length) return refuse(length.error().detail);
    rest = rest.subspan(*length);
  }
  if (!rest.empty()) return refuse("a publish record is longer than its events");
  take_records(segment, *publish);
  if (!needs_flush()) return {};
  // A full disk does not stop the start: the tail stays in memory until there is room.
  Result<void> flushed = flush_tail();
  if (!flushed && flushed.error().code != ErrorCode::kFull) return flushed;
  return {};
}

void LocalPartition::take_records(Segment& segment, const PublishBody& publish) {
  ByteView rest = publish.records;
  while (!rest.empty()) {
    const auto bytes =
        static_cast<std::uint32_t>(format::kRecordHeaderBytes + format::load_u32(rest.data() + 8));
    const WallMs time(static_cast<std::int64_t>(format::load_u64(rest.data() + 20)));
    if (segment.incomplete) {
      // Counted only: a file that retention removed is not made again, a damaged one not touched.
      ++next_;
      segment.facts.end = next_;
      segment.facts.length += bytes;
      segment.facts.max_time = std::max(segment.facts.max_time, time);
    } else {
      std::byte* at = add_record(segment, bytes, time);
      std::ranges::copy(rest.first(bytes), at);
    }
    rest = rest.subspan(bytes);
  }
  // Past the journal's replay everything is synced (J10); until then nobody reads.
  synced_end_ = next_;
}

void LocalPartition::replay_log_start(Offset start) {
  truncate_before(start);
}

Result<void> LocalPartition::finish_replay() {
  if (frozen_) return std::unexpected<Error>(*damage_);
  for (const Segment& segment : segments_) {
    if (!segment.incomplete || segment.facts.end <= log_start_) continue;
    frozen_ = true;
    return std::unexpected<Error>(damaged(Error{ErrorCode::kCorrupt, segment.fault, {}, {}}));
  }
  if (Result<void> removed = remove_truncated(log_start_); !removed) return removed;
  if (Result<void> cut = cut_last(); !cut) return cut;
  return sweep_files();
}

// Bytes beyond the length that the checkpoint and the journal account for were never acknowledged.
Result<void> LocalPartition::cut_last() {
  for (Segment& segment : segments_) {
    if (!segment.cut_pending) continue;
    if (Result<void> cut = open_for_write(segment, segment.facts.length); !cut) return cut;
    // Most partitions are quiet at boot; a handle comes back with the first write or read.
    segment.file = nullptr;
  }
  return {};
}

// Files that neither the checkpoint nor the journal knows. Above the checkpoint's end they hold
// events that were never acknowledged. Without a checkpoint that knows this partition they are kept
// aside: nothing is deleted for want of metadata. In between they are left to the doctor.
Result<void> LocalPartition::sweep_files() {
  const Result<std::vector<std::string>> names = fs_.list(directory_);
  if (!names) {
    if (names.error().code == ErrorCode::kNotFound) return {};
    return fail(names);
  }
  for (const std::string& name : *names) {
    const std::optional<Offset> segment = format::parse_segment_name(name);
    const std::optional<Offset> base = segment ? segment : format::parse_index_name(name);
    if (!base) continue;
    const bool known =
        std::ranges::any_of(segments_, [&](const Segment& one) { return one.facts.base == *base; });
    if (known) continue;
    const std::string path = io::join(directory_, name);
    const bool above = checkpoint_next_ && *base >= *checkpoint_next_;
    const bool below = checkpoint_next_ && *base < log_start_;
    Result<void> done;
    if (above || below || !segment) {
      done = fs_.remove(path);
    } else if (!checkpoint_next_) {
      done = fs_.rename(path, path + ".stray");
    }
    if (!done) return done;
    directory_dirty_ = true;
  }
  return {};
}

}  // namespace ackline::log
