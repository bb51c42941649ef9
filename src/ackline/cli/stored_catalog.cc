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

template <class Record>
Result<void> each_record(meta::MetaStore& meta, std::string_view prefix,
                         Result<Record> (*decode)(std::string_view),
                         const std::function<void(Record)>& take) {
  const auto read = meta.get_with_prefix(prefix);
  if (!read) return fail(read);
  for (const meta::Entry& entry : read->entries) {
    auto record = decode(entry.value);
    if (!record) return fail(record.error().code, entry.key + ": " + record.error().detail);
    take(std::move(*record));
  }
  return {};
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

Result<StoredCatalog> read_stored_catalog(io::FileSystem& fs, const std::string& meta_path) {
  const auto made = io::rocksdb_is_made(fs, meta_path);
  if (!made) return fail(made);
  if (!*made) return fail(ErrorCode::kNotFound, "there is no store in " + meta_path);
  auto kv = io::open_rocksdb(fs, meta_path);
  if (!kv) return fail(kv);
  const SystemClock clock;
  auto meta = meta::open_local_meta_store(**kv, clock);
  if (!meta) return fail(meta);
  StoredCatalog out;
  const auto shards = (*meta)->get(runtime::kShardsKey);
  if (!shards) return fail(shards);
  if (*shards) {
    const std::string& text = (*shards)->value;
    static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), out.shards));
  }
  const auto numbers = (*meta)->get(runtime::kNumbersKey);
  if (!numbers) return fail(numbers);
  if (*numbers) {
    const auto decoded = runtime::decode_numbers((*numbers)->value);
    if (!decoded) return fail(decoded);
    out.numbers = *decoded;
  }
  const auto journals = (*meta)->get(runtime::kJournalsKey);
  if (!journals) return fail(journals);
  if (*journals) {
    auto decoded = runtime::decode_journals((*journals)->value);
    if (!decoded) return fail(decoded);
    out.started = std::move(*decoded);
  }
  const auto rows = (*meta)->get(runtime::kDeliveriesKey);
  if (!rows) return fail(rows);
  out.rows = rows->has_value();
  auto done = each_record<runtime::Topic>(
      **meta, runtime::kTopicsPrefix, runtime::decode_topic, [&out](runtime::Topic topic) {
        std::string name = topic.name;
        out.topics.insert_or_assign(std::move(name), std::move(topic));
      });
  if (!done) return fail(done);
  done = each_record<runtime::Group>(
      **meta, runtime::kGroupsPrefix, runtime::decode_group,
      [&out](runtime::Group group) { out.groups.push_back(std::move(group)); });
  if (!done) return fail(done);
  done = each_record<runtime::Lane>(
      **meta, runtime::kLanesPrefix, runtime::decode_lane,
      [&out](runtime::Lane lane) { out.lanes.push_back(std::move(lane)); });
  if (!done) return fail(done);
  return out;
}

}  // namespace ackline::cli
