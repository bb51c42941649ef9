#include "ackline/state/backend/meta_dead_letter_store.h"
#include "tests/conformance/dead_letter_store_suite.h"
#include "tests/support/kv/meta_backends.h"

namespace ackline::testing {
namespace {

class MetaDeadLetterHome final : public DeadLetterHome {
 public:
  explicit MetaDeadLetterHome(std::unique_ptr<MetaService> meta) : meta_(std::move(meta)) {
    store_ = state::make_meta_dead_letter_store(meta_->store());
  }
  state::DeadLetterStore& store() override { return *store_; }
  void restart() override {
    store_.reset();
    meta_->restart();
    store_ = state::make_meta_dead_letter_store(meta_->store());
  }
  std::optional<state::OwnerFence> take_ownership() override {
    const auto revision = meta_->store().put("/em/assignments/orders#2", "me");
    ACKLINE_CHECK(revision.has_value());
    return state::OwnerFence{"/em/assignments/orders#2", *revision};
  }

 private:
  std::unique_ptr<MetaService> meta_;
  std::unique_ptr<state::DeadLetterStore> store_;
};

std::unique_ptr<DeadLetterHome> ledger_in_memory() {
  return std::make_unique<MetaDeadLetterHome>(local_meta_in_memory());
}
std::unique_ptr<DeadLetterHome> ledger_on_rocksdb() {
  return std::make_unique<MetaDeadLetterHome>(local_meta_on_rocksdb());
}

INSTANTIATE_TEST_SUITE_P(MetaInMemory, DeadLetterStoreSuite, ::testing::Values(&ledger_in_memory));
INSTANTIATE_TEST_SUITE_P(MetaOnRocksDb, DeadLetterStoreSuite,
                         ::testing::Values(&ledger_on_rocksdb));

TEST(DeadLetterKey, ItsTextIsTheDlqkeyAndReadsBack) {
  const state::DeadLetterKey key{"billing",         "orders",   Incarnation(3),
                                 PartitionIndex(2), Offset(41), Generation(5)};
  EXPECT_EQ(key.text(), "billing/orders@3/2/41/5");
  const auto back = state::DeadLetterKey::parse(key.text());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, key);
}

TEST(DeadLetterKey, TextThatWeDidNotWriteIsRefused) {
  for (const char* text :
       {"", "g", "g/t", "g/t@1/2/3", "g/t@1/2/3/4/5", "/t@1/2/3/4", "g/@1/2/3/4", "g/t@x/2/3/4",
        "g/t@1/2/-3/4", "g/t@01/2/3/4", "g/t@1/2/3/4 ", "g/t/u@1/2/3/4", "g/t@1@2/2/3/4",
        "g#/t@1/2/3/4", "g/t@1/2/3/99999999999999999999"}) {
    const auto key = state::DeadLetterKey::parse(text);
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.error().code, ErrorCode::kBadValue);
  }
}

TEST(MetaDeadLetterStore, TheRecordIsTopicAndOffsetUnderTheKeyAndDamageIsSeen) {
  const auto meta = local_meta_in_memory();
  const auto store = state::make_meta_dead_letter_store(meta->store());
  const state::DeadLetterKey key{"g",       "t",          Incarnation(1), PartitionIndex(0),
                                 Offset(9), Generation(1)};
  ASSERT_TRUE(store->record_dead_letter(key, {"t_DLQ", Offset(4)}, {}));
  EXPECT_EQ((*meta->store().get("/em/dlq/g/t@1/0/9/1"))->value, "t_DLQ:4");
  for (const char* damaged : {"", "t_DLQ", "t_DLQ:", ":4", "t_DLQ:x", "t_DLQ:-4", "t_DLQ:04"}) {
    ASSERT_TRUE(meta->store().put("/em/dlq/g/t@1/0/9/1", damaged));
    EXPECT_EQ(store->is_dead_lettered(key).error().code, ErrorCode::kCorrupt) << damaged;
  }
}

}  // namespace
}  // namespace ackline::testing
