// What clients ask of a shard: settles, demand and windows, connections.
#include "ackline/base/plants.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

void Shard::settle(const delivery::SettleRequest& request, SettleDone done) {
  const Error* trouble = poison();
  if (trouble == nullptr && write_error_) trouble = &*write_error_;
  if (trouble != nullptr) {
    done(std::unexpected(*trouble));
    return;
  }
  auto answer = dispatcher_->settle(request, now());
  if (answer && answer->pending) {
    wait_for_dead_letter(request, answer->again, std::move(done));
    return;
  }
  if (!answer) {
    done(std::move(answer));
    return;
  }
  if (plant(Plant::kSettleBeforeJournal)) {
    done(std::move(answer));
    schedule_turn();
    return;
  }
  auto& waiting = settled_releases();
  waiting.push_back([answer = *answer, done = std::move(done)](const Error* error) mutable {
    if (error != nullptr) {
      done(std::unexpected(*error));
    } else {
      done(answer);
    }
  });
  schedule_turn();
}

void Shard::set_window(ClientNumber client, std::uint32_t events, std::uint64_t bytes) {
  dispatcher_->set_window(client, events, bytes);
  schedule_turn();
}

void Shard::set_demand(ClientNumber client, std::uint32_t events) {
  dispatcher_->set_demand(client, events);
  if (events > 0) schedule_turn();
}

void Shard::connected(ClientNumber client) {
  dispatcher_->connected(client, now());
  schedule_turn();
}

void Shard::disconnected(ClientNumber client) {
  dispatcher_->disconnected(client, now());
  schedule_turn();
}

void Shard::withdraw(const delivery::DeliveryId& id) {
  dispatcher_->withdraw(id, now());
  schedule_turn();
}

void Shard::set_draining(bool draining) {
  draining_ = draining;
  dispatcher_->set_draining(draining, now());
  if (!write_error_ && poison() == nullptr) dispatcher_->set_paused(draining);
  schedule_turn();
}

}  // namespace ackline::runtime
