// The catalog's records in meta: keys and bytes (docs/formats/meta.md).
//
// `/em/topics/<topic>`, `/em/groups/<topic>/<group>`, `/em/lanes/<number>`, `/em/numbers`;
// subscriptions are SubscriptionStore's. Names hold no '/', so no key can be taken for another.
// Each record: version u8, fields, checksum u64 of all before it. Decoding: kCorrupt for damage,
// kUnsupported for a newer version, never a guess. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/runtime/catalog.h"

namespace ackline::runtime {

inline constexpr std::string_view kTopicsPrefix = "/em/topics/";
inline constexpr std::string_view kGroupsPrefix = "/em/groups/";
inline constexpr std::string_view kLanesPrefix = "/em/lanes/";
inline constexpr std::string_view kNumbersKey = "/em/numbers";
inline constexpr std::string_view kShardsKey = "/em/local/shards";
inline constexpr std::string_view kCleanKey = "/em/local/clean";
// Epochs of starts after a clean stop. They are replayed until a checkpoint has them, and no offer
// lived through an unclean start by them (invariant 14).
inline constexpr std::string_view kCleanStartsKey = "/em/local/clean-starts";
// "rocksdb": deliveries are rows of the delivery store. Not there: they are in the journals.
inline constexpr std::string_view kDeliveriesKey = "/em/local/deliveries";
// What the last start wrote and synced of each journal of the layout, by shard. So a file of it
// that is gone later is missed, although nothing is left in the journal to say so.
inline constexpr std::string_view kJournalsKey = "/em/local/journals";
// Of the journal named behind it ("2-0"): damage that earlier starts found in it (known_damage.h).
inline constexpr std::string_view kDamageKey = "/em/local/damage/";

struct StartedJournal {
  std::uint64_t id = 0;
  Lsn through;  // the start's own batch
};

[[nodiscard]] std::string topic_key(std::string_view topic);
[[nodiscard]] std::string group_key(std::string_view topic, std::string_view group);
[[nodiscard]] std::string lane_key(ProgressNumber lane);

[[nodiscard]] std::string encode(const Topic& topic);
[[nodiscard]] std::string encode(const Group& group);
[[nodiscard]] std::string encode(const Lane& lane);
[[nodiscard]] std::string encode(const Numbers& numbers);
[[nodiscard]] std::string encode(const std::vector<StartedJournal>& journals);
[[nodiscard]] std::string encode(const std::vector<Epoch>& clean_starts);

[[nodiscard]] Result<Topic> decode_topic(std::string_view record);
[[nodiscard]] Result<Group> decode_group(std::string_view record);
[[nodiscard]] Result<Lane> decode_lane(std::string_view record);
[[nodiscard]] Result<Numbers> decode_numbers(std::string_view record);
[[nodiscard]] Result<std::vector<StartedJournal>> decode_journals(std::string_view record);
[[nodiscard]] Result<std::vector<Epoch>> decode_clean_starts(std::string_view record);

}  // namespace ackline::runtime
