#include "ackline/state/records.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "ackline/base/random.h"

namespace ackline::state {
namespace {

template <class Record>
std::string encoded(const Record& record) {
  std::string out;
  record.encode(out);
  return out;
}

template <class Record>
void expect_round_trip(const Record& record) {
  const std::string bytes = encoded(record);
  const Result<Record> back = Record::decode(as_bytes(bytes));
  ASSERT_TRUE(back) << record_name(Record::kType);
  EXPECT_EQ(*back, record);
  // Cut anywhere, or with a byte too many, it is refused.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = Record::decode(as_bytes(std::string_view(bytes).substr(0, size)));
    ASSERT_FALSE(cut) << record_name(Record::kType) << " of " << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_FALSE(Record::decode(as_bytes(bytes + '\0')));
}

OfferRecord usual_offer() {
  OfferRecord offer;
  offer.progress = ProgressNumber(7);
  offer.offset = Offset(12'345'678);
  offer.slot = 900;
  offer.offer = 1'000'000;
  offer.client = ClientNumber(300);
  offer.lease_ms = 30'000;
  return offer;
}

TEST(Records, EveryRecordComesBackAsItWas) {
  OfferRecord offer = usual_offer();
  expect_round_trip(offer);
  offer.attempt = 3;
  offer.restarts = 19;
  offer.losses = 2;
  offer.key_hash = 0x0123'4567'89ab'cdef;
  offer.redelivery = true;
  offer.lane = true;
  expect_round_trip(offer);
  expect_round_trip(EndRecord{ProgressNumber(1), Offset(0), 1, 2, EndCause::kWithdrawn, 0, ""});
  expect_round_trip(EndRecord{ProgressNumber(1), Offset(5), 1, 2, EndCause::kNack, 1500, "no"});
  expect_round_trip(ExtendRecord{ProgressNumber(1), Offset(5), 1, 2, 60'000});
  expect_round_trip(LogStartRecord{Offset(1'000'000'000'000)});
  expect_round_trip(AliveRecord{MonoMs(86'400'000), WallMs(1'790'000'000'000)});
  expect_round_trip(AliveRecord{MonoMs(0), WallMs(-5)});
  expect_round_trip(BootRecord{Epoch(4'294'967'295), 16});
  expect_round_trip(ReopenRecord{
      ProgressNumber(3), Generation(2), Offset(-1), ReopenKind::kReplay, {Offset(0), Offset(7)}});
  expect_round_trip(
      ReopenRecord{ProgressNumber(3), Generation(1), Offset(99), ReopenKind::kStart, {}});
  expect_round_trip(LanePartRecord{ProgressNumber(9),
                                   ProgressNumber(3),
                                   LaneKind::kRedrive,
                                   {{Offset(5), Offset(17), EntryState::kRedriving},
                                    {Offset(2), Offset(18), EntryState::kDead},
                                    {Offset(9), Offset(-1), EntryState::kResolved}}});
  expect_round_trip(LaneEntryRecord{
      ProgressNumber(9), ProgressNumber(3), {Offset(5), Offset(17), EntryState::kPurged}});
}

TEST(Records, EverySettleComesBackAsItWas) {
  const auto one = [](std::int64_t offset) { return OffsetRange{Offset(offset), Offset(offset)}; };
  for (const Outcome outcome : {Outcome::kAcked, Outcome::kRejected, Outcome::kExhausted,
                                Outcome::kFiltered, Outcome::kExpired, Outcome::kGone}) {
    expect_round_trip(SettleRecord{ProgressNumber(1), outcome, {one(3)}, {}});
    expect_round_trip(SettleRecord{ProgressNumber(1), outcome, {{Offset(0), Offset(99)}}, {}});
    expect_round_trip(
        SettleRecord{ProgressNumber(1), outcome, {one(0), {Offset(2), Offset(4)}, one(5)}, {}});
  }
  expect_round_trip(SettleRecord{ProgressNumber(1),
                                 Outcome::kExhausted,
                                 {one(3)},
                                 DeadLetterMark{Offset(17), DeadReason::kMaxRestarts}});
}

TEST(Records, AnOfferTakesAtMostTwentyFourBytesAndASettleOfOneEight) {
  OfferRecord offer = usual_offer();
  EXPECT_LE(encoded(offer).size(), 16U);
  offer.key_hash = ~0ULL;
  EXPECT_LE(encoded(offer).size(), 24U);
  const SettleRecord settle{
      ProgressNumber(7), Outcome::kAcked, {{Offset(12'345'678), Offset(12'345'678)}}, {}};
  EXPECT_LE(encoded(settle).size(), 8U);
}

TEST(Records, ALongErrorTextIsCutAtACharacter) {
  EndRecord end{ProgressNumber(1), Offset(1), 1, 1, EndCause::kNack, 0, {}};
  for (std::size_t before = kErrorTextMaxBytes - 4; before <= kErrorTextMaxBytes; ++before) {
    end.error = std::string(before, 'a') + "\xe2\x82\xac\xe2\x82\xac";  // two euro signs
    const auto back = EndRecord::decode(as_bytes(encoded(end)));
    ASSERT_TRUE(back);
    EXPECT_LE(back->error.size(), kErrorTextMaxBytes);
    EXPECT_GE(back->error.size(), kErrorTextMaxBytes - 3);
    const std::size_t tail = back->error.size() - before;
    EXPECT_TRUE(tail % 3 == 0) << "a character was cut";
  }
}

TEST(Records, ATooLongDurationIsKeptAsTheLongest) {
  ExtendRecord extend{ProgressNumber(1), Offset(1), 1, 1,
                      std::numeric_limits<std::uint64_t>::max()};
  const auto back = ExtendRecord::decode(as_bytes(encoded(extend)));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->lease_ms, kDurationMaxMs);
}

TEST(Records, ValuesOutsideTheirRangeAreCorrupt) {
  const auto corrupt = [](auto decode, std::string bytes) {
    const auto record = decode(as_bytes(bytes));
    return !record && record.error().code == ErrorCode::kCorrupt;
  };
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";  // 2^64 - 1
  EXPECT_TRUE(corrupt(LogStartRecord::decode, huge));
  EXPECT_TRUE(corrupt(SettleRecord::decode, std::string("\x10\x01\x03", 3)));  // outcome 0
  EXPECT_TRUE(corrupt(SettleRecord::decode, std::string("\x17\x01\x03", 3)));  // outcome 7
  EXPECT_TRUE(corrupt(SettleRecord::decode, std::string("\x51\x01\x03", 3)));  // unknown flag
  EXPECT_TRUE(corrupt(SettleRecord::decode, std::string("\x01\x01\x00", 3)));  // no range
  EXPECT_TRUE(corrupt(SettleRecord::decode, "\x01\x01\x02" + huge));           // range past the end
  EXPECT_TRUE(
      corrupt(SettleRecord::decode, std::string("\x01\x01\xff\xff\xff\xff\x0f\x01\x01", 9)));
  EXPECT_TRUE(corrupt(BootRecord::decode, std::string("\x01\x00", 2)));  // no shards
  EXPECT_TRUE(corrupt(OfferRecord::decode, std::string("\x40\x01\x01\x01\x01\x01\x01", 7)));
  EXPECT_TRUE(corrupt(EndRecord::decode, std::string("\x06\x01\x01\x01\x01", 5)));
  EXPECT_TRUE(
      corrupt(LaneEntryRecord::decode, std::string("\x01\x01\x01\x02\x01", 5)));  // offset -1
}

// Any bytes: no crash, no endless memory, and what decodes also encodes to something equal.
template <class Record>
void survive(ByteView bytes, int& decoded) {
  const Result<Record> record = Record::decode(bytes);
  if (!record) {
    EXPECT_EQ(record.error().code, ErrorCode::kCorrupt);
    return;
  }
  ++decoded;
  const Result<Record> again = Record::decode(as_bytes(encoded(*record)));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *record);
}

void survive_all(ByteView bytes, int& decoded) {
  survive<OfferRecord>(bytes, decoded);
  survive<EndRecord>(bytes, decoded);
  survive<ExtendRecord>(bytes, decoded);
  survive<SettleRecord>(bytes, decoded);
  survive<ReopenRecord>(bytes, decoded);
  survive<LanePartRecord>(bytes, decoded);
  survive<LaneEntryRecord>(bytes, decoded);
  survive<LogStartRecord>(bytes, decoded);
  survive<AliveRecord>(bytes, decoded);
  survive<BootRecord>(bytes, decoded);
}

TEST(Records, ADecoderSurvivesAnyBytes) {
  Random random(42);
  int decoded = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    const std::uint64_t size = random.below(24);
    for (std::uint64_t i = 0; i < size; ++i) {
      // Mostly small bytes, so that counts and flags are often plausible.
      const std::uint64_t byte = random.chance(3, 4) ? random.below(8) : random.below(256);
      bytes.push_back(static_cast<char>(byte));
    }
    survive_all(as_bytes(bytes), decoded);
  }
  EXPECT_GT(decoded, 1000);
}

TEST(Records, EveryTypeHasAName) {
  EXPECT_EQ(record_name(RecordType::kSettle), "settle");
  EXPECT_EQ(record_name(static_cast<RecordType>(99)), "unknown");
  EXPECT_EQ(outcome_name(Outcome::kGone), "gone");
  EXPECT_EQ(dead_reason_name(DeadReason::kMaxAttempts), "max_attempts");
  EXPECT_EQ(end_cause_name(EndCause::kLoss), "loss");
  EXPECT_EQ(entry_state_name(EntryState::kRedriving), "redriving");
  EXPECT_EQ(reopen_kind_name(ReopenKind::kReset), "reset");
}

// The layout is a promise to older journals: these bytes must always mean this.
TEST(Records, TheBytesAreThoseOfTheFormatDocument) {
  OfferRecord offer = usual_offer();
  offer.progress = ProgressNumber(1);
  offer.offset = Offset(300);
  offer.slot = 2;
  offer.offer = 3;
  offer.client = ClientNumber(4);
  offer.lease_ms = 5;
  EXPECT_EQ(encoded(offer), std::string("\x00\x01\xac\x02\x02\x03\x04\x05", 8));
  const SettleRecord settle{
      ProgressNumber(1), Outcome::kAcked, {{Offset(1), Offset(2)}, {Offset(5), Offset(5)}}, {}};
  EXPECT_EQ(encoded(settle), std::string("\x01\x01\x02\x01\x01\x02\x00", 7));
  const SettleRecord dead{ProgressNumber(1),
                          Outcome::kRejected,
                          {{Offset(9), Offset(9)}},
                          DeadLetterMark{Offset(4), DeadReason::kRejected}};
  EXPECT_EQ(encoded(dead), std::string("\x32\x01\x09\x04\x03", 5));
  const ReopenRecord reopen{ProgressNumber(1), Generation(2), Offset(-1), ReopenKind::kReset, {}};
  EXPECT_EQ(encoded(reopen), std::string("\x03\x01\x02\x00\x00", 5));
}

}  // namespace
}  // namespace ackline::state
