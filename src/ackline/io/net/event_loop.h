// A shard's event loop: one thread, tasks in the order they were posted, timers, sockets.
//
// `post` is for any thread and cheap: the loop is woken once for all that is posted until it looks.
// Timers are a heap behind one timer of the system; an idle loop sleeps. Sockets of this folder
// attach themselves through `context()`. Tasks must not throw and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "ackline/base/clock.h"
#include "ackline/base/executor.h"

namespace boost::asio {
class io_context;
}

namespace ackline::io::net {

class EventLoop final : public Executor {
 public:
  // `clock` outlives the loop and moves with the machine's monotonic clock.
  explicit EventLoop(const Clock& clock, std::string name = "loop");
  ~EventLoop() override;  // stop and join
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Starts the thread. Once.
  void start();
  // What was posted before still runs; then the loop ends. Timers that are not due are dropped, and
  // so is what is posted later. Any thread.
  void stop();
  // Waits for the end of the thread; not on the loop itself.
  void join();

  void post(Task task) override;
  TimerId schedule(MonoMs at, Task task) override;
  void cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;
  // True on the loop's thread, and anywhere while that thread does not run: when the loop is being
  // set up before `start`, and when what it owned is taken down after its end.
  [[nodiscard]] bool here() const override;

  // Runs `work` on the loop and waits for its end; here, if the loop's thread does not run, or once
  // it has ended when the loop was stopped. Not to be called from another loop, which would block
  // it.
  void call(const std::function<void()>& work);

  // For the sockets of this folder.
  [[nodiscard]] boost::asio::io_context& context();
  // Memory for one read, shared by all sockets of the loop, so that an idle one holds none. Valid
  // until the next task.
  [[nodiscard]] std::span<char> read_buffer();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackline::io::net
