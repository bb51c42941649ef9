// What is exported of groups' progress, as the offset store has it.
#include "ackline/base/storage_lanes.h"
#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

// By record; only of those that this shard has written.
using WrittenTimes = std::vector<std::optional<WallMs>>;

WrittenTimes written_times(ShardUnit& unit, const std::string& name,
                           const std::vector<state::OffsetRecord>& records) {
  WrittenTimes times(records.size());
  const TopicPtr topic = unit.shard->catalog().topic(name);
  for (std::size_t i = 0; topic && i < records.size(); ++i) {
    const auto& [key, value] = records[i];
    const GroupPtr group = unit.shard->catalog().group(name, key.group);
    if (!group || key.partition.value() >= topic->partitions.size()) continue;
    times[i] =
        unit.shard->exported_at({group->number, topic->partitions[key.partition.value()]}, value);
  }
  return times;
}

}  // namespace

void Edge::offsets(std::string topic, api::Done<std::vector<api::OffsetItem>> done) {
  if (auto found = require_topic(topic); !found) {
    answer_later<std::vector<api::OffsetItem>>(std::move(done), fail(found));
    return;
  }
  using Read = Result<std::vector<state::OffsetRecord>>;
  auto read = std::make_shared<Read>();
  node_.deps().storage.run(
      storage_lane::offsets(),
      [this, read, topic] { *read = node_.deps().offsets.read_all_offsets(topic); }, executor(),
      [this, read, topic, done = std::move(done)]() mutable {
        if (!*read) {
          done(fail(*read));
          return;
        }
        gather<WrittenTimes>(
            node_, executor(),
            [read, topic](ShardUnit& unit, std::move_only_function<void(WrittenTimes)> answer) {
              answer(written_times(unit, topic, **read));
            },
            [this, read, topic,
             done = std::move(done)](const std::vector<WrittenTimes>& parts) mutable {
              const TopicPtr present = catalog().topic(topic);
              std::vector<api::OffsetItem> items;
              for (std::size_t i = 0; i < (*read)->size(); ++i) {
                const auto& [key, value] = (**read)[i];
                const GroupPtr group = catalog().group(topic, key.group);
                if (!present || !group || !value.is_of(present->incarnation, group->number)) {
                  continue;  // of one that was deleted
                }
                auto& item = items.emplace_back(api::OffsetItem{
                    key.group, key.partition.value(), value.frontier, value.generation, {}});
                for (const WrittenTimes& part : parts) {
                  if (part[i]) item.written_time = part[i];
                }
              }
              done(std::move(items));
            });
      });
}

}  // namespace ackline::runtime
