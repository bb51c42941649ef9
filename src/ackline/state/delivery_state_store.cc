#include "ackline/state/delivery_state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ackline::state {
namespace {

Result<void> bad(std::string detail) {
  return fail(ErrorCode::kBadValue, std::move(detail));
}

}  // namespace

Result<void> check_batch(const DeliveryBatch& batch, std::optional<Generation> known) {
  if (known && batch.generation < *known) {
    return fail(ErrorCode::kStale,
                fmt::format("a batch of generation {}; progress {} is at {}",
                            batch.generation.value(), batch.progress.value(), known->value()));
  }
  if (batch.frontier < Offset(-1)) {
    return bad(fmt::format("frontier {} lies below -1", batch.frontier.value()));
  }
  for (const SettledRange& one : batch.settled) {
    if (one.range.first < Offset(0) || one.range.count() == 0) {
      return bad(fmt::format("{} to {} is no range of offsets", one.range.first.value(),
                             one.range.last.value()));
    }
  }
  for (const DeliveryState& put : batch.puts) {
    if (put.ref.progress != batch.progress || put.ref.partition != batch.partition) {
      return bad("a put of another progress or partition than its batch's");
    }
    if (put.ref.offset <= batch.frontier || put.attempt == 0) {
      return bad(fmt::format("a put of offset {}, attempt {}, at frontier {}",
                             put.ref.offset.value(), put.attempt, batch.frontier.value()));
    }
  }
  const auto below = [](const Removal& removal) { return removal.offset < Offset(0); };
  return std::ranges::any_of(batch.removes, below) ? bad("a removal below offset 0")
                                                   : Result<void>();
}

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
