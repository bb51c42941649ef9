// The checker: from the history alone, was every promise of semantics.md kept?
//
// Written from the semantics, without the server's code or types. It is told each call when it is
// made and when it is answered, each delivery, each death, and keeps for every event of every group
// what is certain (answered and durable) and what is possible (asked, perhaps done). A promise is
// broken when the server says something that no possible history explains. The first broken
// promise is kept with its story; later ones are counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/simulation/history.h"

namespace ackline::sim {

class Checker {
 public:
  // Hand-overs between threads take time: what was on its way when an answer came may arrive so
  // much later.
  // `hold`: retention takes nothing that a group has not passed. `sync_commit`: an accepted publish
  // is durable; `ack_sync`: so is an answered ack.
  struct Modes {
    bool hold = true;
    bool sync_commit = true;
    bool ack_sync = false;
    std::uint32_t restarts_max = 20;  // an offer that lived through so many starts is dead
  };
  Checker(Ms slack_ms, Ms grace_ms, Modes modes)
      : slack_ms_(slack_ms), grace_ms_(grace_ms), modes_(modes) {}

  void set_time(Ms now, Ms wall) {
    now_ = now;
    wall_ = std::max(wall_, wall);  // it may jump back; what was over stays over
  }

  // --- topics and events
  void topic_made(const std::string& topic);
  void topic_deleting(const std::string& topic);
  void topic_deleted(const std::string& topic);
  void publishing(const EventFacts& event);
  // Empty `error`: accepted. `certain_refusal`: the error says that it was not done.
  void published(std::uint64_t event, const std::string& error, bool certain_refusal,
                 std::uint32_t partition, std::int64_t offset);

  // --- groups and clients
  void subscribing(const GroupFacts& group);
  void subscribed(const GroupFacts& group, const std::string& client, Ms invoked, bool created,
                  const std::map<std::uint32_t, std::int64_t>& start);
  void unsubscribing(const std::string& client, const std::string& topic, const std::string& group);
  void unsubscribed(const std::string& client, const std::string& topic, const std::string& group);
  // Its ordering is or was about to be changed: nothing is checked of it any more.
  void unordered(const std::string& topic, const std::string& group);
  void deleting_group(const std::string& topic, const std::string& group);
  void deleted_group(const std::string& topic, const std::string& group, bool done);
  // Not `opened`: it may have been, the answer was not heard.
  void stream_closed(const std::string& client, bool opened);
  void stream_opened(const std::string& client);
  // The server sees only now that its client is gone: what it was given until here went with it.
  void stream_gone(const std::string& client);
  void disrupted(const std::string& client);
  // Nobody can come back while it drains: graces begin anew at its end.
  void draining(bool on);

  // --- deliveries
  void delivered(const DeliverySeen& seen);
  void settling(Verb verb, const std::string& client, const std::string& id);
  void settled(const SettleSeen& seen);

  // --- operators
  // `to`: by partition, the first offset to be offered. Each gets its `reopened`.
  void reopening(const std::string& topic, const std::string& group, bool reset,
                 const std::map<std::uint32_t, std::int64_t>& to);
  enum class Reopen : std::uint8_t { kDone, kRefused, kPerhaps };
  void reopened(const std::string& topic, const std::string& group, std::uint32_t partition,
                Ms invoked, Reopen outcome, std::uint32_t generation);
  void purging(const std::string& topic);
  // What it has under way is nobody's from then on.
  void ending_lane(const std::string& lane);
  // A replay as a lane: from and to (exclusive) by partition; "" or the type of its events.
  // `replaying` before it is asked for: from then on what it covers may be dead once more.
  void replaying(const std::string& topic, const std::string& group,
                 const std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>& range);
  void lane_made(const std::string& lane,
                 const std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>& range,
                 const std::string& type);
  void progress(const ProgressSeen& seen);
  void dead_letters(const std::vector<DeadSeen>& page);

  // The process stands still.
  void paused(Ms until) { paused_until_ = std::max(paused_until_, until); }

  // --- deaths
  // A first offer from `offers_before` on may be forgotten, whatever the death.
  void died(bool power_cut, Ms durable_before, Ms offers_before);
  void came_back(Ms down_ms);
  // The end: everything was drained, all queries answered.
  void finish(const std::string& topic, const std::vector<LogSeen>& log,
              const std::map<std::uint32_t, std::int64_t>& log_start,
              const std::vector<DeadSeen>& dead);
  void fail(const std::string& rule, const std::string& story);

  [[nodiscard]] const std::optional<std::string>& broken() const { return broken_; }
  [[nodiscard]] std::uint64_t checks() const { return checks_; }
  [[nodiscard]] std::uint64_t deliveries() const { return deliveries_; }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }
  [[nodiscard]] bool group_exists(const std::string& topic, const std::string& group) const;

 private:
  enum class Fate : std::uint8_t { kPending, kAccepted, kRefused, kUnknown };
  struct Event {
    EventFacts facts;
    std::size_t incarnation = 0;
    Fate fate = Fate::kPending;
    std::optional<std::pair<std::uint32_t, std::int64_t>> place;
    Ms answered = 0;
    bool seen = false;  // by a reader: it is durable
  };
  // One partition of one topic incarnation.
  struct Log {
    std::map<std::int64_t, std::uint64_t> events;  // by offset
    std::map<std::string, std::set<std::int64_t>> keys;
    std::int64_t start = 0;
    std::int64_t accepted_end = 0;  // one past the highest accepted offset
  };
  struct Topic {
    std::string name;
    std::map<std::uint32_t, Log> logs;
    bool deleting = false;
    Ms gone_at = -1;
  };
  struct Offer {
    std::string id;
    std::string client;
    std::uint32_t attempt = 0;
    Ms at = 0;
    Ms lease_end = 0;
    bool over = false;
    bool lost = false;  // a power cut may have taken it
    std::string lane;   // "" = none
    Ms extended_at = -1;
    bool extending = false;  // asked, not answered: its end is not known
    bool resent = false;     // first seen as a resend: the offer itself may come after it
    bool dropped = false;    // a reset dropped it: its id is stale for ever
    // It came beside the one before it while a reopen was in flux: nobody knows which is younger.
    bool crossed = false;
    std::uint64_t disruptions = 0;
    std::uint32_t starts = 0;  // that it may have lived through
  };
  // One event for one group.
  struct State {
    std::vector<Offer> offers;
    bool acked = false;       // certain
    bool acked_done = false;  // an ack was answered with more than `already`
    Ms acked_at = 0;
    bool ack_possible = false;
    bool reject_asked = false;
    bool dead = false;  // certain: an entry was seen, or an answer said so
    Ms dead_at = 0;
    bool skipped = false;         // a reset went past it
    std::uint32_t attempts = 0;   // seen in this generation
    std::uint32_t floor = 1;      // least attempt of the next offer
    std::uint64_t disrupted = 0;  // the group's count when it was last seen
    bool seen = false;            // offered in this generation
    bool reopened = false;        // a replay opened it again: it was certainly done before
  };
  struct Part {
    std::int64_t start = 0;
    std::map<std::int64_t, State> states;
    std::int64_t maybe_start = 0;  // of a reset that may have been done
    bool start_sure = true;        // nothing that may have been done moved it
    std::uint32_t generation = 1;
    std::int64_t frontier = -1;
    Ms frontier_at = -1;
    std::int64_t pending_to = 0;
    // A replay keeps what is in flight, in its own order, also what was offered and never arrived:
    // below, only what was certainly done before is certainly offered in order.
    std::int64_t ordered_from = 0;
    bool pending_reset = false;
    bool unsure = false;        // a reopen may or may not have been done
    std::uint32_t reopens = 0;  // under way
    Ms reopened_at = -1000;
    std::vector<std::pair<std::int64_t, std::int64_t>> replayed;  // by lanes, perhaps
  };
  struct Group {
    GroupFacts facts;
    std::size_t incarnation = 0;
    Ms born = 0;
    bool ending = false;
    bool deleting = false;  // asked for, not answered
    std::map<std::uint32_t, Part> parts;
    std::uint64_t disruptions = 0;
    bool start_known = false;
  };
  struct OfferRef {
    std::size_t group = 0;
    std::uint32_t partition = 0;
    std::int64_t offset = 0;
  };
  struct Client {
    std::optional<Ms> loss_at;  // what it held at `closed_at` ends then, unless it comes back
    Ms closed_at = 0;
    bool streams = false;
    bool leaving = false;  // it unsubscribes
  };

  [[nodiscard]] Topic& topic_of(const std::string& name);
  [[nodiscard]] Group* group_of(const std::string& topic, const std::string& group);
  void drop_group(const std::string& topic, const std::string& group);
  void drop_groups_of(const std::string& topic);
  [[nodiscard]] bool bind(Topic& topic, std::uint32_t partition, std::int64_t offset, Event& event,
                          const std::string& how);
  [[nodiscard]] Offer* find_offer(const std::string& id, Group** group, State** state, Part** part);
  [[nodiscard]] bool matches(const Group& group, const Event& event) const;
  [[nodiscard]] bool expired(const Event& event) const;
  [[nodiscard]] bool maybe_dead(const Group& group, const State& state) const;
  [[nodiscard]] bool maybe_terminal(const Group& group, const Part& part, const Log& log,
                                    std::int64_t offset) const;
  // The same of one that is known; `state`: null where it was never offered.
  [[nodiscard]] bool maybe_terminal(const Group& group, const Part& part, const Log& log,
                                    std::int64_t offset, std::uint64_t number,
                                    const State* state) const;
  [[nodiscard]] bool in_flux(const Part& part) const;
  // `later` took the place of `offer` for certain.
  [[nodiscard]] bool superseded(const Offer& offer, const Offer& later) const;
  void apply_replay(const Group& group, Part& part, Ms invoked);
  void apply_reset(Part& part, Ms invoked);
  void apply_perhaps(const Group& group, Part& part);
  void check_order(Group& group, Part& part, Log& log, const Event& event,
                   const DeliverySeen& seen);
  void check_attempt(const Group& group, const State& state, const DeliverySeen& seen);
  void check_exclusive(const Group& group, State& state, const DeliverySeen& seen);
  void check_lane(const std::string& lane, std::uint32_t partition, std::int64_t offset,
                  const std::string& type);
  void check_frontier(Group& group, Part& part, Log& log, const ProgressSeen& seen);
  void check_counts(Group& group, Part& part, Log& log, const ProgressSeen& seen);
  [[nodiscard]] std::string tell(const DeliverySeen& seen) const;
  [[nodiscard]] std::string tell(const State& state) const;

  Ms slack_ms_;
  Ms grace_ms_;
  Modes modes_;
  Ms now_ = 0;
  Ms wall_ = 0;
  std::vector<Topic> topics_;
  std::map<std::string, std::size_t> current_topic_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, std::string>, std::size_t> current_group_;
  std::map<std::string, Ms> recently_gone_;  // topic or topic/group, and when
  std::unordered_map<std::uint64_t, Event> events_;
  std::unordered_map<std::string, OfferRef> offers_;
  std::map<std::string, Client> clients_;
  std::map<std::string, std::string> entry_of_key_;
  std::map<std::string, std::string> key_of_entry_;
  std::set<std::string> purged_;  // topics
  std::set<std::string> ended_lanes_;
  struct LaneFacts {
    std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> range;
    std::string type;
  };
  struct LaneOffer {
    std::uint32_t partition = 0;
    std::int64_t offset = 0;
    std::string type;
  };
  std::map<std::string, LaneFacts> lanes_;
  std::map<std::string, std::vector<LaneOffer>> early_;  // of lanes that are not known yet
  std::optional<Ms> draining_since_;
  std::optional<std::string> broken_;
  Ms paused_until_ = -1000;
  std::uint64_t checks_ = 0;
  std::uint64_t deliveries_ = 0;
  std::uint64_t accepted_ = 0;
};

}  // namespace ackline::sim
