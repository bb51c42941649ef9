#include "ackline/runtime/catalog_records.h"

#include <fmt/format.h>

#include "ackline/base/bytes.h"
#include "ackline/event/filter.h"

namespace ackline::runtime {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kReplayVersion = 2;  // of a lane: version 1 and what a replay has besides

std::string sealed(std::string fields) {
  const std::uint64_t sum = checksum64(as_bytes(fields));
  ByteWriter(fields).u64(sum);
  return fields;
}

// The fields of a record, or why it cannot be read.
Result<ByteReader> opened(std::string_view record, std::string_view what,
                          std::uint8_t newest = kVersion, std::uint8_t* found = nullptr) {
  if (record.size() < 9) {
    return fail(ErrorCode::kCorrupt, fmt::format("a {} record in meta is cut short", what),
                "Restore the data directory from a backup.");
  }
  const std::string_view fields = record.substr(0, record.size() - 8);
  ByteReader tail(as_bytes(record.substr(record.size() - 8)));
  if (tail.u64() != checksum64(as_bytes(fields))) {
    return fail(ErrorCode::kCorrupt, fmt::format("a {} record in meta is damaged", what),
                "Restore the data directory from a backup.");
  }
  ByteReader reader(as_bytes(fields));
  const std::uint8_t version = reader.u8();
  if (version < kVersion || version > newest) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("a {} record in meta has version {}; this build reads up to {}", what,
                            version, newest),
                "Use the build that wrote it, or a newer one.");
  }
  if (found != nullptr) *found = version;
  return reader;
}

Result<void> closed(const ByteReader& reader, std::string_view what) {
  if (reader.ok() && reader.empty()) return {};
  return fail(ErrorCode::kCorrupt, fmt::format("a {} record in meta does not add up", what),
              "Restore the data directory from a backup.");
}

template <class T>
void put_optional(ByteWriter& out, const std::optional<T>& value) {
  out.u8(value ? 1 : 0);
  if (value) out.varint(static_cast<std::uint64_t>(*value));
}

template <class T>
std::optional<T> get_optional(ByteReader& in) {
  if (in.u8() == 0) return std::nullopt;
  return static_cast<T>(in.varint());
}

// A count that the bytes left can hold, so that a damaged one allocates nothing.
std::size_t get_count(ByteReader& in) {
  const std::uint64_t count = in.varint();
  return count <= in.left() ? static_cast<std::size_t>(count) : in.left();
}

}  // namespace

std::string topic_key(std::string_view topic) {
  return fmt::format("{}{}", kTopicsPrefix, topic);
}
std::string group_key(std::string_view topic, std::string_view group) {
  return fmt::format("{}{}/{}", kGroupsPrefix, topic, group);
}
std::string lane_key(ProgressNumber lane) {
  return fmt::format("{}{:010}", kLanesPrefix, lane.value());
}

std::string encode(const Topic& topic) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(kVersion);
  out.blob(topic.name);
  out.varint(topic.incarnation.value());
  out.u8(static_cast<std::uint8_t>(topic.partitioner));
  put_optional(out, topic.retention.age_ms);
  put_optional(out, topic.retention.bytes);
  out.varint(topic.partitions.size());
  for (const PartitionNumber number : topic.partitions) out.varint(number.value());
  for (const PartitionNumber number : topic.dead_letters) out.varint(number.value());
  out.svarint(topic.created_at.value());
  return sealed(std::move(fields));
}

Result<Topic> decode_topic(std::string_view record) {
  auto in = opened(record, "topic");
  if (!in) return fail(in);
  Topic topic;
  topic.name = in->blob();
  topic.incarnation = Incarnation(in->varint());
  topic.partitioner = static_cast<event::PartitionerKind>(in->u8());
  topic.retention.age_ms = get_optional<std::int64_t>(*in);
  topic.retention.bytes = get_optional<std::uint64_t>(*in);
  const std::size_t count = get_count(*in);
  for (std::size_t i = 0; i < count; ++i) {
    topic.partitions.emplace_back(static_cast<std::uint32_t>(in->varint()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    topic.dead_letters.emplace_back(static_cast<std::uint32_t>(in->varint()));
  }
  topic.created_at = WallMs(in->svarint());
  if (auto done = closed(*in, "topic"); !done) return fail(done);
  // One that this build does not have would put keys anywhere.
  if (auto known = event::Partitioner::make(topic.partitioner); !known) return fail(known);
  return topic;
}

std::string encode(const Group& group) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(kVersion);
  out.varint(group.number.value());
  out.blob(group.topic);
  out.blob(group.name);
  out.blob(group.principal);
  out.varint(group.incarnation.value());
  out.u8(static_cast<std::uint8_t>(group.policy.mode));
  out.u8(static_cast<std::uint8_t>(group.policy.ordering));
  out.varint(group.policy.max_attempts);
  out.varint(group.policy.backoff_ms.size());
  for (const std::int64_t wait : group.policy.backoff_ms) {
    out.varint(static_cast<std::uint64_t>(wait));
  }
  out.u8(group.policy.dead_letter_expired ? 1 : 0);
  out.blob(group.filter_json);
  out.varint(group.start.size());
  for (const Offset start : group.start) out.svarint(start.value());
  out.svarint(group.created_at.value());
  out.svarint(group.empty_since.value());
  return sealed(std::move(fields));
}

Result<Group> decode_group(std::string_view record) {
  auto in = opened(record, "group");
  if (!in) return fail(in);
  Group group;
  group.number = ProgressNumber(static_cast<std::uint32_t>(in->varint()));
  group.topic = in->blob();
  group.name = in->blob();
  group.principal = in->blob();
  group.incarnation = Incarnation(in->varint());
  group.policy.mode = static_cast<delivery::Mode>(in->u8());
  group.policy.ordering = static_cast<delivery::Ordering>(in->u8());
  group.policy.max_attempts = static_cast<std::uint32_t>(in->varint());
  group.policy.backoff_ms.resize(get_count(*in));
  for (auto& wait : group.policy.backoff_ms) wait = static_cast<std::int64_t>(in->varint());
  group.policy.dead_letter_expired = in->u8() != 0;
  group.filter_json = in->blob();
  group.start.resize(get_count(*in));
  for (auto& start : group.start) start = Offset(in->svarint());
  group.created_at = WallMs(in->svarint());
  group.empty_since = WallMs(in->svarint());
  if (auto done = closed(*in, "group"); !done) return fail(done);
  if (!group.filter_json.empty()) {
    auto filter = event::Filter::parse(group.filter_json);
    if (!filter) return fail(filter);
    group.policy.filter = std::make_shared<const event::Filter>(std::move(*filter));
  }
  return group;
}

std::string encode(const Lane& lane) {
  std::string fields;
  ByteWriter out(fields);
  const bool replay = lane.kind == state::LaneKind::kReplay;
  out.u8(replay ? kReplayVersion : kVersion);
  out.varint(lane.number.value());
  out.blob(lane.topic);
  out.blob(lane.group);
  out.varint(lane.group_number.value());
  out.u8(static_cast<std::uint8_t>(lane.state));
  out.varint(lane.rate_per_second);
  for (const std::uint64_t count : {lane.matched, lane.started, lane.already_redriven, lane.offered,
                                    lane.resolved, lane.dead_again}) {
    out.varint(count);
  }
  out.blob(lane.audit_id);
  out.varint(lane.entries.size());
  for (const auto& [partition, offsets] : lane.entries) {
    out.varint(partition);
    out.varint(offsets.size());
    std::int64_t last = 0;
    for (const Offset offset : offsets) {
      out.svarint(offset.value() - last);
      last = offset.value();
    }
  }
  if (replay) {
    out.varint(lane.gone);
    out.blob(lane.filter_json);
  }
  return sealed(std::move(fields));
}

Result<Lane> decode_lane(std::string_view record) {
  std::uint8_t version = kVersion;
  auto in = opened(record, "lane", kReplayVersion, &version);
  if (!in) return fail(in);
  Lane lane;
  lane.number = ProgressNumber(static_cast<std::uint32_t>(in->varint()));
  lane.topic = in->blob();
  lane.group = in->blob();
  lane.group_number = ProgressNumber(static_cast<std::uint32_t>(in->varint()));
  lane.state = static_cast<LaneState>(in->u8());
  lane.rate_per_second = static_cast<std::uint32_t>(in->varint());
  for (std::uint64_t* count : {&lane.matched, &lane.started, &lane.already_redriven, &lane.offered,
                               &lane.resolved, &lane.dead_again}) {
    *count = in->varint();
  }
  lane.audit_id = in->blob();
  const std::size_t parts = get_count(*in);
  for (std::size_t i = 0; i < parts; ++i) {
    auto& offsets = lane.entries[static_cast<std::uint32_t>(in->varint())];
    offsets.resize(get_count(*in));
    std::int64_t last = 0;
    for (auto& offset : offsets) offset = Offset(last += in->svarint());
  }
  if (version == kReplayVersion) {
    lane.kind = state::LaneKind::kReplay;
    lane.gone = in->varint();
    lane.filter_json = in->blob();
  }
  if (auto done = closed(*in, "lane"); !done) return fail(done);
  return lane;
}

std::string encode(const Numbers& numbers) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(kVersion);
  out.varint(numbers.partition);
  out.varint(numbers.progress);
  out.varint(numbers.client);
  out.varint(numbers.incarnation);
  return sealed(std::move(fields));
}

Result<Numbers> decode_numbers(std::string_view record) {
  auto in = opened(record, "numbers");
  if (!in) return fail(in);
  Numbers numbers;
  numbers.partition = static_cast<std::uint32_t>(in->varint());
  numbers.progress = static_cast<std::uint32_t>(in->varint());
  numbers.client = static_cast<std::uint32_t>(in->varint());
  numbers.incarnation = in->varint();
  if (auto done = closed(*in, "numbers"); !done) return fail(done);
  return numbers;
}

std::string encode(const std::vector<StartedJournal>& journals) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(kVersion);
  out.varint(journals.size());
  for (const StartedJournal& one : journals) {
    out.u64(one.id);
    out.u64(one.through.value());
  }
  return sealed(std::move(fields));
}

Result<std::vector<StartedJournal>> decode_journals(std::string_view record) {
  auto in = opened(record, "journals");
  if (!in) return fail(in);
  std::vector<StartedJournal> journals;
  for (std::uint64_t left = in->varint(); in->ok() && left > 0; --left) {
    StartedJournal one;
    one.id = in->u64();
    one.through = Lsn(in->u64());
    journals.push_back(one);
  }
  if (auto done = closed(*in, "journals"); !done) return fail(done);
  return journals;
}

std::string encode(const std::vector<Epoch>& clean_starts) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(kVersion);
  out.varint(clean_starts.size());
  for (const Epoch one : clean_starts) out.varint(one.value());
  return sealed(std::move(fields));
}

Result<std::vector<Epoch>> decode_clean_starts(std::string_view record) {
  auto in = opened(record, "clean starts");
  if (!in) return fail(in);
  std::vector<Epoch> starts;
  for (std::uint64_t left = in->varint(); in->ok() && left > 0; --left) {
    starts.emplace_back(static_cast<std::uint32_t>(in->varint()));
  }
  if (auto done = closed(*in, "clean starts"); !done) return fail(done);
  return starts;
}

}  // namespace ackline::runtime
