// What a start knows beside checkpoints and journals: damage that was found before, and what was
// exported of groups' progress.
#include <fmt/format.h>

#include "ackline/base/logging.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/node.h"

namespace ackline::runtime {
namespace {

std::string damage_key(std::uint32_t shards, std::uint32_t index) {
  return fmt::format("{}{}-{}", kDamageKey, shards, index);
}

}  // namespace

Result<KnownDamage> Node::known_damage(std::uint32_t shards, std::uint32_t index) {
  auto entry = deps_.meta.get(damage_key(shards, index));
  if (!entry) return fail(entry);
  if (!*entry) return KnownDamage();
  auto known = KnownDamage::decode((*entry)->value);
  if (known) return std::move(*known);
  return fail(ErrorCode::kCorrupt, "what earlier starts found damaged cannot be read in meta",
              "Restore the data directory from a backup.", damage_key(shards, index));
}

// In meta before anything is answered: a partition that is made from here on is none that was hit.
Result<void> Node::note_damage(const io::JournalRecovery& recovered, Lsn lowest_needed,
                               std::uint32_t shards, std::uint32_t index,
                               const KnownDamage& before) {
  KnownDamage known = before;
  known.note(recovered, lowest_needed, control_->numbers().partition);
  if (known == before) return {};
  const std::string text = known.encode();
  const std::string key = damage_key(shards, index);
  Result<void> done;
  if (text.empty()) {
    if (auto removed = deps_.meta.remove(key); !removed) done = fail(removed);
  } else if (auto put = deps_.meta.put(key, text); !put) {
    done = fail(put);
  }
  if (done || done.error().code != ErrorCode::kFull) return done;
  log_warn("what is damaged could not be noted", {{"error", done.error().detail}});
  return {};
}

// An export was synced in the journal before it was written. An offset store that cannot be read
// stops no start: then nothing is known of what was exported.
void Node::tell_exported() {
  const auto all = deps_.offsets.read_all_offsets({});
  if (!all) {
    log_warn("exported frontiers cannot be read; progress is not held against them",
             {{"error", all.error().detail}});
    return;
  }
  const Catalog& catalog = control_->catalog();
  for (const state::OffsetRecord& one : *all) {
    const TopicPtr topic = catalog.topic(one.key.topic);
    const GroupPtr group = catalog.group(one.key.topic, one.key.group);
    const std::uint32_t index = one.key.partition.value();
    if (!topic || !group || !one.value.is_of(topic->incarnation, group->number) ||
        index >= topic->partitions.size()) {
      continue;
    }
    const PartitionNumber number = topic->partitions[index];
    for (auto& unit : units_) {
      if (!unit->shard->owns(number)) continue;
      unit->shard->dispatcher().note_exported({group->number, number}, one.value.generation,
                                              one.value.frontier);
    }
  }
}

}  // namespace ackline::runtime
