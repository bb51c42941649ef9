// The model of KeyValue: a disk in memory, with the death of the process and of the power told
// apart.
//
// Writes are in the "log" at once and durable once synced. `kill` ends all open handles and keeps
// the log; `power_cut` also loses a random tail of what was not synced (a log loses a tail, never
// something in the middle). One handle at a time, as the real one's lock. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackline/base/random.h"
#include "ackline/io/kv/key_value.h"

namespace ackline::testing {

enum class KvOperation : std::uint8_t { kGet, kScan, kWrite, kFlush };

struct KvFault {
  Error error;
  bool applied = false;  // of a write: it happened all the same (an ambiguous outcome)
};
// Asked before each operation; nullopt lets it pass.
using KvFaultHook = std::function<std::optional<KvFault>(KvOperation)>;

class MemoryKeyValueDisk {
 public:
  explicit MemoryKeyValueDisk(std::uint64_t capacity_bytes = UINT64_MAX)
      : state_(std::make_shared<State>()) {
    state_->capacity = capacity_bytes;
  }

  // kInUse while another handle is open.
  [[nodiscard]] Result<std::unique_ptr<io::KeyValue>> open() {
    const std::scoped_lock lock(state_->mutex);
    if (state_->open) {
      return fail(ErrorCode::kInUse, "the store in memory is in use");
    }
    state_->open = true;
    return std::make_unique<Handle>(state_, state_->life);
  }

  void kill() {
    const std::scoped_lock lock(state_->mutex);
    ++state_->life;
    state_->open = false;
  }

  void power_cut(Random& random) {
    kill();
    const std::scoped_lock lock(state_->mutex);
    const std::size_t survive = random.below(state_->unsynced.size() + 1);
    for (std::size_t i = 0; i < survive; ++i) {
      State::put(state_->synced, state_->unsynced[i]);
    }
    state_->unsynced.clear();
    state_->current = state_->synced;
    state_->used = 0;
    for (const auto& [key, value] : state_->current) state_->used += key.size() + value.size();
  }

  // Something that was written would not survive a power cut.
  [[nodiscard]] bool unsynced() const {
    const std::scoped_lock lock(state_->mutex);
    return !state_->unsynced.empty();
  }
  // Bytes of all keys and values.
  [[nodiscard]] std::uint64_t used() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->used;
  }

  // A copy of what is written and of what is synced, without handles and hook.
  [[nodiscard]] MemoryKeyValueDisk clone() const {
    MemoryKeyValueDisk copy;
    const std::scoped_lock lock(state_->mutex);
    copy.state_->current = state_->current;
    copy.state_->used = state_->used;
    copy.state_->synced = state_->synced;
    copy.state_->unsynced = state_->unsynced;
    return copy;
  }

  void set_capacity(std::uint64_t bytes) {
    const std::scoped_lock lock(state_->mutex);
    state_->capacity = bytes;
  }
  void set_fault_hook(KvFaultHook hook) {
    const std::scoped_lock lock(state_->mutex);
    state_->hook = std::move(hook);
  }

 private:
  using Batch = std::vector<io::KeyValueWrite>;
  using Map = std::map<std::string, std::string, std::less<>>;

  struct State {
    static void put(Map& map, const Batch& batch) {
      for (const io::KeyValueWrite& write : batch) {
        if (write.value) {
          map.insert_or_assign(write.key, *write.value);
        } else {
          map.erase(write.key);
        }
      }
    }
    void put_current(const Batch& batch) {
      for (const io::KeyValueWrite& write : batch) {
        const auto before = current.find(write.key);
        if (before != current.end()) {
          used -= write.key.size() + before->second.size();
          current.erase(before);
        }
        if (!write.value) continue;
        used += write.key.size() + write.value->size();
        current.emplace(write.key, *write.value);
      }
    }
    std::mutex mutex;
    Map current;
    Map synced;
    std::vector<Batch> unsynced;
    std::uint64_t used = 0;  // by `current`
    std::uint64_t capacity = UINT64_MAX;
    std::uint64_t life = 0;
    bool open = false;
    KvFaultHook hook;
  };

  class Handle final : public io::KeyValue {
   public:
    Handle(std::shared_ptr<State> state, std::uint64_t life)
        : state_(std::move(state)), life_(life) {}
    ~Handle() override {
      const std::scoped_lock lock(state_->mutex);
      if (state_->life == life_) {
        state_->open = false;
      }
    }

    Result<std::optional<std::string>> get(std::string_view key) const override {
      if (const auto fault = ask(KvOperation::kGet)) {
        return std::unexpected(fault->error);
      }
      const std::scoped_lock lock(state_->mutex);
      if (const Result<void> alive = living(); !alive) {
        return fail(alive);
      }
      const auto found = state_->current.find(key);
      return found == state_->current.end() ? std::optional<std::string>()
                                            : std::optional(found->second);
    }

    Result<void> scan(
        std::string_view prefix, std::string_view from,
        const std::function<bool(std::string_view, std::string_view)>& visit) const override {
      if (const auto fault = ask(KvOperation::kScan)) {
        return std::unexpected(fault->error);
      }
      std::vector<std::pair<std::string, std::string>> moment;  // `visit` may write
      {
        const std::scoped_lock lock(state_->mutex);
        if (const Result<void> alive = living(); !alive) {
          return alive;
        }
        auto at = state_->current.lower_bound(std::max(prefix, from));
        for (; at != state_->current.end() && at->first.starts_with(prefix); ++at) {
          moment.emplace_back(at->first, at->second);
        }
      }
      for (const auto& [key, value] : moment) {
        if (!visit(key, value)) break;
      }
      return {};
    }

    Result<void> write(const std::vector<io::KeyValueWrite>& batch, bool sync) override {
      const auto fault = ask(KvOperation::kWrite);
      if (fault && !fault->applied) {
        return std::unexpected(fault->error);
      }
      const std::scoped_lock lock(state_->mutex);
      if (const Result<void> alive = living(); !alive) {
        return alive;
      }
      std::uint64_t bytes = 0;
      for (const io::KeyValueWrite& write : batch) {
        bytes += write.key.size() + (write.value ? write.value->size() : 0);
      }
      if (state_->used + bytes > state_->capacity) {
        return fail(ErrorCode::kFull, "the disk in memory is full");
      }
      state_->put_current(batch);
      state_->unsynced.push_back(batch);
      if (sync) {
        sync_locked();
      }
      return fault ? Result<void>(std::unexpected(fault->error)) : Result<void>();
    }

    Result<void> flush() override {
      if (const auto fault = ask(KvOperation::kFlush)) {
        return std::unexpected(fault->error);
      }
      const std::scoped_lock lock(state_->mutex);
      if (const Result<void> alive = living(); !alive) {
        return alive;
      }
      sync_locked();
      return {};
    }

   private:
    [[nodiscard]] Result<void> living() const {
      return state_->life == life_ ? Result<void>()
                                   : fail(ErrorCode::kUnavailable, "this process is dead");
    }
    [[nodiscard]] std::optional<KvFault> ask(KvOperation operation) const {
      KvFaultHook hook;
      {
        const std::scoped_lock lock(state_->mutex);
        hook = state_->hook;
      }
      return hook ? hook(operation) : std::nullopt;
    }
    void sync_locked() {
      for (const Batch& batch : state_->unsynced) {
        State::put(state_->synced, batch);
      }
      state_->unsynced.clear();
    }
    const std::shared_ptr<State> state_;
    const std::uint64_t life_;
  };

  const std::shared_ptr<State> state_;  // shared with handles that outlive a kill
};

}  // namespace ackline::testing
