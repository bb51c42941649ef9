#include "ackline/delivery/touched.h"

namespace ackline::delivery {
namespace {

template <class Record, class Take>
Result<void> with(ByteView body, Take take) {
  const Result<Record> record = Record::decode(body);
  if (!record) {
    return fail(record);
  }
  take(*record);
  return {};
}

}  // namespace

Result<void> TouchedRows::add(state::RecordType type, PartitionNumber partition, ByteView body) {
  const auto at = [this, partition](ProgressNumber progress) -> Touched& {
    return rows_[{progress, partition}];
  };
  const auto slot = [&at](const auto& record) {
    at(record.progress).slots[record.offset] = record.slot;
  };
  switch (type) {
    case state::RecordType::kOffer:
      return with<state::OfferRecord>(body, slot);
    case state::RecordType::kEnd:
      return with<state::EndRecord>(body, slot);
    case state::RecordType::kExtend:
      return with<state::ExtendRecord>(body, slot);
    case state::RecordType::kSettle:
      return with<state::SettleRecord>(body, [&at](const auto& record) {
        Touched& touched = at(record.progress);
        for (const OffsetRange& range : record.ranges) {
          touched.settled.push_back({range, record.outcome});
        }
        if (record.dead) {
          touched.entries.insert(record.ranges.front().first);
        }
      });
    case state::RecordType::kReopen:
      return with<state::ReopenRecord>(body, [&at](const auto& record) {
        Touched& touched = at(record.progress);
        touched.all = true;
        touched.settled.clear();  // of the generation before
      });
    case state::RecordType::kLanePart:
      return with<state::LanePartRecord>(body, [&at](const auto& record) {
        at(record.lane).all = true;
        for (const state::LaneEntry& entry : record.entries) {
          at(record.group).entries.insert(entry.offset);
        }
      });
    case state::RecordType::kLaneEntry:
      return with<state::LaneEntryRecord>(body, [&at](const auto& record) {
        at(record.group).entries.insert(record.entry.offset);
        if (record.lane != ProgressNumber(0)) {
          at(record.lane).entries.insert(record.entry.offset);
        }
      });
    case state::RecordType::kAlive:
      alive_ = true;
      return {};
    case state::RecordType::kPublish:
    case state::RecordType::kLogStart:
    case state::RecordType::kBoot:
      return {};
  }
  return {};
}

}  // namespace ackline::delivery
