// Frontier: its bytes (docs/formats/frontier.md). Runs where marks come in runs, bitmaps where they
// do not; each stretch of 4096 offsets takes what is smaller.
#include <algorithm>
#include <array>
#include <bit>

#include <fmt/core.h>

#include "ackline/frontier/frontier.h"

namespace ackline::frontier {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint64_t kNextMax = 1ULL << 62U;
constexpr std::uint64_t kAll = ~0ULL;

// The low two bits of a segment's head.
enum Kind : std::uint8_t { kOpenRun = 0, kSettledRun = 1, kGapRun = 2, kBitmap = 3 };

struct Flags {
  std::uint64_t settled = 0;
  std::uint64_t gap = 0;
};

std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1U)) + 6) / 7;
}

// The bits of the word that begins at `word_begin` that lie below `end`.
std::uint64_t bits_below(std::uint64_t word_begin, std::uint64_t end) {
  if (end <= word_begin) {
    return 0;
  }
  return end - word_begin >= 64 ? kAll : ~(kAll << (end - word_begin));
}

Kind kind_of(const Flags& flags, unsigned bit) {
  if ((flags.settled >> bit & 1U) != 0) {
    return kSettledRun;
  }
  return (flags.gap >> bit & 1U) != 0 ? kGapRun : kOpenRun;
}

// How many bits from `bit` on are of one kind, at most to the end of the word.
unsigned run_in_word(const Flags& flags, unsigned bit, Kind kind) {
  const std::uint64_t same = kind == kSettledRun ? flags.settled
                             : kind == kGapRun   ? flags.gap
                                                 : ~(flags.settled | flags.gap);
  return static_cast<unsigned>(std::countr_one(same >> bit));
}

class SegmentWriter {
 public:
  explicit SegmentWriter(std::string& out) : writer_(out) {}

  void run(Kind kind, std::uint64_t length) {
    if (length > 0 && kind != kind_) {
      flush();
      kind_ = kind;
    }
    length_ += length;
  }
  void words(std::span<const Flags> words) {
    const bool gaps = std::ranges::any_of(words, [](const Flags& flags) { return flags.gap != 0; });
    const std::size_t bitmap_bytes = words.size() * (gaps ? 16 : 8) + 2;
    if (runs_cost(words, bitmap_bytes) <= bitmap_bytes) {
      for_each_run(words, [&](Kind kind, std::uint64_t length) {
        run(kind, length);
        return true;
      });
      return;
    }
    flush();
    writer_.varint((words.size() - 1) << 3U | (gaps ? 4U : 0U) | kBitmap);
    for (const Flags& flags : words) {
      writer_.u64(flags.settled);
    }
    for (const Flags& flags : gaps ? words : std::span<const Flags>()) {
      writer_.u64(flags.gap);
    }
  }
  // Open offsets at the end go without saying.
  void finish() {
    if (kind_ != kOpenRun) {
      flush();
    }
  }

 private:
  template <class Visit>
  static void for_each_run(std::span<const Flags> words, Visit visit) {
    Kind kind = kind_of(words.front(), 0);
    std::uint64_t length = 0;
    for (const Flags& flags : words) {
      for (unsigned bit = 0; bit < 64;) {
        const Kind here = kind_of(flags, bit);
        if (here != kind) {
          if (!visit(kind, length)) {
            return;
          }
          kind = here;
          length = 0;
        }
        const unsigned count = std::min(run_in_word(flags, bit, here), 64 - bit);
        length += count;
        bit += count;
      }
    }
    visit(kind, length);
  }
  // Stops counting above `limit`.
  static std::size_t runs_cost(std::span<const Flags> words, std::size_t limit) {
    std::size_t cost = 0;
    for_each_run(words, [&](Kind, std::uint64_t length) {
      cost += varint_size((length - 1) << 2U);
      return cost <= limit;
    });
    return cost;
  }
  void flush() {
    if (length_ > 0) {
      writer_.varint((length_ - 1) << 2U | kind_);
      length_ = 0;
    }
  }

  ByteWriter writer_;
  Kind kind_ = kOpenRun;
  std::uint64_t length_ = 0;
};

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("the frontier's bytes are damaged: {}", what),
              "Restore the state from a backup, or reset the group.");
}

// Reads segments into a window from `origin` on. False when they are damaged.
class SegmentReader {
 public:
  SegmentReader(ByteReader& reader, BitWindow& window, std::uint64_t next)
      : reader_(reader), window_(window), next_(next), at_(next & ~63ULL) {}

  [[nodiscard]] bool read_all() {
    // The writer rounds up to whole chunks.
    const std::uint64_t limit = next_ + Frontier::kSpanMax + BitWindow::kChunkOffsets;
    while (reader_.ok() && !reader_.empty()) {
      const std::uint64_t head = reader_.varint();
      const auto kind = static_cast<Kind>(head & 3U);
      const std::uint64_t length = kind == kBitmap ? ((head >> 3U) + 1) * 64 : (head >> 2U) + 1;
      if (!reader_.ok() || length > limit - at_) {
        return false;
      }
      if (!(kind == kBitmap ? bitmap(length / 64, (head & 4U) != 0) : run(kind, length))) {
        return false;
      }
      at_ += length;
    }
    return reader_.ok();
  }
  [[nodiscard]] std::uint64_t end() const { return std::max(at_, next_); }

 private:
  [[nodiscard]] bool run(Kind kind, std::uint64_t length) {
    if (kind == kOpenRun) {
      return true;
    }
    if (at_ < next_) {
      return false;
    }
    window_.set_range(at_, at_ + length, kind == kSettledRun ? Mark::kSettled : Mark::kKnownGap);
    return true;
  }
  [[nodiscard]] bool bitmap(std::uint64_t words, bool gaps) {
    if ((at_ & 63U) != 0 || words > BitWindow::kChunkWords) {
      return false;
    }
    std::array<Flags, BitWindow::kChunkWords> flags{};
    const std::span<Flags> used(flags.data(), static_cast<std::size_t>(words));
    for (Flags& word : used) {
      word.settled = reader_.u64();
    }
    for (Flags& word : gaps ? used : std::span<Flags>()) {
      word.gap = reader_.u64();
    }
    std::uint64_t offset = at_;
    for (const Flags& word : used) {
      const std::uint64_t below = bits_below(offset, next_);
      if ((word.settled & word.gap) != 0 || ((word.settled | word.gap) & below) != 0) {
        return false;
      }
      if (word.settled != 0) {
        window_.set_word(offset, word.settled, Mark::kSettled);
      }
      if (word.gap != 0) {
        window_.set_word(offset, word.gap, Mark::kKnownGap);
      }
      offset += 64;
    }
    return reader_.ok();
  }

  ByteReader& reader_;
  BitWindow& window_;
  std::uint64_t next_;
  std::uint64_t at_;
};

}  // namespace

// Up to the last settled offset: what is known past it is of no use after a restart.
void Frontier::serialise(std::string& out) const {
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.varint(next_);
  const std::uint64_t last = window_.last_settled(next_, known_end_);
  const std::uint64_t end = last < known_end_ ? last + 1 : next_;
  SegmentWriter segments(out);
  std::array<Flags, BitWindow::kChunkWords> words{};
  std::uint64_t at = end > next_ ? next_ & ~63ULL : end;
  while (at < end) {
    const std::uint64_t chunk_end = (at / BitWindow::kChunkOffsets + 1) * BitWindow::kChunkOffsets;
    const std::optional<Mark> mark = window_.uniform(at);
    if (mark && at >= next_ && (chunk_end <= cursor_ || at >= cursor_)) {
      const bool is_gap = *mark == Mark::kKnownGap || (*mark == Mark::kNone && at < cursor_);
      segments.run(*mark == Mark::kSettled ? kSettledRun
                   : is_gap                ? kGapRun
                                           : kOpenRun,
                   std::min(chunk_end, end) - at);
      at = chunk_end;
      continue;
    }
    std::size_t count = 0;
    while (at < chunk_end && at < end) {
      const BitWindow::Word word = window_.word_at(at);
      const std::uint64_t counts = bits_below(at, end) & ~bits_below(at, next_);
      const std::uint64_t gap = word.known_gap() | (~word.exists & bits_below(at, cursor_));
      words[count++] = Flags{word.settled() & counts, gap & counts};
      at += 64;
    }
    segments.words(std::span<const Flags>(words).first(count));
  }
  segments.finish();
}

Result<Frontier> Frontier::deserialise(ByteView bytes, std::uint64_t ahead_max) {
  ByteReader reader(bytes);
  const std::uint8_t version = reader.u8();
  const std::uint64_t next = reader.varint();
  if (!reader.ok()) {
    return corrupt("they end early");
  }
  if (version != kVersion) {
    return corrupt(fmt::format("version {} is unknown", version));
  }
  if (next > kNextMax) {
    return corrupt(fmt::format("frontier {} is out of range", next));
  }
  Frontier frontier(Offset(static_cast<std::int64_t>(next)), ahead_max);
  SegmentReader segments(reader, frontier.window_, next);
  if (!segments.read_all()) {
    return corrupt("a segment is not valid");
  }
  frontier.known_end_ = segments.end();
  frontier.settled_ahead_ = frontier.window_.count(next, frontier.known_end_).settled;
  frontier.advance();
  return frontier;
}

}  // namespace ackline::frontier
