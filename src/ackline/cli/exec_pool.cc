#include "ackline/cli/exec_pool.h"

#include <fmt/format.h>

#include "ackline/cli/child_process.h"

namespace ackline::cli {

ExecPool::ExecPool(Options options, Console& console)
    : options_(std::move(options)), console_(console) {
  for (std::size_t i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { work(); });
}

ExecPool::~ExecPool() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ExecPool::add(Json delivery) {
  const std::scoped_lock lock(mutex_);
  const std::int64_t lease_ms = delivery["leaseMs"].integer();
  leases_[delivery["deliveryId"].text()] = {clock_.mono().plus(lease_ms / 2), lease_ms};
  queue_.push_back(std::move(delivery));
  changed_.notify_all();
}

std::size_t ExecPool::wait_for_room(std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                    [this] { return leases_.size() < options_.workers; });
  return options_.workers - std::min(options_.workers, leases_.size());
}

bool ExecPool::idle() {
  const std::scoped_lock lock(mutex_);
  return leases_.empty();
}

void ExecPool::extend_leases(ApiClient& api) {
  std::vector<std::string> due;
  {
    const std::scoped_lock lock(mutex_);
    const MonoMs now = clock_.mono();
    for (auto& [id, lease] : leases_) {
      if (lease.extend_at > now) continue;
      due.push_back(id);
      lease.extend_at = now.plus(lease.lease_ms / 2);
    }
  }
  if (due.empty()) return;
  // One that is refused (too long, settled meanwhile) shows when it is settled.
  static_cast<void>(
      api.post(Port::kTraffic, Target("/events/extend"),
               JsonObject().text("clientId", options_.client).texts("deliveryIds", due).str()));
}

void ExecPool::work() {
  ApiClient api(options_.api);
  while (true) {
    Json delivery;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      delivery = std::move(queue_.front());
      queue_.pop_front();
    }
    handle(api, delivery);
    const std::scoped_lock lock(mutex_);
    leases_.erase(delivery["deliveryId"].text());
    changed_.notify_all();
  }
}

void ExecPool::handle(ApiClient& api, const Json& delivery) {
  const std::string id = delivery["deliveryId"].text();
  const auto ran = run_shell(
      options_.command, delivery["event"].dump() + "\n",
      {"DELIVERY_ID=" + id, "DELIVERY_ATTEMPT=" + delivery["attempt"].text(),
       "DELIVERY_TOPIC=" + delivery["topic"].text(), "DELIVERY_GROUP=" + delivery["group"].text(),
       "DELIVERY_PARTITION=" + delivery["partition"].text(),
       "DELIVERY_OFFSET=" + delivery["offset"].text()});
  if (!options_.settles) return;
  const bool good = ran && *ran == 0;
  JsonObject body;
  body.text("clientId", options_.client).text("deliveryId", id);
  if (!good) body.text("reason", ran ? fmt::format("exit code {}", *ran) : ran.error().detail);
  const auto settled =
      api.post(Port::kTraffic, Target(good ? "/events/ack" : "/events/nack"), body.str());
  if (!settled) {
    ++failed_;
    console_.err_line(fmt::format("{} was not settled: {}", id, settled.error().detail));
    return;
  }
  ++(good ? acked_ : nacked_);
}

}  // namespace ackline::cli
