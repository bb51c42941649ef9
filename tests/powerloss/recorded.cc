#include "tests/powerloss/recorded.h"

#include <fmt/format.h>

#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"

namespace ackline::powerloss {

void Recorded::every(std::int64_t least_ms, std::int64_t most_ms, std::function<void()> what) {
  auto again = std::make_shared<std::function<void()>>();
  *again = [this, least_ms, most_ms, what = std::move(what), self = std::weak_ptr(again)] {
    if (working_) what();
    if (const auto next = self.lock()) {
      process_.time().outside(process_.time().now() + random_.between(least_ms, most_ms),
                              [next] { (*next)(); });
    }
  };
  process_.time().outside(process_.time().now() + random_.between(0, most_ms),
                          [again] { (*again)(); });
}

void Recorded::start() {
  process_.call([this] { subscribe(); });
  every(4, 25, [this] { process_.call([this] { publish(); }); });
  every(3, 15, [this] { process_.call([this] { poll(); }); });
  every(20, 60, [this] { process_.call([this] { ask_lag(); }); });
  every(60, 200, [this] { process_.call([this] { redrive(); }); });
}

void Recorded::publish() {
  api::PublishRequest request;
  // The second topic is made by its first event.
  request.topic = random_.chance(1, 8) ? "u" : "t";
  std::vector<std::string> ids;
  const std::int64_t count = random_.between(1, 6);
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(fmt::format("e{}", next_++));
    event::CloudEvent event;
    event.set("id", ids.back());
    event.set("source", "/images");
    event.set("type", "t");
    event.set_data(event::DataKind::kText,
                   std::string(random_.below(random_.chance(1, 10) ? 2000 : 200), 'x'));
    api::PublishEvent out;
    event::append_frame(event, out.frame);
    request.events.push_back(std::move(out));
    told_.sent.insert(ids.back());
  }
  const std::string topic = request.topic;
  process_.traffic().publish(
      std::move(request), [this, ids, topic](Result<api::PublishResults> results) {
        if (!results) return;
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const auto& one = (*results)[i];
          if (one) told_.accepted[{topic, one->partition, one->offset.value()}] = ids[i];
        }
      });
}

api::SubscribeRequest subscribe_request() {
  api::SubscribeRequest request;
  request.client_id = "c";
  request.topic = "t";
  request.group = "g";
  request.max_attempts = 4;
  return request;
}

void Recorded::subscribe() {
  process_.traffic().subscribe(subscribe_request(), [this](const Result<api::Subscribed>& done) {
    told_.subscribed = told_.subscribed || done;
  });
}

void Recorded::poll() {
  if (polling_) return;
  polling_ = true;
  attachment_ = process_.traffic().poll("c", {}, static_cast<std::uint32_t>(random_.between(1, 12)),
                                        40, [this](Result<std::vector<channel::Delivery>> got) {
                                          polling_ = false;
                                          if (got) received(*got);
                                        });
}

void Recorded::received(const std::vector<channel::Delivery>& got) {
  std::vector<std::string> acks;
  std::vector<std::string> rejects;
  std::vector<Place> acked;
  std::vector<Place> rejected;
  for (const channel::Delivery& one : got) {
    const Place place{std::string(one.topic), one.partition.value(), one.offset.value()};
    const std::uint64_t dice = random_.below(100);
    if (dice < 80) {
      acks.push_back(one.delivery_id);
      acked.push_back(place);
    } else if (dice < 90) {
      rejects.push_back(one.delivery_id);
      rejected.push_back(place);
    }
    // The others are held until their leases end; after four attempts they are dead letters.
    told_.asked.insert(place);
  }
  settle(delivery::Verb::kAck, std::move(acks), std::move(acked));
  settle(delivery::Verb::kReject, std::move(rejects), std::move(rejected));
}

void Recorded::settle(delivery::Verb verb, std::vector<std::string> ids,
                      std::vector<Place> places) {
  if (ids.empty()) return;
  api::SettleCall call;
  call.verb = verb;
  call.client_id = "c";
  call.delivery_ids = std::move(ids);
  process_.traffic().settle(
      std::move(call), [this, verb, places = std::move(places)](Result<api::SettleResults> done) {
        if (!done) return;
        auto& certain = verb == delivery::Verb::kAck ? told_.acked : told_.rejected;
        for (std::size_t i = 0; i < places.size(); ++i) {
          if ((*done)[i]) certain.insert(places[i]);
        }
      });
}

void Recorded::ask_lag() {
  process_.admin().lag("t", "g", false, [this](Result<std::vector<api::GroupLag>> lags) {
    if (!lags) return;
    for (const api::GroupLag& one : *lags) {
      for (const auto& [index, part] : one.partitions) {
        auto& known = told_.frontiers.try_emplace({one.topic, index}, -1).first->second;
        known = std::max(known, part.report.frontier.value());
      }
    }
  });
}

void Recorded::redrive() {
  api::RedriveRequest request;
  request.which.topic = "t";
  request.which.max = 3;
  request.rate_per_second = 1000;
  process_.admin().redrive(std::move(request), [](Result<api::LaneItem>) {});
}

}  // namespace ackline::powerloss
