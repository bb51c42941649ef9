#include "ackline/http/responder.h"

#include <utility>

#include "ackline/http/problem.h"

namespace ackline::http {

Responder::Responder(std::weak_ptr<ResponseSink> sink, ResponseToken token)
    : sink_(std::move(sink)), token_(token) {}

Responder::Responder(Responder&& other) noexcept
    : sink_(std::move(other.sink_)),
      token_(std::exchange(other.token_, 0)),
      streaming_(std::exchange(other.streaming_, false)) {}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    abandon();
    sink_ = std::move(other.sink_);
    token_ = std::exchange(other.token_, 0);
    streaming_ = std::exchange(other.streaming_, false);
  }
  return *this;
}

Responder::~Responder() {
  abandon();
}

void Responder::abandon() {
  if (token_ == 0) {
    return;
  }
  if (streaming_) {
    end();
    return;
  }
  respond(Error{ErrorCode::kUnavailable,
                "the request was given up before it was answered",
                "Try again.",
                {}});
}

void Responder::respond(Response response) {
  const ResponseToken token = std::exchange(token_, 0);
  if (const auto sink = sink_.lock(); sink && token != 0) {
    sink->respond(token, std::move(response));
  }
}

void Responder::respond(const Error& error) {
  respond(problem_response(error));
}

void Responder::start_stream(Response head) {
  if (const auto sink = sink_.lock(); sink && token_ != 0 && !streaming_) {
    streaming_ = true;
    sink->start_stream(token_, std::move(head));
  }
}

void Responder::write(std::string_view bytes) {
  if (const auto sink = sink_.lock(); sink && streaming_) {
    sink->write_stream(token_, bytes);
  }
}

void Responder::end() {
  const ResponseToken token = std::exchange(token_, 0);
  const bool streaming = std::exchange(streaming_, false);
  if (const auto sink = sink_.lock(); sink && streaming) {
    sink->end_stream(token);
  }
}

bool Responder::open() const {
  const auto sink = sink_.lock();
  return sink && token_ != 0 && sink->open(token_);
}

void Responder::on_gone(Task task) {
  if (token_ == 0) {
    return;
  }
  if (const auto sink = sink_.lock()) {
    sink->on_gone(token_, std::move(task));
    return;
  }
  task();
}

}  // namespace ackline::http
