#include <gtest/gtest.h>

#include "ackline/base/random.h"
#include "ackline/frontier/frontier.h"

namespace ackline::frontier {
namespace {

std::string bytes_of(const Frontier& frontier) {
  std::string bytes;
  frontier.serialise(bytes);
  return bytes;
}

// Dense settles, sparse ones, gaps, and a hole at the front.
Frontier mixed(std::uint64_t seed, std::int64_t start) {
  Random random(seed);
  Frontier frontier(Offset(start), 1U << 30U);
  std::int64_t offset = start;
  for (int stretch = 0; stretch < 12; ++stretch) {
    const std::uint64_t settled_in_100 = random.below(101);
    const std::uint64_t gaps_in_100 = random.chance(1, 2) ? random.below(60) : 0;
    for (std::int64_t i = random.between(1, 3000); i > 0; --i, ++offset) {
      if (random.chance(gaps_in_100, 100)) {
        continue;
      }
      EXPECT_TRUE(frontier.offer(Offset(offset)));
      if (random.chance(settled_in_100, 100)) {
        EXPECT_TRUE(frontier.settle(Offset(offset)));
      }
    }
  }
  return frontier;
}

TEST(FrontierCodec, Invariant3SettledRangesPastTheFrontierComeBack) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Frontier frontier = mixed(seed, static_cast<std::int64_t>(seed * 37));
    const Frontier again = Frontier::deserialise(as_bytes(bytes_of(frontier)), 1U << 30U).value();
    ASSERT_EQ(again.value(), frontier.value());
    ASSERT_EQ(again.cursor(), again.committed());
    ASSERT_EQ(again.settled_ahead(), frontier.settled_ahead());
    ASSERT_EQ(again.pending(), 0U);
    for (Offset offset = frontier.committed(); offset < frontier.cursor(); ++offset) {
      ASSERT_EQ(again.is_settled(offset), frontier.is_settled(offset)) << offset.value();
    }
    ASSERT_EQ(bytes_of(again), bytes_of(frontier)) << "the same knowledge has the same bytes";
  }
}

TEST(FrontierCodec, GapsAreRememberedSoThatALateSettlePassesThem) {
  Frontier frontier(Offset(0), 100);
  for (const std::int64_t offset : {0, 3, 5}) {
    ASSERT_TRUE(frontier.offer(Offset(offset)));
  }
  EXPECT_EQ(frontier.settle_range(Offset(3), Offset(5)), 2U);
  Frontier again = Frontier::deserialise(as_bytes(bytes_of(frontier)), 100).value();
  EXPECT_TRUE(again.restore_in_flight(Offset(0)).value());
  EXPECT_TRUE(again.settle(Offset(0)).value());
  EXPECT_EQ(again.value(), Offset(5));
}

// Golden: what is on disk stays readable. Runs in one stretch, a bitmap with gaps in the next.
TEST(FrontierCodec, TheBytesOfVersion1DoNotChange) {
  Frontier frontier(Offset(5), 1000);
  for (const std::int64_t offset : {5, 6, 7, 10, 11}) {
    ASSERT_TRUE(frontier.offer(Offset(offset)));
  }
  EXPECT_EQ(frontier.settle_range(Offset(6), Offset(10)), 3U);
  const std::string golden("\x01\x05\x14\x05\x06\x01", 6);
  EXPECT_EQ(bytes_of(frontier), golden);
  const Frontier again = Frontier::deserialise(as_bytes(golden), 1000).value();
  EXPECT_EQ(again.value(), Offset(4));
  EXPECT_EQ(again.settled_ahead(), 3U);

  const std::string bitmap("\x01\x02\x07\xF8\0\0\0\0\0\0\x0F\0\x07\0\0\0\0\0\0", 19);
  const Frontier third = Frontier::deserialise(as_bytes(bitmap), 1000).value();
  EXPECT_EQ(third.value(), Offset(1));
  EXPECT_EQ(third.settled_ahead(), 9U);
  EXPECT_TRUE(third.is_settled(Offset(59)));
  EXPECT_FALSE(third.is_offered(Offset(48)));
}

TEST(FrontierCodec, AnEmptyFrontierIsAFewBytes) {
  const Frontier frontier(Offset(1'000'000), 5);
  EXPECT_LE(bytes_of(frontier).size(), 4U);
  EXPECT_EQ(Frontier::deserialise(as_bytes(bytes_of(frontier)), 5).value().value(),
            Offset(999'999));
}

TEST(FrontierCodec, RunsAreUsedWhereRunsAreSmaller) {
  Frontier frontier(Offset(0), 1U << 30U);
  for (std::int64_t offset = 0; offset < 400'000; ++offset) {
    ASSERT_TRUE(frontier.offer(Offset(offset)));
  }
  for (std::int64_t first = 1; first < 400'000; first += 1000) {
    EXPECT_EQ(frontier.settle_range(Offset(first), Offset(first + 900)), 901U);
  }
  EXPECT_LE(bytes_of(frontier).size(), 400U * 5 + 10);
}

TEST(FrontierCodec, DamagedBytesAreCorruptOrAnotherFrontierButNeverACrash) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const std::string good = bytes_of(mixed(seed, 77));
    for (std::size_t bit = 0; bit < std::min<std::size_t>(good.size() * 8, 3000); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(static_cast<unsigned char>(bad[bit / 8]) ^ 1U << (bit % 8));
      Result<Frontier> result = Frontier::deserialise(as_bytes(bad), 100);
      if (!result) {
        ASSERT_EQ(result.error().code, ErrorCode::kCorrupt);
        continue;
      }
      ASSERT_LE(result->committed(), result->cursor());
    }
  }
}

TEST(FrontierCodec, RandomBytesAndEveryTruncationAreSafe) {
  Random random(9);
  for (int i = 0; i < 400; ++i) {
    std::string bytes(1, '\x01');
    for (std::uint64_t count = random.below(60); count > 0; --count) {
      bytes.push_back(static_cast<char>(random.next()));
    }
    const Result<Frontier> result = Frontier::deserialise(as_bytes(bytes), 100);
    ASSERT_TRUE(result || result.error().code == ErrorCode::kCorrupt);
  }
  const std::string good = bytes_of(mixed(3, 0));
  for (std::size_t size = 0; size < std::min<std::size_t>(good.size(), 400); ++size) {
    const Result<Frontier> result =
        Frontier::deserialise(as_bytes(std::string_view(good).substr(0, size)), 100);
    ASSERT_TRUE(result || result.error().code == ErrorCode::kCorrupt);
  }
  EXPECT_FALSE(Frontier::deserialise({}, 1));
}

}  // namespace
}  // namespace ackline::frontier
