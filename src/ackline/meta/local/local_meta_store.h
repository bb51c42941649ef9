// MetaStore of one instance, on a KeyValue in the data directory.
//
// Each write is one synced batch that also carries the store's revision, so that no revision is
// ever given twice, removals and restarts included. Sessions live in the process: records of a
// former process's sessions are removed when the store is opened, since that process is gone.
//
// Blocking (storage threads), any thread: one writer at a time, sync included. A session that has
// timed out is ended by the next call of any kind or by `expire_sessions`, which the owner's timer
// calls. Watch callbacks run on the thread of a writer, one at a time, after the write.
#pragma once

#include <memory>

#include "ackline/base/clock.h"
#include "ackline/io/kv/key_value.h"
#include "ackline/meta/meta_store.h"

namespace ackline::meta {

class LocalMetaStore : public MetaStore {
 public:
  // Ends the sessions that have timed out and removes their records.
  [[nodiscard]] virtual Result<void> expire_sessions() = 0;
};

// `kv` and `clock` outlive the store; nobody else writes to `kv`. Errors: kCorrupt when a record
// does not add up, naming its key.
[[nodiscard]] Result<std::unique_ptr<LocalMetaStore>> open_local_meta_store(io::KeyValue& kv,
                                                                            const Clock& clock);

}  // namespace ackline::meta
