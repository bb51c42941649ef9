#include "tests/unit/io/journal_model/journal_model.h"

#include <algorithm>
#include <deque>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace ackline::io::model {
namespace {

struct Batch {
  std::uint8_t lsn = 0;
  std::uint8_t count = 0;
  std::array<Record, 2> records{};
  bool durable = false;
  bool forgotten = false;  // a failed sync: thought to be on disk, and is not
  bool told = false;       // what waits for its sync was told
};

struct Chain {
  std::vector<Batch> batches;
  std::uint8_t next_lsn = 1;
  bool poisoned = false;
};

struct Section {
  PartitionState partition;
  DeadLetters letters;
  std::uint8_t partition_lsn = 0;
  std::uint8_t letters_lsn = 0;
};

struct State {
  std::array<Chain, 2> chains;
  PartitionState partition;
  DeadLetters letters;
  Observer observer;
  Section manifest;
  Section taking;
  std::uint8_t stage = 0;     // of the checkpoint: 0 none, 1 letters taken, 2 partition taken
  std::uint8_t readable = 0;  // offsets below may be offered
  std::uint8_t delivered = 0;
  std::uint8_t epoch = 1;
  std::uint8_t offers = 0;  // of this epoch
  std::uint8_t published = 0;
  std::uint8_t offered = 0;
  std::uint8_t crashes = 0;
  bool corrupt = false;
};

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string key_of(const State& s) {
  std::string key;
  for (const Chain& chain : s.chains) {
    key.push_back(static_cast<char>(chain.batches.size()));
    for (const Batch& b : chain.batches) {
      key.push_back(static_cast<char>(b.lsn));
      key.push_back(static_cast<char>(b.count * 8 + b.durable * 4 + b.forgotten * 2 + b.told));
      for (std::size_t i = 0; i < b.count; ++i) put(key, b.records[i]);
    }
    key.push_back(static_cast<char>(chain.next_lsn * 2 + chain.poisoned));
  }
  for (const Section* section : {&s.manifest, &s.taking}) {
    put(key, section->partition);
    put(key, section->letters);
    key.push_back(static_cast<char>(section->partition_lsn));
    key.push_back(static_cast<char>(section->letters_lsn));
  }
  put(key, s.partition);
  put(key, s.letters);
  put(key, s.observer);
  for (const std::uint8_t v :
       {s.stage, s.readable, s.delivered, s.epoch, s.offers, s.published, s.offered, s.crashes}) {
    key.push_back(static_cast<char>(v));
  }
  return key;
}

class Machine {
 public:
  Machine(const Rules& rules, const Bounds& bounds) : rules_(rules), bounds_(bounds) {}

  // Every state one step away, with the name of the step.
  std::vector<std::pair<std::string, State>> steps(const State& from) {
    next_.clear();
    publish(from);
    for (std::uint8_t o = 0; o < from.partition.count; ++o) deliveries(from, o);
    for (std::size_t j = 0; j < 2; ++j) syncs(from, j);
    checkpoint(from);
    crashes(from);
    return std::move(next_);
  }

 private:
  static std::uint8_t bit(std::uint8_t offset) { return static_cast<std::uint8_t>(1U << offset); }

  void add(std::string name, State state) { next_.emplace_back(std::move(name), std::move(state)); }

  static void write(State& s, std::size_t chain, std::initializer_list<Record> records) {
    Batch batch;
    batch.lsn = s.chains[chain].next_lsn++;
    for (const Record& r : records) {
      batch.records[batch.count++] = r;
      apply(s.partition, s.letters, r, s.corrupt);
    }
    s.chains[chain].batches.push_back(batch);
  }

  static void apply(PartitionState& partition, DeadLetters& letters, const Record& r,
                    bool& corrupt) {
    if (r.kind == Kind::kDeadLetter) {
      letters.apply(r);
    } else if (!partition.apply(r)) {
      corrupt = true;
    }
  }

  void publish(const State& from) {
    if (from.published >= bounds_.publishes || from.chains[0].poisoned) return;
    State s = from;
    const std::uint8_t event = ++s.published;
    write(s, 0, {{Kind::kPublish, s.partition.count, event}});
    if (!rules_.sync_before_accept) s.observer.accepted |= 1U << event;
    if (!rules_.read_synced_only) s.readable = s.partition.count;
    add("publish", std::move(s));
  }

  void deliveries(const State& from, std::uint8_t o) {
    if (from.chains[0].poisoned || (from.partition.settled & bit(o)) != 0) return;
    const bool live = (from.partition.live & bit(o)) != 0;
    if (!live && o < from.readable && from.offered < bounds_.offers) offer(from, o);
    if (live && (from.delivered & bit(o)) != 0) {
      State s = from;
      write(s, 0, {{Kind::kEnd, o, 0}});
      add("nack", std::move(s));
      settle(from, o);
    }
    if (!live && from.partition.id[o] != 0) dead(from, o);
  }

  void offer(const State& from, std::uint8_t o) {
    State s = from;
    const std::uint8_t before = s.partition.id[o];
    const auto id = static_cast<std::uint8_t>(s.epoch * 8 + ++s.offers);
    ++s.offered;
    write(s, 0, {{Kind::kOffer, o, id}});
    s.delivered &= static_cast<std::uint8_t>(~bit(o));
    if (before == 0 || !rules_.sync_before_reoffer) {
      s.observer.deliver(s.partition, o, id, before);
      s.delivered |= bit(o);
      s.chains[0].batches.back().told = true;
    }
    add("offer", std::move(s));
  }

  void settle(const State& from, std::uint8_t o) {
    State s = from;
    const Record r{Kind::kSettle, o, 0};
    if (rules_.write_before_ack) {
      write(s, 0, {r});
    } else {
      apply(s.partition, s.letters, r, s.corrupt);
    }
    s.observer.answered |= bit(o);
    if (!rules_.sync_before_visible) s.observer.visible |= bit(o);
    add("ack", std::move(s));
  }

  void dead(const State& from, std::uint8_t o) {
    State s = from;
    if (rules_.same_journal) {
      write(s, 0, {{Kind::kDeadLetter, o, 0}, {Kind::kDead, o, 0}});
    } else {
      write(s, 1, {{Kind::kDeadLetter, o, 0}});
      write(s, 0, {{Kind::kDead, o, 0}});
    }
    add("dead letter", std::move(s));
  }

  void syncs(const State& from, std::size_t j) {
    const Chain& chain = from.chains[j];
    const bool dirty = std::ranges::any_of(
        chain.batches, [](const Batch& b) { return !b.durable && !(b.forgotten && b.told); });
    if (chain.poisoned || !dirty) return;
    State good = from;
    for (Batch& b : good.chains[j].batches) {
      if (!b.forgotten) b.durable = true;
      tell(good, b);
    }
    add("sync", std::move(good));
    State failed = from;
    for (Batch& b : failed.chains[j].batches) b.forgotten = b.forgotten || !b.durable;
    failed.chains[j].poisoned = rules_.poison;
    add("sync fails", std::move(failed));
  }

  // What waited for the sync of this batch.
  static void tell(State& s, Batch& b) {
    if (std::exchange(b.told, true)) return;
    for (std::size_t i = 0; i < b.count; ++i) {
      const Record& r = b.records[i];
      if (r.kind == Kind::kPublish) {
        s.observer.accepted |= 1U << r.value;
        s.readable = std::max(s.readable, static_cast<std::uint8_t>(r.offset + 1));
      }
      if (r.kind == Kind::kSettle) s.observer.visible |= bit(r.offset);
      if (r.kind == Kind::kOffer && s.partition.id[r.offset] == r.value &&
          (s.partition.live & bit(r.offset)) != 0) {
        // The id before it: of the offer that ended, whichever a client still holds.
        s.observer.over |= held_before(s, r);
        s.observer.deliver(s.partition, r.offset, r.value, 0);
        s.delivered |= bit(r.offset);
      }
    }
  }

  // Ids issued for this offset before: those of offers in the chain and in the checkpoint.
  static std::uint32_t held_before(const State& s, const Record& offer) {
    std::uint32_t ids = 0;
    for (const Batch& b : s.chains[0].batches) {
      for (std::size_t i = 0; i < b.count; ++i) {
        const Record& r = b.records[i];
        if (r.kind == Kind::kOffer && r.offset == offer.offset && r.value != offer.value) {
          ids |= 1U << r.value;
        }
      }
    }
    const std::uint8_t old = s.manifest.partition.id[offer.offset];
    if (old != 0 && old != offer.value) ids |= 1U << old;
    return ids;
  }

  void checkpoint(const State& from) {
    State s = from;
    if (from.stage == 0 && s.chains[0].next_lsn > 1) {
      s.taking.letters = s.letters;
      s.taking.letters_lsn = static_cast<std::uint8_t>(s.chains[0].next_lsn - 1);
      s.stage = 1;
      add("checkpoint: letters", std::move(s));
    } else if (from.stage == 1) {
      s.taking.partition = s.partition;
      s.taking.partition_lsn = static_cast<std::uint8_t>(s.chains[0].next_lsn - 1);
      if (!rules_.recycle_after_manifest) recycle(s);
      s.stage = 2;
      add("checkpoint: partition", std::move(s));
    } else if (from.stage == 2) {
      const bool synced = std::ranges::none_of(s.chains[0].batches, [&](const Batch& b) {
        return !b.durable && b.lsn <= from.taking.partition_lsn;
      });
      if (rules_.sync_before_manifest && !synced) return;
      s.manifest = s.taking;
      recycle(s);
      s.stage = 3;
      add("checkpoint: manifest", std::move(s));
    }
  }

  static void recycle(State& s) {
    const std::uint8_t lowest = std::min(s.taking.letters_lsn, s.taking.partition_lsn);
    std::erase_if(s.chains[0].batches,
                  [&](const Batch& b) { return b.lsn <= lowest && b.durable; });
  }

  void crashes(const State& from) {
    if (from.crashes >= bounds_.crashes) return;
    add("kill", recover(from, false));
    power_cut(from, from, 0, 0);
  }

  // Each unsynced batch survives or not.
  void power_cut(const State& from, const State& sofar, std::size_t j, std::size_t i) {
    if (j == 2) {
      add("power cut", recover(sofar, true));
      return;
    }
    if (i == sofar.chains[j].batches.size()) {
      power_cut(from, sofar, j + 1, 0);
      return;
    }
    const auto& batches = sofar.chains[j].batches;
    const bool torn_with_next = !rules_.own_blocks && batches[i].durable &&
                                i + 1 < batches.size() && !batches[i + 1].durable;
    power_cut(from, sofar, j, i + 1);
    if (batches[i].durable && !torn_with_next) return;
    State without = sofar;
    without.chains[j].batches.erase(without.chains[j].batches.begin() +
                                    static_cast<std::ptrdiff_t>(i));
    power_cut(from, without, j, i);
  }

  State recover(const State& from, bool power) {
    State s = from;
    ++s.crashes;
    s.stage = 0;
    s.partition = s.manifest.partition;
    s.letters = s.manifest.letters;
    for (std::size_t j = 0; j < 2; ++j) replay(s, j, power);
    s.readable = s.partition.count;
    s.delivered = s.partition.live;
    if (rules_.fresh_epoch) ++s.epoch;
    if (rules_.fresh_epoch || power) s.offers = 0;
    for (const std::uint8_t id : s.partition.id) {
      if (id / 8 == s.epoch) s.offers = std::max(s.offers, static_cast<std::uint8_t>(id % 8));
    }
    s.observer.restarted(s.partition, power);
    return s;
  }

  void replay(State& s, std::size_t j, bool power) {
    Chain& chain = s.chains[j];
    const Section& base = s.manifest;
    const std::uint8_t lowest = j == 0 ? std::min(base.partition_lsn, base.letters_lsn) : 0;
    std::uint8_t last = lowest;
    std::vector<Batch> kept;
    for (Batch b : chain.batches) {
      if (b.lsn > lowest) {
        if (rules_.stop_at_hole && b.lsn != last + 1) break;
        last = b.lsn;
      }
      for (std::size_t i = 0; i < b.count; ++i) {
        const bool letter = b.records[i].kind == Kind::kDeadLetter;
        const std::uint8_t applied = letter ? base.letters_lsn : base.partition_lsn;
        if (j == 0 && rules_.skip_applied && b.lsn <= applied) continue;
        apply(s.partition, s.letters, b.records[i], s.corrupt);
      }
      // What is served from now on counts as synced: rightly so when it was written again.
      b.durable = b.durable || rules_.rewrite_rest || power;
      b.forgotten = b.forgotten && !b.durable;
      b.told = true;
      kept.push_back(b);
    }
    chain.batches = std::move(kept);
    chain.poisoned = false;
    if (j == 0) last = std::max({last, base.partition_lsn, base.letters_lsn});
    chain.next_lsn = static_cast<std::uint8_t>(last + 1);
  }

  const Rules rules_;
  const Bounds bounds_;
  std::vector<std::pair<std::string, State>> next_;
};

}  // namespace

Exploration explore(const Rules& rules, const Bounds& bounds) {
  Exploration result;
  Machine machine(rules, bounds);
  std::unordered_set<std::string> known;
  std::vector<std::pair<std::size_t, std::string>> trail;  // parent, step
  std::deque<std::pair<State, std::pair<std::size_t, int>>> open;
  trail.emplace_back(0, "start");
  open.push_back({State{}, {0, 0}});
  known.insert(key_of(State{}));
  while (!open.empty()) {
    const auto [state, place] = std::move(open.front());
    open.pop_front();
    if (place.second == bounds.steps) continue;
    for (auto& [step, next] : machine.steps(state)) {
      if (!known.insert(key_of(next)).second) continue;
      trail.emplace_back(place.first, step);
      std::string broken = next.observer.broken(next.partition, next.letters);
      if (next.corrupt) broken = "a record does not follow what was read before it";
      if (!broken.empty()) {
        result.broken = broken;
        for (std::size_t at = trail.size() - 1; at != 0; at = trail[at].first) {
          result.history.insert(result.history.begin(), trail[at].second);
        }
        result.states = known.size();
        return result;
      }
      open.push_back({std::move(next), {trail.size() - 1, place.second + 1}});
    }
  }
  result.states = known.size();
  return result;
}

}  // namespace ackline::io::model
