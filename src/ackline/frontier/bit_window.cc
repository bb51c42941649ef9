#include "ackline/frontier/bit_window.h"

#include <algorithm>
#include <bit>

#include "ackline/base/check.h"

namespace ackline::frontier {
namespace {

constexpr std::uint64_t kAll = ~0ULL;

std::uint64_t bits_of(std::uint64_t word) {
  return static_cast<std::uint64_t>(std::popcount(word));
}

// The bits of the word of `offset` that lie in [begin, end).
std::uint64_t mask_in_word(std::uint64_t offset, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t word_begin = offset & ~63ULL;
  std::uint64_t mask = kAll;
  if (begin > word_begin) {
    mask &= kAll << (begin - word_begin);
  }
  if (end - word_begin < 64) {
    mask &= ~(kAll << (end - word_begin));
  }
  return mask;
}

}  // namespace

constinit const BitWindow::Chunk BitWindow::kNoneChunk{};
constinit const BitWindow::Chunk BitWindow::kSettledChunk = [] {
  Chunk chunk;
  for (Word& word : chunk.words) word.exists = kAll;
  chunk.exists_count = kChunkOffsets;
  return chunk;
}();
constinit const BitWindow::Chunk BitWindow::kGapChunk = [] {
  Chunk chunk;
  for (Word& word : chunk.words) word.open = kAll;
  return chunk;
}();

void BitWindow::replace(ChunkPtr& chunk, const Chunk& constant) {
  if (!spare_ && chunk && !is_constant(chunk.get())) {
    // It was allocated as a Chunk that is not const; only the ring looks at it through const.
    spare_.reset(const_cast<Chunk*>(chunk.release()));
  }
  chunk.reset(&constant);
}

void BitWindow::clear(std::uint64_t offset) {
  ring_.clear();
  ring_.shrink_to_fit();
  head_ = 0;
  size_ = 0;
  base_ = offset >> kChunkShift;
}

void BitWindow::drop_below(std::uint64_t offset) {
  const std::uint64_t number = offset >> kChunkShift;
  while (size_ > 0 && base_ < number) {
    replace(slot(base_), kNoneChunk);
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
    ++base_;
  }
  if (size_ == 0) {
    base_ = std::max(base_, number);
  }
}

void BitWindow::trim(bool empty) {
  spare_.reset();
  if (empty) {
    clear(base_ << kChunkShift);
    return;
  }
  const std::size_t fit = std::bit_ceil(size_);
  if (fit < ring_.size()) {
    Ring smaller(fit);
    for (std::size_t i = 0; i < size_; ++i) {
      smaller[i] = std::move(slot(base_ + i));
    }
    ring_ = std::move(smaller);
    head_ = 0;
  }
}

void BitWindow::reach(std::uint64_t number) {
  ACKLINE_CHECK(number >= base_);
  const auto wanted = static_cast<std::size_t>(number - base_ + 1);
  if (wanted <= size_) {
    return;
  }
  if (wanted > ring_.size()) {
    Ring larger(std::bit_ceil(wanted));
    for (std::size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(slot(base_ + i));
    }
    ring_ = std::move(larger);
    head_ = 0;
  }
  while (size_ < wanted) {
    ++size_;
    slot(base_ + size_ - 1).reset(&kNoneChunk);
  }
}

BitWindow::Chunk& BitWindow::writable(std::uint64_t number) {
  if (number - base_ >= size_) {
    reach(number);
  }
  ChunkPtr& chunk = slot(number);
  if (is_constant(chunk.get())) {
    std::unique_ptr<Chunk> fresh = spare_ ? std::move(spare_) : std::make_unique<Chunk>();
    *fresh = *chunk;
    chunk.reset(fresh.release());
  }
  return const_cast<Chunk&>(*chunk);  // allocated above or earlier by this line
}

void BitWindow::set(std::uint64_t offset, Mark mark) {
  const std::uint64_t number = offset >> kChunkShift;
  const std::size_t word = word_of(offset);
  const unsigned bit = offset & 63U;
  Chunk& chunk = writable(number);
  const std::uint64_t exists = chunk.words[word].exists;
  const std::uint64_t open = chunk.words[word].open;
  const std::uint64_t exists_new = mark == Mark::kSettled || mark == Mark::kPending ? 1 : 0;
  const std::uint64_t open_new = mark == Mark::kPending || mark == Mark::kKnownGap ? 1 : 0;
  chunk.words[word].exists = (exists & ~(1ULL << bit)) | (exists_new << bit);
  chunk.words[word].open = (open & ~(1ULL << bit)) | (open_new << bit);
  chunk.exists_count += static_cast<std::uint32_t>(exists_new - (exists >> bit & 1U));
  chunk.pending_count +=
      static_cast<std::uint32_t>((exists_new & open_new) - ((exists & open) >> bit & 1U));
  if (chunk.exists_count == kChunkOffsets && chunk.pending_count == 0) {
    replace(slot(number), kSettledChunk);
  }
}

void BitWindow::set_word(std::uint64_t offset, std::uint64_t mask, Mark mark) {
  const std::uint64_t number = offset >> kChunkShift;
  const std::size_t word = word_of(offset);
  Chunk& chunk = writable(number);
  const std::uint64_t exists = chunk.words[word].exists;
  const std::uint64_t open = chunk.words[word].open;
  const bool exists_new = mark == Mark::kSettled || mark == Mark::kPending;
  const bool open_new = mark == Mark::kPending || mark == Mark::kKnownGap;
  const std::uint64_t exists_after = exists_new ? exists | mask : exists & ~mask;
  const std::uint64_t open_after = open_new ? open | mask : open & ~mask;
  chunk.words[word].exists = exists_after;
  chunk.words[word].open = open_after;
  chunk.exists_count += static_cast<std::uint32_t>(bits_of(exists_after) - bits_of(exists));
  chunk.pending_count +=
      static_cast<std::uint32_t>(bits_of(exists_after & open_after) - bits_of(exists & open));
  if (chunk.exists_count == kChunkOffsets && chunk.pending_count == 0) {
    replace(slot(number), kSettledChunk);
  }
}

void BitWindow::set_range(std::uint64_t begin, std::uint64_t end, Mark mark) {
  while (begin < end) {
    const std::uint64_t number = begin >> kChunkShift;
    const std::uint64_t chunk_end = (number + 1) << kChunkShift;
    if (mark != Mark::kPending && begin == number << kChunkShift && end >= chunk_end) {
      reach(number);
      replace(slot(number), mark == Mark::kSettled    ? kSettledChunk
                            : mark == Mark::kKnownGap ? kGapChunk
                                                      : kNoneChunk);
      begin = chunk_end;
      continue;
    }
    set_word(begin, mask_in_word(begin, begin, end), mark);
    begin = (begin & ~63ULL) + 64;
  }
}

template <class Skip, class Pick>
std::uint64_t BitWindow::find(std::uint64_t from, std::uint64_t end, Skip skip, Pick pick) const {
  std::uint64_t at = from;
  while (at < end) {
    const Chunk& chunk = chunk_at(at >> kChunkShift);
    const std::uint64_t chunk_end = ((at >> kChunkShift) + 1) << kChunkShift;
    if (skip(chunk)) {
      at = chunk_end;
      continue;
    }
    const std::uint64_t stop = std::min(end, chunk_end);
    while (at < stop) {
      const Word word = chunk.words[word_of(at)];
      const std::uint64_t hits = pick(word) & (kAll << (at & 63U));
      if (hits != 0) {
        at = (at & ~63ULL) + static_cast<std::uint64_t>(std::countr_zero(hits));
        return std::min(at, end);
      }
      at = (at & ~63ULL) + 64;
    }
  }
  return end;
}

std::uint64_t BitWindow::next_pending(std::uint64_t from, std::uint64_t end) const {
  const std::uint64_t stop = std::min(end, ring_end());
  const std::uint64_t at = find(
      from, stop, [](const Chunk& chunk) { return chunk.pending_count == 0; },
      [](const Word& word) { return word.pending(); });
  return at < stop ? at : end;
}

std::uint64_t BitWindow::next_settled(std::uint64_t from, std::uint64_t end) const {
  const std::uint64_t stop = std::min(end, ring_end());
  const std::uint64_t at = find(
      from, stop, [](const Chunk& chunk) { return chunk.exists_count == chunk.pending_count; },
      [](const Word& word) { return word.settled(); });
  return at < stop ? at : end;
}

std::uint64_t BitWindow::next_not_settled(std::uint64_t from, std::uint64_t end) const {
  return find(
      from, end, [](const Chunk& chunk) { return &chunk == &kSettledChunk; },
      [](const Word& word) { return ~word.settled(); });
}

std::uint64_t BitWindow::next_unsettled(std::uint64_t from, std::uint64_t end) const {
  return find(
      from, end,
      [](const Chunk& chunk) { return &chunk == &kSettledChunk || &chunk == &kGapChunk; },
      [](const Word& word) { return ~(word.settled() | word.known_gap()); });
}

template <class Skip, class Pick>
std::uint64_t BitWindow::find_last(std::uint64_t begin, std::uint64_t end, Skip skip,
                                   Pick pick) const {
  std::uint64_t at = std::min(end, ring_end());
  while (at > begin) {
    const std::uint64_t last = at - 1;
    if (skip(chunk_at(last >> kChunkShift))) {
      at = last >> kChunkShift << kChunkShift;
      continue;
    }
    const std::uint64_t word_begin = last & ~63ULL;
    const std::uint64_t hits =
        pick(word_at(last)) & mask_in_word(last, std::max(begin, word_begin), at);
    if (hits != 0) {
      return word_begin + 63 - static_cast<std::uint64_t>(std::countl_zero(hits));
    }
    at = word_begin;
  }
  return end;
}

std::uint64_t BitWindow::last_pending(std::uint64_t begin, std::uint64_t end) const {
  return find_last(
      begin, end, [](const Chunk& chunk) { return chunk.pending_count == 0; },
      [](const Word& word) { return word.pending(); });
}

std::uint64_t BitWindow::last_settled(std::uint64_t begin, std::uint64_t end) const {
  return find_last(
      begin, end, [](const Chunk& chunk) { return chunk.exists_count == chunk.pending_count; },
      [](const Word& word) { return word.settled(); });
}

BitWindow::Counts BitWindow::count(std::uint64_t begin, std::uint64_t end) const {
  Counts counts;
  end = std::min(end, ring_end());
  while (begin < end) {
    const std::uint64_t number = begin >> kChunkShift;
    const std::uint64_t chunk_end = (number + 1) << kChunkShift;
    const Chunk& chunk = chunk_at(number);
    if (begin == number << kChunkShift && end >= chunk_end) {
      counts.pending += chunk.pending_count;
      counts.settled += chunk.exists_count - chunk.pending_count;
      begin = chunk_end;
      continue;
    }
    const std::uint64_t mask = mask_in_word(begin, begin, end);
    const Word word = word_at(begin);
    counts.pending += bits_of(word.pending() & mask);
    counts.settled += bits_of(word.settled() & mask);
    begin = (begin & ~63ULL) + 64;
  }
  return counts;
}

std::optional<Mark> BitWindow::uniform(std::uint64_t offset) const {
  const Chunk* chunk = &chunk_at(offset >> kChunkShift);
  if (chunk == &kNoneChunk) {
    return Mark::kNone;
  }
  if (chunk == &kSettledChunk) {
    return Mark::kSettled;
  }
  return chunk == &kGapChunk ? std::optional(Mark::kKnownGap) : std::nullopt;
}

std::size_t BitWindow::memory_bytes() const {
  std::size_t bytes = ring_.capacity() * sizeof(ChunkPtr) + (spare_ ? sizeof(Chunk) : 0);
  for (const ChunkPtr& chunk : ring_) {
    bytes += chunk && !is_constant(chunk.get()) ? sizeof(Chunk) : 0;
  }
  return bytes;
}

}  // namespace ackline::frontier
