// KvDeliveryStateStore: what is there when it is opened, and rows as a whole.
#include <algorithm>
#include <limits>

#include "ackline/base/check.h"
#include "ackline/state/backend/kv_delivery_part.h"

namespace ackline::state {

using rows::Kind;

namespace {

constexpr std::size_t kForgetBatch = 10'000;

// Hands each row to `take` until it fails.
Result<void> scan_rows(
    const io::KeyValue& kv, const std::string& prefix,
    const std::function<Result<void>(std::string_view, std::string_view)>& take) {
  Result<void> outcome;
  const Result<void> scanned =
      kv.scan(prefix, "", [&](std::string_view key, std::string_view value) {
        outcome = take(key, value);
        return outcome.has_value();
      });
  return scanned ? outcome : scanned;
}

Result<void> remove_rows(io::KeyValue& kv, const std::string& prefix) {
  while (true) {
    std::vector<io::KeyValueWrite> writes;
    const Result<void> scanned =
        kv.scan(prefix, "", [&writes](std::string_view key, std::string_view) {
          writes.push_back({std::string(key), std::nullopt});
          return writes.size() < kForgetBatch;
        });
    if (!scanned || writes.empty()) {
      return scanned;
    }
    if (auto done = kv.write(writes, true); !done) {
      return done;
    }
  }
}

}  // namespace

Result<std::unique_ptr<KvDeliveryStateStore>> KvDeliveryStateStore::open(
    io::KeyValue& kv, const Clock& clock, KvDeliveryOptions options) {
  std::unique_ptr<KvDeliveryStateStore> store(
      new KvDeliveryStateStore(kv, clock, std::move(options)));
  if (auto loaded = store->load(); !loaded) {
    return fail(loaded);
  }
  return store;
}

Result<void> KvDeliveryStateStore::load() {
  if (auto shard = load_shard(); !shard) {
    return shard;
  }
  if (!options_.partitions) {
    return load_rows(rows::prefix(Kind::kHead), rows::prefix(Kind::kSettled),
                     rows::prefix(Kind::kDelivery), rows::prefix(Kind::kNote));
  }
  for (const PartitionNumber partition : *options_.partitions) {
    const Result<void> loaded =
        load_rows(rows::prefix(Kind::kHead, partition), rows::prefix(Kind::kSettled, partition),
                  rows::prefix(Kind::kDelivery, partition), rows::prefix(Kind::kNote, partition));
    if (!loaded) {
      return loaded;
    }
  }
  return {};
}

// The shard's own row; a store that begins has none.
Result<void> KvDeliveryStateStore::load_shard() {
  const auto own = read_delivery_shard(kv_, options_.shards, options_.shard);
  if (!own) {
    return fail(own);
  }
  if (*own) {
    shard_ = **own;
  }
  return {};
}

Result<void> KvDeliveryStateStore::load_rows(const std::string& heads, const std::string& settled,
                                             const std::string& deliveries,
                                             const std::string& notes) {
  const auto heads_read =
      scan_rows(kv_, heads, [this](std::string_view key, std::string_view value) -> Result<void> {
        const auto place = rows::place_of(key);
        const auto head = rows::decode_head(key, value);
        if (!place || !head) {
          return place ? fail(head) : fail(place);
        }
        const Key of{place->progress, place->partition};
        parts_[of] = std::make_unique<Part>(of, head->generation, head->frontier);
        return {};
      });
  if (!heads_read) {
    return heads_read;
  }
  const auto part_at = [this](const rows::Place& place, std::string_view key) -> Result<Part*> {
    const auto found = parts_.find({place.progress, place.partition});
    if (found == parts_.end()) {
      return fail(ErrorCode::kCorrupt, "a delivery row has no progress: '" + std::string(key) + "'",
                  std::string(kDeliveriesRemedy));
    }
    return found->second.get();
  };
  const auto each = [&](const std::string& prefix, const auto& take) {
    return scan_rows(kv_, prefix,
                     [&](std::string_view key, std::string_view value) -> Result<void> {
                       const auto place = rows::place_of(key);
                       if (!place) {
                         return fail(place);
                       }
                       const auto part = part_at(*place, key);
                       return part ? take(**part, *place, key, value) : fail(part);
                     });
  };
  const auto settled_read =
      each(settled,
           [](Part& part, const rows::Place& place, std::string_view key,
              std::string_view value) -> Result<void> {
             const auto ranges = rows::decode_chunk(key, place.place, value);
             if (!ranges) {
               return fail(ranges);
             }
             part.stored_chunks.insert(place.place);
             for (const OffsetRange& range : *ranges) {
               if (auto done = part.frontier.restore_settled(range.first, range.last); !done) {
                 return done;
               }
             }
             return {};
           });
  if (!settled_read) {
    return settled_read;
  }
  const auto deliveries_read = each(
      deliveries, [](Part& part, const rows::Place& place, std::string_view, std::string_view) {
        part.stored.insert(place.place);
        return Result<void>();
      });
  if (!deliveries_read) {
    return deliveries_read;
  }
  return each(notes, [](Part& part, const rows::Place& place, std::string_view, std::string_view) {
    part.stored_notes.emplace(place.note);
    return Result<void>();
  });
}

Result<std::optional<rows::ShardRow>> read_delivery_shard(io::KeyValue& kv, std::uint32_t shards,
                                                          ShardIndex shard) {
  const std::string key = rows::shard_key(shards, shard);
  const auto value = kv.get(key);
  if (!value) {
    return fail(value);
  }
  if (!*value) {
    return std::optional<rows::ShardRow>();
  }
  auto row = rows::decode_shard(key, **value);
  return row ? Result<std::optional<rows::ShardRow>>(*row) : fail(row);
}

Result<void> forget_unknown_deliveries(
    io::KeyValue& kv, const std::function<bool(ProgressNumber, PartitionNumber)>& known) {
  std::vector<KvDeliveryStateStore::Key> unknown;
  const Result<void> scanned = scan_rows(
      kv, rows::prefix(Kind::kHead), [&](std::string_view key, std::string_view) -> Result<void> {
        const auto place = rows::place_of(key);
        if (!place) {
          return fail(place);
        }
        if (!known(place->progress, place->partition)) {
          unknown.emplace_back(place->progress, place->partition);
        }
        return {};
      });
  if (!scanned) {
    return scanned;
  }
  for (const auto& [progress, partition] : unknown) {
    // The head last: while it is there the rest is found again.
    for (const Kind kind : {Kind::kDelivery, Kind::kSettled, Kind::kNote, Kind::kHead}) {
      if (auto done = remove_rows(kv, rows::prefix(kind, partition, progress)); !done) {
        return done;
      }
    }
  }
  return {};
}

Result<void> clear_deliveries(io::KeyValue& kv) {
  return remove_rows(kv, "");
}

}  // namespace ackline::state
