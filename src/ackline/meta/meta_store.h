// What must agree across shards and instances: a small key-value store with revisions, compare and
// set, watches and sessions.
//
// Topics, groups, subscriptions, jobs and numbers live here (invariant 31); in a cluster also
// membership, ownership and progress. Every write gets a revision that is higher than all before,
// restarts included: revisions are the fencing tokens (invariant 27). A key that is not there and a
// key whose value is "" are different things; an outage is an error, never an empty answer.
//
// Calls block and may wait for the network: make them on storage threads, never on a shard's. Any
// thread. Errors: kUnavailable (not done, try again), kAmbiguous (perhaps done: read, then repeat),
// kCorrupt (names the key), kFull, kTooLarge (a limit below), kUnsupported (names the capability),
// kNotFound (session unknown or expired).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/base/types.h"

namespace ackline::meta {

// Place of a write among all writes of the store, from 1. 0 as a key's revision: not there.
using Revision = Strong<struct RevisionTag, std::uint64_t>;
// A lifetime that records can be tied to. 0 is none: the record stays until removed.
using SessionId = Strong<struct SessionIdTag, std::uint64_t>;

inline constexpr std::size_t kTransactionMaxOperations = 128;
inline constexpr std::size_t kTransactionMaxBytes = 1ULL << 20U;

struct Entry {
  std::string key;
  std::string value;
  Revision revision;  // of its last write
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct PrefixRead {
  std::vector<Entry> entries;  // by key, byte order
  Revision as_of;              // the store's newest revision when it was read
};

// Outcome of a conditional write. `done` false is no error: somebody else's write counts, read it.
struct Written {
  bool done = false;
  Revision revision;  // done: of this write; else: of the key as it is now (0: not there)
};

struct WatchEvent {
  enum class Kind : std::uint8_t {
    kPut,
    kRemove,
    kLost,  // the last event of a watch: what happens from here on is not seen
  };
  Kind kind = Kind::kPut;
  Entry entry;  // kRemove: key and the removal's revision; kLost: empty
};
using WatchCallback = std::function<void(const WatchEvent&)>;

// Ends the watch when destroyed: no callback begins afterwards, one that runs is waited for (unless
// it is the caller).
class Watch {
 public:
  virtual ~Watch() = default;
};

struct Compare {
  std::string key;
  Revision revision;  // 0: the key is not there
};
struct WriteOp {
  std::string key;
  std::optional<std::string> value;  // nullopt removes
  SessionId session;
};
struct Transaction {
  std::vector<Compare> compares;  // all must hold
  std::vector<WriteOp> writes;    // all or none; each key once
};

class MetaStore {
 public:
  virtual ~MetaStore() = default;

  [[nodiscard]] virtual Result<std::optional<Entry>> get(std::string_view key) = 0;
  // One moment of all keys that start with `prefix`.
  [[nodiscard]] virtual Result<PrefixRead> get_with_prefix(std::string_view prefix) = 0;

  // Writes whatever is there. A session ties the record to it; none unties it.
  [[nodiscard]] virtual Result<Revision> put(std::string_view key, std::string_view value,
                                             SessionId session) = 0;
  [[nodiscard]] Result<Revision> put(std::string_view key, std::string_view value) {
    return put(key, value, SessionId{});
  }
  [[nodiscard]] virtual Result<Written> put_if_absent(std::string_view key, std::string_view value,
                                                      SessionId session) = 0;
  // Writes `value` if the key holds exactly `expected` (nullopt: is not there).
  [[nodiscard]] virtual Result<Written> try_acquire(std::string_view key,
                                                    std::optional<std::string_view> expected,
                                                    std::string_view value, SessionId session) = 0;
  // Done when it was there; then the revision is that of the removal.
  [[nodiscard]] virtual Result<Written> remove(std::string_view key) = 0;
  // All of `transaction` under one revision, or nothing. Not done: the revision is that of the
  // first compared key that differs.
  [[nodiscard]] virtual Result<Written> commit(const Transaction& transaction) = 0;

  // Calls `callback` for each later write below `prefix`, in revision order. Never for a failed or
  // ambiguous write that did not happen. A writer may return before its event is out. The callback
  // must not block and may call the store. To lose nothing: watch first, then read the prefix and
  // ignore events up to `as_of`.
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> watch(std::string_view prefix,
                                                             WatchCallback callback) = 0;

  // A session ends when it is not kept alive for `ttl_ms`; its records are removed then (each a
  // kRemove event). A restarted process opens a new one.
  [[nodiscard]] virtual Result<SessionId> open_session(std::uint64_t ttl_ms) = 0;
  // kNotFound: it has ended and its records are gone; open another and write them again.
  [[nodiscard]] virtual Result<void> keep_alive(SessionId session) = 0;
  // Ends it now. Fine when it has ended already.
  [[nodiscard]] virtual Result<void> close_session(SessionId session) = 0;
};

}  // namespace ackline::meta
