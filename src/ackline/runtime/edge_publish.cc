// Publishing: partition of each event, one hand-over to each shard that owns some, one answer.
#include <fmt/format.h>

#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

// One publish under way; on the edge's thread.
struct Publishing {
  api::PublishResults results;
  std::size_t left = 0;
  api::Done<api::PublishResults> done;
  void finish() {
    if (--left == 0) done(std::move(results));
  }
};

struct Share {
  std::vector<std::string> frames;
  std::vector<std::size_t> indexes;  // of the events in the request
};

}  // namespace

void Edge::publish(api::PublishRequest request, api::Done<api::PublishResults> done) {
  if (node_.draining()) {
    answer_later<api::PublishResults>(
        std::move(done),
        fail(ErrorCode::kDraining, "the server is draining", "Publish to another instance."));
    return;
  }
  std::string name = request.topic;
  if (const TopicPtr topic = catalog().topic(name)) {
    publish_to(topic, std::move(request), std::move(done));
    return;
  }
  ensure_topic(std::move(name), [this, request = std::move(request),
                                 done = std::move(done)](Result<TopicPtr> topic) mutable {
    if (!topic) {
      done(fail(topic));
      return;
    }
    publish_to(*topic, std::move(request), std::move(done));
  });
}

// The request that is most common, without what several partitions need.
void Edge::publish_one(const Topic& topic, const event::Partitioner& partitioner,
                       api::PublishRequest request, api::Done<api::PublishResults> done) {
  const auto count = static_cast<std::uint32_t>(topic.partitions.size());
  api::PublishEvent& event = request.events.front();
  std::uint32_t partition = 0;
  if (request.partition) {
    partition = *request.partition;
  } else if (event.partition_key) {
    partition = partitioner.pick(*event.partition_key, count).value();
  } else {
    partition = static_cast<std::uint32_t>(turns_[topic.name]++ % count);
  }
  ShardUnit& owner = node_.owner(topic.name, PartitionIndex(partition));
  auto answer = [this, partition, done = std::move(done)](Result<Offset> base) mutable {
    run_on(executor(), [partition, done = std::move(done), base = std::move(base)]() mutable {
      api::PublishResults results;
      if (base) {
        results.emplace_back(api::Published{partition, *base});
      } else {
        results.emplace_back(std::unexpected(std::move(base.error())));
      }
      done(std::move(results));
    });
  };
  std::vector<std::string> frames;
  frames.push_back(std::move(event.frame));
  run_on(owner.executor, [&owner, number = topic.partitions[partition], frames = std::move(frames),
                          answer = std::move(answer)]() mutable {
    owner.shard->publish(number, std::move(frames), std::move(answer));
  });
}

void Edge::publish_to(const TopicPtr& topic, api::PublishRequest request,
                      api::Done<api::PublishResults> done) {
  const auto count = static_cast<std::uint32_t>(topic->partitions.size());
  if (request.partition && *request.partition >= count) {
    answer_later<api::PublishResults>(
        std::move(done),
        fail(ErrorCode::kBadValue,
             fmt::format("partition {} is out of range: {} has {}", *request.partition, topic->name,
                         count),
             fmt::format("Use 0 to {}, or leave it out.", count - 1), "partition"));
    return;
  }
  auto partitioner = event::Partitioner::make(topic->partitioner);
  if (!partitioner) {
    answer_later<api::PublishResults>(std::move(done), fail(partitioner));
    return;
  }
  if (request.events.size() == 1) {
    publish_one(*topic, *partitioner, std::move(request), std::move(done));
    return;
  }
  // Events without a key: one partition for the whole request, the next one in turn.
  std::optional<std::uint32_t> in_turn;
  std::map<std::uint32_t, Share> shares;
  for (std::size_t i = 0; i < request.events.size(); ++i) {
    api::PublishEvent& event = request.events[i];
    std::uint32_t partition = 0;
    if (request.partition) {
      partition = *request.partition;
    } else if (event.partition_key) {
      partition = partitioner->pick(*event.partition_key, count).value();
    } else {
      if (!in_turn) in_turn = static_cast<std::uint32_t>(turns_[topic->name]++ % count);
      partition = *in_turn;
    }
    Share& share = shares[partition];
    share.frames.push_back(std::move(event.frame));
    share.indexes.push_back(i);
  }
  auto publishing = std::make_shared<Publishing>();
  publishing->results.resize(request.events.size());
  publishing->left = shares.size();
  publishing->done = std::move(done);
  for (auto& [partition, share] : shares) {
    ShardUnit& owner = node_.owner(topic->name, PartitionIndex(partition));
    const PartitionNumber number = topic->partitions[partition];
    run_on(owner.executor, [this, publishing, number, index = partition, &owner,
                            frames = std::move(share.frames),
                            indexes = std::move(share.indexes)]() mutable {
      owner.shard->publish(
          number, std::move(frames),
          [this, publishing, index, indexes = std::move(indexes)](Result<Offset> base) mutable {
            run_on(executor(), [publishing, index, indexes = std::move(indexes),
                                base = std::move(base)]() mutable {
              for (std::size_t i = 0; i < indexes.size(); ++i) {
                auto& result = publishing->results[indexes[i]];
                if (base) {
                  result = api::Published{index, base->plus(static_cast<std::int64_t>(i))};
                } else {
                  result = std::unexpected(base.error());
                }
              }
              publishing->finish();
            });
          });
    });
  }
}

}  // namespace ackline::runtime
