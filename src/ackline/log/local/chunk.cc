#include "ackline/log/local/chunk.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/log/local/format.h"

namespace ackline::log {

Chunk::Chunk(Offset segment, ChunkStart start, std::uint32_t capacity_bytes)
    : segment_(segment),
      start_(start),
      capacity_(capacity_bytes),
      data_(std::make_unique_for_overwrite<std::byte[]>(capacity_bytes)) {}

std::uint64_t Chunk::position_of(Offset offset) const {
  if (offset == end()) return end_position();
  ACKLINE_CHECK(contains(offset));
  return start_.position + places_[static_cast<std::size_t>(offset.value() - first().value())];
}

StoredEvent Chunk::event(Offset offset) const {
  ACKLINE_CHECK(contains(offset));
  const std::byte* at =
      data_.get() + places_[static_cast<std::size_t>(offset.value() - first().value())];
  return StoredEvent{offset, WallMs(static_cast<std::int64_t>(format::load_u64(at + 20))),
                     ByteView(at + format::kRecordHeaderBytes, format::load_u32(at + 8))};
}

std::uint64_t Chunk::memory_bytes() const {
  return sizeof(Chunk) + capacity_ + places_.capacity() * sizeof(std::uint32_t);
}

std::byte* Chunk::add(std::uint32_t bytes) {
  ACKLINE_CHECK(bytes <= room());
  places_.push_back(size_);
  std::byte* at = data_.get() + size_;
  size_ += bytes;
  return at;
}

void Chunk::cut(Offset offset) {
  ACKLINE_CHECK(offset >= first() && offset <= end());
  if (offset == end()) return;
  const auto keep = static_cast<std::size_t>(offset.value() - first().value());
  size_ = places_[keep];
  places_.resize(keep);
  flushed = std::min(flushed, size_);
}

// Reads and verifies one chunk, in as many steps as its first records need.
struct ChunkLoader {
  const io::File& file;
  const ChunkRequest& request;
  std::uint64_t identity;
  std::uint32_t wanted = 0;  // bytes that the next try has to read at least

  [[nodiscard]] std::unexpected<Error> corrupt(std::uint64_t position,
                                               std::string_view what) const {
    return fail(ErrorCode::kCorrupt, fmt::format("{}, byte {}: {}", request.path, position, what));
  }

  // One try: null when it has to read more (`wanted` was raised).
  [[nodiscard]] Result<std::shared_ptr<const Chunk>> load(bool wait) {
    const std::uint64_t left = request.segment_length - request.start.position;
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, left));
    auto chunk = std::make_shared<Chunk>(request.segment, request.start, size);
    const std::span<std::byte> out(chunk->data_.get(), size);
    const Result<std::size_t> count = wait ? file.read(request.start.position, out)
                                           : file.read_nowait(request.start.position, out);
    if (!count) return fail(count);
    if (*count < size) {
      return corrupt(request.start.position + *count,
                     fmt::format("the file ends here, {} bytes are missing", left - *count));
    }
    if (const Result<void> parsed = parse(*chunk, size); !parsed) return fail(parsed);
    if (chunk->end() > request.must_have) return std::shared_ptr<const Chunk>(std::move(chunk));
    if (size == left) {
      return corrupt(chunk->end_position(),
                     fmt::format("the segment ends before offset {}", request.must_have.value()));
    }
    wanted = std::max(wanted, size <= 0x7fffffffU ? size * 2 : size);
    return std::shared_ptr<const Chunk>();
  }

  // Takes whole records; what is cut off at the end of the read is left to the next chunk.
  [[nodiscard]] Result<void> parse(Chunk& chunk, std::uint32_t size) {
    const std::byte* data = chunk.data_.get();
    Offset expected = request.start.offset;
    chunk.places_.reserve(size / 256 + 1);
    while (size - chunk.size_ >= format::kRecordHeaderBytes) {
      const std::uint32_t place = chunk.size_;
      const std::uint64_t position = request.start.position + place;
      const std::uint64_t length =
          format::kRecordHeaderBytes + std::uint64_t{format::load_u32(data + place + 8)};
      if (length > request.segment_length - position) {
        return corrupt(position, "a record runs beyond the end of the segment");
      }
      if (length > size - place) {
        wanted = std::max(wanted, static_cast<std::uint32_t>(place + length));
        break;
      }
      const ByteView covered(data + place + format::kChecksumBytes,
                             length - format::kChecksumBytes);
      if ((checksum64(covered) ^ identity) != format::load_u64(data + place)) {
        return corrupt(position,
                       fmt::format("the checksum of offset {} does not match", expected.value()));
      }
      if (static_cast<std::int64_t>(format::load_u64(data + place + 12)) != expected.value()) {
        return corrupt(position, fmt::format("offset {} is not here", expected.value()));
      }
      chunk.places_.push_back(place);
      chunk.size_ = static_cast<std::uint32_t>(place + length);
      ++expected;
    }
    chunk.flushed = chunk.size_;
    return {};
  }
};

Result<std::shared_ptr<const Chunk>> load_chunk(const io::File& file, const ChunkRequest& request,
                                                bool wait) {
  ACKLINE_CHECK(request.start.position >= format::kSegmentHeaderBytes &&
                request.start.offset <= request.must_have);
  if (request.start.position >= request.segment_length) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{}, byte {}: the segment ends before offset {}", request.path,
                            request.segment_length, request.must_have.value()));
  }
  ChunkLoader loader{file, request, format::segment_identity(request.partition, request.segment),
                     std::max<std::uint32_t>(request.fetch_bytes, 512)};
  while (true) {
    Result<std::shared_ptr<const Chunk>> chunk = loader.load(wait);
    if (!chunk || *chunk != nullptr) return chunk;
  }
}

}  // namespace ackline::log
