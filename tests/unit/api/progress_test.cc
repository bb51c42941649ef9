#include <gmock/gmock.h>

#include "ackline/api/explain_text.h"
#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using delivery::BlockerState;
using testing::Answer;
using testing::ApiDriver;
using ::testing::HasSubstr;

// The situation of the contract's example: offset 3 is leased, 4 to 9 are settled behind it.
PartitionLag example_lag() {
  PartitionLag lag;
  lag.report.frontier = Offset(2);
  lag.report.cursor = Offset(10);
  lag.report.settled_ahead = 6;
  lag.report.in_flight = 1;
  lag.report.holes = 1;
  lag.high_watermark = Offset(9);
  lag.lag = 7;
  lag.pending = 1;
  lag.lag_bytes = 1792;
  lag.lag_seconds = 12.4;
  return lag;
}

ExplainPartition example_blocker() {
  ExplainPartition partition;
  partition.lag = example_lag();
  partition.blocker.offset = Offset(3);
  partition.blocker.state = BlockerState::kLeased;
  partition.blocker.settled_behind = 6;
  partition.blocker.client_id = "c1";
  partition.blocker.attempt = 1;
  partition.blocker.max_attempts = 6;
  partition.blocker.lease_left_ms = 17'600;
  partition.blocker.has_client = true;
  partition.since = WallMs(0);
  partition.for_seconds = 12.4;
  partition.delivery_id = "1k3v8z-9f2c-42";
  partition.event_id = "3";
  partition.event_type = "order.created";
  return partition;
}

TEST(Lag, HasTheShapeOfTheContract) {
  ApiDriver api;
  GroupLag group{"orders", "billing", WallMs(0), {}, LagAudit{7, true}};
  group.partitions[0] = example_lag();
  api.fake_admin.lags = {group};
  const Answer answer = api.admin_get("/admin/lag?topic=orders&group=billing&audit=true");
  EXPECT_EQ(answer.body,
            R"({"topic":"orders","group":"billing","asOf":"1970-01-01T00:00:00.000Z","lag":7,)"
            R"("pending":1,"caughtUp":false,"lagBytes":1792,"lagSeconds":12.4,"clamped":false,)"
            R"("estimated":false,"approximate":false,"partitions":{"0":{"frontier":2,)"
            R"("committed":3,"cursor":10,"logStart":0,"highWatermark":9,"lag":7,"pending":1,)"
            R"("settledAhead":6,"inFlight":1,"waiting":0,"blocked":0,"holes":1,"lagBytes":1792,)"
            R"("lagSeconds":12.4,"clamped":false}},"audit":{"recount":7,"equal":true}})");
  EXPECT_TRUE(api.fake_admin.audit_asked);
}

TEST(Lag, SumsPartitionsAndTakesTheOldest) {
  ApiDriver api;
  GroupLag group{"orders", "billing", WallMs(0), {}, {}};
  group.partitions[0] = example_lag();
  group.partitions[1] = example_lag();
  group.partitions[1].lag_seconds = 99;
  group.partitions[1].clamped = true;
  api.fake_admin.lags = {group};
  const Answer list = api.admin_get("/admin/lag?topic=orders");
  EXPECT_EQ(list.at("/items/0/lag"), "14");
  EXPECT_EQ(list.at("/items/0/lagSeconds"), "99");
  EXPECT_EQ(list.at("/items/0/clamped"), "true");
  EXPECT_EQ(list.at("/items/0/audit"), "null");
  EXPECT_EQ(list.at("/next"), "null");
}

TEST(Lag, CaughtUpMeansNothingIsLeftAndNothingIsInFlight) {
  ApiDriver api;
  GroupLag group{"orders", "billing", WallMs(0), {}, {}};
  PartitionLag& lag = group.partitions[0];
  lag.report.frontier = Offset(9);
  lag.high_watermark = Offset(9);
  api.fake_admin.lags = {group};
  EXPECT_EQ(api.admin_get("/admin/lag?topic=orders&group=billing").at("/caughtUp"), "true");
  api.fake_admin.lags[0].partitions[0].report.in_flight = 1;
  EXPECT_EQ(api.admin_get("/admin/lag?topic=orders&group=billing").at("/caughtUp"), "false");
}

TEST(Lag, OfNoGroupIsGroupUnknown) {
  ApiDriver api;
  EXPECT_EQ(api.admin_get("/admin/lag?topic=orders&group=billing").error(), "group_unknown");
  EXPECT_EQ(api.admin_get("/admin/lag").body, R"({"items":[],"next":null})");
  EXPECT_EQ(api.admin_get("/admin/lag?audit=1").error(), "bad_value");
}

TEST(Holes, HaveTheShapeOfTheContractAndPages) {
  ApiDriver api;
  HolesAnswer& answer = api.fake_admin.holes_answer;
  answer.total = 2;
  answer.next = std::pair(0U, Offset(3));
  HoleItem item;
  item.hole.from = item.hole.to = Offset(3);
  item.hole.events = item.hole.leased = 1;
  item.oldest_time = WallMs(0);
  answer.items = {item};
  const Answer first = api.admin_get("/admin/holes?topic=orders&group=billing&limit=1");
  EXPECT_EQ(first.at("/items/0"),
            R"({"partition":0,"from":3,"to":3,"events":1,"leased":1,"waiting":0,"blocked":0,)"
            R"("deadLettering":0,"oldestTime":"1970-01-01T00:00:00.000Z"})");
  EXPECT_EQ(first.at("/total"), "2");
  (void)api.admin_get("/admin/holes?topic=orders&group=billing&partition=0&after=" +
                      first.at("/next"));
  EXPECT_EQ(api.fake_admin.holes_asked.after, std::pair(0U, Offset(3)));
  EXPECT_EQ(api.fake_admin.holes_asked.partition, 0U);
  EXPECT_EQ(api.admin_get("/admin/holes?topic=orders").at("/field"), "group");
}

TEST(Explain, HasTheShapeAndTheSentencesOfTheContract) {
  ApiDriver api;
  api.fake_admin.explain_answer.partitions[0] = example_blocker();
  EXPECT_EQ(
      api.admin_get("/admin/explain?topic=orders&group=billing").body,
      R"({"topic":"orders","group":"billing","asOf":"1970-01-01T00:00:00.000Z","state":"blocked",)"
      R"("sentence":"Partition 0 is blocked at offset 3: leased by c1 for 12.4 s, attempt 1 of 6; )"
      R"(6 events are settled behind it.","partitions":{"0":{"state":"blocked",)"
      R"("sentence":"Blocked at offset 3: leased by c1 for 12.4 s, attempt 1 of 6; )"
      R"(6 settled behind it.","frontier":2,"lag":7,"settledBehind":6,"blocker":{"offset":3,)"
      R"("eventId":"3","type":"order.created","key":null,"state":"leased","clientId":"c1",)"
      R"("deliveryId":"1k3v8z-9f2c-42","attempt":1,"maxAttempts":6,)"
      R"("since":"1970-01-01T00:00:00.000Z","forSeconds":12.4,"leaseLeftMs":17600,)"
      R"("nextAttemptInMs":null,"lastError":null},)"
      R"("remedy":"Wait 17.6 s for the lease to end, or have c1 ack, nack or reject it."}}})");
  EXPECT_EQ(api.admin_get("/admin/explain?topic=orders&group=billing&partition=-1").error(),
            "bad_value");
}

TEST(Explain, NothingBlocksWhatIsCaughtUp) {
  ApiDriver api;
  ExplainPartition partition;
  partition.blocker.caught_up = true;
  partition.lag.high_watermark = Offset(9);
  api.fake_admin.explain_answer.partitions[0] = partition;
  Answer answer = api.admin_get("/admin/explain?topic=orders&group=billing");
  EXPECT_EQ(answer.at("/state"), "caught_up");
  EXPECT_EQ(answer.at("/sentence"),
            "Partition 0 is caught up: everything up to offset 9 is settled.");
  EXPECT_EQ(answer.at("/partitions/0/blocker"), "null");
  EXPECT_EQ(answer.at("/partitions/0/remedy"), "null");
  api.fake_admin.explain_answer.partitions[1] = partition;
  answer = api.admin_get("/admin/explain?topic=orders&group=billing");
  EXPECT_EQ(answer.at("/sentence"), "The group is caught up: every event of the topic is settled.");
}

TEST(ExplainText, EveryStateHasItsSentenceAndRemedy) {
  ExplainPartition partition = example_blocker();
  partition.blocker.settled_behind = 0;
  EXPECT_EQ(progress_state(partition), ProgressState::kMoving);
  EXPECT_EQ(partition_sentence(partition),
            "Moving: offset 3 is leased by c1 for 12.4 s, attempt 1 of 6; 1 event to go.");

  partition.blocker.state = BlockerState::kWaitingRetry;
  partition.blocker.next_attempt_in_ms = 3000;
  partition.blocker.last_error = "lease expired";
  EXPECT_EQ(progress_state(partition), ProgressState::kWaiting);
  EXPECT_EQ(partition_sentence(partition),
            "Waiting at offset 3: attempt 1 of 6 failed (lease expired), the next comes in 3.0 s.");
  EXPECT_EQ(partition_remedy(partition, 1),
            "Wait 3.0 s for the next attempt; a reject then sends it to the dead letters at once.");

  partition.blocker.has_client = false;
  EXPECT_EQ(progress_state(partition), ProgressState::kNoClient);
  EXPECT_EQ(partition_sentence(partition), "Without a client: 1 event waits from offset 3 on.");
  EXPECT_THAT(partition_remedy(partition, 0), HasSubstr("Start a client"));
  EXPECT_THAT(partition_remedy(partition, 1), HasSubstr("may take this partition"));

  partition.blocker.state = BlockerState::kBlockedByKey;
  partition.blocker.settled_behind = 1;
  partition.event_key = "k7";
  EXPECT_EQ(progress_state(partition), ProgressState::kBlocked);
  EXPECT_EQ(partition_sentence(partition),
            "Blocked at offset 3: waits for an earlier event of its key k7; 1 settled behind it.");

  partition.blocker.state = BlockerState::kDeadLettering;
  EXPECT_THAT(partition_sentence(partition), HasSubstr("on its way to the dead letters"));
  EXPECT_THAT(partition_remedy(partition, 1), HasSubstr("disk"));

  partition.blocker.state = BlockerState::kAheadLimit;
  partition.blocker.ahead_limited = true;
  EXPECT_THAT(partition_sentence(partition), HasSubstr("delivery.maxAhead"));
  EXPECT_THAT(partition_remedy(partition, 1), HasSubstr("delivery.maxAhead"));

  partition.blocker.state = BlockerState::kNotOffered;
  EXPECT_THAT(partition_sentence(partition), HasSubstr("no client takes it"));
  partition.blocker.has_client = true;
  EXPECT_THAT(partition_remedy(partition, 1), HasSubstr("credit"));

  partition.lag.report.gone = 2;
  EXPECT_THAT(partition_sentence(partition), HasSubstr("Retention took 2 events"));

  partition.quarantined = true;
  partition.quarantine_detail = "segment 5 is damaged";
  EXPECT_EQ(partition_sentence(partition).substr(0, 34), "Quarantined: segment 5 is damaged.");
  EXPECT_THAT(partition_remedy(partition, 1), HasSubstr("ackline doctor"));
}

TEST(ExplainText, TheWorstPartitionSpeaksForTheGroup) {
  ExplainAnswer answer;
  EXPECT_EQ(explain_group(answer).state, ProgressState::kUnknown);
  answer.partitions[0] = example_blocker();
  answer.partitions[0].blocker.settled_behind = 0;
  answer.partitions[1] = example_blocker();
  answer.partitions[3] = example_blocker();
  const GroupExplained explained = explain_group(answer);
  EXPECT_EQ(explained.state, ProgressState::kBlocked);
  EXPECT_TRUE(explained.sentence.starts_with("Partition 1 is blocked at offset 3:"));
  EXPECT_TRUE(explained.sentence.ends_with(" So is 1 more.")) << explained.sentence;

  for (auto& [index, partition] : answer.partitions) {
    partition.blocker.settled_behind = 0;
    partition.blocker.state = BlockerState::kNotOffered;
    partition.blocker.has_client = false;
  }
  EXPECT_EQ(explain_group(answer).sentence, "The group has no client connected: 3 events wait.");
}

ReopenPartition reopened() {
  ReopenPartition one;
  one.report.frontier_before = Offset(2);
  one.report.frontier_after = Offset(-1);
  one.report.reopened = 10;
  one.report.dropped_in_flight = 1;
  one.events = 400;
  one.bytes = 102'400;
  one.first = Offset(1004);
  one.last = Offset(1996);
  return one;
}

TEST(Replay, HasTheShapeOfTheContract) {
  ApiDriver api;
  api.fake_admin.reopen_answer.partitions.emplace(2, reopened());
  EXPECT_EQ(
      api.admin("POST", "/admin/replay",
                R"({"topic":"orders","group":"billing","from":{"offset":1000},"partitions":[2],)"
                R"("filter":null,"until":null,"dryRun":true})")
          .body,
      R"({"topic":"orders","group":"billing","dryRun":true,"events":400,"bytes":102400,)"
      R"("partitions":{"2":{"frontierBefore":2,"frontierAfter":-1,"events":400,"first":1004,)"
      R"("last":1996}},"laneId":null,"auditId":null})");
  EXPECT_FALSE(api.fake_admin.reopen_asked.reset);
  EXPECT_EQ(api.fake_admin.reopen_asked.partitions, std::vector<std::uint32_t>{2});
  EXPECT_EQ(std::get<AtOffsets>(api.fake_admin.reopen_asked.to).all, Offset(1000));
}

TEST(Replay, AnEndThatDoesNotLieBehindTheStartIsAnError) {
  ApiDriver api;
  for (const std::string range :
       {R"("from":{"offset":5},"until":{"offset":5})",
        R"("from":{"offset":5},"until":{"offset":2})", R"("until":"earliest")",
        R"("from":{"time":"2026-11-29T12:00:01Z"},"until":{"time":"2026-11-29T12:00:00Z"})"}) {
    const Answer answer =
        api.admin("POST", "/admin/replay", R"({"topic":"t","group":"g",)" + range + "}");
    EXPECT_EQ(answer.status, 400) << range;
    EXPECT_EQ(answer.at("/error"), "bad_value") << range;
    EXPECT_EQ(answer.at("/field"), "until") << range;
  }
}

TEST(Replay, Invariant18WithAFilterOrAnEndItIsALaneToWatch) {
  ApiDriver api;
  api.fake_admin.reopen_answer.partitions.emplace(2, reopened());
  api.fake_admin.reopen_answer.lane_id = "r-7";
  api.fake_admin.reopen_answer.partitions.at(2)->left_out = 3;
  const Answer answer =
      api.admin("POST", "/admin/replay",
                R"({"topic":"t","group":"g","filter":{"exact":{"type":"x"}},"ratePerSecond":50})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.at("/leftOut"), "3");
  EXPECT_EQ(answer.at("/laneId"), "r-7");
  const ReopenQuery& asked = api.fake_admin.reopen_asked;
  EXPECT_TRUE(asked.is_lane());
  EXPECT_EQ(asked.filter_json, R"({"exact":{"type":"x"}})");
  EXPECT_EQ(asked.rate_per_second, 50U);
  EXPECT_TRUE(std::holds_alternative<Earliest>(asked.to));  // the filter chooses, from the start
  EXPECT_EQ(api.admin("POST", "/admin/replay",
                      R"({"topic":"t","group":"g","from":{"offset":1},"until":{"offset":5}})")
                .status,
            200);
  EXPECT_EQ(std::get<AtOffsets>(*asked.until).all, Offset(5));
  EXPECT_FALSE(asked.filter_json);
}

TEST(Replay, WithoutThemItNeedsAPositionAndHasNoRate) {
  ApiDriver api;
  EXPECT_EQ(api.admin("POST", "/admin/replay", R"({"topic":"t","group":"g"})").at("/field"),
            "from");
  EXPECT_EQ(api.admin("POST", "/admin/replay",
                      R"({"topic":"t","group":"g","from":"earliest","ratePerSecond":5})")
                .at("/field"),
            "ratePerSecond");
  const Answer bad = api.admin("POST", "/admin/replay",
                               R"({"topic":"t","group":"g","filter":{"exakt":{"type":"x"}}})");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.error(), "unknown_field");
  EXPECT_EQ(api.fake_admin.calls, 0);
}

TEST(Reset, NeedsConfirmationUnlessItIsADryRun) {
  ApiDriver api;
  api.fake_admin.reopen_answer.partitions.emplace(0, reopened());
  api.fake_admin.reopen_answer.audit_id = "a-91";
  const std::string request = R"({"topic":"orders","group":"billing","to":"earliest")";
  EXPECT_EQ(api.admin("POST", "/admin/reset", request + "}").error(), "confirm_required");
  EXPECT_EQ(api.fake_admin.calls, 0);
  EXPECT_EQ(api.admin("POST", "/admin/reset", request + R"(,"confirm":true})").body,
            R"({"topic":"orders","group":"billing","dryRun":false,"partitions":{"0":)"
            R"({"frontierBefore":2,"frontierAfter":-1,"reopened":10,"skipped":0,)"
            R"("droppedInFlight":1}},"auditId":"a-91"})");
  EXPECT_EQ(api.admin("POST", "/admin/reset", request + R"(,"dryRun":true})").status, 200);
  EXPECT_TRUE(api.fake_admin.reopen_asked.reset);
}

TEST(Reset, PartitionThatFailsIsNamedBesideTheOthers) {
  ApiDriver api;
  auto& partitions = api.fake_admin.reopen_answer.partitions;
  partitions.emplace(0, fail(ErrorCode::kQuarantined, "segment 5 is damaged", "Run the doctor."));
  const std::string request =
      R"({"topic":"orders","group":"billing","to":"latest","confirm":true})";
  EXPECT_EQ(api.admin("POST", "/admin/reset", request).error(), "quarantined");
  partitions.emplace(1, reopened());
  const Answer answer = api.admin("POST", "/admin/reset", request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.at("/partitions/0/error"), "quarantined");
  EXPECT_EQ(answer.at("/partitions/1/reopened"), "10");
}

}  // namespace
}  // namespace ackline::api
