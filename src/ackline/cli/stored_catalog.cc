#include "ackline/cli/stored_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ackline/base/clock.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/meta/local/local_meta_store.h"
#include "ackline/runtime/catalog_records.h"

namespace ackline::cli {
namespace {

// Reads into one catalog; what cannot be read is the error, or listed.
struct Reader {
  meta::MetaStore& meta;
  std::vector<BadRecord>* bad;

  [[nodiscard]] Result<void> wrong(const std::string& key, const Error& error) const {
    if (bad == nullptr) return fail(error.code, key + ": " + error.detail);
    bad->push_back({key, error});
    return {};
  }
  // The record under the one key, if there is one.
  template <class Record>
  [[nodiscard]] Result<void> one(std::string_view key, Result<Record> (*decode)(std::string_view),
                                 Record& out) const {
    const auto entry = meta.get(key);
    if (!entry) return wrong(std::string(key), entry.error());
    if (!*entry) return {};
    auto record = decode((*entry)->value);
    if (!record) return wrong(std::string(key), record.error());
    out = std::move(*record);
    return {};
  }
  template <class Record>
  [[nodiscard]] Result<void> each(std::string_view prefix,
                                  Result<Record> (*decode)(std::string_view),
                                  const std::function<void(Record)>& take) const {
    const auto read = meta.get_with_prefix(prefix);
    if (!read) return wrong(std::string(prefix), read.error());
    for (const meta::Entry& entry : read->entries) {
      auto record = decode(entry.value);
      if (record) {
        take(std::move(*record));
      } else if (auto done = wrong(entry.key, record.error()); !done) {
        return done;
      }
    }
    return {};
  }
  [[nodiscard]] Result<void> read(StoredCatalog& out) const;
};

// What no number can be read from is 0, as where no server has started yet.
Result<std::uint32_t> decode_shards(std::string_view text) {
  std::uint32_t count = 0;
  static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), count));
  return count;
}

// That there is one says it.
Result<bool> decode_rows(std::string_view /*text*/) {
  return true;
}

Result<void> Reader::read(StoredCatalog& out) const {
  if (auto done = one(runtime::kShardsKey, decode_shards, out.shards); !done) return done;
  if (auto done = one(runtime::kNumbersKey, runtime::decode_numbers, out.numbers); !done) {
    return done;
  }
  if (auto done = one(runtime::kJournalsKey, runtime::decode_journals, out.started); !done) {
    return done;
  }
  if (auto done = one(runtime::kDeliveriesKey, decode_rows, out.rows); !done) return done;
  auto done = each<runtime::Topic>(runtime::kTopicsPrefix, runtime::decode_topic,
                                   [&out](runtime::Topic topic) {
                                     std::string name = topic.name;
                                     out.topics.insert_or_assign(std::move(name), std::move(topic));
                                   });
  if (!done) return done;
  done = each<runtime::Group>(
      runtime::kGroupsPrefix, runtime::decode_group,
      [&out](runtime::Group group) { out.groups.push_back(std::move(group)); });
  if (!done) return done;
  return each<runtime::Lane>(runtime::kLanesPrefix, runtime::decode_lane,
                             [&out](runtime::Lane lane) { out.lanes.push_back(std::move(lane)); });
}

}  // namespace

std::vector<PartitionNumber> StoredCatalog::partitions_of(ShardIndex shard) const {
  std::vector<PartitionNumber> all;
  for (const auto& [name, topic] : topics) {
    for (std::uint32_t i = 0; i < topic.partitions.size(); ++i) {
      if (runtime::shard_of_partition(name, PartitionIndex(i), shards) != shard) continue;
      all.push_back(topic.partitions[i]);
      all.push_back(topic.dead_letters[i]);
    }
  }
  return all;
}

std::map<PartitionNumber, std::string> StoredCatalog::partition_names() const {
  std::map<PartitionNumber, std::string> names;
  for (const auto& [name, topic] : topics) {
    for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
      names[topic.partitions[i]] = fmt::format("{}/{}", name, i);
      names[topic.dead_letters[i]] = fmt::format("{}_DLQ/{}", name, i);
    }
  }
  return names;
}

runtime::KnownParts StoredCatalog::parts() const {
  return {shards > 0 ? std::optional(shards) : std::nullopt, !topics.empty(), numbers.partition};
}

void StoredCatalog::expect_started(ShardIndex shard, io::RecoverOptions& options) const {
  if (started.size() != shards || shard.value() >= started.size()) return;
  const runtime::StartedJournal& one = started[shard.value()];
  options.synced_at_least = std::max(options.synced_at_least, one.through);
  options.journal_id = one.id;
}

std::string StoredCatalog::name_of(ProgressNumber progress) const {
  for (const runtime::Group& group : groups) {
    if (group.number == progress) return fmt::format("{}/{}", group.topic, group.name);
  }
  for (const runtime::Lane& lane : lanes) {
    if (lane.number == progress) {
      return fmt::format("lane r-{} of {}/{}", progress.value(), lane.topic, lane.group);
    }
  }
  return fmt::format("progress {}, which was deleted", progress.value());
}

Result<StoredCatalog> read_stored_catalog(io::FileSystem& fs, const std::string& meta_path,
                                          std::vector<BadRecord>* bad) {
  const auto made = io::rocksdb_is_made(fs, meta_path);
  if (!made) return fail(made);
  if (!*made) return fail(ErrorCode::kNotFound, "there is no store in " + meta_path);
  auto kv = io::open_rocksdb(fs, meta_path);
  if (!kv) return fail(kv);
  const SystemClock clock;
  auto meta = meta::open_local_meta_store(**kv, clock);
  if (!meta) return fail(meta);
  StoredCatalog out;
  if (auto done = Reader{**meta, bad}.read(out); !done) return fail(done);
  return out;
}

}  // namespace ackline::cli
