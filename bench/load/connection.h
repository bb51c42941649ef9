// A connection of the load client: pipelined HTTP/1.1 over a socket that does not block.
//
// Fast rather than general: it reads answers that carry a content-length, which is all that
// Ackline's publish, poll and settle give. One thread. A broken connection or a strange answer ends
// the program: a benchmark that has lost something has nothing to say.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ackline::bench {

class Connection {
 public:
  using OnAnswer = std::function<void(int status, std::string_view body)>;
  // `address` is host:port, numeric. Blocks until it is connected.
  Connection(const std::string& address, OnAnswer on_answer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  // Where requests are written; they leave with `flush`.
  [[nodiscard]] std::string& out() { return out_; }
  // Writes what the socket takes. True: some is left, so the caller waits for room.
  bool flush();
  // Reads what has come and hands over each whole answer.
  void receive();

 private:
  [[nodiscard]] std::size_t take_answers(std::string_view text);

  int fd_ = -1;
  OnAnswer on_answer_;
  std::string out_;
  std::size_t sent_ = 0;
  std::string in_;
  std::size_t filled_ = 0;
};

[[noreturn]] void give_up(std::string_view why);

}  // namespace ackline::bench
