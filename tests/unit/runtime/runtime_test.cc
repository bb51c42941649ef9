// The whole runtime with real threads, sockets and disk: four shards under load from several
// clients at once, stopped and started again. What the thread sanitizer is run over.
#include "ackline/runtime/runtime.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "ackline/http/client.h"
#include "tests/support/kv/temp_directory.h"

namespace ackline::runtime {
namespace {

constexpr int kPublishers = 3;
constexpr int kBatches = 40;
constexpr int kBatchEvents = 10;
constexpr int kEvents = kPublishers * kBatches * kBatchEvents;

std::string batch_of(int publisher, int batch) {
  std::string body = "[";
  for (int i = 0; i < kBatchEvents; ++i) {
    body += fmt::format(R"({}{{"specversion":"1.0","id":"{}-{}-{}","source":"/t","type":"t",)"
                        R"("partitionkey":"k{}"}})",
                        i == 0 ? "" : ",", publisher, batch, i, (batch * 7 + i) % 23);
  }
  return body + "]";
}

// What stands between each `head` and the next quote.
std::vector<std::string> all_after(const std::string& text, std::string_view head) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at)) {
    at += head.size();
    found.push_back(text.substr(at, text.find('"', at) - at));
  }
  return found;
}

class RuntimeTest : public ::testing::Test {
 protected:
  std::unique_ptr<Runtime> start(int shards) {
    ConfigSources sources;
    sources.definitions = {"data.path=" + directory_.path() + "/data",
                           "http.port=0",
                           "admin.port=0",
                           "disk.reserve=16MiB",
                           "storage.local.checkpointInterval=200ms",
                           fmt::format("server.shards={}", shards)};
    auto config = Config::load(sources);
    EXPECT_TRUE(config);
    auto started = Runtime::start(*config);
    EXPECT_TRUE(started) << (started ? "" : started.error().detail);
    return started ? std::move(*started) : nullptr;
  }

  static http::Client client(const std::string& address) {
    return http::Client(http::client_options(address, 0).value());
  }

  static void publish(const std::string& address, int publisher) {
    http::Client http = client(address);
    for (int batch = 0; batch < kBatches; ++batch) {
      http::ClientRequest request;
      request.method = "POST";
      request.target = "/events/publish?topic=t";
      request.headers.add("content-type", "application/cloudevents-batch+json");
      request.body = batch_of(publisher, batch);
      const auto answer = http.send(request);
      ASSERT_TRUE(answer) << answer.error().detail;
      ASSERT_EQ(answer->status, 202) << answer->body;
    }
  }

  // Polls and acks until `seen` events were acked by all consumers together.
  static void consume(const std::string& address, const std::string& name,
                      std::atomic<int>& acked) {
    http::Client http = client(address);
    for (int round = 0; round < 2000 && acked < kEvents; ++round) {
      const auto got = http.get(fmt::format("/events/poll?clientId={}&max=50&timeoutMs=100", name));
      ASSERT_TRUE(got) << got.error().detail;
      ASSERT_EQ(got->status, 200) << got->body;
      const auto ids = all_after(got->body, R"("deliveryId":")");
      if (ids.empty()) continue;
      std::string body = fmt::format(R"({{"clientId":"{}","deliveryIds":[)", name);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        body += fmt::format(R"({}"{}")", i == 0 ? "" : ",", ids[i]);
      }
      const auto settled = http.post_json("/events/ack", body + "]}");
      ASSERT_TRUE(settled) << settled.error().detail;
      ASSERT_EQ(settled->status, 200) << settled->body;
      acked +=
          static_cast<int>(std::ranges::count(all_after(settled->body, R"("status":")"), "acked"));
    }
  }

  ackline::testing::TempDirectory directory_;
};

TEST_F(RuntimeTest, Invariants1And9HoldOverFourShardsWithManyClientsAtOnce) {
  auto runtime = start(4);
  ASSERT_NE(runtime, nullptr);
  const std::string traffic = runtime->addresses().http;
  const std::string admin = runtime->addresses().admin;
  for (const char* name : {"c1", "c2", "c3"}) {
    const auto answer = client(traffic).post_json(
        "/events/subscribe", fmt::format(R"({{"clientId":"{}","topic":"t","group":"g"}})", name));
    ASSERT_TRUE(answer && answer->status == 200);
  }
  std::atomic<int> acked{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kPublishers; ++i) {
    threads.emplace_back([&traffic, i] { publish(traffic, i); });
  }
  for (const char* name : {"c1", "c2", "c3"}) {
    threads.emplace_back([&traffic, &acked, name] { consume(traffic, name, acked); });
  }
  threads.emplace_back([&admin, &acked] {
    http::Client http = client(admin);
    for (int i = 0; i < 50 && acked < kEvents; ++i) {
      for (const char* target : {"/admin/lag?topic=t&group=g", "/admin/explain?topic=t&group=g",
                                 "/metrics", "/admin/clients", "/readyz"}) {
        const auto answer = http.get(target);
        ASSERT_TRUE(answer);
        ASSERT_EQ(answer->status, 200) << target << answer->body;
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(acked, kEvents);
  const auto lag = client(admin).get("/admin/lag?topic=t&group=g&audit=true");
  ASSERT_TRUE(lag);
  EXPECT_NE(lag->body.find(R"("lag":0,"pending":0,"caughtUp":true)"), std::string::npos)
      << lag->body;
  EXPECT_NE(lag->body.find(R"("equal":true)"), std::string::npos) << lag->body;
  runtime->stop(5000);
}

TEST_F(RuntimeTest, AStopAndAStartWithFewerShardsKeepEverything) {
  {
    auto runtime = start(3);
    ASSERT_NE(runtime, nullptr);
    publish(runtime->addresses().http, 0);
    runtime->stop(2000);
  }
  auto runtime = start(2);
  ASSERT_NE(runtime, nullptr);
  const std::string traffic = runtime->addresses().http;
  const auto answer = client(traffic).post_json(
      "/events/subscribe", R"({"clientId":"c1","topic":"t","group":"g","ackTimeoutMs":60000})");
  ASSERT_TRUE(answer && answer->status == 200);
  std::set<std::string> seen;
  http::Client http = client(traffic);
  for (int round = 0; round < 200 && seen.size() < kBatches * kBatchEvents; ++round) {
    const auto got = http.get("/events/poll?clientId=c1&max=500&timeoutMs=200");
    ASSERT_TRUE(got && got->status == 200);
    for (const std::string& id : all_after(got->body, R"("id":")")) seen.insert(id);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kBatches * kBatchEvents));
}

}  // namespace
}  // namespace ackline::runtime
