#include "ackline/delivery/delivery_id.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "ackline/base/random.h"

namespace ackline::delivery {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuv";

DeliveryIdCodec::Key key_of(std::uint8_t first) {
  DeliveryIdCodec::Key key{};
  for (std::size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<std::byte>(first + i);
  }
  return key;
}

DeliveryId small() {
  return {Epoch(1), ProgressNumber(2), PartitionIndex(3), Offset(4), 5, 6};
}

DeliveryId largest() {
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();
  return {Epoch(kMax),
          ProgressNumber(kMax),
          PartitionIndex(kMax),
          Offset(std::numeric_limits<std::int64_t>::max()),
          kMax,
          kMax};
}

DeliveryId any(Random& random) {
  const auto number = [&] { return static_cast<std::uint32_t>(random.next()) >> random.below(32); };
  return {Epoch(number()),
          ProgressNumber(number()),
          PartitionIndex(number()),
          Offset(static_cast<std::int64_t>(random.next() >> (1 + random.below(63)))),
          number(),
          number()};
}

class DeliveryIdTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string text_of(const DeliveryId& id) const {
    std::string text;
    codec_.encode(id, text);
    return text;
  }
  void expect_unknown(std::string_view text) const {
    const Result<DeliveryId> id = codec_.decode(text);
    ASSERT_FALSE(id) << text;
    ASSERT_EQ(id.error().code, ErrorCode::kDeliveryUnknown);
  }

  DeliveryIdCodec codec_{0x9A3C1, key_of(0)};
};

TEST_F(DeliveryIdTest, Invariant12TheTextIsEpochSaltAndSeq) {
  const std::string text = text_of(small());
  EXPECT_EQ(text.substr(0, 7), "1-j8u1-");
  EXPECT_EQ(text.find_first_not_of("0123456789abcdefghijklmnopqrstuv-"), std::string::npos);
  EXPECT_EQ(text, "1-j8u1-081g81867q57c") << "docs/formats/delivery-id.md shows this one";
}

TEST_F(DeliveryIdTest, Invariant12EveryFieldComesBack) {
  EXPECT_EQ(codec_.decode(text_of(small())), small());
  EXPECT_EQ(codec_.decode(text_of(largest())), largest());
  EXPECT_EQ(text_of(largest()).size(), DeliveryIdCodec::kTextBytesMax);
  EXPECT_EQ(codec_.decode(text_of(DeliveryId{})), DeliveryId{});
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const DeliveryId id = any(random);
    ASSERT_EQ(codec_.decode(text_of(id)), id);
  }
}

TEST_F(DeliveryIdTest, EncodeAppends) {
  std::string text = "id=";
  codec_.encode(small(), text);
  EXPECT_EQ(text, "id=" + text_of(small()));
}

TEST_F(DeliveryIdTest, DifferentOffersHaveDifferentTexts) {
  std::set<std::string> texts;
  Random random(4);
  std::set<std::string> fields;
  for (int i = 0; i < 5000; ++i) {
    const DeliveryId id = any(random);
    texts.insert(text_of(id));
    fields.insert(std::to_string(id.epoch.value()) + "," + std::to_string(id.progress.value()) +
                  "," + std::to_string(id.partition.value()) + "," +
                  std::to_string(id.offset.value()) + "," + std::to_string(id.slot) + "," +
                  std::to_string(id.offer));
  }
  EXPECT_EQ(texts.size(), fields.size());
}

TEST_F(DeliveryIdTest, Invariant12AnotherSaltOrKeyIsUnknown) {
  const std::string text = text_of(small());
  EXPECT_FALSE(DeliveryIdCodec(0x9A3C2, key_of(0)).decode(text));
  EXPECT_FALSE(DeliveryIdCodec(0x9A3C1, key_of(1)).decode(text));
  EXPECT_TRUE(DeliveryIdCodec(0x9A3C1, key_of(0)).decode(text));
  EXPECT_TRUE(DeliveryIdCodec(0xFFF9A3C1, key_of(0)).decode(text)) << "20 bits of salt count";
}

TEST_F(DeliveryIdTest, EveryChangedCharacterIsUnknown) {
  for (const DeliveryId& id : {small(), largest()}) {
    const std::string good = text_of(id);
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const char digit : std::string(kAlphabet) + "-wzA~") {
        if (digit != good[i]) {
          std::string bad = good;
          bad[i] = digit;
          expect_unknown(bad);
        }
      }
    }
  }
}

TEST_F(DeliveryIdTest, OtherTextsOfTheSameNumbersAreUnknown) {
  const std::string good = text_of(small());
  expect_unknown("0" + good);
  expect_unknown(good + "0");
  expect_unknown(" " + good);
  expect_unknown(good + "\n");
  std::string upper = good;
  upper[2] = 'J';
  expect_unknown(upper);
}

TEST_F(DeliveryIdTest, TruncatedAndForeignTextsAreUnknown) {
  const std::string good = text_of(small());
  for (std::size_t size = 0; size < good.size(); ++size) {
    expect_unknown(std::string_view(good).substr(0, size));
    expect_unknown(std::string_view(good).substr(good.size() - size));
  }
  for (const char* text : {"", "-", "--", "---", "1-j8u1-", "1--j8u1", "vvvvvvv-j8u1-00000000",
                           "0123e456-aaaa-bbbb-cccc-0123456789ab"}) {
    expect_unknown(text);
  }
  expect_unknown(std::string(10'000, 'v'));
  expect_unknown(std::string_view("1-j8u1-\0\0\0\0\0\0\0\0", 15));
}

TEST_F(DeliveryIdTest, AnyBytesAreSafe) {
  Random random(6);
  for (int i = 0; i < 50'000; ++i) {
    std::string text = random.chance(1, 2) ? "1-j8u1-" : "";
    for (std::uint64_t count = random.below(64); count > 0; --count) {
      text.push_back(random.chance(9, 10) ? kAlphabet[random.below(32)]
                                          : static_cast<char>(random.next()));
    }
    if (const Result<DeliveryId> id = codec_.decode(text)) {
      ASSERT_EQ(text_of(*id), text) << "one in 16 million is guessed, but never a second spelling";
    }
  }
}

}  // namespace
}  // namespace ackline::delivery
