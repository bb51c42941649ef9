// What the sockets of this folder see of an EventLoop. Includes Asio: for .cc files here only.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "ackline/io/net/event_loop.h"

namespace ackline::io::net {

struct EventLoop::Impl {
  Impl(const Clock& c, std::string n);

  void post(Task task, bool last = false);
  void run_posted();
  void run();
  TimerId schedule(MonoMs at, Task task);
  void cancel(TimerId timer);
  void arm();
  void run_due();

  const Clock& clock;
  const std::string name;
  boost::asio::io_context context{1};  // one thread runs it
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard;
  std::thread thread;
  std::atomic<std::thread::id> thread_id;

  std::mutex mutex;
  std::vector<Task> posted;  // under mutex
  bool woken = false;        // under mutex: run_posted is on its way
  bool stopped = false;      // under mutex
  std::vector<Task> running;

  struct Due {
    MonoMs at;
    TimerId id;  // of equal times the older one first
    friend bool operator>(const Due& a, const Due& b) {
      return a.at != b.at ? a.at > b.at : a.id > b.id;
    }
  };
  std::vector<Due> heap;  // a cancelled timer stays until it comes up or too many have gathered
  std::unordered_map<TimerId, Task> timers;
  TimerId last_timer = 0;
  boost::asio::steady_timer alarm{context};
  std::optional<MonoMs> armed_at;

  std::vector<char> read_buffer;
};

}  // namespace ackline::io::net
