#include "bench/load/consumer.h"

#include <fmt/format.h>

#include <algorithm>

namespace ackline::bench {
namespace {

constexpr std::string_view kStart = R"({"deliveryId":")";

}  // namespace

Consumer::Consumer(Poller& poller, ConsumePlan plan, OnDelivery on_delivery)
    : poller_(poller), plan_(std::move(plan)), on_delivery_(std::move(on_delivery)) {
  connection_ = std::make_unique<Connection>(
      plan_.address, [this](int status, std::string_view body) { answered(status, body); });
  poller_.add(*connection_);
}

void Consumer::start() {
  poll();
  poller_.flush(*connection_);
}

void Consumer::poll() {
  if (delivered_ >= plan_.most) return;
  const std::uint64_t max = std::min<std::uint64_t>(plan_.poll_max, plan_.most - delivered_);
  fmt::format_to(std::back_inserter(connection_->out()),
                 "GET /events/poll?clientId={}&max={}&timeoutMs=1000 HTTP/1.1\r\nHost: {}\r\n\r\n",
                 plan_.client, max, plan_.address);
  asked_.push_back(0);
}

void Consumer::answered(int status, std::string_view body) {
  if (status != 200) give_up(fmt::format("{} {}", status, body.substr(0, 300)));
  const std::size_t ids = asked_.front();
  asked_.erase(asked_.begin());
  if (ids == 0) {
    take(body);
    poller_.flush(*connection_);
    return;
  }
  if (!body.starts_with(fmt::format(R"({{"acked":{},"failed":0,)", ids))) {
    give_up(fmt::format("not every ack counted: {}", body.substr(0, 300)));
  }
  acked_ += ids;
}

void Consumer::take(std::string_view body) {
  std::string ids;
  std::size_t count = 0;
  for (std::size_t at = body.find(kStart); at != std::string_view::npos;) {
    const std::size_t next = body.find(kStart, at + kStart.size());
    if (on_delivery_) on_delivery_(body.substr(at, next - at));
    if (plan_.ack) {
      const std::size_t from = at + kStart.size();
      const std::size_t end = body.find('"', from);
      ids.append(ids.empty() ? "\"" : ",\"").append(body.substr(from, end - from)).push_back('"');
    }
    ++count;
    at = next;
  }
  delivered_ += count;
  if (plan_.ack && count > 0) {
    const std::string settle =
        fmt::format(R"({{"clientId":"{}","deliveryIds":[{}]}})", plan_.client, ids);
    fmt::format_to(std::back_inserter(connection_->out()),
                   "POST /events/ack HTTP/1.1\r\nHost: {}\r\nContent-Type: "
                   "application/json\r\nContent-Length: {}\r\n\r\n{}",
                   plan_.address, settle.size(), settle);
    asked_.push_back(count);
  }
  poll();
}

}  // namespace ackline::bench
