#include "ackline/http/response_queue.h"

#include <utility>

namespace ackline::http {
namespace {

// An idle connection keeps room for so many; the rest of a burst is given back.
constexpr std::size_t kIdleSlotsMax = 4;

}  // namespace

ResponseToken ResponseQueue::open(const Opening& opening) {
  slots_.emplace_back().opening = opening;
  return first_token_ + size() - 1;
}

ResponseQueue::Slot* ResponseQueue::find(ResponseToken token, State state) {
  if (!known(token)) {
    return nullptr;
  }
  Slot& slot = slots_[index(token)];
  return slot.state == state ? &slot : nullptr;
}

bool ResponseQueue::is_open(ResponseToken token) const {
  return known(token) && slots_[index(token)].state != State::kDone;
}

bool ResponseQueue::is_last(ResponseToken token) const {
  return token + 1 == first_token_ + size();
}

// Where the slot's bytes go; `end` counts them.
std::string& ResponseQueue::begin(Slot& slot) {
  if (is_first(slot)) {
    return output_;
  }
  queued_bytes_ -= slot.bytes.size();
  return slot.bytes;
}

void ResponseQueue::end(Slot& slot) {
  if (!is_first(slot)) {
    queued_bytes_ += slot.bytes.size();
  }
}

void ResponseQueue::head(Slot& slot, const Response& response, BodyFraming framing, bool close) {
  slot.framing = framing;
  slot.opening.close =
      slot.opening.close || close || response.close || framing == BodyFraming::kUntilEnd;
  append_response(begin(slot), response,
                  {.framing = framing,
                   .head_only = slot.opening.head_only,
                   .close = slot.opening.close,
                   .http_1_0 = slot.opening.http_1_0});
  end(slot);
}

bool ResponseQueue::respond(ResponseToken token, const Response& response, bool close) {
  Slot* slot = find(token, State::kWaiting);
  if (slot == nullptr) {
    return false;
  }
  head(*slot, response, BodyFraming::kLength, close);
  complete(*slot);
  return true;
}

bool ResponseQueue::start_stream(ResponseToken token, const Response& response, bool close) {
  Slot* slot = find(token, State::kWaiting);
  if (slot == nullptr) {
    return false;
  }
  head(*slot, response, slot->opening.http_1_0 ? BodyFraming::kUntilEnd : BodyFraming::kChunked,
       close);
  slot->state = State::kStreaming;
  (void)write_stream(token, response.body);
  return true;
}

bool ResponseQueue::write_stream(ResponseToken token, std::string_view bytes) {
  Slot* slot = find(token, State::kStreaming);
  if (slot == nullptr || slot->opening.head_only || bytes.empty()) {
    return false;
  }
  std::string& out = begin(*slot);
  if (slot->framing == BodyFraming::kChunked) {
    append_chunk(out, bytes);
  } else {
    out.append(bytes);
  }
  end(*slot);
  return true;
}

bool ResponseQueue::end_stream(ResponseToken token) {
  Slot* slot = find(token, State::kStreaming);
  if (slot == nullptr) {
    return false;
  }
  if (slot->framing == BodyFraming::kChunked && !slot->opening.head_only) {
    append_last_chunk(begin(*slot));
    end(*slot);
  }
  complete(*slot);
  return true;
}

bool ResponseQueue::on_gone(ResponseToken token, Task task) {
  if (!is_open(token)) {
    return false;
  }
  slots_[index(token)].gone = std::move(task);
  return true;
}

void ResponseQueue::complete(Slot& slot) {
  slot.state = State::kDone;
  // Destroyed last: what it holds may come back to this queue.
  const Task dropped = std::exchange(slot.gone, {});
  advance();
}

// Moves complete answers out of the way and gives the output to the next one.
void ResponseQueue::advance() {
  const std::size_t before = head_;
  while (!empty() && slots_[head_].state == State::kDone && !closing_) {
    closing_ = slots_[head_].opening.close;
    ++head_;
    if (!empty() && !closing_) {
      queued_bytes_ -= slots_[head_].bytes.size();
      output_.append(slots_[head_].bytes);
      slots_[head_].bytes = {};
    }
  }
  if (head_ == before) {
    return;
  }
  first_token_ += head_ - before;
  forget_done();
  if (closing_) {
    for (Slot& slot : slots_) {
      slot.state = State::kDone;
      slot.bytes = {};
    }
    queued_bytes_ = 0;
  }
}

// Once they are half of all: so each slot is moved once at most, however long the queue is.
void ResponseQueue::forget_done() {
  if (head_ * 2 < slots_.size()) {
    return;
  }
  slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
  if (slots_.empty() && slots_.capacity() > kIdleSlotsMax) {
    slots_.shrink_to_fit();
  }
}

void ResponseQueue::run_gone_tasks() {
  std::vector<Task> tasks;
  for (Slot& slot : slots_) {
    if (slot.gone) {
      tasks.push_back(std::exchange(slot.gone, {}));
    }
  }
  for (Task& task : tasks) {
    task();
  }
}

void ResponseQueue::clear() {
  first_token_ += size();
  slots_.clear();
  head_ = 0;
  output_ = {};
  queued_bytes_ = 0;
}

}  // namespace ackline::http
