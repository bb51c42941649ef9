#include "ackline/state/backend/journal_delivery_state_store.h"

#include "ackline/base/check.h"
#include "tests/conformance/delivery_state_store_suite.h"
#include "tests/support/manual_clock.h"

namespace ackline::testing {
namespace {

// A journal as a list of batches; what was written outlives the process.
class ListJournal final : public state::DeliveryJournal {
 public:
  struct Written {
    PartitionNumber partition;
    state::JournalBody record;
  };
  bool failing = false;
  std::vector<Written> records;
  int batches = 0;
  int syncs = 0;
  Result<void> write(PartitionNumber partition,
                     std::span<const state::JournalBody> bodies) override {
    if (failing) {
      return fail(ErrorCode::kUnavailable, "the journal is away");
    }
    ++batches;
    for (const state::JournalBody& body : bodies) {
      records.push_back({partition, body});
    }
    return {};
  }
  Result<void> sync() override {
    ++syncs;
    return failing ? fail(ErrorCode::kUnavailable, "the journal is away") : Result<void>();
  }
};

class JournalHome final : public DeliveryStateHome {
 public:
  JournalHome() { restart(); }
  state::DeliveryStateStore& store() override { return *store_; }
  void restart() override {
    store_.reset();
    state::BootRecord boot{Epoch(++epoch_), 1};
    state::JournalBody body{state::RecordType::kBoot, {}};
    boot.encode(body.body);
    journal.records.push_back({PartitionNumber(), body});
    state::DeliveryImage image;
    for (const ListJournal::Written& written : journal.records) {
      const auto applied =
          image.apply(written.record.type, written.partition, as_bytes(written.record.body));
      ACKLINE_CHECK(applied.has_value());
    }
    clock_.advance(1'000'000);  // the machine was off for a while
    store_ = std::make_unique<state::JournalDeliveryStateStore>(journal, clock_, std::move(image));
  }
  void advance(std::int64_t ms) override {
    clock_.advance(ms);
    ACKLINE_CHECK(store_->mark_alive().has_value());
  }
  void fail_writes(bool failing) override { journal.failing = failing; }

  ListJournal journal;

 private:
  ManualClock clock_;
  std::uint32_t epoch_ = 0;
  std::unique_ptr<state::JournalDeliveryStateStore> store_;
};

std::unique_ptr<DeliveryStateHome> deliveries_in_a_journal() {
  return std::make_unique<JournalHome>();
}

INSTANTIATE_TEST_SUITE_P(Journal, DeliveryStateStoreSuite,
                         ::testing::Values(&deliveries_in_a_journal));

TEST(JournalDeliveryStateStore, ABatchIsOneBatchOfTheJournalAndNoChangeWritesNothing) {
  JournalHome home;
  state::DeliveryBatch batch;
  batch.progress = ProgressNumber(1);
  batch.partition = PartitionNumber(2);
  batch.generation = Generation(1);
  batch.frontier = Offset(-1);
  batch.settled = {{{Offset(1), Offset(1)}, state::Outcome::kAcked}};
  batch.removes = {{Offset(3), state::Outcome::kAcked, {}}};
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

}  // namespace
}  // namespace ackline::testing
