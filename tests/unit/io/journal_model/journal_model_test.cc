#include "tests/unit/io/journal_model/journal_model.h"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

namespace ackline::io::model {
namespace {

TEST(JournalModel, WithAllRulesNoCrashBreaksAPromise) {
  const Exploration found = explore({}, {.steps = 10});
  EXPECT_EQ(found.broken, "") << fmt::format("{}", fmt::join(found.history, ", "));
  EXPECT_GT(found.states, 100'000U);
  RecordProperty("states", static_cast<int>(found.states));
}

struct Removed {
  const char* name;
  bool Rules::* rule;
  const char* breaks;
};

class JournalModelWithout : public ::testing::TestWithParam<Removed> {};

TEST_P(JournalModelWithout, ARuleSomePromiseBreaks) {
  Rules rules;
  rules.*GetParam().rule = false;
  const Exploration found = explore(rules, {.steps = 9});
  EXPECT_EQ(found.broken, GetParam().breaks)
      << fmt::format("{}", fmt::join(found.history, ", ")) << " in " << found.states << " states";
}

INSTANTIATE_TEST_SUITE_P(
    Rules, JournalModelWithout,
    ::testing::Values(
        Removed{"SameJournal", &Rules::same_journal, "settled as dead without its dead letter"},
        Removed{"OwnBlocks", &Rules::own_blocks, "an accepted event is lost"},
        Removed{"StopAtHole", &Rules::stop_at_hole,
                "a record does not follow what was read before it"},
        Removed{"WriteBeforeAck", &Rules::write_before_ack, "an answered ack is undone"},
        Removed{"SyncBeforeAccept", &Rules::sync_before_accept, "an accepted event is lost"},
        Removed{"ReadSyncedOnly", &Rules::read_synced_only,
                "an offset that a reader saw is given to another event"},
        Removed{"SyncBeforeReoffer", &Rules::sync_before_reoffer,
                "a lost or replaced deliveryId is current again"},
        Removed{"SyncBeforeVisible", &Rules::sync_before_visible,
                "a settle shown as synced is undone"},
        Removed{"SyncBeforeManifest", &Rules::sync_before_manifest,
                "settled as dead without its dead letter"},
        Removed{"SkipApplied", &Rules::skip_applied,
                "a record does not follow what was read before it"},
        Removed{"RecycleAfterManifest", &Rules::recycle_after_manifest,
                "an accepted event is lost"},
        Removed{"RewriteRest", &Rules::rewrite_rest,
                "an offset that a reader saw is given to another event"},
        Removed{"FreshEpoch", &Rules::fresh_epoch,
                "a lost or replaced deliveryId is current again"},
        Removed{"Poison", &Rules::poison, "an accepted event is lost"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ackline::io::model
