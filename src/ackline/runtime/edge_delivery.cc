// Polls, streams and settles: to the client's home shard, or to the shard that an id routes to.
#include <fmt/format.h>

#include "ackline/event/names.h"
#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

// A poll under way. `number` is the home thread's.
class PollAttachment final : public api::Attachment {
 public:
  struct State {
    std::uint64_t number = 0;
  };
  PollAttachment(ShardUnit& home, std::string client_id, std::shared_ptr<State> state)
      : home_(home), client_id_(std::move(client_id)), state_(std::move(state)) {}
  ~PollAttachment() override {
    home_.executor.post([home = &home_, client_id = client_id_, state = state_] {
      if (state->number != 0) home->sessions->cancel_poll(client_id, state->number);
    });
  }
  PollAttachment(const PollAttachment&) = delete;
  PollAttachment& operator=(const PollAttachment&) = delete;

 private:
  ShardUnit& home_;
  std::string client_id_;
  std::shared_ptr<State> state_;
};

// A stream: the near side belongs to the connection's thread, the number to the home's.
class StreamAttachment final : public api::Attachment {
 public:
  struct Near {
    channel::PushChannel* channel = nullptr;  // null once the attachment is gone
  };
  struct Far {
    std::uint64_t number = 0;
  };
  StreamAttachment(ShardUnit& home, std::string client_id, std::shared_ptr<Near> near,
                   std::shared_ptr<Far> far)
      : home_(home),
        client_id_(std::move(client_id)),
        near_(std::move(near)),
        far_(std::move(far)) {}
  ~StreamAttachment() override {
    near_->channel = nullptr;
    home_.executor.post([home = &home_, client_id = client_id_, far = far_] {
      if (far->number != 0) home->sessions->close_stream(client_id, far->number);
    });
  }
  StreamAttachment(const StreamAttachment&) = delete;
  StreamAttachment& operator=(const StreamAttachment&) = delete;

 private:
  ShardUnit& home_;
  std::string client_id_;
  std::shared_ptr<Near> near_;
  std::shared_ptr<Far> far_;
};

// A settle of several ids under way; on the edge's thread.
struct Settling {
  api::SettleResults results;
  std::size_t left = 0;
  api::Done<api::SettleResults> done;
  void finish() {
    if (--left == 0) done(std::move(results));
  }
};

struct Routed {
  std::size_t index;
  delivery::DeliveryId id;
};

}  // namespace

std::unique_ptr<api::Attachment> Edge::poll(std::string client_id, api::Caller caller,
                                            std::uint32_t max, std::int64_t timeout_ms,
                                            api::Done<std::vector<channel::Delivery>> done) {
  if (auto fine = event::check_client_id(client_id); !fine) {
    answer_later<std::vector<channel::Delivery>>(std::move(done), fail(fine));
    return nullptr;
  }
  ShardUnit& home = node_.home(client_id);
  auto state = std::make_shared<PollAttachment::State>();
  home.executor.post([this, &home, state, client_id, max, timeout_ms,
                      remote = std::move(caller.remote), done = std::move(done)]() mutable {
    state->number = home.sessions->poll(
        client_id, std::move(remote), max, timeout_ms,
        [this, done = std::move(done)](Result<std::vector<channel::Delivery>> got) mutable {
          run_on(executor(), [done = std::move(done), got = std::move(got)]() mutable {
            done(std::move(got));
          });
        });
  });
  return std::make_unique<PollAttachment>(home, std::move(client_id), std::move(state));
}

std::unique_ptr<api::Attachment> Edge::stream(std::string client_id, api::Caller caller,
                                              channel::PushChannel& channel,
                                              api::Done<void> opened) {
  if (auto fine = event::check_client_id(client_id); !fine) {
    answer_later<void>(std::move(opened), fail(fine));
    return nullptr;
  }
  ShardUnit& home = node_.home(client_id);
  auto near = std::make_shared<StreamAttachment::Near>(&channel);
  auto far = std::make_shared<StreamAttachment::Far>();
  StreamEnd end;
  end.remote = std::move(caller.remote);
  end.deliver = [this, near](std::vector<channel::Delivery> deliveries) {
    run_on(executor(), [near, deliveries = std::move(deliveries)] {
      if (near->channel != nullptr) near->channel->deliver(deliveries);
    });
  };
  end.end = [this, near](channel::EndReason reason) {
    run_on(executor(), [near, reason] {
      if (near->channel != nullptr) near->channel->end(reason);
    });
  };
  home.executor.post(
      [this, &home, client_id, far, end = std::move(end), opened = std::move(opened)]() mutable {
        auto number = home.sessions->open_stream(client_id, std::move(end));
        if (number) far->number = *number;
        Result<void> outcome = number ? Result<void>() : Result<void>(fail(number));
        run_on(executor(), [opened = std::move(opened), outcome = std::move(outcome)]() mutable {
          opened(std::move(outcome));
        });
      });
  return std::make_unique<StreamAttachment>(home, std::move(client_id), std::move(near),
                                            std::move(far));
}

// Where an id leads: the owner shard, or what is wrong with it (docs/errors.md).
static Result<ShardUnit*> route(Node& node, const Catalog& catalog,
                                const delivery::DeliveryId& id) {
  const auto unknown = [] {
    return fail(ErrorCode::kDeliveryUnknown, "no such delivery was ever made here",
                "Use the deliveryId as it was delivered.", "deliveryId");
  };
  if (id.epoch > node.options().epoch) return unknown();
  GroupPtr group = catalog.group(id.progress);
  if (const LanePtr lane = catalog.lane(id.progress)) group = catalog.group(lane->group_number);
  const TopicPtr topic = group ? catalog.topic(group->topic) : nullptr;
  if (!topic) {
    if (id.progress.value() >= node.next_progress()) return unknown();
    return fail(ErrorCode::kStale, "its group or lane has been deleted",
                "Drop it; the event is not owed any more.", "deliveryId");
  }
  if (id.partition.value() >= topic->partitions.size()) return unknown();
  return &node.owner(topic->name, id.partition);
}

// On the owner's thread: one id, with what only the owner's neighbours know added to its answer.
static void settle_one(ShardUnit& owner, const delivery::SettleRequest& request,
                       std::move_only_function<void(Result<api::Settled>)> done) {
  const Catalog& catalog = owner.shard->catalog();
  GroupPtr group = catalog.group(request.id.progress);
  if (const LanePtr lane = catalog.lane(request.id.progress)) {
    group = catalog.group(lane->group_number);
  }
  const TopicPtr topic = group ? catalog.topic(group->topic) : nullptr;
  if (!topic || request.id.partition.value() >= topic->partitions.size()) {
    done(fail(ErrorCode::kStale, "its group or lane has been deleted",
              "Drop it; the event is not owed any more.", "deliveryId"));
    return;
  }
  const PartitionNumber number = topic->partitions[request.id.partition.value()];
  const log::PartitionLog* log = owner.shard->partition(number);
  if (log != nullptr && log->damage()) {
    done(std::unexpected(*log->damage()));
    return;
  }
  const delivery::ProgressKey key{group->number, number};
  const Offset offset = request.id.offset;
  const std::uint32_t partition = request.id.partition.value();
  owner.shard->settle(
      request, [&owner, key, offset, partition, topic = topic->name,
                done = std::move(done)](Result<delivery::SettleAnswer> answer) mutable {
        if (answer) {
          done(api::Settled{answer->status, answer->lease_ms});
          return;
        }
        Error error = answer.error();
        if (error.code == ErrorCode::kSettled) {
          error.field.clear();
          if (const auto entry = owner.shard->dispatcher().dead_entry(key, offset)) {
            error.field =
                fmt::format("{}:{}:{}", event::dlq_topic(topic), partition, entry->dlq.value());
          }
        }
        done(std::unexpected(std::move(error)));
      });
}

void Edge::mark_seen(const std::string& client_id, std::string remote) {
  ShardUnit& home = node_.home(client_id);
  run_on(home.executor, [&home, client_id, remote = std::move(remote)]() mutable {
    home.sessions->seen(client_id, std::move(remote));
  });
}

void Edge::settle(api::SettleCall call, api::Done<api::SettleResults> done) {
  auto settling = std::make_shared<Settling>();
  settling->results.resize(call.delivery_ids.size());
  settling->left = 1;
  settling->done = std::move(done);
  std::map<ShardUnit*, std::vector<Routed>> by_owner;
  for (std::size_t i = 0; i < call.delivery_ids.size(); ++i) {
    auto id = node_.deps().ids.decode(call.delivery_ids[i]);
    if (!id) {
      settling->results[i] = fail(id);
      continue;
    }
    auto owner = route(node_, catalog(), *id);
    if (!owner) {
      settling->results[i] = fail(owner);
      continue;
    }
    by_owner[*owner].push_back({i, *id});
  }
  auto shared = std::make_shared<const api::SettleCall>(std::move(call));
  mark_seen(shared->client_id, shared->caller.remote);
  for (auto& [owner, ids] : by_owner) {
    settling->left += ids.size();
    run_on(owner->executor, [this, at = owner, shared, settling, batch = std::move(ids)] {
      for (const Routed& one : batch) {
        delivery::SettleRequest request;
        request.verb = shared->verb;
        request.client_id = shared->client_id;
        request.principal = shared->caller.principal;
        request.id = one.id;
        request.delay_ms = shared->delay_ms;
        request.extend_ms = shared->extend_ms;
        request.reason = shared->reason;
        settle_one(*at, request,
                   [this, settling, index = one.index](Result<api::Settled> settled) mutable {
                     run_on(executor(), [settling, index, settled = std::move(settled)]() mutable {
                       settling->results[index] = std::move(settled);
                       settling->finish();
                     });
                   });
      }
    });
  }
  // The last one, posted: an answer never comes inside the call.
  executor().post([settling] { settling->finish(); });
}

}  // namespace ackline::runtime
