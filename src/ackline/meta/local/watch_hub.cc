#include "ackline/meta/local/watch_hub.h"

#include <utility>

namespace ackline::meta {

class WatchHub::Handle final : public Watch {
 public:
  Handle(std::shared_ptr<WatchHub> hub, std::shared_ptr<Watcher> watcher)
      : hub_(std::move(hub)), watcher_(std::move(watcher)) {}
  ~Handle() override { hub_->end(watcher_); }

 private:
  const std::shared_ptr<WatchHub> hub_;
  const std::shared_ptr<Watcher> watcher_;
};

std::unique_ptr<Watch> WatchHub::add(std::string_view prefix, Revision after,
                                     WatchCallback callback) {
  auto watcher = std::make_shared<Watcher>();
  watcher->prefix = prefix;
  watcher->after = after;
  watcher->callback = std::move(callback);
  {
    const std::scoped_lock lock(mutex_);
    watchers_.push_back(watcher);
  }
  return std::make_unique<Handle>(shared_from_this(), std::move(watcher));
}

void WatchHub::queue(WatchEvent event) {
  const std::scoped_lock lock(mutex_);
  if (!watchers_.empty()) {
    queue_.push_back(std::move(event));
  }
}

void WatchHub::deliver() {
  std::unique_lock lock(mutex_);
  if (delivering_) {
    return;
  }
  delivering_ = true;
  deliverer_ = std::this_thread::get_id();
  while (!queue_.empty()) {
    const WatchEvent event = std::move(queue_.front());
    queue_.pop_front();
    const std::vector<std::shared_ptr<Watcher>> watchers = watchers_;
    for (const std::shared_ptr<Watcher>& watcher : watchers) {
      if (watcher->ended || event.entry.revision <= watcher->after ||
          !event.entry.key.starts_with(watcher->prefix)) {
        continue;
      }
      running_ = watcher;
      lock.unlock();
      watcher->callback(event);
      lock.lock();
      running_ = nullptr;
      idle_.notify_all();
    }
  }
  delivering_ = false;
}

void WatchHub::end(const std::shared_ptr<Watcher>& watcher) {
  std::unique_lock lock(mutex_);
  watcher->ended = true;
  std::erase(watchers_, watcher);
  if (running_ == watcher && deliverer_ == std::this_thread::get_id()) {
    return;  // ended by its own callback
  }
  idle_.wait(lock, [&] { return running_ != watcher; });
}

}  // namespace ackline::meta
