#include "ackline/channel/sse_channel.h"

#include <utility>

#include "ackline/http/sse.h"

namespace ackline::channel {

SseChannel::SseChannel(http::Responder responder, Executor& executor, SseOptions options)
    : responder_(std::move(responder)), executor_(executor), options_(options) {}

SseChannel::~SseChannel() {
  if (timer_ != 0) {
    executor_.cancel(timer_);
  }
}

void SseChannel::open() {
  if (state_ != State::kNew) {
    return;
  }
  state_ = State::kOpen;
  http::Response head = http::sse_head();
  http::append_sse_retry(head.body, options_.retry_ms);
  responder_.start_stream(std::move(head));
  last_sent_ = executor_.clock().mono();
  arm(last_sent_.plus(options_.heartbeat_ms));
}

void SseChannel::refuse(const Error& error) {
  if (state_ != State::kNew) {
    return;
  }
  state_ = State::kClosed;
  responder_.respond(error);
}

void SseChannel::on_gone(Task task) {
  responder_.on_gone(std::move(task));
}

void SseChannel::on_ended(Task task) {
  ended_ = std::move(task);
}

void SseChannel::deliver(std::span<const Delivery> deliveries) {
  if (state_ != State::kOpen || deliveries.empty()) {
    return;
  }
  // One line of data each: the JSON has no newline in it.
  std::string out = std::move(scratch_);
  out.clear();
  for (const Delivery& delivery : deliveries) {
    http::append_sse_event(out, delivery.delivery_id,
                           [&](std::string& to) { append_delivery_json(delivery, to); });
  }
  last_sent_ = executor_.clock().mono();
  const auto keep_alive = shared_from_this();
  responder_.write(out);
  constexpr std::size_t kKeptBytes = std::size_t{16} * 1024;
  if (out.capacity() <= kKeptBytes) {
    scratch_ = std::move(out);
  }
}

void SseChannel::end(EndReason reason) {
  if (state_ != State::kOpen) {
    return;
  }
  state_ = State::kClosed;
  if (timer_ != 0) {
    executor_.cancel(std::exchange(timer_, 0));
  }
  // The connection drops what it holds for us as soon as the answer is complete, and that may be
  // the last owner of this object.
  const auto keep_alive = shared_from_this();
  std::string last;
  http::append_sse_end(last, end_word(reason));
  responder_.write(last);
  if (ended_) {
    std::exchange(ended_, {})();
  }
  responder_.end();
}

void SseChannel::arm(MonoMs at) {
  timer_ = executor_.schedule(at, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->beat();
    }
  });
}

// One timer at a time, set again from the last thing sent: a busy stream costs no timer calls.
void SseChannel::beat() {
  timer_ = 0;
  if (state_ != State::kOpen || !responder_.open()) {
    return;
  }
  const MonoMs due = last_sent_.plus(options_.heartbeat_ms);
  if (executor_.clock().mono() < due) {
    arm(due);
    return;
  }
  std::string comment;
  http::append_sse_comment(comment);
  last_sent_ = executor_.clock().mono();
  responder_.write(comment);
  arm(last_sent_.plus(options_.heartbeat_ms));
}

}  // namespace ackline::channel
