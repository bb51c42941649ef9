// DeliveryStateStore on journal records: each batch becomes the records that the dispatcher would
// have written, and the image of those records answers the reads.
//
// Not part of the product, where the dispatcher writes and reads the records itself. It shows that
// they say all that the contract asks for, so that the journal and the store of rows can be
// exchanged (docs/decisions/0013), and is held to the same suite.
//
// One thread (its shard's). Does not block but in `flush` and `close`: records go to the journal's
// current batch. A batch that the journal does not take changes nothing here either.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ackline/base/clock.h"
#include "ackline/state/delivery_state_store.h"
#include "tests/support/state/delivery_image.h"

namespace ackline::state {

struct JournalBody {
  RecordType type = RecordType::kOffer;
  std::string body;
};

// A journal as this store sees it: io's by `IoDeliveryJournal`, a list in tests.
class DeliveryJournal {
 public:
  virtual ~DeliveryJournal() = default;
  // One batch on disk: all of them or none. `partition` 0: of the whole shard.
  [[nodiscard]] virtual Result<void> write(PartitionNumber partition,
                                           std::span<const JournalBody> records) = 0;
  // Blocks until everything written is durable.
  [[nodiscard]] virtual Result<void> sync() = 0;
};

class JournalDeliveryStateStore final : public DeliveryStateStore {
 public:
  // `journal` and `clock` outlive the store. A fresh store continues `image`, the replay of what
  // the journal held; the boot record of this process is the last one in it.
  JournalDeliveryStateStore(DeliveryJournal& journal, const Clock& clock, DeliveryImage image);

  [[nodiscard]] std::string_view name() const override { return "deliveries (journal)"; }
  [[nodiscard]] StoreHealth health() const override;
  [[nodiscard]] Result<void> flush() override;
  [[nodiscard]] Result<void> close() override;
  [[nodiscard]] Result<void> apply(const DeliveryBatch& batch) override;
  [[nodiscard]] Result<void> commit() override;
  [[nodiscard]] Result<std::optional<DeliveryState>> get(const DeliveryRef& ref) override;
  [[nodiscard]] Result<std::optional<StoredProgress>> progress(ProgressNumber progress,
                                                               PartitionNumber partition) override;
  [[nodiscard]] Result<void> iterate(
      ProgressNumber progress, const std::function<bool(const DeliveryState&)>& visit) override;
  [[nodiscard]] Result<std::size_t> count() override;

  // Journals how far time has come; the owner calls it each second while timers are armed.
  [[nodiscard]] Result<void> mark_alive();

 private:
  [[nodiscard]] Result<void> check(const DeliveryBatch& batch) const;
  [[nodiscard]] std::vector<JournalBody> records_of(const DeliveryBatch& batch) const;
  // Journals the records, then adds them to the image.
  [[nodiscard]] Result<void> write(PartitionNumber partition,
                                   const std::vector<JournalBody>& records);
  [[nodiscard]] Result<void> require_open() const;
  // Brings the image's time to the clock's.
  void advance();

  DeliveryJournal& journal_;
  const Clock& clock_;
  MonoMs opened_at_;
  DeliveryImage image_;
  StoreHealth health_;
  bool closed_ = false;
};

}  // namespace ackline::state
