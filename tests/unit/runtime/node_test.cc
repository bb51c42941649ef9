// The node in one thread: what it answers when its disk fails, and settles that race.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ackline/base/logging.h"
#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A group with events acked, in flight and not offered, and what it had synced before.
struct NodeTest : ::testing::Test {
  NodeRig rig;
  std::vector<std::string> ids;

  void SetUp() override {
    rig.publish(6);
    ASSERT_TRUE(rig.subscribe("c", "192.0.2.1:1"));
    ids = rig.poll("c", 4);
    ASSERT_EQ(ids.size(), 4U);
    EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[1]), "acked");
    rig.pass(100);
  }

  std::string shown() {
    std::string text;
    bool done = false;
    rig.node->refresh_gauges([&done] { done = true; });
    for (int i = 0; i < 100 && !done; ++i) rig.pass(10);
    EXPECT_TRUE(done);
    rig.metrics.render_prometheus(text);
    return text;
  }

  // The answers of all routes that show progress.
  std::vector<std::string> words() {
    std::vector<std::string> all;
    const auto add = [&all](const auto& result) {
      all.emplace_back(result ? "ok" : result.error().word());
    };
    add(rig.ask<std::vector<api::GroupLag>>(
        [&](auto done) { rig.admin().lag("t", "g", false, std::move(done)); }));
    add(rig.ask<api::HolesAnswer>([&](auto done) {
      rig.admin().holes({.topic = "t", .group = "g", .partition = {}, .after = {}},
                        std::move(done));
    }));
    add(rig.ask<api::ExplainAnswer>(
        [&](auto done) { rig.admin().explain("t", "g", std::nullopt, std::move(done)); }));
    add(rig.ask<std::vector<api::GroupItem>>(
        [&](auto done) { rig.admin().groups("t", std::move(done)); }));
    add(rig.ask<api::GroupItem>([&](auto done) { rig.admin().group("t", "g", std::move(done)); }));
    add(rig.ask<api::DeadLetterPage>([&](auto done) {
      api::DeadLetterQuery query;
      query.topic = "t";
      rig.admin().browse_dead(std::move(query), std::move(done));
    }));
    add(rig.ask<std::vector<api::LaneItem>>(
        [&](auto done) { rig.admin().lanes("t", "g", std::move(done)); }));
    return all;
  }

  // The next operation of that kind on the journal fails, and all later ones.
  void break_journal(io::FsOperation what) {
    rig.fs.set_fault_hook(
        [what](io::FsOperation operation, const std::string& path) -> std::optional<io::FsFault> {
          if (operation != what || !path.starts_with("/data/journal/")) return std::nullopt;
          return io::FsFault{Error{ErrorCode::kUnavailable, "input/output error", {}, {}}, 0};
        });
  }
};

TEST_F(NodeTest, Invariant13ProgressIsShownWhileTheDiskIsSound) {
  EXPECT_THAT(words(), ElementsAre("ok", "ok", "ok", "ok", "ok", "ok", "ok"));
  EXPECT_THAT(shown(), HasSubstr(R"(ackline_group_pending_events{topic="t",group="g"} 5)"));
}

TEST_F(NodeTest, Invariant13AfterAFailedSyncNoRouteShowsProgressThatIsOnlyInMemory) {
  EXPECT_THAT(shown(), HasSubstr(R"(ackline_group_pending_events{topic="t",group="g"} 5)"));
  break_journal(io::FsOperation::kSync);
  // Written, and so answered; the sync behind it fails.
  EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[0]), "acked");
  rig.pass(100);
  const std::string word = "poisoned";
  EXPECT_THAT(words(), ElementsAre(word, word, word, word, word, word, word));
  EXPECT_THAT(shown(), HasSubstr(R"(ackline_group_pending_events{topic="t",group="g"} 5)"));
  // What is no progress says what happened.
  const auto topic =
      rig.ask<api::TopicItem>([&](auto done) { rig.admin().topic("t", std::move(done)); });
  ASSERT_TRUE(topic);
  EXPECT_EQ(topic->offsets.at(0).state, api::PartitionState::kPoisoned);
  EXPECT_EQ(topic->offsets.at(0).high_watermark, Offset(5));
}

TEST_F(NodeTest, Invariant13WhileTheJournalCannotBeWrittenNoRouteShowsProgress) {
  break_journal(io::FsOperation::kWrite);
  EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[0]), "unavailable");
  const std::string word = "unavailable";
  EXPECT_THAT(words(), ElementsAre(word, word, word, word, word, word, word));
  rig.fs.set_fault_hook({});
  rig.pass(500);
  EXPECT_THAT(words(), ElementsAre("ok", "ok", "ok", "ok", "ok", "ok", "ok"));
}

// A reject ends when its dead letter is written, at the end of the turn; others come before that.
TEST_F(NodeTest, ASettleThatRacesARejectIsAnsweredByItsOutcome) {
  std::vector<std::string> words;
  for (const Verb verb : {Verb::kReject, Verb::kReject, Verb::kAck, Verb::kNack, Verb::kExtend}) {
    rig.traffic().settle(NodeRig::settle_call(verb, "c", ids[2]),
                         [&words](Result<api::SettleResults> done) {
                           words.push_back(NodeRig::word_of(done->at(0)));
                         });
  }
  rig.pass(200);
  EXPECT_THAT(words, ElementsAre("rejected", "already", "settled", "settled", "settled"));
}

TEST_F(NodeTest, ASettleThatRacesARefusedRejectGetsItsOwnAnswer) {
  // A dead letter counts as a publish for the disk reserve; the publishes make the shard look.
  rig.fs.set_capacity(1);
  for (int i = 0; i < 3; ++i) rig.publish(30);
  std::vector<std::string> words;
  for (const Verb verb : {Verb::kReject, Verb::kReject, Verb::kAck}) {
    rig.traffic().settle(NodeRig::settle_call(verb, "c", ids[2]),
                         [&words](Result<api::SettleResults> done) {
                           words.push_back(NodeRig::word_of(done->at(0)));
                         });
  }
  rig.pass(2000);
  EXPECT_THAT(words, ::testing::UnorderedElementsAre("full", "full", "acked"));
}

TEST_F(NodeTest, ARejectWhoseGroupIsDeletedMeanwhileIsAnswered) {
  std::vector<std::string> words;
  const auto note = [&words](Result<api::SettleResults> done) {
    words.push_back(NodeRig::word_of(done->at(0)));
  };
  // The event has to be read from the disk, and the group goes while that is under way.
  rig.fs.set_fault_hook(
      [](io::FsOperation operation, const std::string&) -> std::optional<io::FsFault> {
        if (operation != io::FsOperation::kReadNowait) return std::nullopt;
        return io::FsFault{Error{ErrorCode::kTimeout, "not in memory", {}, {}}, 0};
      });
  rig.traffic().settle(NodeRig::settle_call(Verb::kReject, "c", ids[2]), note);
  rig.traffic().settle(NodeRig::settle_call(Verb::kAck, "c", ids[2]), note);
  rig.admin().delete_group("t", "g", true, [](const Result<api::Removed>&) {});
  rig.pass(500);
  EXPECT_EQ(words.size(), 2U);
}

// A poll of one event, whose offer waits for its sync when a reset drops it.
TEST_F(NodeTest, Invariant14AnOfferThatAResetDroppedBeforeItsSyncDoesNotLeave) {
  for (const std::size_t i : {2U, 3U}) EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[i]), "acked");
  rig.pass(100);
  std::optional<Result<std::vector<channel::Delivery>>> got;
  const auto polling = rig.traffic().poll(
      "c", {}, 1, 1000,
      [&got](Result<std::vector<channel::Delivery>> all) { got = std::move(all); });
  api::SettleCall nack = NodeRig::settle_call(Verb::kNack, "c", ids[0]);
  nack.delay_ms = 0;
  rig.traffic().settle(nack, [](const Result<api::SettleResults>&) {});
  rig.executor.drain();  // it is offered again, and no sync has ended
  EXPECT_FALSE(got);
  api::ReopenQuery query;
  query.topic = "t";
  query.group = "g";
  query.to = api::AtOffsets{.all = Offset(5), .some = {}};
  query.reset = true;
  rig.admin().reopen(query, [](const Result<api::ReopenAnswer>&) {});
  rig.executor.drain();
  rig.pass(500);
  ASSERT_TRUE(got && *got);
  ASSERT_EQ((*got)->size(), 1U);
  EXPECT_EQ((*got)->front().offset, Offset(5));
  EXPECT_GT((*got)->front().lease_ms, 0);
  EXPECT_EQ(rig.settled(Verb::kAck, "c", (*got)->front().delivery_id), "acked");
}

TEST_F(NodeTest, WhoAsksHowADrainGoesDoesNotDrain) {
  const auto asked = [this] {
    return *rig.ask<api::DrainState>(
        [this](auto done) { rig.admin().drain_progress(std::move(done)); });
  };
  const auto drained = [this](bool on) {
    return *rig.ask<api::DrainState>(
        [this, on](auto done) { rig.admin().drain(on, std::move(done)); });
  };
  EXPECT_EQ(asked().state, "serving");
  EXPECT_EQ(drained(true).state, "draining");
  EXPECT_EQ(asked().state, "draining");
  EXPECT_EQ(asked().in_flight, 3U);
  EXPECT_EQ(drained(false).state, "serving");
  EXPECT_EQ(asked().state, "serving");
}

TEST_F(NodeTest, AnExportThatFailsEverySecondIsLoggedOnceAndOnceWhenItWorksAgain) {
  LogCapture log;
  const auto count = [&log](std::string_view text) {
    return std::ranges::count_if(log.lines(), [text](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  };
  rig.disks.offsets.set_capacity(0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rig.settled(Verb::kExtend, "c", ids[2]), "extended");
    rig.pass(2000);
  }
  EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[0]), "acked");
  for (int i = 0; i < 5; ++i) {
    rig.publish(1);
    rig.pass(1500);
  }
  EXPECT_EQ(count("frontiers could not be exported"), 1);
  EXPECT_EQ(count("frontiers are exported again"), 0);
  rig.disks.offsets.set_capacity(UINT64_MAX);
  for (int i = 0; i < 3; ++i) {
    rig.publish(1);
    rig.pass(1500);
  }
  EXPECT_EQ(count("frontiers could not be exported"), 1);
  EXPECT_EQ(count("frontiers are exported again"), 1);
}

TEST_F(NodeTest, AnExportedOffsetIsShownWithTheTimeOfItsWriteNotOfTheQuestion) {
  const auto shown_offset = [this] {
    return rig
        .ask<std::vector<api::OffsetItem>>(
            [this](auto done) { rig.admin().offsets("t", std::move(done)); })
        ->at(0);
  };
  EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[0]), "acked");
  rig.pass(3000);
  const WallMs after = rig.executor.clock().wall();
  rig.pass(5000);
  const api::OffsetItem first = shown_offset();
  EXPECT_EQ(first.frontier, Offset(1));
  ASSERT_TRUE(first.written_time);
  EXPECT_LE(*first.written_time, after);
  rig.pass(5000);
  EXPECT_EQ(shown_offset().written_time, first.written_time);
  // Another one could not be written: when the one that is there was is not known any more.
  rig.disks.offsets.set_capacity(0);
  EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[2]), "acked");
  rig.pass(3000);
  EXPECT_EQ(shown_offset().frontier, Offset(1));
  EXPECT_FALSE(shown_offset().written_time);
  rig.disks.offsets.set_capacity(UINT64_MAX);
  rig.pass(3000);
  const api::OffsetItem then = shown_offset();
  EXPECT_EQ(then.frontier, Offset(2));
  ASSERT_TRUE(then.written_time);
  EXPECT_GT(*then.written_time, *first.written_time);
}

TEST_F(NodeTest, AGroupThatIsMadeAgainDoesNotInheritAFrontierThatWasExportedLate) {
  ASSERT_TRUE(rig.ask<api::Removed>(
      [this](auto done) { rig.admin().delete_group("t", "g", true, std::move(done)); }));
  const state::OffsetKey key{"t", "g", PartitionIndex(0)};
  // An export of the deleted group, which a storage thread had in hand all the while.
  EXPECT_TRUE(rig.offsets().write_offset(
      key, {Incarnation(1), ProgressNumber(1), Generation(1), Offset(100)}));
  ASSERT_TRUE(rig.subscribe("c"));
  EXPECT_FALSE(*rig.offsets().read_offset(key));
  const auto again = rig.poll("c", 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(rig.settled(Verb::kAck, "c", again[0]), "acked");
  rig.pass(3000);
  const auto exported = rig.offsets().read_offset(key);
  ASSERT_TRUE(exported && *exported);
  EXPECT_EQ((*exported)->frontier, Offset(0));
}

// The thread had it in hand until the new group was there, too.
TEST_F(NodeTest, Invariant1AnExportOfADeletedGroupIsNotTakenForProgressOfTheNewOne) {
  const auto group = [this] {
    return rig.node->unit(ShardIndex(0)).shard->catalog().group("t", "g")->number;
  };
  const ProgressNumber before = group();
  ASSERT_TRUE(rig.ask<api::Removed>(
      [this](auto done) { rig.admin().delete_group("t", "g", true, std::move(done)); }));
  ASSERT_TRUE(rig.subscribe("c"));
  ASSERT_NE(group(), before);
  const state::OffsetKey key{"t", "g", PartitionIndex(0)};
  EXPECT_TRUE(rig.offsets().write_offset(key, {Incarnation(1), before, Generation(1), Offset(2)}));
  EXPECT_TRUE(rig.ask<std::vector<api::OffsetItem>>(
                     [this](auto done) { rig.admin().offsets("t", std::move(done)); })
                  ->empty());
  const auto again = rig.poll("c", 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(rig.settled(Verb::kAck, "c", again[0]), "acked");
  rig.restart();
  EXPECT_EQ(rig.poll("c").size(), 5U);
  rig.pass(3000);
  const auto exported = rig.offsets().read_offset(key);
  ASSERT_TRUE(exported && *exported);
  EXPECT_EQ((*exported)->progress, group());
  EXPECT_EQ((*exported)->frontier, Offset(0));
}

TEST_F(NodeTest, AClientIsShownWithTheAddressItComesFrom) {
  const auto remote = [this] {
    const auto all = rig.ask<std::vector<api::ClientItem>>(
        [this](auto done) { rig.admin().clients("t", std::move(done)); });
    return all && all->size() == 1 ? all->front().remote : "nobody";
  };
  EXPECT_EQ(remote(), "");  // the polls of SetUp named none
  ASSERT_TRUE(rig.subscribe("c", "192.0.2.1:2"));
  EXPECT_EQ(remote(), "192.0.2.1:2");
  rig.poll("c", 1, "192.0.2.1:3");
  EXPECT_EQ(remote(), "192.0.2.1:3");
  EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[2], "192.0.2.1:4"), "acked");
  EXPECT_EQ(remote(), "192.0.2.1:4");
}

// What a stall has gathered must not become one batch of any size.
TEST_F(NodeTest, ATurnTakesPublishesUpToItsBatchAndLeavesTheRestToTheNext) {
  rig.batch_bytes = 1'000;
  rig.restart();
  std::size_t writes = 0;
  rig.fs.set_fault_hook([&](io::FsOperation operation, const std::string& path) {
    writes += operation == io::FsOperation::kWrite && path.find("/journal") != std::string::npos;
    return std::optional<io::FsFault>();
  });
  std::vector<Offset> offsets;
  for (int i = 0; i < 10; ++i) {
    api::PublishRequest request;
    request.topic = "t";
    event::CloudEvent made;
    made.set("id", std::to_string(i));
    made.set("source", "/" + std::string(600, 's'));
    made.set("type", "x");
    event::append_frame(made, request.events.emplace_back().frame);
    rig.traffic().publish(std::move(request), [&](Result<api::PublishResults> got) {
      ASSERT_TRUE(got);
      offsets.push_back(got->at(0)->offset);
    });
  }
  rig.pass(100);
  ASSERT_EQ(offsets.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(offsets));
  EXPECT_GE(writes, 5U);
  rig.fs.set_fault_hook({});
}

// Its lag would be an alarm that never ends.
TEST_F(NodeTest, NothingIsShownOfAGroupOrATopicThatWasDeleted) {
  ASSERT_THAT(shown(), HasSubstr("group=\"g\""));
  ASSERT_TRUE(rig.ask<api::Removed>(
      [&](auto done) { rig.admin().delete_group("t", "g", true, std::move(done)); }));
  EXPECT_THAT(shown(), Not(HasSubstr("group=\"g\"")));
  EXPECT_THAT(shown(), HasSubstr("topic=\"t\""));
  ASSERT_TRUE(rig.ask<api::Removed>(
      [&](auto done) { rig.admin().delete_topic("t", true, std::move(done)); }));
  EXPECT_THAT(shown(), Not(HasSubstr("topic=\"t\"")));
}

TEST_F(NodeTest, APageOfLargeEventsIsBoundedByItsBytes) {
  for (int i = 0; i < 20; ++i) {
    api::PublishRequest request;
    request.topic = "large";
    event::CloudEvent made;
    made.set("id", std::to_string(i));
    made.set("source", "/" + std::string(1U << 20U, 's'));
    made.set("type", "x");
    event::append_frame(made, request.events.emplace_back().frame);
    rig.traffic().publish(std::move(request), [](const Result<api::PublishResults>&) {});
  }
  rig.pass(100);
  std::vector<std::size_t> pages;
  api::EventsQuery query;
  query.topic = "large";
  query.limit = 1'000;
  for (bool end = false; !end && pages.size() < 5;) {
    const auto got =
        rig.ask<api::EventsAnswer>([&](auto done) { rig.admin().events(query, std::move(done)); });
    ASSERT_TRUE(got) << got.error().detail;
    pages.push_back(got->items.size());
    query.cursor = got->next;
    end = got->end;
  }
  EXPECT_THAT(pages, ElementsAre(16U, 4U));
}

}  // namespace
}  // namespace ackline::runtime
