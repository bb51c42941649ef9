// The DeliveryStateStore's suite over every backend.
#include "tests/conformance/delivery_state_store_suite.h"
#include "tests/unit/state/delivery_journal_homes.h"
#include "tests/unit/state/delivery_kv_home.h"

namespace ackline::testing {
namespace {

std::unique_ptr<DeliveryStateHome> in_a_list() {
  return std::make_unique<ListHome>();
}
std::unique_ptr<DeliveryStateHome> in_a_journal_in_memory() {
  return std::make_unique<MemoryJournalHome>();
}
std::unique_ptr<DeliveryStateHome> in_a_journal_on_disk() {
  return std::make_unique<PosixJournalHome>();
}

INSTANTIATE_TEST_SUITE_P(ListJournal, DeliveryStateStoreSuite, ::testing::Values(&in_a_list));
INSTANTIATE_TEST_SUITE_P(Journal, DeliveryStateStoreSuite,
                         ::testing::Values(&in_a_journal_in_memory, &in_a_journal_on_disk));

template <std::unique_ptr<KvDisk> (*kDisk)(), std::size_t kCache>
std::unique_ptr<DeliveryStateHome> kv_home() {
  return std::make_unique<KvHome>(kDisk(), kCache);
}

INSTANTIATE_TEST_SUITE_P(KeyValueInMemory, DeliveryStateStoreSuite,
                         ::testing::Values(&kv_home<&memory_kv_disk, 10'000>,
                                           &kv_home<&memory_kv_disk, 3>,
                                           &kv_home<&memory_kv_disk, 0>));
INSTANTIATE_TEST_SUITE_P(RocksDb, DeliveryStateStoreSuite,
                         ::testing::Values(&kv_home<&rocksdb_kv_disk, 10'000>,
                                           &kv_home<&rocksdb_kv_disk, 0>));

}  // namespace
}  // namespace ackline::testing
