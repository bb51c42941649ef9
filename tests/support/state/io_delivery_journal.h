// The shard journal of `io` as the DeliveryStateStore's journal.
//
// A `write` is one batch of the journal: its records survive together or not at all. The open batch
// of the journal is this adapter's alone between two calls. `sync` waits by turning the journal's
// executor, since the end of a sync comes back as a task of it.
//
// On the journal's thread. Failure: as `io::Journal` says; a batch that could not be written is
// forgotten, nothing of it comes later. After a failed sync everything answers kPoisoned.
#pragma once

#include <functional>
#include <span>

#include "ackline/io/journal/journal.h"
#include "tests/support/state/journal_delivery_state_store.h"

namespace ackline::state {

class IoDeliveryJournal final : public DeliveryJournal {
 public:
  // `turn` runs what the executor has to do, and may wait for it. Both outlive the adapter.
  IoDeliveryJournal(io::Journal& journal, std::function<void()> turn);

  [[nodiscard]] Result<void> write(PartitionNumber partition,
                                   std::span<const JournalBody> records) override;
  [[nodiscard]] Result<void> sync() override;

 private:
  io::Journal& journal_;
  std::function<void()> turn_;
};

}  // namespace ackline::state
