// The one local cache over a meta prefix, as typed keys and values.
//
// Filled by a prefix read, kept by a watch, rebuilt by re-reading after the watch was lost, never
// by assuming. Reads never wait for meta and go on during an outage with what was known; `age_ms`
// says for how long the cache may have missed something. Where a decision needs meta's own view,
// read meta directly.
//
// `find`, `for_each`, `note`, `age_ms` do not block: any thread. `refresh` blocks (storage
// threads): call it at start, and again when `on_lost` has been called. `on_lost` and `on_change`
// run on a watch thread, must not block, and must not call `refresh`.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/base/clock.h"
#include "ackline/meta/meta_store.h"

namespace ackline::meta {

// How typed keys and values are read from a prefix. Both: kCorrupt for what cannot be read.
template <class K, class V>
struct CacheCodec {
  std::function<Result<K>(std::string_view key_after_prefix)> key;
  std::function<Result<V>(const K& key, std::string_view value)> value;
};

template <class V>
struct Cached {
  V value;
  Revision revision;
};

template <class K, class V>
class CachingMetaStore {
 public:
  struct Hooks {
    std::function<void()> on_lost;
    // After a key changed; `now` null: it is gone. Not called by `refresh` for unchanged keys. Two
    // threads may tell two changes of one key in either order: who keeps something reads `find`.
    std::function<void(const K& key, const Cached<V>* now)> on_change;
  };

  // `store` and `clock` outlive the cache. Empty and lost until the first `refresh`.
  CachingMetaStore(MetaStore& store, const Clock& clock, std::string prefix, CacheCodec<K, V> codec,
                   Hooks hooks = {});
  ~CachingMetaStore();
  CachingMetaStore(const CachingMetaStore&) = delete;
  CachingMetaStore& operator=(const CachingMetaStore&) = delete;

  // Watches anew and reads the whole prefix. Errors: the store's, the old content stays; kCorrupt
  // when a record cannot be read, naming its key.
  [[nodiscard]] Result<void> refresh();
  [[nodiscard]] std::optional<Cached<V>> find(const K& key) const;
  // Calls `visit` in key order under the cache's lock: short work only, no calls of the cache.
  void for_each(const std::function<bool(const K&, const Cached<V>&)>& visit) const;
  // The same, from the first key that is not below `from`.
  void for_each_from(const K& from,
                     const std::function<bool(const K&, const Cached<V>&)>& visit) const;
  [[nodiscard]] std::size_t size() const;
  // Takes the result of one's own write in at once; older than what is known: ignored.
  void note_put(const K& key, V value, Revision revision);
  void note_remove(const K& key, Revision revision);
  // 0 while the watch lives; else how long ago it was lost (or the cache made).
  [[nodiscard]] std::uint64_t age_ms() const;
  // Records seen by the watch that could not be read; their keys are not in the cache.
  [[nodiscard]] std::uint64_t unreadable_count() const;

 private:
  struct Change {
    K key;
    std::optional<Cached<V>> now;
  };
  // Most removals remembered; past it the whole past is declared seen.
  static constexpr std::size_t kRemovedMax = 4096;
  [[nodiscard]] Result<void> fill();
  [[nodiscard]] Result<void> swap_in(std::map<K, Cached<V>> fresh, Revision as_of);
  void on_event(std::uint64_t round, const WatchEvent& event);
  void apply_event(const WatchEvent& event, std::vector<Change>& changes);
  // Tells `on_change`, in the order of the changes, outside the lock.
  void tell(const std::vector<Change>& changes);

  MetaStore& store_;
  const Clock& clock_;
  const std::string prefix_;
  const CacheCodec<K, V> codec_;
  const Hooks hooks_;

  std::mutex refresh_mutex_;      // one refresh at a time; taken before mutex_
  std::unique_ptr<Watch> watch_;  // guarded by refresh_mutex_

  mutable std::mutex mutex_;
  std::map<K, Cached<V>> entries_;
  // Removals since the last read, so that a late put cannot bring a key back.
  std::map<K, Revision> removed_;
  std::vector<WatchEvent> early_;  // events of a round that is still being read
  bool filling_ = false;
  std::uint64_t round_ = 0;
  Revision as_of_;
  std::optional<MonoMs> lost_since_;
  std::uint64_t unreadable_ = 0;
};

}  // namespace ackline::meta

#include "ackline/meta/caching_meta_store_impl.h"
