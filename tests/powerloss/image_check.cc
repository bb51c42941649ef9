#include "tests/powerloss/image_check.h"

#include <fmt/format.h>

#include <optional>

#include "ackline/event/frame.h"

namespace ackline::powerloss {
namespace {

constexpr std::int64_t kSettleMs = 20;
constexpr std::int64_t kDrainMs = 20'000;

std::string show(const Place& place) {
  return fmt::format("{}/{}/{}", place.topic, place.partition, place.offset);
}

// Everything that group `g` has on one partition, by the reports of the recovered process.
struct Recovered {
  std::map<std::int64_t, std::string> log;  // offset -> id
  std::int64_t end = 0;
  std::optional<delivery::ProgressReport> progress;
  std::vector<delivery::Hole> holes;
  std::map<std::int64_t, int> dead;  // source offset -> entries
  std::int64_t known_end = 0;

  [[nodiscard]] bool settled(std::int64_t offset) const {
    if (!progress) return false;
    if (offset <= progress->frontier.value()) return true;
    if (offset >= known_end) return false;
    for (const delivery::Hole& hole : holes) {
      if (hole.from.value() <= offset && offset <= hole.to.value()) return false;
    }
    return true;
  }
};

class Image {
 public:
  Image(Process& process, const Told& told, const ImageOptions& options)
      : process_(process), told_(told), options_(options) {}

  std::string check() {
    read_all();
    if (broken_.empty()) check_events();
    if (broken_.empty()) check_progress();
    if (broken_.empty() && options_.drain) check_drain();
    return broken_;
  }

 private:
  void say(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }

  void damaged(const std::string& topic, std::uint32_t index, const std::string& why) {
    if (!options_.may_be_damaged) return say(why);
    if (options_.detected != nullptr) *options_.detected = true;
    exempt_.insert({topic, index});
    parts_.erase({topic, index});
  }
  [[nodiscard]] bool exempt(const Place& place) const {
    return exempt_.contains({place.topic, place.partition});
  }

  void read_all() {
    const runtime::Catalog& catalog = process_.node().unit(ShardIndex(0)).shard->catalog();
    for (const auto& topic : catalog.topics()) {
      for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) read_partition(*topic, i);
    }
  }

  void read_partition(const runtime::Topic& topic, std::uint32_t index) {
    runtime::Shard& shard = *process_.node().owner(topic.name, PartitionIndex(index)).shard;
    const PartitionNumber number = topic.partitions[index];
    log::PartitionLog* log = shard.partition(number);
    if (log == nullptr) return say(fmt::format("{}/{} is not there", topic.name, index));
    if (log->damage()) return damaged(topic.name, index, log->damage()->detail);
    Recovered& out = parts_[{topic.name, index}];
    out.end = log->high_watermark().value() + 1;
    for (Offset at = log->log_start(); at.value() < out.end; ++at) {
      auto batch = read_at(shard, number, at);
      if (!batch || batch->events.empty() || batch->events.front().offset != at) {
        return damaged(topic.name, index,
                       fmt::format("{}/{}/{} cannot be read", topic.name, index, at.value()));
      }
      auto frame = event::FrameView::open(batch->events.front().frame);
      if (!frame) return damaged(topic.name, index, frame.error().detail);
      out.log[at.value()] = std::string(frame->get("id"));
    }
    const auto group = shard.catalog().group(topic.name, "g");
    if (!group) return;
    const delivery::ProgressKey key{group->number, number};
    const delivery::Dispatcher& dispatcher = shard.dispatcher();
    out.progress = dispatcher.progress(key);
    if (!out.progress) return;
    out.holes = dispatcher.holes(key, Offset(0), 100'000).holes;
    // Behind the last hole lies what is settled ahead and not between two holes.
    out.known_end = out.progress->frontier.value() + 1;
    auto ahead = static_cast<std::int64_t>(out.progress->settled_ahead);
    for (const delivery::Hole& hole : out.holes) {
      ahead -= hole.from.value() - out.known_end;
      out.known_end = hole.to.value() + 1;
    }
    out.known_end += ahead;
    for (const delivery::DeadEntry& entry : dispatcher.dead_entries(key, Offset(0), 100'000)) {
      ++out.dead[entry.source.value()];
      check_entry(shard, topic, index, entry);
    }
  }

  // Cold bytes come from the storage threads, which run in virtual time.
  std::optional<log::ReadBatch> read_at(runtime::Shard& shard, PartitionNumber number, Offset at) {
    std::optional<log::ReadBatch> found;
    for (int tries = 0; tries < 50 && !found; ++tries) {
      auto batch = shard.partition(number)->read(at, {.max_events = 1, .max_bytes = 1});
      if (batch) {
        found = std::move(*batch);
        break;
      }
      if (batch.error().code != ErrorCode::kTimeout) break;
      shard.read_cold(number, at, [&shard, number, at] {
        auto again = shard.partition(number)->read(at, {.max_events = 1, .max_bytes = 1});
        return again || again.error().code != ErrorCode::kTimeout;
      });
      process_.run(5);
    }
    return found;
  }

  void check_entry(runtime::Shard& shard, const runtime::Topic& topic, std::uint32_t index,
                   const delivery::DeadEntry& entry) {
    const auto batch = read_at(shard, topic.dead_letters[index], entry.dlq);
    if (!batch || batch->events.empty() || batch->events.front().offset != entry.dlq) {
      const std::string why =
          fmt::format("the dead letter of {}/{}/{} at {} cannot be read", topic.name, index,
                      entry.source.value(), entry.dlq.value());
      if (!options_.may_be_damaged) return say(why);
      if (options_.detected != nullptr) *options_.detected = true;
    }
  }

  void check_events() {
    std::set<std::string> ids;
    for (const auto& [where, part] : parts_) {
      for (const auto& [offset, id] : part.log) {
        if (!told_.sent.contains(id)) say(fmt::format("{} was never sent", id));
        if (!ids.insert(id).second) say(fmt::format("{} is there twice", id));
      }
    }
    for (const auto& [place, id] : told_.accepted) {
      if (exempt(place)) continue;
      const auto part = parts_.find({place.topic, place.partition});
      const bool there = part != parts_.end() && part->second.log.contains(place.offset) &&
                         part->second.log.at(place.offset) == id;
      if (!there) say(fmt::format("the accepted event {} at {} is lost", id, show(place)));
    }
  }

  void check_progress() {
    for (const auto& [where, part] : parts_) {
      if (!part.progress) continue;
      const std::int64_t frontier = part.progress->frontier.value();
      if (frontier >= part.end) say(fmt::format("the frontier {} is past the end", frontier));
      const auto told = told_.frontiers.find(where);
      if (told != told_.frontiers.end() && frontier < told->second) {
        say(fmt::format("the frontier of {}/{} was told as {} and is {}", where.first, where.second,
                        told->second, frontier));
      }
      for (const auto& [offset, id] : part.log) {
        const Place place{where.first, where.second, offset};
        if (part.settled(offset) && !told_.asked.contains(place)) {
          say(fmt::format("{} is settled, nobody ever had it", show(place)));
        }
      }
      for (const auto& [offset, count] : part.dead) {
        if (count > 1) say(fmt::format("{}/{} is dead twice", where.first, offset));
      }
    }
    if (!options_.settles_are_synced) return;
    for (const Place& place : told_.acked) {
      if (exempt(place)) continue;
      if (!parts_[{place.topic, place.partition}].settled(place.offset)) {
        say(fmt::format("the ack of {} is lost", show(place)));
      }
    }
    for (const Place& place : told_.rejected) {
      if (exempt(place)) continue;
      const Recovered& part = parts_[{place.topic, place.partition}];
      if (!part.settled(place.offset) || !part.dead.contains(place.offset)) {
        say(fmt::format("the dead letter of {} is lost", show(place)));
      }
    }
  }

  // Everything that is left comes, and nothing that was settled.
  void check_drain() {
    std::set<Place> came;
    bool asking = false;
    std::unique_ptr<api::Attachment> attachment;
    const auto poll = [&] {
      asking = true;
      attachment = process_.traffic().poll("c", {}, 1000, 100,
                                           [&](Result<std::vector<channel::Delivery>> got) {
                                             asking = false;
                                             if (got) return take(*got, came);
                                             if (got.error().code == ErrorCode::kClientUnknown)
                                               subscribe_again();
                                           });
    };
    const std::int64_t until = process_.time().now() + kDrainMs;
    while (process_.time().now() < until && broken_.empty() && !drained()) {
      if (!asking) process_.call(poll);
      process_.run(50);
    }
    if (broken_.empty() && !drained()) say("the backlog does not drain");
    if (options_.settles_are_synced) {
      for (const Place& place : came) {
        if (told_.acked.contains(place))
          say(fmt::format("{} was acked and came again", show(place)));
      }
    }
    attachment.reset();
  }

  // The group is there as soon as it was asked for, its client's subscription may not be.
  void subscribe_again() {
    if (told_.subscribed && !options_.may_be_damaged) return say("the subscription is lost");
    process_.traffic().subscribe(subscribe_request(), [](const Result<api::Subscribed>&) {});
  }

  void take(const std::vector<channel::Delivery>& got, std::set<Place>& came) {
    if (got.empty()) return;
    api::SettleCall call;
    call.client_id = "c";
    for (const channel::Delivery& one : got) {
      call.delivery_ids.push_back(one.delivery_id);
      if (one.lane_id.empty()) {
        came.insert({std::string(one.topic), one.partition.value(), one.offset.value()});
      }
    }
    process_.traffic().settle(std::move(call), [](Result<api::SettleResults>) {});
  }

  [[nodiscard]] bool drained() {
    for (const auto& [where, part] : parts_) {
      if (!part.progress) continue;
      runtime::Shard& shard =
          *process_.node().owner(where.first, PartitionIndex(where.second)).shard;
      const auto topic = shard.catalog().topic(where.first);
      const auto group = shard.catalog().group(where.first, "g");
      const auto now =
          shard.dispatcher().progress({group->number, topic->partitions[where.second]});
      if (!now || now->frontier.value() + 1 < part.end) return false;
    }
    return true;
  }

  Process& process_;
  const Told& told_;
  const ImageOptions& options_;
  std::map<std::pair<std::string, std::uint32_t>, Recovered> parts_;
  std::set<std::pair<std::string, std::uint32_t>> exempt_;
  std::string broken_;
};

// Dies at a file operation of the start, and loses power again.
void die_while_starting(Disks disks, const ImageOptions& options, Random& random) {
  Process process(disks, options.shape, random.next());
  std::uint64_t left = 1 + random.below(60);
  disks.fs.set_fault_hook(
      [&left](io::FsOperation, const std::string&) -> std::optional<io::FsFault> {
        if (left > 0 && --left > 0) return std::nullopt;
        return io::FsFault{Error{ErrorCode::kUnavailable, "dead", {}, {}}, 0};
      });
  if (process.boot()) process.run(10);
}

}  // namespace

std::string check_image(Disks disks, const Told& told, const ImageOptions& options) {
  Random random(options.seed);
  const auto cut = [&] {
    disks.fs.power_cut(random);
    disks.stores.power_cut(random);
  };
  cut();
  if (options.die_again) {
    die_while_starting(disks, options, random);
    cut();
  }
  Process process(disks, options.shape, random.next());
  if (auto done = process.boot(); !done) {
    if (options.detected != nullptr) *options.detected = true;
    return options.may_be_damaged ? "" : "it does not start: " + done.error().detail;
  }
  process.run(kSettleMs);
  return Image(process, told, options).check();
}

}  // namespace ackline::powerloss
