#include "bench/load/publisher.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

constexpr std::string_view kId = "000000000000";

std::string binary_request(const PublishPlan& plan) {
  return fmt::format(
      "POST /events/publish?topic={} HTTP/1.1\r\nHost: {}\r\nContent-Type: "
      "application/octet-stream\r\nce-specversion: 1.0\r\nce-source: /bench\r\nce-type: "
      "bench.event\r\nce-id: {}\r\nContent-Length: {}\r\n\r\n{}",
      plan.topic, plan.address, kId, plan.size, std::string(plan.size, 'x'));
}

std::string batch_request(const PublishPlan& plan) {
  std::string body = "[";
  for (std::size_t i = 0; i < plan.batch; ++i) {
    fmt::format_to(std::back_inserter(body),
                   R"({}{{"specversion":"1.0","source":"/bench","type":"bench.event","id":"{}",)"
                   R"("data":"{}"}})",
                   i == 0 ? "" : ",", kId, std::string(plan.size, 'x'));
  }
  body += "]";
  return fmt::format(
      "POST /events/publish?topic={} HTTP/1.1\r\nHost: {}\r\nContent-Type: "
      "application/cloudevents-batch+json\r\nContent-Length: {}\r\n\r\n{}",
      plan.topic, plan.address, body.size(), body);
}

}  // namespace

Publisher::Publisher(Poller& poller, PublishPlan plan)
    : poller_(poller), plan_(std::move(plan)), start_(monotonic_seconds()) {
  plan_.events = std::max<std::uint64_t>(1, plan_.events / plan_.batch) * plan_.batch;
  request_ = plan_.batch == 1 ? binary_request(plan_) : batch_request(plan_);
  for (std::size_t at = request_.find(kId); at != std::string::npos;
       at = request_.find(kId, at + kId.size())) {
    id_ends_.push_back(at + kId.size());
  }
  most_requests_ = std::max<std::size_t>(1, plan_.unanswered / plan_.batch / plan_.connections);
  latencies_.reserve(plan_.events / plan_.batch);
  for (std::size_t i = 0; i < plan_.connections; ++i) {
    channels_.push_back(std::make_unique<Channel>());
    Channel* channel = channels_.back().get();
    channel->connection = std::make_unique<Connection>(
        plan_.address,
        [this, channel](int status, std::string_view body) { answered(*channel, status, body); });
    poller_.add(*channel->connection);
  }
}

void Publisher::answered(Channel& channel, int status, std::string_view body) {
  if (status != 202 || body.find(R"("status":"accepted")") == std::string_view::npos) {
    if (refused_ == 0) fmt::print(stderr, "refused: {} {}\n", status, body.substr(0, 300));
    ++refused_;
  }
  latencies_.push_back((monotonic_seconds() - channel.sent.front()) * 1e6);
  channel.sent.pop_front();
  answered_ += plan_.batch;
}

void Publisher::send(Channel& channel, double meant) {
  for (const std::size_t end : id_ends_) {
    std::uint64_t number = ++sent_;
    for (std::size_t at = end; number != 0; number /= 10) {
      request_[--at] = static_cast<char>('0' + number % 10);
    }
  }
  channel.connection->out().append(request_);
  channel.sent.push_back(meant);
}

void Publisher::pump(double now) {
  if (plan_.rate > 0) {
    pump_open(now);
  } else {
    pump_closed(now);
  }
}

void Publisher::pump_open(double now) {
  while (sent_ < plan_.events && next_due() <= now) {
    Channel& channel = *channels_[sent_ / plan_.batch % channels_.size()];
    send(channel, next_due());
  }
  for (auto& channel : channels_) {
    if (!channel->connection->out().empty()) poller_.flush(*channel->connection);
  }
}

void Publisher::pump_closed(double now) {
  for (auto& channel : channels_) {
    bool any = false;
    for (; sent_ < plan_.events && channel->sent.size() < most_requests_; any = true) {
      send(*channel, now);
    }
    if (any) poller_.flush(*channel->connection);
  }
}

double Publisher::next_due() const {
  if (plan_.rate <= 0 || sent_ >= plan_.events) return monotonic_seconds() + 1;
  return start_ + static_cast<double>(sent_ + plan_.batch) / plan_.rate;
}

}  // namespace ackline::bench
