// A run of whole, verified records of one segment in memory, with the place of each.
//
// The tail is made of chunks that are still growing; reads from files make full ones. Offsets
// inside are contiguous, so finding a record is an array access. The bytes never move: batches
// point into them from any thread while the owner appends behind. Owned by `shared_ptr` because a
// batch outlives the tail and the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/log/event_log.h"

namespace ackline::log {

// Where in a segment a reader may begin: the record of `offset` starts at byte `position`.
struct ChunkStart {
  Offset offset;
  std::uint64_t position = 0;
  friend bool operator==(const ChunkStart&, const ChunkStart&) = default;
};

class Chunk {
 public:
  // An empty one that can take `capacity_bytes`, beginning at `start` of segment `segment`.
  Chunk(Offset segment, ChunkStart start, std::uint32_t capacity_bytes);

  [[nodiscard]] Offset segment() const { return segment_; }
  [[nodiscard]] Offset first() const { return start_.offset; }
  [[nodiscard]] Offset end() const {
    return start_.offset.plus(static_cast<std::int64_t>(places_.size()));
  }
  [[nodiscard]] bool contains(Offset offset) const { return offset >= first() && offset < end(); }
  // Byte position in the segment of the first byte and of the one after the last.
  [[nodiscard]] std::uint64_t position() const { return start_.position; }
  [[nodiscard]] std::uint64_t end_position() const { return start_.position + size_; }
  [[nodiscard]] std::uint64_t position_of(Offset offset) const;
  [[nodiscard]] StoredEvent event(Offset offset) const;
  [[nodiscard]] ByteView bytes() const { return {data_.get(), size_}; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint32_t unflushed() const { return size_ - flushed; }
  [[nodiscard]] std::uint32_t room() const { return capacity_ - size_; }
  [[nodiscard]] std::uint64_t memory_bytes() const;

  // Room for one record of `bytes` bytes (<= room()), to be filled by the caller at once.
  [[nodiscard]] std::byte* add(std::uint32_t bytes);
  // Forgets the records from `offset` on.
  void cut(Offset offset);

  // How much of it is in the file already. Kept here for the tail's owner.
  std::uint32_t flushed = 0;

 private:
  friend struct ChunkLoader;
  Offset segment_;
  ChunkStart start_;
  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
  std::unique_ptr<std::byte[]> data_;
  std::vector<std::uint32_t> places_;  // of record i, relative to the chunk
};

// What to read: whole records of segment `segment` from `start` on.
struct ChunkRequest {
  PartitionNumber partition;
  Offset segment;
  ChunkStart start;
  Offset must_have;                  // the chunk has to reach beyond this offset
  std::uint64_t segment_length = 0;  // bytes that are data
  std::uint32_t fetch_bytes = 0;     // read about so much
  std::string path;                  // for errors
};

// Reads and verifies. `wait` = may block. Errors: kTimeout (only without `wait`), kCorrupt naming
// file and position, the file's own.
[[nodiscard]] Result<std::shared_ptr<const Chunk>> load_chunk(const io::File& file,
                                                              const ChunkRequest& request,
                                                              bool wait);

}  // namespace ackline::log
