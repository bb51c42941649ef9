#include "ackline/state/backend/meta_subscription_store.h"
#include "ackline/state/backend/subscription_codec.h"
#include "tests/conformance/subscription_store_suite.h"
#include "tests/support/kv/meta_backends.h"

namespace ackline::testing {
namespace {

class MetaSubscriptionHome final : public SubscriptionHome {
 public:
  explicit MetaSubscriptionHome(std::unique_ptr<MetaService> meta) : meta_(std::move(meta)) {
    open();
  }
  state::SubscriptionStore& store() override { return *store_; }
  state::SubscriptionStore& other() override { return *other_; }
  void restart() override {
    store_.reset();
    other_.reset();
    meta_->restart();
    open();
  }

 private:
  void open() {
    store_ = std::move(*state::open_meta_subscription_store(meta_->store(), meta_->clock()));
    other_ = std::move(*state::open_meta_subscription_store(meta_->store(), meta_->clock()));
  }
  std::unique_ptr<MetaService> meta_;
  std::unique_ptr<state::SubscriptionStore> store_;
  std::unique_ptr<state::SubscriptionStore> other_;
};

std::unique_ptr<SubscriptionHome> subscriptions_in_memory() {
  return std::make_unique<MetaSubscriptionHome>(local_meta_in_memory());
}
std::unique_ptr<SubscriptionHome> subscriptions_on_rocksdb() {
  return std::make_unique<MetaSubscriptionHome>(local_meta_on_rocksdb());
}

INSTANTIATE_TEST_SUITE_P(MetaInMemory, SubscriptionStoreSuite,
                         ::testing::Values(&subscriptions_in_memory));
INSTANTIATE_TEST_SUITE_P(MetaOnRocksDb, SubscriptionStoreSuite,
                         ::testing::Values(&subscriptions_on_rocksdb));

TEST(MetaSubscriptionStore, ADamagedRecordStopsTheStartAndNamesItsKey) {
  const auto meta = local_meta_in_memory();
  state::Subscription value;
  value.topic = "t";
  value.client_id = "c";
  value.group = "g";
  {
    auto store = std::move(*state::open_meta_subscription_store(meta->store(), meta->clock()));
    ASSERT_TRUE(store->put(value, {})->done);
  }
  const std::string good = (*meta->store().get("/em/subs/t/c"))->value;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(meta->store().put("/em/subs/t/c", bad));
    const auto opened = state::open_meta_subscription_store(meta->store(), meta->clock());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(opened.error().detail.find("/em/subs/t/c"), std::string::npos);
  }
  // A good record under another key is damage as well.
  ASSERT_TRUE(meta->store().put("/em/subs/t/c", good));
  ASSERT_TRUE(meta->store().put("/em/subs/t/d", good));
  EXPECT_EQ(state::open_meta_subscription_store(meta->store(), meta->clock()).error().code,
            ErrorCode::kCorrupt);
}

TEST(MetaSubscriptionStore, ARecordThatTurnsBadWhileRunningIsOutOfTheCacheAndSaysSo) {
  const auto meta = local_meta_in_memory();
  auto store = std::move(*state::open_meta_subscription_store(meta->store(), meta->clock()));
  state::Subscription value;
  value.topic = "t";
  value.client_id = "c";
  value.group = "g";
  ASSERT_TRUE(store->put(value, {})->done);
  EXPECT_TRUE(store->health().ok);
  ASSERT_TRUE(meta->store().put("/em/subs/t/c", "rubbish"));
  EXPECT_TRUE(store->targets_for("t", nullptr).empty());
  EXPECT_EQ(store->instance_of("c"), std::nullopt);
  EXPECT_FALSE(store->health().ok);
}

}  // namespace
}  // namespace ackline::testing
