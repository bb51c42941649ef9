// Hands write events to the watches of one process, in revision order, one at a time.
//
// Writers queue events while they hold the store's lock, then call `deliver` without it. Whoever
// finds nobody delivering delivers everything that is queued; so a callback may write to the store,
// and a writer may return before its event is out. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ackline/meta/meta_store.h"

namespace ackline::meta {

// Shared with the watches, which may outlive the store.
class WatchHub : public std::enable_shared_from_this<WatchHub> {
 public:
  // Events after `after` that lie below `prefix`.
  [[nodiscard]] std::unique_ptr<Watch> add(std::string_view prefix, Revision after,
                                           WatchCallback callback);
  void queue(WatchEvent event);
  void deliver();

 private:
  struct Watcher {
    std::string prefix;
    Revision after;
    WatchCallback callback;
    bool ended = false;
  };
  class Handle;
  void end(const std::shared_ptr<Watcher>& watcher);

  std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
  std::deque<WatchEvent> queue_;
  bool delivering_ = false;
  std::thread::id deliverer_;
  std::shared_ptr<Watcher> running_;
};

}  // namespace ackline::meta
