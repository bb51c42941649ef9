#include "ackline/state/delivery_state_store.h"

namespace ackline::state {

Result<DeliveryBatch> DeliveryStateStore::batch_of_one(ProgressNumber progress,
                                                       PartitionNumber partition) {
  const Result<std::optional<StoredProgress>> stored = this->progress(progress, partition);
  if (!stored) {
    return fail(stored);
  }
  DeliveryBatch batch;
  batch.progress = progress;
  batch.partition = partition;
  batch.generation = *stored ? (*stored)->generation : Generation(1);
  batch.frontier = *stored ? (*stored)->frontier : Offset(-1);
  return batch;
}

Result<void> DeliveryStateStore::put(const DeliveryState& delivery) {
  Result<DeliveryBatch> batch = batch_of_one(delivery.ref.progress, delivery.ref.partition);
  if (!batch) {
    return fail(batch);
  }
  if (delivery.ref.offset <= batch->frontier) {
    return {};  // terminal already: the removal that made it so wins
  }
  batch->puts.push_back(delivery);
  return apply(*batch);
}

Result<bool> DeliveryStateStore::remove(const DeliveryRef& ref, Outcome outcome) {
  const Result<std::optional<DeliveryState>> current = get(ref);
  if (!current) {
    return fail(current);
  }
  if (!*current) {
    return false;
  }
  Result<DeliveryBatch> batch = batch_of_one(ref.progress, ref.partition);
  if (!batch) {
    return fail(batch);
  }
  batch->removes.push_back({ref.offset, outcome, std::nullopt});
  const Result<void> applied = apply(*batch);
  return applied ? Result<bool>(true) : fail(applied);
}

}  // namespace ackline::state
