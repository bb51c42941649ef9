// Boot of a node: meta, then for each shard its checkpoint and its journal, then the new journal
// files (J9 to J12).
#include <fmt/format.h>

#include "ackline/base/logging.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/data_parts.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/node.h"
#include "ackline/runtime/shard_checkpoint.h"

namespace ackline::runtime {
namespace {

constexpr std::string_view kRows = "rocksdb";

Result<std::optional<std::string>> get_text(meta::MetaStore& meta, std::string_view key) {
  auto entry = meta.get(key);
  if (!entry) return fail(entry);
  if (!*entry) return std::optional<std::string>();
  return std::optional<std::string>((*entry)->value);
}

// What a checkpoint includes of its shard's journal, and the moment at which its sections were
// taken.
struct JournalOrigin {
  std::optional<delivery::Dispatcher::Origin> time;
  Lsn applied;
};

JournalOrigin origin_of(const std::optional<io::Checkpoint>& checkpoint) {
  JournalOrigin origin;
  if (!checkpoint) return origin;
  for (const io::CheckpointSection& section : checkpoint->sections) {
    ByteReader in(as_bytes(section.body));
    if (in.u8() != kSectionGood) continue;  // of an earlier checkpoint, for the doctor
    const auto good = read_good_section(in);
    if (!good) continue;
    const auto one = delivery::Dispatcher::origin_of(as_bytes(good->deliveries));
    if (!one) continue;
    const Lsn applied = good->deliveries_applied.value_or(section.applied);
    if (!origin.time || origin.applied < applied) {
      origin = {one, applied};
    } else {
      origin.time->at = std::max(origin.time->at, one->at);
    }
  }
  return origin;
}

}  // namespace

// One shard of the layout that was.
struct Node::OldShard {
  std::string path;
  StartedJournal started;  // by the last start; id 0: not known
  std::optional<io::Checkpoint> checkpoint;
  io::JournalRecovery recovered;
};

Result<std::unique_ptr<Node>> Node::boot(NodeOptions options, NodeDependencies dependencies) {
  std::unique_ptr<Node> node(new Node(std::move(options), std::move(dependencies)));
  if (auto done = node->look_for_rows(); !done) return fail(done);
  node->make_units();
  Node* at = node.get();
  node->control_ = std::make_unique<Control>(
      Control::Dependencies{node->control_executor(), node->deps_.storage, node->deps_.meta,
                            node->deps_.subscriptions, node->deps_.offsets},
      [at](const std::shared_ptr<const Delta>& delta, Task adopted) {
        at->broadcast(delta, std::move(adopted));
      });
  auto audit = AuditLog::open(node->deps_.fs, node->options_.data_path + "/audit.log",
                              node->deps_.storage, node->control_executor());
  if (!audit) return fail(audit);
  node->audit_ = std::move(*audit);
  if (auto done = node->control_->load(); !done) return fail(done);
  io::failpoint(io::Failpoint::kBootMetaLoaded);
  node->next_progress_ = node->control_->numbers().progress;
  if (auto done = node->recover(); !done) return fail(done);
  node->tell_exported();
  return node;
}

// Where deliveries were kept when the data directory was used last.
Result<void> Node::look_for_rows() {
  auto where = get_text(deps_.meta, kDeliveriesKey);
  if (!where) return fail(where);
  rows_before_ = where->has_value();
  if (rows_before_ && **where != kRows) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("deliveries are in a store '{}' that this build does not know", **where),
        "Use the newer version of Ackline that wrote it.", "delivery.store");
  }
  if ((rows_before_ || options_.shard.delivery_rows) && deps_.deliveries == nullptr) {
    return fail(ErrorCode::kCorrupt,
                "deliveries were kept in the delivery store, and it is not there any more",
                std::string(state::kDeliveriesRemedy), "delivery.store");
  }
  return {};
}

// The journal of an old shard is in the rows through here.
Result<Lsn> Node::rows_contain(std::uint32_t old_count, std::uint32_t index) {
  auto row = state::read_delivery_shard(*deps_.deliveries, old_count, ShardIndex(index));
  if (!row) return fail(row);
  if (*row) return (*row)->journal;
  return fail(ErrorCode::kCorrupt,
              fmt::format("the delivery store knows nothing of shard {} of {}", index, old_count),
              std::string(state::kDeliveriesRemedy), "delivery.store");
}

// From here on deliveries are where the configuration wants them.
Result<void> Node::start_rows() {
  const bool rows = options_.shard.delivery_rows;
  if (rows && !rows_before_) {
    if (auto done = state::clear_deliveries(*deps_.deliveries); !done) return done;
    io::failpoint(io::Failpoint::kRowsCleared);
  }
  for (auto& unit : units_) {
    if (auto done = unit->shard->start_rows(was_clean_); !done) return done;
  }
  if (rows == rows_before_) return {};
  if (!rows) {
    if (auto done = deps_.meta.remove(kDeliveriesKey); !done) return fail(done);
  } else {
    if (auto done = deps_.meta.put(kDeliveriesKey, kRows); !done) return fail(done);
    io::failpoint(io::Failpoint::kRowsInMeta);
    for (auto& unit : units_) unit->shard->rows_are_kept();
  }
  log_info("deliveries are kept in another place from now on",
           {{"store", rows ? kRows : "journal"}});
  return {};
}

// Refuses before anything is changed.
Result<void> Node::check_parts(std::optional<std::uint32_t> shards) {
  const auto missing =
      missing_parts(deps_.fs, options_.data_path,
                    {shards, !control_->catalog().topics().empty(), control_->numbers().partition});
  if (!missing) return fail(missing);
  if (!missing->empty()) return std::unexpected(missing->front().why);
  return {};
}

// What the last start knows of the journals that it wrote.
Result<void> Node::know_started(std::vector<OldShard>& old) {
  auto text = get_text(deps_.meta, kJournalsKey);
  if (!text) return fail(text);
  if (!*text) return {};
  const auto journals = decode_journals(**text);
  if (!journals) return fail(journals);
  if (journals->size() != old.size()) return {};  // of a layout before
  for (std::size_t i = 0; i < old.size(); ++i) old[i].started = (*journals)[i];
  return {};
}

// Once the new files are on disk, and before anything is answered.
Result<void> Node::note_started() {
  std::vector<StartedJournal> journals;
  for (const auto& unit : units_) {
    const io::Journal& journal = unit->shard->own_journal();
    journals.push_back({journal.journal_id(), journal.synced()});
  }
  auto done = deps_.meta.put(kJournalsKey, encode(journals));
  if (done) return {};
  if (done.error().code != ErrorCode::kFull) return fail(done);
  // A full disk does not stop the start; what the one before wrote is still missed.
  log_warn("what this start wrote of the journals could not be noted",
           {{"error", done.error().detail}});
  return {};
}

Result<void> Node::recover() {
  auto layout = get_text(deps_.meta, kShardsKey);
  if (!layout) return fail(layout);
  std::uint32_t old_count = shard_count();
  if (*layout) {
    old_count = static_cast<std::uint32_t>(std::strtoul((*layout)->c_str(), nullptr, 10));
    if (old_count == 0 || old_count > 4096) {
      return fail(ErrorCode::kCorrupt, "the number of shards in meta cannot be read",
                  "Restore the data directory from a backup.", std::string(kShardsKey));
    }
  }
  if (auto done = check_parts(*layout ? std::optional(old_count) : std::nullopt); !done) {
    return done;
  }
  if (auto done = take_clean_mark(); !done) return done;
  // Nobody stopped a data directory that is new.
  was_clean_ = was_clean_ || !layout->has_value();
  if (!*layout) {
    if (auto done = deps_.meta.put(kShardsKey, std::to_string(old_count)); !done) return fail(done);
  }
  return recover_from(old_count);
}

// From here on a stop without the mark is an unclean one. That this start followed a clean one has
// to be known as long as its boot record is replayed: that is until the next checkpoint, which a
// stop makes unless the disk refuses. So few are enough.
Result<void> Node::take_clean_mark() {
  constexpr std::size_t kCleanStartsMax = 64;
  auto clean = get_text(deps_.meta, kCleanKey);
  if (!clean) return fail(clean);
  auto text = get_text(deps_.meta, kCleanStartsKey);
  if (!text) return fail(text);
  std::vector<Epoch> starts;
  if (*text) {
    auto known = decode_clean_starts(**text);
    if (!known) return fail(known);
    starts = std::move(*known);
  }
  was_clean_ = clean->has_value();
  if (was_clean_) {
    starts.push_back(options_.epoch);
    if (starts.size() > kCleanStartsMax) starts.erase(starts.begin());
    meta::Transaction taken;
    taken.writes = {{std::string(kCleanStartsKey), encode(starts), {}},
                    {std::string(kCleanKey), std::nullopt, {}}};
    if (auto done = deps_.meta.commit(taken); !done) return fail(done);
    io::failpoint(io::Failpoint::kBootCleanMarkGone);
  }
  for (auto& unit : units_) unit->shard->dispatcher().note_clean_starts(starts);
  return {};
}

// Reads the journals of the layout that was, and goes on in the one that is now. The layouts differ
// when the shard count was changed: then everything is checkpointed in the new place before the old
// one goes (J11). A crash in between starts over.
Result<void> Node::recover_from(std::uint32_t old_count) {
  const bool changed = old_count != shard_count();
  std::vector<OldShard> old(old_count);
  if (auto done = know_started(old); !done) return done;
  std::vector<io::Checkpoint*> checkpoints;
  for (std::uint32_t i = 0; i < old_count; ++i) {
    old[i].path = shard_path(old_count, i);
    if (auto done = deps_.fs.make_directories(old[i].path); !done) return done;
    auto checkpoint = io::read_checkpoint(deps_.fs, old[i].path, kSectionVersion);
    if (!checkpoint) return fail(checkpoint);
    old[i].checkpoint = std::move(*checkpoint);
    if (old[i].checkpoint) checkpoints.push_back(&*old[i].checkpoint);
  }
  io::failpoint(io::Failpoint::kBootCheckpointsRead);
  if (rows_before_) {
    const Catalog& catalog = control_->catalog();
    auto done = state::forget_unknown_deliveries(
        *deps_.deliveries, [&catalog](ProgressNumber progress, PartitionNumber partition) {
          return catalog.place(partition) && (catalog.group(progress) || catalog.lane(progress));
        });
    if (!done) return done;
  }
  for (auto& unit : units_) {
    if (auto done = unit->shard->open_partitions(control_->catalog(), checkpoints, old_count);
        !done) {
      return done;
    }
  }
  std::uint64_t skipped = 0;
  for (std::uint32_t i = 0; i < old_count; ++i) {
    if (auto done = replay_journal(old[i], i, old_count, skipped); !done) return done;
  }
  io::failpoint(io::Failpoint::kBootReplayed);
  std::uint64_t records = 0;
  for (const OldShard& one : old) records += one.recovered.records;
  log_info(
      "recovered",
      {{"shards", old_count}, {"records", records}, {"skipped", skipped}, {"clean", was_clean_}});
  if (changed) return move_layout(old);
  for (std::uint32_t i = 0; i < old_count; ++i) {
    if (auto done = units_[i]->shard->start_journal(old[i].recovered); !done) return done;
    io::failpoint(io::Failpoint::kBootJournalStarted);
  }
  if (auto done = note_started(); !done) return done;
  return start_rows();
}

// Records of one journal go to the shards that own their partitions now.
Result<void> Node::replay_journal(OldShard& old, std::uint32_t index, std::uint32_t old_count,
                                  std::uint64_t& skipped) {
  const bool changed = old_count != shard_count();
  const std::uint32_t known = control_->numbers().partition;
  const JournalOrigin origin = origin_of(old.checkpoint);
  if (rows_before_) {
    auto contained = rows_contain(old_count, index);
    if (!contained) return fail(contained);
    for (auto& unit : units_) unit->shard->begin_rows(*contained);
  }
  for (auto& unit : units_) {
    if (changed || unit.get() == units_[index].get()) {
      unit->shard->dispatcher().begin_journal(index, origin.time);
    }
  }
  io::RecoverOptions options;
  options.shard = ShardIndex(index);
  if (old.checkpoint) {
    options.lowest_needed = old.checkpoint->info.journal_lowest;
    options.synced_at_least = old.checkpoint->info.journal_synced;
  }
  options.synced_at_least = std::max(options.synced_at_least, old.started.through);
  options.journal_id = old.started.id;
  auto damaged_before = known_damage(old_count, index);
  if (!damaged_before) return fail(damaged_before);
  const auto begin = [this, &damaged_before](const io::JournalRecovery& found) -> Result<void> {
    for (const io::JournalDamage& damage : found.damage) {
      log_error("a journal is damaged", {{"why", damage.detail}});
      for (auto& unit : units_) {
        unit->shard->quarantine_hit(damage, damaged_before->partitions_hit(damage));
      }
    }
    return {};
  };
  const auto visit = [&](Lsn lsn, const io::JournalRecord& record) -> Result<void> {
    if (record.partition == PartitionNumber{0}) {
      if (lsn <= origin.applied) return {};
      for (auto& unit : units_) {
        if (!changed && unit.get() != units_[index].get()) continue;
        if (auto done = unit->shard->replay_shard_record(record); !done) return done;
      }
      return {};
    }
    for (auto& unit : units_) {
      if (unit->shard->owns(record.partition)) return unit->shard->replay(lsn, record);
    }
    if (record.partition.value() < known) {
      ++skipped;  // of a topic that was deleted
      return {};
    }
    return fail(ErrorCode::kCorrupt,
                fmt::format("the journal names partition number {}, which meta does not know",
                            record.partition.value()),
                "The meta store is older than the journal: restore both from one backup.");
  };
  auto recovered = io::recover_journal(deps_.fs, old.path, options, begin, visit);
  if (!recovered) return fail(recovered);
  old.recovered = std::move(*recovered);
  return note_damage(old.recovered, options.lowest_needed, old_count, index, *damaged_before);
}

// Everything is checkpointed in the new layout before the old one goes (J11). Rows that were
// written by the old shards do not count from then on: the checkpoints hold what they held, and
// `start_rows` makes new ones of it.
Result<void> Node::move_layout(const std::vector<OldShard>& old) {
  for (std::uint32_t i = 0; i < shard_count(); ++i) {
    const std::string path = shard_path(shard_count(), i);
    if (auto done = deps_.fs.remove_all(path); !done) return done;
    io::failpoint(io::Failpoint::kLayoutCleared);
    if (auto done = deps_.fs.make_directories(path); !done) return done;
    if (auto done = units_[i]->shard->finish_replay(); !done) return done;
    if (auto done = units_[i]->shard->checkpoint_now(); !done) return done;
    io::failpoint(io::Failpoint::kLayoutCheckpointed);
  }
  meta::Transaction now_counts;
  now_counts.writes.push_back({std::string(kShardsKey), std::to_string(shard_count()), {}});
  now_counts.writes.push_back({std::string(kJournalsKey), std::nullopt, {}});
  if (rows_before_) now_counts.writes.push_back({std::string(kDeliveriesKey), std::nullopt, {}});
  if (auto done = deps_.meta.commit(now_counts); !done) return fail(done);
  rows_before_ = false;
  io::failpoint(io::Failpoint::kLayoutInMeta);
  for (std::uint32_t i = 0; i < shard_count(); ++i) {
    if (auto done = units_[i]->shard->start_journal(moved_journal()); !done) return done;
    io::failpoint(io::Failpoint::kLayoutJournalStarted);
  }
  if (auto done = note_started(); !done) return done;
  if (auto done = start_rows(); !done) return done;
  io::failpoint(io::Failpoint::kLayoutRecorded);
  for (const OldShard& one : old) {
    if (auto done = io::remove_journal(deps_.fs, one.path); !done) return done;
    io::failpoint(io::Failpoint::kLayoutOldRemoved);
  }
  log_info("the number of shards was changed", {{"from", old.size()}, {"to", shard_count()}});
  return {};
}

}  // namespace ackline::runtime
