// Two bits per offset over a sliding window, in chunks of 4096: what the frontier knows of each
// offset.
//
// A chunk that is all settled, all gap or all unknown is a shared constant and takes no memory;
// only mixed chunks are allocated (1 KiB). The window is a ring of chunk pointers, 8 bytes per 4096
// offsets. Reads outside the ring say "unknown". Used by Frontier only, on its thread; nothing here
// fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ackline::frontier {

// What is known of one offset above the frontier.
enum class Mark : std::uint8_t {
  kNone,      // below the cursor: does not exist; above it: not known yet
  kSettled,   // exists and is terminal
  kPending,   // exists and is not terminal
  kKnownGap,  // above the cursor: known from before a restart not to exist
};

class BitWindow {
 public:
  static constexpr unsigned kChunkShift = 12;
  static constexpr std::uint64_t kChunkOffsets = 1ULL << kChunkShift;
  static constexpr std::size_t kChunkWords = kChunkOffsets / 64;

  // 64 offsets at once. Settled = exists & ~open, pending = exists & open, known gap = open alone.
  struct Word {
    std::uint64_t exists = 0;
    std::uint64_t open = 0;
    [[nodiscard]] std::uint64_t settled() const { return exists & ~open; }
    [[nodiscard]] std::uint64_t pending() const { return exists & open; }
    [[nodiscard]] std::uint64_t known_gap() const { return open & ~exists; }
  };

  BitWindow() = default;
  BitWindow(BitWindow&&) noexcept = default;
  BitWindow& operator=(BitWindow&&) noexcept = default;

  // Forgets everything; the ring starts at the chunk of `offset`.
  void clear(std::uint64_t offset);
  // Forgets the chunks that end at or below `offset`.
  void drop_below(std::uint64_t offset);
  // Returns memory that is kept for the next chunk. `empty`: nothing in the window matters.
  void trim(bool empty);

  [[nodiscard]] Mark at(std::uint64_t offset) const {
    const Chunk& chunk = chunk_at(offset >> kChunkShift);
    const std::uint64_t bit = 1ULL << (offset & 63U);
    const Word& word = chunk.words[word_of(offset)];
    const bool exists = (word.exists & bit) != 0;
    const bool open = (word.open & bit) != 0;
    return exists ? (open ? Mark::kPending : Mark::kSettled)
                  : (open ? Mark::kKnownGap : Mark::kNone);
  }
  // The 64 offsets from `offset & ~63`.
  [[nodiscard]] Word word_at(std::uint64_t offset) const {
    const Chunk& chunk = chunk_at(offset >> kChunkShift);
    return chunk.words[word_of(offset)];
  }
  // `offset` is at or above the ring's start. Grows the ring when it has to.
  void set(std::uint64_t offset, Mark mark);
  // The bits of `mask` in the word of `offset`.
  void set_word(std::uint64_t offset, std::uint64_t mask, Mark mark);
  // [begin, end); whole chunks take no memory, except for kPending.
  void set_range(std::uint64_t begin, std::uint64_t end, Mark mark);

  // The first pending offset in [from, end), or `end`.
  [[nodiscard]] std::uint64_t next_pending(std::uint64_t from, std::uint64_t end) const;
  // The first settled offset in [from, end), or `end`.
  [[nodiscard]] std::uint64_t next_settled(std::uint64_t from, std::uint64_t end) const;
  // The last pending offset in [begin, end), or `end` when there is none.
  [[nodiscard]] std::uint64_t last_pending(std::uint64_t begin, std::uint64_t end) const;
  // The last settled offset in [begin, end), or `end` when there is none.
  [[nodiscard]] std::uint64_t last_settled(std::uint64_t begin, std::uint64_t end) const;
  // The first offset in [from, end) that is not settled, or `end`.
  [[nodiscard]] std::uint64_t next_not_settled(std::uint64_t from, std::uint64_t end) const;
  // The first offset in [from, end) that is neither settled nor a known gap, or `end`.
  [[nodiscard]] std::uint64_t next_unsettled(std::uint64_t from, std::uint64_t end) const;

  struct Counts {
    std::uint64_t settled = 0;
    std::uint64_t pending = 0;
  };
  // Over [begin, end).
  [[nodiscard]] Counts count(std::uint64_t begin, std::uint64_t end) const;

  // The mark that all offsets of the chunk of `offset` share, where that is known at no cost.
  [[nodiscard]] std::optional<Mark> uniform(std::uint64_t offset) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  // Both bits of an offset share a cache line: with many partitions each chunk is cold.
  struct Chunk {
    std::uint32_t exists_count = 0;
    std::uint32_t pending_count = 0;
    std::array<Word, kChunkWords> words{};
  };
  static const Chunk kNoneChunk;
  static const Chunk kSettledChunk;
  static const Chunk kGapChunk;
  [[nodiscard]] static bool is_constant(const Chunk* chunk) {
    return chunk == &kNoneChunk || chunk == &kSettledChunk || chunk == &kGapChunk;
  }
  // Deletes only what was allocated.
  struct Release {
    void operator()(const Chunk* chunk) const {
      if (!is_constant(chunk)) {
        delete chunk;
      }
    }
  };
  using ChunkPtr = std::unique_ptr<const Chunk, Release>;

  [[nodiscard]] static std::size_t word_of(std::uint64_t offset) {
    return static_cast<std::size_t>((offset >> 6U) & (kChunkWords - 1));
  }
  [[nodiscard]] const Chunk& chunk_at(std::uint64_t number) const {
    const std::uint64_t index = number - base_;  // wraps below the ring: then it is >= size_ too
    return index < size_ ? *ring_[(head_ + static_cast<std::size_t>(index)) & (ring_.size() - 1)]
                         : kNoneChunk;
  }
  [[nodiscard]] ChunkPtr& slot(std::uint64_t number) {
    return ring_[(head_ + static_cast<std::size_t>(number - base_)) & (ring_.size() - 1)];
  }
  void reach(std::uint64_t number);
  [[nodiscard]] Chunk& writable(std::uint64_t number);
  void replace(ChunkPtr& chunk, const Chunk& constant);
  [[nodiscard]] std::uint64_t ring_end() const { return (base_ + size_) << kChunkShift; }
  template <class Skip, class Pick>
  [[nodiscard]] std::uint64_t find(std::uint64_t from, std::uint64_t end, Skip skip,
                                   Pick pick) const;
  template <class Skip, class Pick>
  [[nodiscard]] std::uint64_t find_last(std::uint64_t begin, std::uint64_t end, Skip skip,
                                        Pick pick) const;

  using Ring = std::vector<ChunkPtr>;  // a power of two long, or empty
  Ring ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::uint64_t base_ = 0;  // chunk number at head_
  std::unique_ptr<Chunk> spare_;
};

}  // namespace ackline::frontier
