#include "ackline/cli/data_repair.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/cli/stopped_server.h"

namespace ackline::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DataRepairTest : public StoppedServer {
 protected:
  static constexpr std::int64_t kEvents = 300;
  static constexpr std::size_t kDataBytes = 1000;

  // Some segments in partition 0 of `orders`, and a group that has settled the first ten.
  void fill() {
    start_server();
    // A batch is in one segment.
    for (std::int64_t done = 0; done < kEvents; done += 30) publish(30, kDataBytes);
    post(Port::kTraffic, "/events/subscribe",
         R"({"clientId":"c1","topic":"orders","group":"g","maxInFlight":10})");
    settle(10);
    stop_server();
  }
  // Acks what comes until `wanted` are done.
  std::vector<std::int64_t> settle(std::size_t wanted) {
    std::vector<std::int64_t> offsets;
    while (offsets.size() < wanted) {
      const Json got = get(Target("/events/poll").query("clientId", "c1").query("timeoutMs", 2000),
                           Port::kTraffic);
      if (got.size() == 0) break;
      std::vector<std::string> ids;
      for (const Json& delivery : got.items()) {
        offsets.push_back(delivery["offset"].integer());
        ids.push_back(delivery["deliveryId"].text());
      }
      post(Port::kTraffic, "/events/ack",
           JsonObject().text("clientId", "c1").texts("deliveryIds", ids).str());
    }
    return offsets;
  }
  // Segment files of the partition, oldest first.
  std::vector<std::string> segments() {
    const std::string first = find(path() + "/log", ".log");
    const std::string directory = first.substr(0, first.rfind('/'));
    std::vector<std::string> files;
    for (const std::string& name : fs_.list(directory).value()) {
      if (name.ends_with(".log")) files.push_back(io::join(directory, name));
    }
    return files;
  }
  RepairPlan plan() {
    auto made = RepairPlan::make(fs_, path());
    EXPECT_TRUE(made) << made.error().detail;
    return std::move(*made);
  }
  std::int64_t lost(const RepairPlan& plan) {
    std::int64_t all = 0;
    for (const RepairStep& step : plan.steps()) all += step.lost;
    return all;
  }
  // Repairs, and says how many offsets the plan gave up.
  std::int64_t repair() {
    RepairPlan made = plan();
    EXPECT_THAT(made.without(), IsEmpty());
    EXPECT_FALSE(made.steps().empty());
    const auto done = made.apply(made.default_backup().value());
    EXPECT_TRUE(done) << done.error().detail;
    return lost(made);
  }
  void expect_healthy() {
    const Examination after = examine_data_directory(fs_, path());
    EXPECT_LE(after.worst(), FindingLevel::kNote) << text_of(after);
  }
  Json offsets() { return get(Target("/admin/topics/orders"))["offsets"]["0"]; }
  // Of the group on partition 0, once it is exported: a server does so within a second or two.
  std::int64_t exported_frontier() {
    post(Port::kTraffic, "/events/subscribe", R"({"clientId":"idle","topic":"quiet","group":"w"})");
    for (int i = 0; i < 300; ++i) {
      const Json items = get(Target("/admin/offsets").query("topic", "orders"))["items"];
      for (const Json& one : items.items()) {
        if (one["partition"].integer() == 0) return one["frontier"].integer();
      }
      // A wait of the server's own: nothing comes to this client.
      get(Target("/events/poll").query("clientId", "idle").query("timeoutMs", 100), Port::kTraffic);
    }
    return -2;
  }
  Json lag() {
    return get(
        Target("/admin/lag").query("topic", "orders").query("group", "g").query("audit", "true"));
  }
  // The server starts again, nothing is lost beyond `lost` offsets, and all of it is told as gone.
  void expect_nothing_else_lost(std::int64_t lost) {
    expect_healthy();
    start_server();
    EXPECT_EQ(offsets()["logStart"].integer(), lost);
    EXPECT_EQ(offsets()["highWatermark"].integer(), kEvents - 1);
    EXPECT_EQ(offsets()["state"].text(), "ok");
    EXPECT_TRUE(lag()["audit"]["equal"].boolean()) << lag().dump();
    const std::int64_t first = std::max<std::int64_t>(lost, 10);
    EXPECT_EQ(get(Target("/admin/groups/orders/g"))["gone"].integer(), first - 10);
    std::vector<std::int64_t> got = settle(static_cast<std::size_t>(kEvents - first));
    std::ranges::sort(got);
    std::vector<std::int64_t> all;
    for (std::int64_t at = first; at < kEvents; ++at) all.push_back(at);
    EXPECT_EQ(got, all);
    EXPECT_EQ(lag()["lag"].integer(), 0);
    publish(1);
    EXPECT_EQ(offsets()["highWatermark"].integer(), kEvents);
    stop_server();
    expect_healthy();
  }
};

TEST_F(DataRepairTest, ASegmentThatIsDamagedInTheMiddleGoesWithWhatLiesBeforeIt) {
  fill();
  const std::vector<std::string> files = segments();
  ASSERT_GE(files.size(), 4U);
  flip(files[1], 5000);
  const std::int64_t given_up = repair();
  EXPECT_GT(given_up, 10);
  EXPECT_LT(given_up, kEvents);
  // The files lie in the backup, with the list.
  const auto kept = fs_.list(path() + "/repair-1");
  ASSERT_TRUE(kept);
  EXPECT_EQ(
      std::ranges::count_if(*kept, [](const std::string& name) { return name.ends_with(".log"); }),
      2);
  EXPECT_THAT(io::read_file(fs_, path() + "/repair-1/repair.txt").value(),
              HasSubstr("are given up"));
  expect_nothing_else_lost(given_up);
}

TEST_F(DataRepairTest, ANewestSegmentThatIsDamagedLeavesAnEmptyLogThatGoesOnWithItsOffsets) {
  fill();
  flip(segments().back(), 700);
  EXPECT_EQ(repair(), kEvents);
  expect_nothing_else_lost(kEvents);
}

TEST_F(DataRepairTest, ASegmentThatIsMissingIsGivenUp) {
  fill();
  ASSERT_TRUE(fs_.remove(segments()[0]));
  const std::int64_t given_up = repair();
  EXPECT_GT(given_up, 10);
  expect_nothing_else_lost(given_up);
}

// Killed after a purge: the checkpoint still names the segment of the dead letters that are gone.
TEST_F(DataRepairTest, WhatAPurgeTookBeforeAKillIsNotMissed) {
  start_server();
  publish(3, kDataBytes);
  post(Port::kTraffic, "/events/subscribe", R"({"clientId":"c1","topic":"orders","group":"g"})");
  const Json got =
      get(Target("/events/poll").query("clientId", "c1").query("timeoutMs", 2000), Port::kTraffic);
  ASSERT_EQ(got.size(), 3U);
  for (const Json& delivery : got.items()) {
    post(Port::kTraffic, "/events/reject",
         JsonObject()
             .text("clientId", "c1")
             .text("deliveryId", delivery["deliveryId"].text())
             .str());
  }
  stop_server();
  start_server();
  const Json purged =
      post(Port::kAdmin, "/admin/dlq/purge", R"({"topic":"orders","confirm":true})");
  ASSERT_EQ(purged["purged"].integer(), 3);
  const std::string killed = directory_.path() + "/killed";
  std::filesystem::copy(path(), killed, std::filesystem::copy_options::recursive);
  stop_server();
  const Examination found = examine_data_directory(fs_, killed);
  EXPECT_LE(found.worst(), FindingLevel::kNote) << text_of(found);
  const auto made = RepairPlan::make(fs_, killed);
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_THAT(made->steps(), IsEmpty());
  EXPECT_THAT(made->without(), IsEmpty());
}

TEST_F(DataRepairTest, AnIndexThatIsDamagedIsTakenAwayAndNothingIsLost) {
  fill();
  flip(find(path() + "/log", ".idx"), 3);
  EXPECT_EQ(repair(), 0);
  expect_nothing_else_lost(0);
}

TEST_F(DataRepairTest, AnOffsetStoreThatIsDamagedIsMadeAgainFromTheJournals) {
  fill();
  ASSERT_TRUE(io::write_file_atomic(fs_, path() + "/offsets/CURRENT", "nothing\n"));
  EXPECT_EQ(repair(), 0);
  for (int start = 0; start < 2; ++start) {
    start_server();
    EXPECT_EQ(exported_frontier(), 9) << "start " << start;
    stop_server();
  }
  expect_nothing_else_lost(0);
}

TEST_F(DataRepairTest, WhatBelongsToADeletedTopicIsTakenAway) {
  fill();
  start_server();
  post(Port::kAdmin, "/admin/topics", R"({"name":"gone","partitions":1})");
  ASSERT_TRUE(client().send(Port::kAdmin, "DELETE",
                            Target("/admin/topics/gone").query("confirm", "true"), {}, {}));
  stop_server();
  // `orders` has the numbers 1 to 8.
  ASSERT_TRUE(fs_.make_directories(path() + "/log/9"));
  ASSERT_TRUE(io::write_file_atomic(fs_, path() + "/log/9/x.log", "old"));
  EXPECT_EQ(repair(), 0);
  EXPECT_FALSE(*fs_.exists(path() + "/log/9"));
  EXPECT_EQ(io::read_file(fs_, path() + "/repair-1/log~9/x.log").value(), "old");
  expect_nothing_else_lost(0);
}

TEST_F(DataRepairTest, WhatMetaNeverHeardOfIsNoDeletedTopicsAndStays) {
  fill();
  ASSERT_TRUE(fs_.make_directories(path() + "/log/777"));
  const RepairPlan made = plan();
  EXPECT_THAT(made.steps(), IsEmpty());
  ASSERT_THAT(made.without(), SizeIs(1));
  EXPECT_THAT(made.without()[0].why, HasSubstr("log/777"));
}

TEST_F(DataRepairTest, WithoutMetaNothingIsTakenForADeletedTopics) {
  fill();
  for (const std::string part : {"/meta/CURRENT", "/meta"}) {
    ASSERT_TRUE(fs_.remove_all(path() + part));
    const RepairPlan made = plan();
    EXPECT_THAT(made.steps(), IsEmpty()) << part;
    EXPECT_THAT(made.without().front().where, HasSubstr("/meta")) << part;
    EXPECT_THAT(made.without().back().where, HasSubstr("/log/")) << part;
  }
  EXPECT_FALSE(*fs_.exists(path() + "/meta"));
}

TEST_F(DataRepairTest, ALostManifestIsReplacedByAWholeJournal) {
  fill();
  const std::string manifest = find(path() + "/journal", "MANIFEST");
  ASSERT_TRUE(io::write_file_atomic(fs_, manifest, std::string(256, 'x')));
  EXPECT_EQ(examine_data_directory(fs_, path()).worst(), FindingLevel::kDamage);
  EXPECT_EQ(repair(), 0);
  start_server();
  EXPECT_EQ(offsets()["logStart"].integer(), 0);
  EXPECT_EQ(settle(kEvents - 10).size(), static_cast<std::size_t>(kEvents - 10));
  EXPECT_TRUE(lag()["audit"]["equal"].boolean()) << lag().dump();
  EXPECT_EQ(lag()["lag"].integer(), 0);
  stop_server();
}

TEST_F(DataRepairTest, AQuarantineWhoseFilesAreWholeAgainIsReleasedWithoutLoss) {
  fill();
  const std::string segment = segments()[1];
  flip(segment, 5000);
  start_server();
  const auto read = client().get(
      Port::kAdmin,
      Target("/admin/events").query("topic", "orders").query("partition", 0).query("limit", 1000));
  EXPECT_FALSE(read && read->status == 200);
  EXPECT_EQ(offsets()["state"].text(), "quarantined");
  stop_server();
  flip(segment, 5000);  // as a restore of that file from a backup would
  EXPECT_THAT(plan().steps().back().what, HasSubstr("its files are whole now"));
  EXPECT_EQ(repair(), 0);
  expect_nothing_else_lost(0);
}

TEST_F(DataRepairTest, AQuarantinedPartitionIsReleasedWithItsLossesTold) {
  fill();
  flip(segments()[1], 5000);
  start_server();
  static_cast<void>(client().get(
      Port::kAdmin, Target("/admin/events").query("topic", "orders").query("limit", 1000)));
  stop_server();
  expect_nothing_else_lost(repair());
}

TEST_F(DataRepairTest, WhatNothingElseHasGetsASentenceAndNoStep) {
  fill();
  const auto names = fs_.list(path() + "/journal").value();
  ASSERT_TRUE(fs_.remove_all(path() + "/journal/" + names.front()));
  const RepairPlan made = plan();
  EXPECT_THAT(made.steps(), IsEmpty());
  ASSERT_THAT(made.without(), SizeIs(1));
  EXPECT_THAT(made.without()[0].why, HasSubstr("restore the whole data directory"));
}

TEST_F(DataRepairTest, APlanChangesNothingAndASecondRepairHasNothingToDo) {
  fill();
  flip(segments()[1], 5000);
  const auto before = io::read_file(fs_, segments()[1]).value();
  const std::size_t count = segments().size();
  {
    const RepairPlan made = plan();
  }
  EXPECT_EQ(io::read_file(fs_, segments()[1]).value(), before);
  EXPECT_EQ(segments().size(), count);
  EXPECT_FALSE(*fs_.exists(path() + "/repair-1"));
  repair();
  EXPECT_THAT(plan().steps(), IsEmpty());
}

TEST_F(DataRepairTest, ADirectoryInUseOrABackupThatIsNotEmptyIsRefused) {
  fill();
  start_server();
  const auto running = RepairPlan::make(fs_, path());
  ASSERT_FALSE(running);
  EXPECT_EQ(running.error().code, ErrorCode::kInUse);
  stop_server();
  flip(segments()[1], 5000);
  RepairPlan made = plan();
  const auto done = made.apply(path() + "/log");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(*fs_.exists(segments()[1]));
}

}  // namespace
}  // namespace ackline::cli
