// Boot of a shard: sections of the checkpoint, records of the journal, the new journal file, and
// only then work (J9, J10).
#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/base/logging.h"
#include "ackline/base/metric_names.h"
#include "ackline/log/local/format.h"
#include "ackline/runtime/shard.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/runtime/shard_metrics.h"

namespace ackline::runtime {
namespace {

const io::CheckpointSection* find_section(const std::vector<io::Checkpoint*>& checkpoints,
                                          PartitionNumber number) {
  for (const io::Checkpoint* checkpoint : checkpoints) {
    for (const io::CheckpointSection& section : checkpoint->sections) {
      if (section.partition == number) return &section;
    }
  }
  return nullptr;
}

// Its counts are in meta.
void reduce_if_done(delivery::Dispatcher& dispatcher, StoredDeliveries* rows, const Lane& lane) {
  if (lane.state != LaneState::kDone) return;
  for (const delivery::ProgressKey& key : dispatcher.reduce_lane(lane.number)) {
    if (rows != nullptr) rows->touch(key);
  }
}

}  // namespace

Result<void> Shard::open_partition(const TopicPtr& topic, PartitionIndex index, bool dead_letter,
                                   const std::vector<io::Checkpoint*>& checkpoints,
                                   std::uint32_t old_shards) {
  const PartitionNumber number =
      dead_letter ? topic->dead_letters[index.value()] : topic->partitions[index.value()];
  const io::CheckpointSection* section = find_section(checkpoints, number);
  std::optional<std::string_view> log_section;
  std::string_view deliveries;
  std::string why_damaged;
  std::optional<Lsn> deliveries_applied;
  if (section != nullptr) {
    ByteReader in(as_bytes(section->body));
    bool sound = true;
    if (in.u8() == kSectionQuarantined) {
      why_damaged = in.blob();
      static_cast<void>(in.blob());
      sound = in.ok() && in.empty();
    } else if (const auto good = read_good_section(in)) {
      log_section = good->log;
      deliveries = good->deliveries;
      deliveries_applied = good->deliveries_applied;
    } else {
      sound = false;
    }
    if (!sound) {
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("the checkpoint's section of partition {} does not add up", number.value()),
          "Run ackline doctor.");
    }
  }
  auto log = log::LocalPartition::open(deps_.fs,
                                       log::format::partition_directory(options_.log_path, number),
                                       number, log_section, cache_, options_.partition);
  if (!log) return fail(log);
  Partition partition;
  partition.log = std::move(*log);
  partition.topic = topic;
  partition.index = index;
  partition.dead_letter = dead_letter;
  if (section != nullptr) {
    partition.applied = section->applied;
    partition.deliveries_applied = deliveries_applied.value_or(section->applied);
  }
  partition.committed_end = partition.log->next_offset();
  if (!dead_letter) {
    published_[number] = deps_.metrics.counter(metric::kEventsPublished, {{"topic", topic->name}});
  }
  delivery::PartitionSpec spec;
  spec.number = number;
  spec.index = index;
  spec.topic = topic->name;
  spec.incarnation = topic->incarnation;
  spec.dlq_number = dead_letter ? PartitionNumber{0} : topic->dead_letters[index.value()];
  spec.log_start = partition.log->log_start();
  spec.end = partition.log->synced_end();
  spec.journal = shard_of_partition(topic->name, index, old_shards).value();
  partitions_.insert_or_assign(number, std::move(partition));
  dispatcher_->add_partition(std::move(spec));
  if (!why_damaged.empty()) {
    quarantine(number, why_damaged);
    return {};
  }
  // Rows know better than a section from before there were rows.
  if (deliveries.empty() || options_.delivery_rows_before) return {};
  return dispatcher_->restore(number, as_bytes(deliveries));
}

Result<void> Shard::open_partitions(const Catalog& catalog,
                                    const std::vector<io::Checkpoint*>& checkpoints,
                                    std::uint32_t old_shards) {
  catalog_ = catalog;
  for (const GroupPtr& group : catalog_.groups({})) add_group(group);
  for (const TopicPtr& topic : catalog_.topics()) {
    for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
      const PartitionIndex index(i);
      if (shard_of_partition(topic->name, index, options_.shards) != options_.index) continue;
      for (const bool dead_letter : {false, true}) {
        if (auto done = open_partition(topic, index, dead_letter, checkpoints, old_shards); !done) {
          return done;
        }
      }
    }
  }
  for (const io::Checkpoint* checkpoint : checkpoints) {
    for (const io::DamagedSection& damaged : checkpoint->damaged) {
      quarantine(damaged.partition, damaged.detail);
    }
    if (!checkpoint->unnamed_damage) continue;
    for (auto& [number, partition] : partitions_) {
      if (find_section(checkpoints, number) == nullptr) {
        quarantine(number, "the checkpoint is damaged and does not name the partitions it lost");
      }
    }
  }
  if (!options_.delivery_rows_before) return {};
  if (old_shards != options_.shards) return restore_rows_of(old_shards);
  rows_only_ = options_.delivery_rows;
  if (auto done = open_rows(); !done) return done;
  return rows_->restore(*dispatcher_, options_.epoch);
}

void Shard::quarantine(PartitionNumber number, const std::string& why) {
  const auto found = partitions_.find(number);
  if (found == partitions_.end()) return;
  const Partition& partition = found->second;
  log_error("a partition is quarantined", {{"topic", partition.topic->name},
                                           {"partition", partition.index},
                                           {"number", number},
                                           {"why", why}});
  if (!found->second.damaged) ++quarantined_;
  found->second.damaged = true;
  dispatcher_->distrust(number);
  constexpr std::string_view kSaid = "is quarantined: ";
  const auto said = why.rfind(kSaid);  // perhaps, when it was found
  found->second.log->quarantine(
      Error{ErrorCode::kQuarantined,
            fmt::format("partition {} of {} is quarantined: {}", partition.index.value(),
                        partition.topic->name,
                        said == std::string::npos ? why : why.substr(said + kSaid.size())),
            "Run ackline doctor; the other partitions go on.",
            {}});
}

Result<void> Shard::replay(Lsn lsn, const io::JournalRecord& record) {
  const auto found = partitions_.find(record.partition);
  ACKLINE_CHECK(found != partitions_.end());
  Partition& partition = found->second;
  if (lsn <= partition.applied || partition.damaged) return {};
  const auto type = static_cast<state::RecordType>(record.type);
  if (type == state::RecordType::kPublish) {
    if (auto done = partition.log->replay_publish(record.body); !done) {
      if (done.error().code != ErrorCode::kCorrupt) return done;
      quarantine(record.partition, done.error().detail);
    }
    return {};
  }
  if (type == state::RecordType::kLogStart) {
    auto start = state::LogStartRecord::decode(record.body);
    if (!start) return fail(start);
    partition.log->replay_log_start(start->offset);
  } else if (options_.delivery_rows_before) {
    if (lsn <= rows_contained_) return {};
    if (rows_) rows_->record(type, record.partition, record.body);
  } else if (lsn <= partition.deliveries_applied) {
    return {};
  }
  return dispatcher_->apply(type, record.partition, record.body);
}

Result<void> Shard::replay_shard_record(const io::JournalRecord& record) {
  if (options_.delivery_rows_before) return {};  // rows have times and starts of their own
  return dispatcher_->apply(static_cast<state::RecordType>(record.type), record.partition,
                            record.body);
}

void Shard::quarantine_hit(const io::JournalDamage& damage, std::uint32_t below) {
  const bool of_batches = damage.first <= damage.last;  // else of the journal as such
  for (auto& [number, partition] : partitions_) {
    if (number.value() >= below) continue;
    if (of_batches && partition.applied >= damage.last) continue;
    if (damage.every_partition || std::ranges::binary_search(damage.partitions, number)) {
      quarantine(number, damage.detail);
    }
  }
}

Result<void> Shard::finish_replay() {
  dispatcher_->end_replay();
  for (auto& [number, partition] : partitions_) {
    if (partition.damaged) continue;
    if (auto done = partition.log->finish_replay(); !done) {
      if (done.error().code != ErrorCode::kQuarantined) return done;
      quarantine(number, done.error().detail);
    }
  }
  return {};
}

Result<void> Shard::start_journal(const io::JournalRecovery& recovered) {
  if (auto done = finish_replay(); !done) return done;
  scratch_.clear();
  state::BootRecord{options_.epoch, options_.shards}.encode(scratch_);
  const io::JournalRecord boot{static_cast<std::uint8_t>(state::RecordType::kBoot),
                               PartitionNumber{0}, as_bytes(scratch_)};
  io::JournalOptions options{.fs = deps_.fs,
                             .directory = options_.journal_path,
                             .shard = options_.index,
                             .executor = deps_.executor,
                             .storage = *sync_storage_};
  options.new_journal_id = Random(options_.random_seed ^ 0x6a6f75726e616cU).next() | 1U;
  options.file_bytes = options_.journal_file_bytes;
  options.sync_interval_ms = options_.sync_interval_ms;
  auto journal = io::Journal::open(std::move(options), recovered, boot);
  if (!journal) return fail(journal);
  journal_ = std::move(*journal);
  journal_->on_synced([this](Lsn synced) { on_synced(synced); });
  journal_->on_poisoned([this](const Error& why) { on_poisoned(why); });
  return {};
}

void Shard::resume(bool clean) {
  for (auto& [number, partition] : partitions_) {
    const Offset end = partition.log->next_offset();
    partition.log->on_synced(end);
    partition.committed_end = end;
    dispatcher_->on_available(number, end);
  }
  for (const GroupPtr& group : catalog_.groups({})) open_group(group);
  for (const SubscriptionPtr& one : catalog_.subscriptions({})) add_subscription(one);
  dispatcher_->resume(now(), wall(), clean);
  dispatcher_->end_unknown_lanes(
      [this](ProgressNumber lane) { return catalog_.lane(lane) != nullptr; }, now());
  for (const LanePtr& lane : catalog_.lanes()) reduce_if_done(*dispatcher_, rows_.get(), *lane);
  started_ = true;
  due_.retention = now().plus(options_.retention_interval_ms);
  deps_.executor.post([this] { schedule_turn(); });
}

// --- the catalog

void Shard::add_group(const GroupPtr& group) {
  const bool known = group_metrics_.contains(group->number);
  if (known) {
    dispatcher_->update_group(group->number, group->policy);
    return;
  }
  dispatcher_->add_group(
      {group->number, group->topic, group->name, group->principal, group->policy});
  group_metrics_[group->number] = std::make_unique<GroupMetrics>(deps_.metrics, *group);
}

// Opens the group's progress on each partition that this shard has; one that is open already stays
// as it is.
void Shard::open_group(const GroupPtr& group) {
  const TopicPtr topic = catalog_.topic(group->topic);
  if (!topic) return;
  for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
    if (!partitions_.contains(topic->partitions[i])) continue;
    const Offset start = i < group->start.size() ? group->start[i] : Offset{0};
    dispatcher_->open_progress({group->number, topic->partitions[i]}, start);
  }
}

void Shard::add_subscription(const SubscriptionPtr& one) {
  const GroupPtr group = catalog_.group(one->topic, one->group);
  if (!group) return;
  delivery::ClientSpec client;
  client.number = one->number;
  client.client_id = one->client_id;
  client.principal = one->principal;
  client.group = group->number;
  client.partitions = one->partitions;
  client.ack_timeout_ms = static_cast<std::int64_t>(one->ack_timeout_ms);
  client.max_lease_ms = static_cast<std::int64_t>(one->max_lease_ms);
  dispatcher_->add_client(std::move(client), now());
}

void Shard::add_topic(const TopicPtr& topic) {
  const TopicPtr before = catalog_.topic(topic->name);
  catalog_.apply(topic);
  if (before) {
    for (auto& [number, partition] : partitions_) {
      if (partition.topic == before) partition.topic = topic;
    }
    return;
  }
  for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
    const PartitionIndex index(i);
    if (shard_of_partition(topic->name, index, options_.shards) != options_.index) continue;
    for (const bool dead_letter : {false, true}) {
      if (auto done = open_partition(topic, index, dead_letter, {}, options_.shards); !done) {
        log_error("a new partition could not be opened",
                  {{"topic", topic->name}, {"partition", i}, {"error", done.error().detail}});
      }
    }
  }
  if (topic->retention.age_ms || topic->retention.bytes) {
    due_.retention = now().plus(options_.retention_interval_ms);
  }
}

void Shard::remove_topic(const TopicPtr& topic) {
  for (const auto* numbers : {&topic->partitions, &topic->dead_letters}) {
    for (const PartitionNumber number : *numbers) {
      const auto found = partitions_.find(number);
      if (found == partitions_.end()) continue;
      dispatcher_->remove_partition(number);
      // Not under the hands of a checkpoint that syncs its directory.
      if (checkpoint_ != nullptr && !checkpoint_->written) {
        checkpoint_->removed.push_back(std::move(found->second.log));
      } else {
        remove_files(*found->second.log);
      }
      cache_.drop(number);
      partitions_.erase(found);
      published_.erase(number);
    }
  }
  if (rows_) rows_->forget_gone(*dispatcher_);
  deps_.metrics.remove({{"topic", topic->name}});
}

void Shard::adopt(const Delta& delta) {
  for (const Change& change : delta) {
    if (const auto* topic = std::get_if<TopicPtr>(&change)) {
      add_topic(*topic);
      continue;
    }
    if (const auto* gone = std::get_if<RemoveTopic>(&change)) {
      if (const TopicPtr topic = catalog_.topic(gone->name)) remove_topic(topic);
    } else if (const auto* gone_group = std::get_if<RemoveGroup>(&change)) {
      if (const GroupPtr group = catalog_.group(gone_group->topic, gone_group->name)) {
        dispatcher_->remove_group(group->number);
        if (rows_) rows_->forget_gone(*dispatcher_);
        group_metrics_.erase(group->number);
        std::erase_if(exported_,
                      [&](const auto& one) { return one.first.progress == group->number; });
        deps_.metrics.remove({{"topic", group->topic}, {"group", group->name}});
      }
    } else if (const auto* gone_lane = std::get_if<RemoveLane>(&change)) {
      dispatcher_->end_lane(gone_lane->number, now());
    } else if (const auto* gone_client = std::get_if<RemoveSubscription>(&change)) {
      if (const auto one = catalog_.subscription(gone_client->topic, gone_client->client_id)) {
        dispatcher_->remove_client(one->number, now());
      }
    }
    catalog_.apply(change);
    if (const auto* group = std::get_if<GroupPtr>(&change)) {
      add_group(*group);
      open_group(*group);
    } else if (const auto* one = std::get_if<SubscriptionPtr>(&change)) {
      add_subscription(*one);
    } else if (const auto* lane = std::get_if<LanePtr>(&change)) {
      reduce_if_done(*dispatcher_, rows_.get(), **lane);
    }
  }
  schedule_turn();
}

}  // namespace ackline::runtime
