#include "tests/support/state/journal_delivery_state_store.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ackline::state {
namespace {

template <class Record>
JournalBody body_of(const Record& record) {
  JournalBody out{Record::kType, {}};
  record.encode(out.body);
  return out;
}

const DeliveryState* known_state(const ImageProgress* progress, Offset offset) {
  if (progress == nullptr) {
    return nullptr;
  }
  const auto found = progress->deliveries.find(offset);
  return found == progress->deliveries.end() ? nullptr : &found->second.state;
}

// What an offset's put looks like to the journal: an offer, and an end when it waits.
void append_put(std::vector<JournalBody>& out, const DeliveryState& put,
                const DeliveryState* known) {
  OfferRecord offer;
  offer.progress = put.ref.progress;
  offer.offset = put.ref.offset;
  offer.slot = put.ref.slot;
  offer.offer = put.ref.offer;
  offer.attempt = put.attempt;
  offer.restarts = put.restarts;
  offer.losses = put.losses;
  offer.client = put.client;
  offer.lease_ms = put.leased ? put.due_in_ms : 0;
  offer.key_hash = put.key_hash;
  offer.redelivery = known != nullptr || put.attempt > 1;
  offer.lane = put.lane;
  EndRecord end;
  end.progress = put.ref.progress;
  end.offset = put.ref.offset;
  end.slot = put.ref.slot;
  end.offer = put.ref.offer;
  end.retry_in_ms = put.leased ? 0 : put.due_in_ms;
  end.error = put.last_error;
  const std::string_view known_error = known != nullptr ? known->last_error : std::string_view();
  out.push_back(body_of(offer));
  if (!put.leased) {
    out.push_back(body_of(end));
  } else if (put.last_error != known_error) {
    // The error belongs to an attempt before: say so, then lease it again.
    out.push_back(body_of(end));
    out.push_back(body_of(offer));
  }
}

}  // namespace

JournalDeliveryStateStore::JournalDeliveryStateStore(DeliveryJournal& journal, const Clock& clock,
                                                     DeliveryImage image)
    : journal_(journal), clock_(clock), opened_at_(clock.mono()), image_(std::move(image)) {}

StoreHealth JournalDeliveryStateStore::health() const {
  return health_;
}

Result<void> JournalDeliveryStateStore::require_open() const {
  return closed_ ? fail(ErrorCode::kUnavailable, "the delivery store is closed") : Result<void>();
}

void JournalDeliveryStateStore::advance() {
  image_.advance_to(MonoMs(clock_.mono().value() - opened_at_.value()));
}

Result<void> JournalDeliveryStateStore::commit() {
  return require_open();  // `apply` wrote it
}

Result<void> JournalDeliveryStateStore::flush() {
  if (const Result<void> open = require_open(); !open) {
    return open;
  }
  const Result<void> synced = journal_.sync();
  health_ = synced ? StoreHealth{} : StoreHealth{false, synced.error().detail};
  return synced;
}

Result<void> JournalDeliveryStateStore::close() {
  if (closed_) {
    return {};
  }
  const Result<void> flushed = flush();
  closed_ = flushed.has_value();
  return flushed;
}

Result<void> JournalDeliveryStateStore::check(const DeliveryBatch& batch) const {
  const ImageProgress* const known = image_.find(batch.progress, batch.partition);
  const auto foreign = [this](const DeliveryState& put) { return put.epoch != image_.epoch(); };
  if (std::ranges::any_of(batch.puts, foreign)) {
    return fail(ErrorCode::kBadValue,
                "a put of another process's offer: the journal's records are of their writer");
  }
  return check_batch(batch, known == nullptr ? std::nullopt : std::optional(known->generation));
}

std::vector<JournalBody> JournalDeliveryStateStore::records_of(const DeliveryBatch& batch) const {
  std::vector<JournalBody> out;
  const ImageProgress* known = image_.find(batch.progress, batch.partition);
  const bool reset = known != nullptr && batch.generation > known->generation;
  if (known == nullptr || reset || batch.frontier > known->frontier) {
    ReopenRecord reopen;
    reopen.progress = batch.progress;
    reopen.generation = batch.generation;
    reopen.frontier = batch.frontier;
    reopen.kind = reset ? ReopenKind::kReset : ReopenKind::kStart;
    out.push_back(body_of(reopen));
  }
  if (reset) {
    known = nullptr;  // nothing of the old generation counts any more
  }
  std::map<Offset, const DeliveryState*> puts;  // the last of an offset counts
  for (const DeliveryState& put : batch.puts) {
    puts[put.ref.offset] = &put;
  }
  for (const auto& [offset, put] : puts) {
    if (known != nullptr && known->is_settled(offset)) {
      continue;
    }
    append_put(out, *put, known_state(known, offset));
  }
  // After the puts, so that what is terminal wins.
  std::map<Outcome, std::vector<OffsetRange>> ranges;
  for (const SettledRange& one : batch.settled) {
    ranges[one.outcome].push_back(one.range);
  }
  for (const Removal& removal : batch.removes) {
    if (removal.dead) {
      out.push_back({RecordType::kSettle, {}});
      SettleRecord::encode_one(out.back().body, batch.progress, removal.outcome, removal.offset,
                               removal.dead);
    } else {
      ranges[removal.outcome].push_back({removal.offset, removal.offset});
    }
  }
  for (auto& [outcome, list] : ranges) {
    normalise(list);
    out.push_back({RecordType::kSettle, {}});
    SettleRecord::encode_ranges(out.back().body, batch.progress, outcome, list);
  }
  return out;
}

Result<void> JournalDeliveryStateStore::write(PartitionNumber partition,
                                              const std::vector<JournalBody>& records) {
  if (records.empty()) {
    return {};
  }
  if (const Result<void> written = journal_.write(partition, records); !written) {
    health_ = {false, written.error().detail};
    return written;
  }
  health_ = {};
  for (const JournalBody& record : records) {
    const Result<void> applied = image_.apply(record.type, partition, as_bytes(record.body));
    if (!applied) {
      return applied;
    }
  }
  return {};
}

Result<void> JournalDeliveryStateStore::apply(const DeliveryBatch& batch) {
  if (const Result<void> open = require_open(); !open) {
    return open;
  }
  if (const Result<void> fine = check(batch); !fine) {
    return fine;
  }
  advance();
  return write(batch.partition, records_of(batch));
}

Result<std::optional<DeliveryState>> JournalDeliveryStateStore::get(const DeliveryRef& ref) {
  if (const Result<void> open = require_open(); !open) {
    return fail(open);
  }
  advance();
  const ImageProgress* const known = image_.find(ref.progress, ref.partition);
  if (known == nullptr) {
    return std::optional<DeliveryState>();
  }
  const auto found = known->deliveries.find(ref.offset);
  if (found == known->deliveries.end() || found->second.state.ref != ref) {
    return std::optional<DeliveryState>();
  }
  return std::optional(image_.at_now(found->second));
}

Result<std::optional<StoredProgress>> JournalDeliveryStateStore::progress(
    ProgressNumber progress, PartitionNumber partition) {
  if (const Result<void> open = require_open(); !open) {
    return fail(open);
  }
  const ImageProgress* const known = image_.find(progress, partition);
  if (known == nullptr) {
    return std::optional<StoredProgress>();
  }
  StoredProgress out{known->generation, known->frontier, {}};
  for (const auto& [first, last] : known->settled) {
    out.settled.push_back({first, last});
  }
  return std::optional(std::move(out));
}

Result<void> JournalDeliveryStateStore::iterate(
    ProgressNumber progress, const std::function<bool(const DeliveryState&)>& visit) {
  if (const Result<void> open = require_open(); !open) {
    return open;
  }
  advance();
  const auto& all = image_.all();
  for (auto at = all.lower_bound({progress, PartitionNumber()});
       at != all.end() && at->first.first == progress; ++at) {
    for (const auto& [offset, delivery] : at->second.deliveries) {
      if (!visit(image_.at_now(delivery))) {
        return {};
      }
    }
  }
  return {};
}

Result<std::size_t> JournalDeliveryStateStore::count() {
  const Result<void> open = require_open();
  return open ? Result<std::size_t>(image_.delivery_count()) : fail(open);
}

Result<void> JournalDeliveryStateStore::mark_alive() {
  if (const Result<void> open = require_open(); !open) {
    return open;
  }
  advance();
  AliveRecord alive;
  alive.elapsed = MonoMs(clock_.mono().value() - opened_at_.value());
  alive.wall = clock_.wall();
  return write(PartitionNumber(), {body_of(alive)});
}

}  // namespace ackline::state
