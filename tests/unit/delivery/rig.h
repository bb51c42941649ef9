// A dispatcher with a log in memory, a journal that is a list, and a clock that is moved by hand.
//
// `boot` makes a new dispatcher from the checkpoint and the records that are there, as a start
// after a kill does; `power_cut` loses the newest records first.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackline/delivery/dispatcher.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"

namespace ackline::delivery {

struct RigEvent {
  std::string id = "e";
  std::string type = "t";
  std::string key = "";
  std::string ttl_ms = "";
  std::size_t data_bytes = 0;
};

class Rig : public DispatcherPort {
 public:
  struct Record {
    state::RecordType type;
    PartitionNumber partition;
    std::string body;
  };
  static constexpr PartitionNumber kPartition{1};
  static constexpr PartitionNumber kDlq{2};
  static constexpr ProgressNumber kGroup{10};
  static constexpr ProgressKey kKey{kGroup, kPartition};

  Rig() {
    partitions = {{1, 2}};
    groups[kGroup] = {.number = kGroup, .topic = "t", .name = "g", .principal = "", .policy = {}};
    groups[kGroup].policy.backoff_ms = {1000};
  }

  // --- world
  std::map<std::uint32_t, std::uint32_t> partitions;  // number -> its dead-letter partition
  std::map<ProgressNumber, GroupSpec> groups;
  std::map<ProgressKey, Offset> starts;  // as meta has them
  std::map<ClientNumber, ClientSpec> clients;
  std::map<ProgressKey, std::pair<Generation, Offset>> exported;  // as a start finds it
  std::vector<Epoch> clean_starts;                                // the same
  Dispatcher::Options options;
  MonoMs now{1'000'000};
  WallMs wall{1'700'000'000'000};
  std::map<PartitionNumber, std::map<Offset, std::string>> logs;
  std::map<PartitionNumber, Offset> ends;
  std::map<PartitionNumber, Offset> log_starts;
  bool reads_pend = false;
  bool reads_come_at_once = false;  // pend, and are answered before `read` returns
  bool reads_fail = false;
  bool dlq_full = false;
  bool auto_dlq = true;

  // --- what came out
  std::vector<Record> journal_records;
  std::size_t applied = 0;  // records that `sections` has already
  std::map<PartitionNumber, std::string> sections;
  std::vector<Offer> offers;  // since the last `take`
  std::vector<std::pair<ClientNumber, DeliveryId>> withdrawn_ids;
  std::vector<DeadLetterRequest> dead_requests;
  std::map<DeliveryEvent, std::uint64_t> counts;
  std::vector<ProgressNumber> lanes_done;
  std::vector<std::pair<ProgressKey, Offset>> pending_reads;
  std::unique_ptr<Dispatcher> d;

  // --- port
  void journal(state::RecordType type, PartitionNumber partition, ByteView body) override {
    journal_records.push_back({type, partition, std::string(as_text(body))});
  }
  ReadStatus read(ProgressKey key, Offset from, std::uint32_t max_events, std::uint32_t /*bytes*/,
                  log::ReadBatch& out) override {
    if (reads_fail) return ReadStatus::kFailed;
    if (reads_come_at_once) {
      d->on_read(key, from, batch(key.partition, from, max_events), now);
      return ReadStatus::kPending;
    }
    if (reads_pend) {
      pending_reads.emplace_back(key, from);
      return ReadStatus::kPending;
    }
    out = batch(key.partition, from, max_events);
    return ReadStatus::kReady;
  }
  void deliver(Offer offer) override { offers.push_back(std::move(offer)); }
  void withdrawn(ClientNumber client, const DeliveryId& id) override {
    withdrawn_ids.emplace_back(client, id);
  }
  void dead_letter(DeadLetterRequest request) override {
    dead_requests.push_back(std::move(request));
  }
  void count(ProgressKey /*key*/, DeliveryEvent what, std::uint64_t events) override {
    counts[what] += events;
  }
  void lane_part_done(ProgressNumber lane, PartitionNumber /*partition*/) override {
    lanes_done.push_back(lane);
  }

  // --- doing
  log::ReadBatch batch(PartitionNumber partition, Offset from, std::uint32_t max_events) {
    log::ReadBatch out;
    const auto& log = logs[partition];
    out.next = ends[partition];
    for (auto at = log.lower_bound(from); at != log.end(); ++at) {
      if (out.events.size() == max_events) {
        out.next = at->first;
        break;
      }
      out.events.push_back({.offset = at->first,
                            .append_time = wall,
                            .frame = as_bytes(std::string_view(at->second))});
    }
    return out;
  }
  static std::string frame_of(const RigEvent& event) {
    event::CloudEvent made;
    made.set("id", event.id);
    made.set("source", "/s");
    made.set("type", event.type);
    if (!event.key.empty()) made.set("partitionkey", event.key);
    if (!event.ttl_ms.empty()) made.set("emttl", event.ttl_ms);
    if (event.data_bytes > 0) {
      made.set_data(event::DataKind::kBinary, std::string(event.data_bytes, 'x'));
    }
    std::string frame;
    event::append_frame(made, frame);
    return frame;
  }
  Offset append(const RigEvent& event = {}, PartitionNumber partition = kPartition) {
    const Offset offset = ends[partition];
    logs[partition].emplace(offset, frame_of(event));
    ends[partition] = offset.next();
    if (d) d->on_available(partition, ends[partition]);
    return offset;
  }
  void append_many(int count, const RigEvent& event = {}) {
    for (int i = 0; i < count; ++i) append(event);
  }
  // `n` offsets that the log will never yield.
  void gap(std::int64_t n, PartitionNumber partition = kPartition) {
    ends[partition] = ends[partition].plus(n);
    if (d) d->on_available(partition, ends[partition]);
  }

  void boot(std::uint32_t epoch = 1, bool clean = false) {
    offers.clear();
    dead_requests.clear();
    pending_reads.clear();
    options.epoch = Epoch(epoch);
    d = std::make_unique<Dispatcher>(options, *this, Random(epoch));
    for (const auto& [number, dlq] : partitions) {
      for (const std::uint32_t one : {number, dlq}) {
        d->add_partition({.number = PartitionNumber(one),
                          .index = PartitionIndex(number - 1),
                          .topic = "t",
                          .incarnation = Incarnation(1),
                          .dlq_number = PartitionNumber(one == number ? dlq : 0),
                          .log_start = log_starts[PartitionNumber(one)],
                          .end = ends[PartitionNumber(one)]});
      }
    }
    for (const auto& [number, group] : groups) d->add_group(group);
    if (clean) clean_starts.push_back(options.epoch);
    d->note_clean_starts(clean_starts);
    for (const auto& [partition, section] : sections) {
      EXPECT_TRUE(d->restore(partition, as_bytes(section)).has_value());
    }
    for (std::size_t i = applied; i < journal_records.size(); ++i) {
      const Record& record = journal_records[i];
      EXPECT_TRUE(d->apply(record.type, record.partition, as_bytes(record.body)).has_value());
    }
    for (const auto& [number, group] : groups) {
      for (const auto& [partition, dlq] : partitions) {
        const ProgressKey key{number, PartitionNumber(partition)};
        d->open_progress(key, starts.contains(key) ? starts[key] : Offset(0));
      }
    }
    std::string body;
    state::BootRecord{.epoch = Epoch(epoch), .shard_count = 1}.encode(body);
    journal_records.push_back({state::RecordType::kBoot, PartitionNumber(0), body});
    for (const auto& [number, client] : clients) d->add_client(client, now);
    for (const auto& [key, value] : exported) d->note_exported(key, value.first, value.second);
    d->resume(now, wall, clean);
    for (const auto& [number, client] : clients) d->set_window(number, 1000, 1U << 30U);
  }
  void checkpoint() {
    for (const auto& [number, dlq] : partitions) {
      std::string section;
      d->snapshot(PartitionNumber(number), now, section);
      sections[PartitionNumber(number)] = section;
    }
    applied = journal_records.size();
  }
  ClientNumber client(std::string name, std::uint32_t demand = Dispatcher::kUnlimited,
                      ProgressNumber group = kGroup) {
    const ClientNumber number(static_cast<std::uint32_t>(100 + clients.size()));
    clients[number] = {.number = number,
                       .client_id = std::move(name),
                       .principal = "",
                       .group = group,
                       .partitions = {}};
    if (d) {
      d->add_client(clients[number], now);
      d->set_window(number, 1000, 1U << 30U);
      d->set_demand(number, demand);
    }
    return number;
  }
  // Lets everything happen that can happen now.
  void run() {
    for (bool more = true; more;) {
      more = d->pump(now, wall, 1000);
      if (auto_dlq) more = answer_dead_letters() || more;
    }
  }
  bool answer_dead_letters() {
    std::vector<DeadLetterRequest> asked;
    asked.swap(dead_requests);
    for (const DeadLetterRequest& request : asked) {
      if (dlq_full) {
        d->dead_lettered(request, fail(ErrorCode::kFull, "the disk is full"), now);
      } else {
        const Offset at = ends[kDlq];
        logs[kDlq].emplace(at, logs[request.key.partition][request.offset]);
        ends[kDlq] = at.next();
        d->dead_lettered(request, at, now);
      }
    }
    return !asked.empty();
  }
  void advance(std::int64_t ms) {
    now = now.plus(ms);
    wall = wall.plus(ms);
    for (int i = 0; i < 1000 && d->next_due() && *d->next_due() <= now; ++i) d->tick(now);
    run();
  }
  std::vector<Offer> take() { return std::exchange(offers, {}); }
  std::vector<std::int64_t> take_offsets() {
    std::vector<std::int64_t> all;
    for (const Offer& offer : take()) all.push_back(offer.offset.value());
    return all;
  }
  Result<SettleAnswer> settle(Verb verb, const DeliveryId& id, std::string_view client = "c1",
                              std::optional<std::int64_t> ms = std::nullopt,
                              std::string_view reason = {}) {
    return d->settle({.verb = verb,
                      .client_id = client,
                      .principal = "",
                      .id = id,
                      .delay_ms = verb == Verb::kNack ? ms : std::nullopt,
                      .extend_ms = verb == Verb::kExtend ? ms : std::nullopt,
                      .reason = reason},
                     now);
  }
  Result<SettleAnswer> ack(const Offer& offer, std::string_view client = "c1") {
    return settle(Verb::kAck, offer.id, client);
  }
  ProgressReport progress(ProgressKey key = kKey) { return *d->progress(key); }
  std::int64_t frontier(ProgressKey key = kKey) { return progress(key).frontier.value(); }
  std::size_t records_of(state::RecordType type) const {
    std::size_t n = 0;
    for (const Record& record : journal_records) n += record.type == type ? 1U : 0U;
    return n;
  }
};

// The word of a refused settle; "ok" when it was not refused.
inline std::string word(const Result<SettleAnswer>& answer) {
  return answer ? "ok" : std::string(answer.error().word());
}

}  // namespace ackline::delivery
