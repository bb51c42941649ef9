#include "tests/support/state/journal_delivery_state_store.h"

#include <gtest/gtest.h>

#include "tests/unit/state/delivery_journal_homes.h"

namespace ackline::testing {
namespace {

state::DeliveryBatch two_settles() {
  state::DeliveryBatch batch;
  batch.progress = ProgressNumber(1);
  batch.partition = PartitionNumber(2);
  batch.generation = Generation(1);
  batch.frontier = Offset(-1);
  batch.settled = {{{Offset(1), Offset(1)}, state::Outcome::kAcked}};
  batch.removes = {{Offset(3), state::Outcome::kAcked, {}}};
  return batch;
}

TEST(JournalDeliveryStateStore, ABatchIsOneBatchOfTheJournalAndNoChangeWritesNothing) {
  ListHome home;
  state::DeliveryBatch batch = two_settles();
  ASSERT_TRUE(home.store().apply(batch));
  EXPECT_EQ(home.journal.batches, 1);
  // One settle record for both, and the start.
  EXPECT_EQ(home.journal.records.size(), 1U + 2U);
  batch.settled.clear();
  batch.removes.clear();
  ASSERT_TRUE(home.store().apply(batch));
  EXPECT_EQ(home.journal.batches, 1);
  ASSERT_TRUE(home.store().flush());
  EXPECT_EQ(home.journal.syncs, 1);
}

TEST(JournalDeliveryStateStore, APutOfAnotherProcesssOfferIsRefusedTheJournalCouldNotSayIt) {
  ListHome home;
  state::DeliveryBatch batch = two_settles();
  batch.puts.resize(1);
  batch.puts.front().ref = {batch.progress, batch.partition, Offset(9), 0, 1};
  batch.puts.front().attempt = 1;
  batch.puts.front().epoch = home.epoch().next();
  EXPECT_EQ(home.store().apply(batch).error().code, ErrorCode::kBadValue);
  batch.puts.front().epoch = home.epoch();
  EXPECT_TRUE(home.store().apply(batch));
}

// Every moment of a history is a moment at which the process may die.
TEST(JournalDeliveryStateStore, AKillAfterAnyWriteOfTheFileFindsWholeBatchesOnly) {
  for (std::uint64_t allowed = 0; allowed < 12; ++allowed) {
    MemoryJournalHome home;
    std::uint64_t writes = 0;
    home.memory.set_fault_hook([&](io::FsOperation operation, const std::string&) {
      // The last one arrives in part, and then the process is gone.
      return operation == io::FsOperation::kWrite && ++writes > allowed
                 ? std::optional(io::FsFault{{ErrorCode::kUnavailable, "dead", {}, {}}, 33})
                 : std::nullopt;
    });
    std::int64_t answered = 0;
    for (std::int64_t offset = 0; offset < 12; ++offset) {
      state::DeliveryBatch batch = two_settles();
      batch.settled = {{{Offset(2 * offset), Offset(2 * offset)}, state::Outcome::kAcked}};
      batch.removes = {{Offset(2 * offset + 1), state::Outcome::kAcked, {}}};
      if (!home.store().apply(batch)) break;
      answered = offset + 1;
    }
    home.memory.set_fault_hook(nullptr);
    home.restart();
    const auto found = home.store().progress(ProgressNumber(1), PartitionNumber(2));
    ASSERT_TRUE(found);
    const std::int64_t frontier = *found ? (*found)->frontier.value() : -1;
    EXPECT_EQ(frontier, 2 * answered - 1) << allowed;
    EXPECT_TRUE(!*found || (*found)->settled.empty());
  }
}

TEST(JournalDeliveryStateStore, AFailedSyncIsToldAndPoisonsTheJournal) {
  MemoryJournalHome home;
  ASSERT_TRUE(home.store().apply(two_settles()));
  home.memory.set_fault_hook([](io::FsOperation operation, const std::string&) {
    return operation == io::FsOperation::kSync
               ? std::optional(io::FsFault{{ErrorCode::kUnavailable, "no", {}, {}}, 0})
               : std::nullopt;
  });
  EXPECT_FALSE(home.store().flush());
  EXPECT_FALSE(home.store().health().ok);
  home.memory.set_fault_hook(nullptr);
  state::DeliveryBatch more = two_settles();
  more.settled = {{{Offset(9), Offset(9)}, state::Outcome::kAcked}};
  EXPECT_EQ(home.store().apply(more).error().code, ErrorCode::kPoisoned);
}

}  // namespace
}  // namespace ackline::testing
