#include "ackline/meta/local/local_meta_store.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "ackline/base/log_text.h"
#include "ackline/io/failpoint.h"
#include "ackline/meta/local/local_record.h"
#include "ackline/meta/local/watch_hub.h"

namespace ackline::meta {
namespace {

struct Session {
  std::uint64_t ttl_ms = 0;
  MonoMs ends_at;
  std::set<std::string> keys;
};

class LocalMetaStoreImpl final : public LocalMetaStore {
 public:
  LocalMetaStoreImpl(io::KeyValue& kv, const Clock& clock)
      : kv_(kv), clock_(clock), hub_(std::make_shared<WatchHub>()) {}

  Result<void> load();

  Result<std::optional<Entry>> get(std::string_view key) override;
  Result<PrefixRead> get_with_prefix(std::string_view prefix) override;
  Result<Revision> put(std::string_view key, std::string_view value, SessionId session) override;
  Result<Written> put_if_absent(std::string_view key, std::string_view value,
                                SessionId session) override;
  Result<Written> try_acquire(std::string_view key, std::optional<std::string_view> expected,
                              std::string_view value, SessionId session) override;
  Result<Written> remove(std::string_view key) override;
  Result<Written> commit(const Transaction& transaction) override;
  Result<std::unique_ptr<Watch>> watch(std::string_view prefix, WatchCallback callback) override;
  Result<SessionId> open_session(std::uint64_t ttl_ms) override;
  Result<void> keep_alive(SessionId session) override;
  Result<void> close_session(SessionId session) override;
  Result<void> expire_sessions() override;

 private:
  // Runs `work` under the lock with the timed out sessions ended, then hands the events out.
  template <class Work>
  auto locked(Work work) -> decltype(work()) {
    auto result = [&]() -> decltype(work()) {
      const std::scoped_lock lock(mutex_);
      if (const Result<void> ended = end_timed_out(); !ended) return fail(ended);
      return work();
    }();
    hub_->deliver();
    return result;
  }

  // The rest runs under the lock.
  [[nodiscard]] Result<std::optional<LocalRecord>> read(std::string_view key) const;
  [[nodiscard]] Result<Revision> revision_of(std::string_view key) const;
  // All of `writes` in one synced batch under a fresh revision.
  [[nodiscard]] Result<Revision> write(const std::vector<WriteOp>& writes);
  [[nodiscard]] Result<Written> write_one(std::string_view key, std::string_view value,
                                          SessionId session);
  void tie(const WriteOp& write);
  [[nodiscard]] Result<void> end_timed_out();
  [[nodiscard]] Result<void> end_session(SessionId session);

  io::KeyValue& kv_;
  const Clock& clock_;
  const std::shared_ptr<WatchHub> hub_;
  std::mutex mutex_;
  Revision revision_;  // the newest ever given, also to writes that failed
  std::map<SessionId, Session> sessions_;
  std::map<std::string, SessionId, std::less<>> session_of_;
  SessionId last_session_;
};

Result<void> check_size(const std::vector<WriteOp>& writes) {
  std::size_t bytes = 0;
  for (const WriteOp& write : writes) {
    bytes += write.key.size() + (write.value ? write.value->size() : 0);
  }
  if (writes.size() > kTransactionMaxOperations || bytes > kTransactionMaxBytes) {
    return fail(
        ErrorCode::kTooLarge,
        fmt::format("a meta write of {} keys and {} bytes; allowed are {} keys and {} bytes",
                    writes.size(), bytes, kTransactionMaxOperations, kTransactionMaxBytes));
  }
  return {};
}

Result<void> LocalMetaStoreImpl::load() {
  const Result<std::optional<std::string>> stored = kv_.get(kRevisionKey);
  if (!stored) return fail(stored);
  if (*stored) {
    const Result<Revision> revision = decode_revision(**stored);
    if (!revision) return fail(revision);
    revision_ = *revision;
  }
  std::vector<WriteOp> orphans;
  Result<void> fine;
  const Result<void> scanned =
      kv_.scan(kRecordPrefix, {}, [&](std::string_view raw_key, std::string_view bytes) {
        const std::string_view key = raw_key.substr(kRecordPrefix.size());
        const Result<LocalRecord> record = decode_record(key, bytes);
        if (!record) {
          fine = fail(record);
        } else if (record->revision > revision_) {
          fine = fail(ErrorCode::kCorrupt,
                      fmt::format("the meta record '{}' has revision {}, past the store's {}",
                                  log_text::name(key), record->revision.value(), revision_.value()),
                      "Restore the meta directory from a backup.");
        } else if (record->in_session) {
          orphans.push_back({std::string(key), std::nullopt, SessionId{}});
        }
        return fine.has_value();
      });
  if (!scanned || !fine) {
    return !scanned ? scanned : fine;
  }
  if (orphans.empty()) {
    return {};
  }
  const Result<Revision> removed = write(orphans);
  return removed ? Result<void>() : fail(removed);
}

Result<std::optional<LocalRecord>> LocalMetaStoreImpl::read(std::string_view key) const {
  const Result<std::optional<std::string>> stored = kv_.get(record_key(key));
  if (!stored) return fail(stored);
  if (!*stored) {
    return std::optional<LocalRecord>();
  }
  Result<LocalRecord> record = decode_record(key, **stored);
  if (!record) return fail(record);
  return std::optional<LocalRecord>(std::move(*record));
}

Result<Revision> LocalMetaStoreImpl::revision_of(std::string_view key) const {
  const auto record = read(key);
  if (!record) return fail(record);
  return *record ? (*record)->revision : Revision();
}

Result<Revision> LocalMetaStoreImpl::write(const std::vector<WriteOp>& writes) {
  // Given up for good even if the write fails, since it may be on disk all the same.
  const Revision revision = ++revision_;
  std::vector<io::KeyValueWrite> batch;
  std::vector<WatchEvent> events;
  for (const WriteOp& write : writes) {
    if (write.session != SessionId() && !sessions_.contains(write.session)) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("meta session {} has ended", write.session.value()));
    }
    if (write.value) {
      const LocalRecord record{revision, write.session != SessionId(), *write.value};
      batch.push_back({record_key(write.key), encode_record(write.key, record)});
      events.push_back({WatchEvent::Kind::kPut, {write.key, *write.value, revision}});
      continue;
    }
    const Result<Revision> there = revision_of(write.key);
    if (!there) return fail(there);
    if (*there != Revision()) {
      batch.push_back({record_key(write.key), std::nullopt});
      events.push_back({WatchEvent::Kind::kRemove, {write.key, {}, revision}});
    }
  }
  batch.push_back({std::string(kRevisionKey), encode_revision(revision)});
  io::failpoint(io::Failpoint::kMetaBatchBefore);
  if (const Result<void> written = kv_.write(batch, true); !written) return fail(written);
  io::failpoint(io::Failpoint::kMetaBatchAfter);
  for (const WriteOp& write : writes) {
    tie(write);
  }
  for (WatchEvent& event : events) {
    hub_->queue(std::move(event));
  }
  return revision;
}

void LocalMetaStoreImpl::tie(const WriteOp& write) {
  const auto tied = session_of_.find(write.key);
  if (tied != session_of_.end()) {
    sessions_[tied->second].keys.erase(write.key);
    session_of_.erase(tied);
  }
  if (write.value && write.session != SessionId()) {
    sessions_[write.session].keys.insert(write.key);
    session_of_[write.key] = write.session;
  }
}

Result<Written> LocalMetaStoreImpl::write_one(std::string_view key, std::string_view value,
                                              SessionId session) {
  const std::vector<WriteOp> writes = {{std::string(key), std::string(value), session}};
  if (const Result<void> fits = check_size(writes); !fits) return fail(fits);
  const Result<Revision> revision = write(writes);
  if (!revision) return fail(revision);
  return Written{true, *revision};
}

Result<void> LocalMetaStoreImpl::end_timed_out() {
  const MonoMs now = clock_.mono();
  std::vector<SessionId> ended;
  for (const auto& [id, session] : sessions_) {
    if (session.ends_at <= now) {
      ended.push_back(id);
    }
  }
  for (const SessionId id : ended) {
    if (const Result<void> done = end_session(id); !done) {
      return done;
    }
  }
  return {};
}

Result<void> LocalMetaStoreImpl::end_session(SessionId session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return {};
  }
  std::vector<WriteOp> removals;
  for (const std::string& key : found->second.keys) {
    removals.push_back({key, std::nullopt, SessionId{}});
  }
  if (!removals.empty()) {
    if (const Result<Revision> removed = write(removals); !removed) return fail(removed);
  }
  sessions_.erase(session);
  return {};
}

Result<std::optional<Entry>> LocalMetaStoreImpl::get(std::string_view key) {
  return locked([&]() -> Result<std::optional<Entry>> {
    Result<std::optional<LocalRecord>> record = read(key);
    if (!record) return fail(record);
    if (!*record) {
      return std::optional<Entry>();
    }
    return Entry{std::string(key), std::move((*record)->value), (*record)->revision};
  });
}

Result<PrefixRead> LocalMetaStoreImpl::get_with_prefix(std::string_view prefix) {
  return locked([&]() -> Result<PrefixRead> {
    PrefixRead out;
    out.as_of = revision_;
    Result<void> fine;
    const Result<void> scanned =
        kv_.scan(record_key(prefix), {}, [&](std::string_view raw_key, std::string_view bytes) {
          const std::string_view key = raw_key.substr(kRecordPrefix.size());
          Result<LocalRecord> record = decode_record(key, bytes);
          if (!record) {
            fine = fail(record);
            return false;
          }
          out.entries.push_back({std::string(key), std::move(record->value), record->revision});
          return true;
        });
    if (!scanned || !fine) {
      return fail(!scanned ? scanned : fine);
    }
    return out;
  });
}

Result<Revision> LocalMetaStoreImpl::put(std::string_view key, std::string_view value,
                                         SessionId session) {
  return locked([&]() -> Result<Revision> {
    const Result<Written> written = write_one(key, value, session);
    return written ? Result<Revision>(written->revision) : fail(written);
  });
}

Result<Written> LocalMetaStoreImpl::put_if_absent(std::string_view key, std::string_view value,
                                                  SessionId session) {
  return try_acquire(key, std::nullopt, value, session);
}

Result<Written> LocalMetaStoreImpl::try_acquire(std::string_view key,
                                                std::optional<std::string_view> expected,
                                                std::string_view value, SessionId session) {
  return locked([&]() -> Result<Written> {
    const Result<std::optional<LocalRecord>> now = read(key);
    if (!now) return fail(now);
    const bool matches = expected ? *now && (*now)->value == *expected : !*now;
    if (!matches) {
      return Written{false, *now ? (*now)->revision : Revision()};
    }
    return write_one(key, value, session);
  });
}

Result<Written> LocalMetaStoreImpl::remove(std::string_view key) {
  return locked([&]() -> Result<Written> {
    const Result<Revision> there = revision_of(key);
    if (!there) return fail(there);
    if (*there == Revision()) {
      return Written{};
    }
    const Result<Revision> revision = write({{std::string(key), std::nullopt, SessionId{}}});
    return revision ? Result<Written>(Written{true, *revision}) : fail(revision);
  });
}

Result<Written> LocalMetaStoreImpl::commit(const Transaction& transaction) {
  if (const Result<void> fits = check_size(transaction.writes); !fits) return fail(fits);
  std::set<std::string_view> keys;
  for (const WriteOp& write : transaction.writes) {
    if (!keys.insert(write.key).second) {
      return fail(ErrorCode::kBadRequest,
                  fmt::format("a meta transaction writes '{}' twice", write.key));
    }
  }
  return locked([&]() -> Result<Written> {
    for (const Compare& compare : transaction.compares) {
      const Result<Revision> now = revision_of(compare.key);
      if (!now) return fail(now);
      if (*now != compare.revision) {
        return Written{false, *now};
      }
    }
    const Result<Revision> revision = write(transaction.writes);
    return revision ? Result<Written>(Written{true, *revision}) : fail(revision);
  });
}

Result<std::unique_ptr<Watch>> LocalMetaStoreImpl::watch(std::string_view prefix,
                                                         WatchCallback callback) {
  return locked([&]() -> Result<std::unique_ptr<Watch>> {
    return hub_->add(prefix, revision_, std::move(callback));
  });
}

Result<SessionId> LocalMetaStoreImpl::open_session(std::uint64_t ttl_ms) {
  return locked([&]() -> Result<SessionId> {
    const SessionId id = ++last_session_;
    sessions_[id] = {ttl_ms, clock_.mono().plus(static_cast<std::int64_t>(ttl_ms)), {}};
    return id;
  });
}

Result<void> LocalMetaStoreImpl::keep_alive(SessionId session) {
  return locked([&]() -> Result<void> {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
      return fail(ErrorCode::kNotFound, fmt::format("meta session {} has ended", session.value()));
    }
    found->second.ends_at = clock_.mono().plus(static_cast<std::int64_t>(found->second.ttl_ms));
    return {};
  });
}

Result<void> LocalMetaStoreImpl::close_session(SessionId session) {
  return locked([&] { return end_session(session); });
}

Result<void> LocalMetaStoreImpl::expire_sessions() {
  return locked([] { return Result<void>(); });
}

}  // namespace

Result<std::unique_ptr<LocalMetaStore>> open_local_meta_store(io::KeyValue& kv,
                                                              const Clock& clock) {
  auto store = std::make_unique<LocalMetaStoreImpl>(kv, clock);
  if (const Result<void> loaded = store->load(); !loaded) return fail(loaded);
  return store;
}

}  // namespace ackline::meta
