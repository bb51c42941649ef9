// The node of the product in one thread: a disk in memory that can fail, stores in memory, a clock
// that moves when it is told to.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"
#include "ackline/io/fs/memory_file_system.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/node.h"
#include "tests/support/manual_executor.h"
#include "tests/support/sim/node_stores.h"

namespace ackline::runtime {

class NodeRig {
 public:
  explicit NodeRig(std::uint32_t shards = 1, std::uint64_t disk_reserve_bytes = 4096)
      : shards_(shards), disk_reserve_bytes_(disk_reserve_bytes) {
    EXPECT_TRUE(stores_.open(disks, executor.clock()));
    for (const char* path : {"/data", "/data/log", "/data/journal"}) {
      EXPECT_TRUE(fs.make_directories(path));
    }
    boot();
  }
  ~NodeRig() { kill(); }

  // As kill -9 and the next start.
  void restart() {
    kill();
    boot();
  }

  // A clean stop, and the next start.
  void restart_cleanly() {
    auto stopped = std::make_shared<bool>(false);
    node->stop([stopped] { *stopped = true; });
    for (int i = 0; i < 500 && !*stopped; ++i) pass(10);
    EXPECT_TRUE(*stopped);
    restart();
  }

  // As `restart`, with another number of shards.
  void restart_with(std::uint32_t shards) {
    shards_ = shards;
    restart();
  }

  void settle() { ackline::testing::settle(executor, storage); }
  // Everything that happens within `ms`.
  void pass(std::int64_t ms) {
    for (std::int64_t i = 0; i < ms; i += 10) {
      settle();
      executor.fire(10);
    }
    settle();
  }
  [[nodiscard]] api::Traffic& traffic() { return node->traffic(ShardIndex(0)); }
  [[nodiscard]] state::OffsetStore& offsets() { return stores_.offsets(); }
  [[nodiscard]] api::Admin& admin() { return node->admin(ShardIndex(0)); }

  // Asks, and waits for the answer.
  template <class T>
  Result<T> ask(const std::function<void(api::Done<T>)>& start) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    start([answer](Result<T> result) { *answer = std::move(result); });
    for (int i = 0; i < 500 && !*answer; ++i) pass(10);
    if (!*answer) return fail(ErrorCode::kTimeout, "there was no answer");
    return std::move(**answer);
  }

  // Their ids are their numbers, or all `id`.
  void publish(int count, const std::string& topic = "t",
               std::optional<std::uint32_t> partition = {},
               const std::optional<std::string>& id = {}) {
    api::PublishRequest request;
    request.topic = topic;
    request.partition = partition;
    for (int i = 0; i < count; ++i) {
      event::CloudEvent made;
      made.set("id", id.value_or(std::to_string(i)));
      made.set("source", "/s");
      made.set("type", "x");
      api::PublishEvent one;
      event::append_frame(made, one.frame);
      request.events.push_back(std::move(one));
    }
    const auto done = ask<api::PublishResults>(
        [&](auto answer) { traffic().publish(std::move(request), std::move(answer)); });
    EXPECT_TRUE(done);
  }
  // Of t's dead letters, at most `max`.
  std::uint64_t purge(std::uint32_t max) {
    api::DeadLetterQuery which;
    which.topic = "t";
    which.max = max;
    const auto done =
        ask<api::Purged>([&](auto answer) { admin().purge_dead(which, std::move(answer)); });
    EXPECT_TRUE(done);
    return done ? done->purged : 0;
  }
  Result<api::Subscribed> subscribe(const std::string& client, const std::string& remote = {},
                                    const std::string& topic = "t") {
    api::SubscribeRequest request;
    request.client_id = client;
    request.topic = topic;
    request.group = "g";
    request.caller.remote = remote;
    return ask<api::Subscribed>(
        [&](auto answer) { traffic().subscribe(std::move(request), std::move(answer)); });
  }
  // The ids of what it got.
  std::vector<std::string> poll(const std::string& client, std::uint32_t max = 100,
                                const std::string& remote = {}) {
    std::unique_ptr<api::Attachment> attachment;
    auto got = ask<std::vector<channel::Delivery>>([&](auto answer) {
      attachment = traffic().poll(client, {.remote = remote}, max, 100, std::move(answer));
    });
    std::vector<std::string> ids;
    EXPECT_TRUE(got) << (got ? "" : got.error().detail);
    if (got) {
      for (const channel::Delivery& one : *got) ids.push_back(one.delivery_id);
    }
    return ids;
  }
  static api::SettleCall settle_call(delivery::Verb verb, const std::string& client,
                                     const std::string& id, const std::string& remote = {}) {
    api::SettleCall call;
    call.verb = verb;
    call.client_id = client;
    call.caller.remote = remote;
    call.delivery_ids = {id};
    return call;
  }
  // "acked", "already", … or the error's word.
  std::string settled(delivery::Verb verb, const std::string& client, const std::string& id,
                      const std::string& remote = {}) {
    auto done = ask<api::SettleResults>([&](auto answer) {
      traffic().settle(settle_call(verb, client, id, remote), std::move(answer));
    });
    return done ? word_of(done->at(0)) : std::string(done.error().word());
  }
  static std::string word_of(const Result<api::Settled>& result) {
    if (!result) return std::string(result.error().word());
    switch (result->status) {
      case delivery::SettleStatus::kAcked:
        return "acked";
      case delivery::SettleStatus::kNacked:
        return "nacked";
      case delivery::SettleStatus::kRejected:
        return "rejected";
      case delivery::SettleStatus::kExtended:
        return "extended";
      case delivery::SettleStatus::kAlready:
        break;
    }
    return "already";
  }

  ackline::testing::ManualExecutor executor;
  ackline::testing::ManualStorage storage;
  io::MemoryFileSystem fs;
  MetricRegistry metrics;
  ackline::testing::StoreDisks disks;
  bool rows = false;  // `delivery.store: rocksdb`, from the next start on
  std::size_t batch_bytes = ShardOptions{}.batch_bytes;                 // the same
  std::uint64_t segment_bytes = log::PartitionOptions{}.segment_bytes;  // the same
  std::uint32_t restarts_max = ShardOptions{}.dispatcher.restarts_max;  // the same
  std::optional<std::uint64_t> retention_bytes;                         // of topics made after it
  std::size_t lane_record_max_bytes =
      NodeOptions{}.lane_record_max_bytes;  // from the next start on

 private:
  void boot() {
    NodeOptions options;
    options.data_path = "/data";
    options.epoch = Epoch(++epoch_);
    options.default_partitions = 1;
    options.shard.disk_reserve_bytes = disk_reserve_bytes_;
    options.shard.journal_file_bytes = 1U << 20U;
    options.shard.delivery_rows = rows;
    options.shard.batch_bytes = batch_bytes;
    options.shard.dispatcher.restarts_max = restarts_max;
    options.shard.partition.segment_bytes = segment_bytes;
    options.default_retention.bytes = retention_bytes;
    options.lane_record_max_bytes = lane_record_max_bytes;
    auto booted = Node::boot(std::move(options),
                             stores_.dependencies(std::vector<Executor*>(shards_, &executor),
                                                  storage, fs, metrics, ids_));
    EXPECT_TRUE(booted) << (booted ? "" : booted.error().detail);
    node = std::move(*booted);
    node->start();
    settle();
  }
  void kill() {
    executor.forget();
    storage.forget();
    node.reset();
  }

  ackline::testing::NodeStores stores_;
  delivery::DeliveryIdCodec ids_{5, {}};
  std::uint32_t shards_;
  std::uint64_t disk_reserve_bytes_;
  std::uint32_t epoch_ = 0;

 public:
  std::unique_ptr<Node> node;
};

}  // namespace ackline::runtime
