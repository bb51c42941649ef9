#include <gmock/gmock.h>

#include "ackline/event/frame.h"
#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using testing::Answer;
using testing::ApiDriver;
using ::testing::HasSubstr;
using ::testing::Not;

TopicItem topic_of(std::string name) {
  TopicItem topic;
  topic.name = std::move(name);
  topic.partitions = 1;
  topic.partitioner = "murmur2";
  topic.offsets[0] = {Offset(0), Offset(-1), PartitionState::kOk};
  return topic;
}

TEST(Topics, HaveTheShapeOfTheContract) {
  ApiDriver api;
  api.fake_admin.topic_items = {topic_of("orders")};
  api.fake_admin.topic_items[0].bytes = 42;
  const std::string item = R"({"name":"orders","partitions":1,"partitioner":"murmur2","dlq":false,)"
                           R"("retention":{"ageMs":null,"bytes":null},"bytes":42,)"
                           R"("offsets":{"0":{"logStart":0,"highWatermark":-1,"state":"ok"}}})";
  EXPECT_EQ(api.admin_get("/admin/topics").body, R"({"items":[)" + item + R"(],"next":null})");
  EXPECT_EQ(api.admin_get("/admin/topics/orders").body, item);
  EXPECT_EQ(api.fake_admin.topic_asked, "orders");
  const Answer made = api.admin(
      "POST", "/admin/topics",
      R"({"name":"orders","partitions":8,"partitioner":"phash2","retention":{"ageMs":1000}})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(api.fake_admin.create_asked.partitions, 8U);
  EXPECT_EQ(api.fake_admin.create_asked.partitioner, "phash2");
  EXPECT_EQ(api.fake_admin.create_asked.retention.age_ms, 1000);
}

TEST(Topics, CreateRefusesBadInput) {
  ApiDriver api;
  const auto create = [&](const std::string& body) {
    return api.admin("POST", "/admin/topics", body);
  };
  EXPECT_EQ(create(R"({})").error(), "missing_field");
  EXPECT_EQ(create(R"({"name":"a_DLQ"})").error(), "bad_name");
  EXPECT_EQ(create(R"({"name":"a#"})").at("/field"), "name");
  EXPECT_EQ(create(R"({"name":"a","partitions":0})").error(), "bad_value");
  EXPECT_EQ(create(R"({"name":"a","partitioner":"crc"})").error(), "bad_value");
  EXPECT_EQ(create(R"({"name":"a","retention":5})").at("/error"), "bad_value");
  EXPECT_EQ(create(R"({"name":"a","retention":{"age":5}})").at("/field"), "retention.age");
  EXPECT_EQ(api.fake_admin.calls, 0);
}

TEST(Topics, DeleteNeedsConfirmation) {
  ApiDriver api;
  EXPECT_EQ(api.admin("DELETE", "/admin/topics/orders").error(), "confirm_required");
  EXPECT_EQ(api.admin("DELETE", "/admin/topics/orders?confirm=false").error(), "confirm_required");
  EXPECT_EQ(api.admin("DELETE", "/admin/topics/orders?confirm=yes").error(), "bad_value");
  EXPECT_EQ(api.fake_admin.calls, 0);
  EXPECT_EQ(api.admin("DELETE", "/admin/topics/orders?confirm=true&force=true").body,
            R"({"removed":true,"auditId":"a-1"})");
  EXPECT_TRUE(api.fake_admin.force_asked);
}

TEST(Groups, HaveTheShapeOfTheContract) {
  ApiDriver api;
  GroupItem group;
  group.topic = "orders";
  group.group = "billing";
  group.max_attempts = 6;
  group.backoff_ms = {1000};
  group.filter_json = R"({"exact":{"type":"x"}})";
  group.generations[0] = Generation(1);
  group.lag = 7;
  api.fake_admin.group_items = {group};
  const std::string members =
      R"("topic":"orders","group":"billing","mode":"CLUSTERING","ordering":"none","maxAttempts":6,)"
      R"("backoffMs":[1000],"filter":{"exact":{"type":"x"}},"deadLetterExpired":false,)"
      R"("generations":{"0":1},"clients":0,"lag":7,"pending":0,"inFlight":0,"waiting":0,)"
      R"("deadLetters":0,"gone":0)";
  EXPECT_EQ(api.admin_get("/admin/groups/orders/billing").body, "{" + members + "}");
  EXPECT_EQ(api.admin_get("/admin/groups?topic=orders").body,
            "{\"items\":[{" + members + "}],\"next\":null}");
  EXPECT_EQ(api.fake_admin.topic_asked, "orders");
  EXPECT_EQ(api.admin("PATCH", "/admin/groups/orders/billing",
                      R"({"maxAttempts":9,"filter":null,"ordering":"key"})")
                .body,
            "{" + members + R"(,"auditId":"a-2"})");
  EXPECT_EQ(api.fake_admin.patch_asked.max_attempts, 9U);
  EXPECT_EQ(api.fake_admin.patch_asked.filter_json, "") << "null takes the filter away";
  EXPECT_EQ(api.fake_admin.patch_asked.group, "billing");
  EXPECT_EQ(api.admin("PATCH", "/admin/groups/orders/billing", R"({"start":"latest"})").error(),
            "unknown_field");
  EXPECT_EQ(api.admin("DELETE", "/admin/groups/orders/billing?force=true").error(),
            "confirm_required");
  EXPECT_EQ(api.admin("DELETE", "/admin/groups/orders/billing?confirm=true").at("/auditId"), "a-3");
  EXPECT_FALSE(api.fake_admin.force_asked);
  EXPECT_EQ(api.admin_get("/admin/groups/orders/a%20b").error(), "bad_name");
}

TEST(Clients, ListsAndRejectHaveTheShapeOfTheContract) {
  ApiDriver api;
  api.fake_admin.client_items = {{.client_id = "c1",
                                  .topic = "orders",
                                  .group = "billing",
                                  .channel = "sse",
                                  .connected = true,
                                  .in_flight = 1,
                                  .in_flight_bytes = 256,
                                  .credit_events = 999,
                                  .pending = 1,
                                  .last_seen = WallMs(0),
                                  .remote = ""}};
  api.fake_admin.subscription_items = {{.subscription_id = "s-1",
                                        .client_id = "c1",
                                        .topic = "orders",
                                        .group = "billing",
                                        .mode = delivery::Mode::kMulticast,
                                        .partitions = {},
                                        .filter_json = "",
                                        .instance = "h:1",
                                        .since = WallMs(0)}};
  api.fake_admin.offset_items = {{"billing", 10, Offset(2), Generation(1), WallMs(0)},
                                 {"billing", 9, Offset(-1), Generation(1), WallMs(0)},
                                 {"mail", 0, Offset(4), Generation(1), std::nullopt}};
  EXPECT_EQ(api.admin_get("/admin/clients?topic=orders").at("/items/0"),
            R"({"clientId":"c1","topic":"orders","group":"billing","channel":"sse",)"
            R"("connected":true,"inFlight":1,"inFlightBytes":256,"creditEvents":999,"pending":1,)"
            R"("lastSeen":null,"remote":null})");
  EXPECT_EQ(api.admin_get("/admin/subscriptions").at("/items/0"),
            R"({"subscriptionId":"s-1","clientId":"c1","topic":"orders","group":"billing",)"
            R"("mode":"MULTICAST","partitions":null,"filter":null,"instance":"h:1",)"
            R"("since":"1970-01-01T00:00:00.000Z"})");
  EXPECT_EQ(api.admin_get("/admin/offsets?topic=orders").at("/items/0"),
            R"({"group":"billing","partition":9,"frontier":-1,"committed":0,"generation":1,)"
            R"("writtenTime":"1970-01-01T00:00:00.000Z"})");
  EXPECT_EQ(api.admin_get("/admin/offsets?topic=orders").at("/items/2/writtenTime"), "null");
  EXPECT_EQ(api.admin_get("/admin/offsets").error(), "missing_field");
  EXPECT_EQ(api.admin("POST", "/admin/client/reject", R"({"clientId":"c1"})").body,
            R"({"clientId":"c1","removed":true,"auditId":"a-4"})");
}

TEST(Pages, WalkThroughEveryItemOnceWhateverComesAndGoes) {
  ApiDriver api;
  for (const char* name : {"d", "b", "a", "c", "e"}) {
    api.fake_admin.topic_items.push_back(topic_of(name));
  }
  const Answer first = api.admin_get("/admin/topics?limit=2");
  EXPECT_EQ(first.at("/items/0/name"), "a");
  EXPECT_EQ(first.at("/items/1/name"), "b");
  // The last one shown goes away meanwhile.
  std::erase_if(api.fake_admin.topic_items, [](const TopicItem& one) { return one.name == "b"; });
  const Answer second = api.admin_get("/admin/topics?max=2&after=" + first.at("/next"));
  EXPECT_EQ(second.at("/items/0/name"), "c");
  EXPECT_EQ(second.at("/items/1/name"), "d");
  const Answer third = api.admin_get("/admin/topics?limit=2&after=" + second.at("/next"));
  EXPECT_EQ(third.at("/items/0/name"), "e");
  EXPECT_EQ(third.at("/next"), "null");
}

TEST(Pages, GarbageAndForeignCursorsAreRefused) {
  ApiDriver api;
  api.fake_admin.topic_items = {topic_of("a"), topic_of("b")};
  const std::string next = api.admin_get("/admin/topics?limit=1").at("/next");
  for (const std::string& bad : {std::string("x"), std::string(""), std::string("%01"),
                                 std::string("AAAA"), next + "A", std::string("!!")}) {
    if (bad == next + "A") continue;  // may be another key of this list
    EXPECT_EQ(api.admin_get("/admin/topics?after=" + bad).error(), "bad_cursor") << bad;
  }
  EXPECT_EQ(api.admin_get("/admin/groups?after=" + next).error(), "bad_cursor");
  EXPECT_EQ(api.admin_get("/admin/holes?topic=t&group=g&after=" + next).error(), "bad_cursor");
  for (const char* bad : {"0", "1001", "-1", "x", "99999999999999999999"}) {
    EXPECT_EQ(api.admin_get("/admin/topics?limit=" + std::string(bad)).error(), "bad_value");
  }
  EXPECT_EQ(api.admin_get("/admin/topics?limit=1&max=1").error(), "duplicate_key");
}

std::string frame_of(bool dead_letter) {
  event::CloudEvent event;
  event.set("id", "2");
  event.set("source", "/bar");
  event.set("type", "bar.event");
  if (dead_letter) {
    event.set("dlqreason", "max_attempts");
  }
  std::string frame;
  event::append_frame(event, frame);
  return frame;
}

TEST(Events, HaveTheShapeOfTheContract) {
  ApiDriver api;
  api.fake_admin.events_answer.items = {{0, Offset(3), WallMs(0), frame_of(true)}};
  api.fake_admin.events_answer.next = {{0, Offset(4)}};
  api.fake_admin.events_answer.scanned = 4;
  const Answer answer = api.admin_get(
      "/admin/events?topic=orders_DLQ&partition=0&id=2&type=t&source=s&subject=u&key=k"
      "&since=1970-01-01T00:00:00Z&until=1970-01-02T00:00:00Z"
      "&filter=%7B%22prefix%22%3A%7B%22type%22%3A%22bar%22%7D%7D&data=/n%3D3&limit=5"
      "&cursor=%7B%220%22%3A3%7D");
  EXPECT_EQ(answer.body,
            R"({"topic":"orders_DLQ","items":[{"partition":0,"offset":3,)"
            R"("time":"1970-01-01T00:00:00.000Z","event":{"specversion":"1.0","id":"2",)"
            R"("source":"/bar","type":"bar.event","dlqreason":"max_attempts"}}],)"
            R"("next":{"0":4},"end":false,"scanned":4})");
  const EventsQuery& query = api.fake_admin.events_asked;
  EXPECT_EQ(query.cursor.at(0), Offset(3));
  EXPECT_EQ(query.limit, 5U);
  EXPECT_TRUE(query.query.filter && query.query.data && query.query.until);
  EXPECT_EQ(query.query.key, "k");
}

TEST(Events, BadParametersAreNamed) {
  ApiDriver api;
  const auto error = [&](const std::string& more) {
    return api.admin_get("/admin/events?topic=t" + more).error();
  };
  EXPECT_EQ(api.admin_get("/admin/events").error(), "missing_field");
  EXPECT_EQ(error("&cursor=x"), "bad_cursor");
  EXPECT_EQ(error("&cursor=%7B%22a%22%3A1%7D"), "bad_cursor");
  EXPECT_EQ(error("&cursor=%7B%220%22%3A-1%7D"), "bad_cursor");
  EXPECT_EQ(error("&cursor=%5B%5D"), "bad_cursor");
  EXPECT_EQ(error("&since=noon"), "bad_value");
  EXPECT_EQ(error("&data=n"), "bad_value");
  EXPECT_EQ(error("&filter=%7B"), "bad_json");
  EXPECT_EQ(error("&filter=%7B%22sql%22%3A%22x%22%7D"), "unsupported");
  EXPECT_EQ(error("&partition=-1"), "bad_value");
  EXPECT_EQ(error("&typ=x"), "unknown_field");
  EXPECT_EQ(error("&id=%FF"), "bad_utf8");
}

TEST(DeadLetters, BrowseHasTheShapeOfTheContract) {
  ApiDriver api;
  DeadLetterPage& page = api.fake_admin.dead_page;
  page.dlq_topic = "jobs_DLQ";
  page.total = 1;
  DeadLetterItem item;
  item.id = "jobs_DLQ:0:17";
  item.group = "g";
  item.reason = "max_attempts";
  item.attempts = 3;
  item.last_error = "lease expired";
  item.origin_topic = "jobs";
  item.origin_offset = Offset(2);
  item.origin_delivery_id = "1k3v8z-9f2c-9";
  item.frame = frame_of(true);
  page.items = {item};
  const std::string body =
      R"({"topic":"jobs","dlqTopic":"jobs_DLQ","total":1,"next":null,"items":[)"
      R"({"id":"jobs_DLQ:0:17","group":"g","reason":"max_attempts","attempts":3,)"
      R"("lastError":"lease expired","deadTime":"1970-01-01T00:00:00.000Z",)"
      R"("origin":{"topic":"jobs","partition":0,"offset":2,"deliveryId":"1k3v8z-9f2c-9"},)"
      R"("state":"dead","redrives":0,"event":{"specversion":"1.0","id":"2","source":"/bar",)"
      R"("type":"bar.event"}}]})";
  EXPECT_EQ(api.admin_get("/admin/dlq/browse?topic=jobs&group=g&reason=rejected&state=dead&max=7"
                          "&after=x")
                .body,
            body);
  EXPECT_EQ(api.fake_admin.dead_asked.max, 7U);
  EXPECT_EQ(api.fake_admin.dead_asked.after, "x");
  EXPECT_EQ(api.fake_admin.dead_asked.state, delivery::EntryState::kDead);
  EXPECT_EQ(api.admin_get("/admin/dlq/browse?topic=jobs_DLQ").body, body);
  page.total = std::nullopt;
  EXPECT_EQ(api.admin_get("/admin/dlq/browse?topic=jobs&filter=%7B%22exact%22%3A%7B%22id%22%3A"
                          "%222%22%7D%7D")
                .at("/total"),
            "null");
  EXPECT_EQ(api.admin_get("/admin/dlq/browse?topic=jobs&state=gone").error(), "bad_value");
  EXPECT_EQ(api.admin_get("/admin/dlq/browse?topic=jobs&reason=tired").error(), "bad_value");
}

TEST(DeadLetters, RedriveAndItsOtherNameAnswerTheLane) {
  ApiDriver api;
  LaneItem& lane = api.fake_admin.lane_item;
  lane.lane_id = "r-7";
  lane.kind = "redrive";
  lane.topic = "jobs";
  lane.group = "g";
  lane.matched = lane.started = 1;
  lane.state = "running";
  lane.audit_id = "a-92";
  const std::string body =
      R"({"laneId":"r-7","kind":"redrive","topic":"jobs","group":"g","dryRun":false,"matched":1,)"
      R"("started":1,"alreadyRedriven":0,"state":"running","offered":0,"resolved":0,"deadAgain":0,)"
      R"("gone":0,"filter":null,"auditId":"a-92"})";
  const std::string request =
      R"({"topic":"jobs","group":"g","ids":["jobs_DLQ:0:17"],"reason":null,"since":null,)"
      R"("until":null,"filter":null,"max":null,"ratePerSecond":50,"dryRun":true})";
  EXPECT_EQ(api.admin("POST", "/admin/dlq/redrive", request).body, body);
  EXPECT_EQ(api.admin("POST", "/admin/dlq/replay", request).body, body);
  EXPECT_EQ(api.fake_admin.redrive_asked.rate_per_second, 50U);
  EXPECT_TRUE(api.fake_admin.redrive_asked.dry_run);
  EXPECT_EQ(api.fake_admin.redrive_asked.which.ids.size(), 1U);
  EXPECT_FALSE(api.fake_admin.redrive_asked.which.max);
  EXPECT_EQ(api.admin_get("/admin/lanes/r-7").body, body);
  EXPECT_EQ(api.admin_get("/admin/lanes?topic=jobs&group=g").at("/items/0"), body);
  EXPECT_EQ(api.admin("DELETE", "/admin/lanes/r-7").error(), "confirm_required");
  EXPECT_EQ(api.admin("DELETE", "/admin/lanes/r-7?confirm=true").at("/removed"), "true");
  for (const char* id : {"x", "other_DLQ:0:1", "jobs_DLQ:0", "jobs_DLQ:-1:2", "jobs_DLQ:0:x"}) {
    EXPECT_EQ(api.admin("POST", "/admin/dlq/redrive",
                        R"({"topic":"jobs","ids":[")" + std::string(id) + "\"]}")
                  .at("/field"),
              "ids")
        << id;
  }
  EXPECT_EQ(
      api.admin("POST", "/admin/dlq/redrive", R"({"topic":"jobs","ratePerSecond":0})").error(),
      "bad_value");
}

TEST(DeadLetters, OneCallTakesNoMoreThanAJobMay) {
  ApiDriver api;
  api.fake_admin.lane_item.kind = "redrive";
  api.fake_admin.lane_item.state = "running";
  for (const std::string_view target : {"/admin/dlq/redrive", "/admin/dlq/purge"}) {
    const std::string confirm = target.ends_with("purge") ? R"(,"confirm":true)" : "";
    const auto ask = [&](std::string_view max) {
      return api.admin("POST", target,
                       R"({"topic":"jobs","max":)" + std::string(max) + confirm + "}");
    };
    EXPECT_EQ(ask("100000").status, 200) << target;
    const Answer refused = ask("100001");
    EXPECT_EQ(refused.status, 400) << target;
    EXPECT_EQ(refused.error(), "bad_value");
    EXPECT_THAT(refused.at("/detail"), HasSubstr("1 to 100000"));
  }
}

TEST(DeadLetters, PurgeNeedsConfirmation) {
  ApiDriver api;
  EXPECT_EQ(api.admin("POST", "/admin/dlq/purge", R"({"topic":"jobs"})").error(),
            "confirm_required");
  EXPECT_EQ(api.fake_admin.calls, 0);
  EXPECT_EQ(api.admin("POST", "/admin/dlq/purge", R"({"topic":"jobs","confirm":true})").body,
            R"({"topic":"jobs","purged":1,"auditId":"a-93"})");
}

TEST(Server, HealthFailsWithWhatFails) {
  ApiDriver api;
  EXPECT_EQ(api.get("/livez").body,
            R"({"status":"ok","checks":[{"name":"process","status":"ok","detail":null}]})");
  EXPECT_EQ(api.get("/readyz").status, 200);
  api.fake_admin.health.push_back({"disk", false, "full"});
  for (const char* path : {"/readyz", "/admin/health"}) {
    const Answer answer = api.admin_get(path);
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("retry-after"), "1");
    EXPECT_EQ(answer.at("/status"), "failed");
    EXPECT_EQ(answer.at("/checks/1"), R"({"name":"disk","status":"failed","detail":"full"})");
  }
  EXPECT_EQ(api.get("/livez").status, 200) << "it is full, not dead";
}

TEST(Server, MetricsAreBroughtUpToDateFirst) {
  ApiDriver api;
  const Answer answer = api.admin_get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(api.refreshes, 1);
  EXPECT_EQ(api.get("/metrics").status, 404) << "on the admin port only";
}

TEST(Server, ConfigShowsOriginsInTheirOrder) {
  ApiDriver api;
  const Answer answer = api.admin_get("/admin/config?limit=1");
  EXPECT_EQ(answer.at("/items/0"),
            R"({"key":"http.port","value":"10105","default":"10105","origin":"default",)"
            R"("secret":false,"help":"Port of the traffic."})");
  const Answer second = api.admin_get("/admin/config?after=" + answer.at("/next"));
  EXPECT_EQ(second.at("/items/0/value"), "***");
}

TEST(Server, DrainWaitsForItsDeadlineAndCanBeTakenBack) {
  ApiDriver api;
  api.fake_admin.drain_state = {"draining", 3};
  EXPECT_EQ(api.admin("POST", "/admin/drain", "{}").body, R"({"state":"draining","inFlight":3})");
  EXPECT_EQ(api.admin("POST", "/admin/drain").status, 200);

  testing::Wire wire = api.wire(http::ListenerKind::kAdmin);
  wire.send(ApiDriver::request(
      "POST", "/admin/drain", R"({"deadlineMs":1000})",
      {{"Authorization", "Bearer sesame"}, {"Content-Type", "application/json"}}));
  EXPECT_EQ(wire.take(), "");
  api.executor.advance(500);
  wire.round();
  EXPECT_EQ(wire.take(), "");
  api.fake_admin.drain_state.in_flight = 0;
  api.executor.advance(50);
  wire.round();
  EXPECT_THAT(wire.take(), HasSubstr(R"({"state":"draining","inFlight":0})"));
  EXPECT_EQ(api.executor.timers(), 0U);

  EXPECT_EQ(api.admin("DELETE", "/admin/drain").body, R"({"state":"serving","inFlight":0})");
  EXPECT_FALSE(api.fake_admin.drains.back());
  EXPECT_EQ(api.admin("POST", "/admin/drain", R"({"deadlineMs":-1})").error(), "bad_value");
}

TEST(Server, ADrainThatWaitsDoesNotUndoTheDeleteThatCameMeanwhile) {
  ApiDriver api;
  api.fake_admin.drain_state = {"draining", 3};
  testing::Wire wire = api.wire(http::ListenerKind::kAdmin);
  wire.send(ApiDriver::request(
      "POST", "/admin/drain", R"({"deadlineMs":60000})",
      {{"Authorization", "Bearer sesame"}, {"Content-Type", "application/json"}}));
  api.executor.advance(500);
  wire.round();
  EXPECT_EQ(wire.take(), "");
  EXPECT_EQ(api.admin("DELETE", "/admin/drain").body, R"({"state":"serving","inFlight":3})");
  api.executor.advance(50);
  wire.round();
  EXPECT_THAT(wire.take(), HasSubstr(R"({"state":"serving","inFlight":3})"));
  EXPECT_EQ(api.fake_admin.drains, (std::vector<bool>{true, false}));
  EXPECT_EQ(api.executor.timers(), 0U);
}

TEST(Server, ErrorsOfTheRuntimeAreItsProblems) {
  ApiDriver api;
  for (const ErrorCode code : {ErrorCode::kTopicUnknown, ErrorCode::kGroupUnknown,
                               ErrorCode::kInUse, ErrorCode::kUnavailable, ErrorCode::kTimeout}) {
    api.fake_admin.error = Error{code, "because", "do this", {}};
    for (const char* path :
         {"/admin/topics", "/admin/topics/t", "/admin/groups", "/admin/groups/t/g",
          "/admin/subscriptions", "/admin/clients", "/admin/offsets?topic=t", "/admin/lag",
          "/admin/holes?topic=t&group=g", "/admin/explain?topic=t&group=g", "/admin/events?topic=t",
          "/admin/dlq/browse?topic=t", "/admin/lanes", "/admin/lanes/r"}) {
      const Answer answer = api.ask(http::ListenerKind::kAdmin, "GET", path);
      EXPECT_EQ(answer.status, error_status(code)) << path;
      EXPECT_EQ(answer.error(), error_word(code)) << path;
    }
  }
}

}  // namespace
}  // namespace ackline::api
