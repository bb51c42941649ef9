// One seed: a world, clients that behave and misbehave, operators, faults, and the checker.
//
// Everything is drawn from the seed: the layout, the policies, what each client does with each
// delivery, which fault strikes when. Phases: work under faults, then healing (no more faults,
// clients settle everything), within a bounded virtual time; at the end the log, the dead letters
// and the progress of every group are audited.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/api/traffic.h"
#include "ackline/channel/push_channel.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/world.h"

namespace ackline::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  bool verbose = false;  // the history on stderr
};

struct SimulationResult {
  std::optional<std::string> broken;
  std::uint64_t events = 0;  // accepted
  std::uint64_t deliveries = 0;
  std::uint64_t checks = 0;
  std::size_t groups = 0;
  std::uint32_t kills = 0;
  std::uint32_t power_cuts = 0;
  std::uint32_t stops = 0;
  std::uint64_t disk_faults = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t redriven = 0;
  std::uint64_t reopens = 0;
  std::uint64_t lanes = 0;  // replays as lanes
  std::uint64_t moves = 0;  // of deliveries, from the journal into rows and back
  std::uint64_t topic_deletions = 0;
  bool rows = false;
  Ms virtual_ms = 0;
  std::uint64_t tasks = 0;
  std::uint64_t trace = 0;
};

class Simulation {
 public:
  explicit Simulation(SimulationOptions options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  [[nodiscard]] SimulationResult run();

 private:
  struct TopicPlan {
    std::string name;
    std::uint32_t partitions = 1;
    api::Retention retention;
    enum class State : std::uint8_t { kAbsent, kBusy, kReady, kLeaving } state = State::kAbsent;
    std::uint32_t publishes = 0;  // under way
    std::uint32_t changes = 0;    // subscribes and reopens under way
  };
  struct GroupPlan {
    GroupFacts facts;
    std::int64_t ack_timeout_ms = 0;
    std::int64_t max_lease_ms = 0;
    std::uint32_t max_in_flight = 0;
    std::optional<std::uint64_t> max_in_flight_bytes;
    // Nullopt while nobody knows which of two it is.
    std::optional<Ordering> ordering;
    std::vector<std::int64_t> backoff_ms;
    bool earliest = true;
    std::optional<std::int64_t> start_offset;
    std::optional<std::int64_t> start_back_ms;  // by time
    std::string filter_json;
    bool dead_letter_expired = false;
    bool leaving = false;  // it is being deleted
    bool reopening = false;
    bool patching = false;
    bool unsure = false;              // it may have been deleted: that is asked until it is certain
    std::uint32_t poison_modulo = 0;  // events that its clients never manage; 0: none
  };
  class Channel;
  struct Client {
    std::string id;
    std::size_t group = 0;
    std::size_t topic = 0;
    bool streams = false;
    std::vector<std::uint32_t> partitions;  // the only ones that it takes; empty: all
    bool subscribed = false;
    bool busy = false;  // a subscribe or unsubscribe is under way
    std::uint32_t edge = 0;
    std::uint64_t turn = 0;  // of its present attachment
    std::unique_ptr<Channel> channel;
    std::unique_ptr<api::Attachment> attachment;
    bool attached = false;
    bool opened = false;  // its stream
    bool ending = false;  // its group ends with it: asked until it is certain
    Ms attached_at = 0;
    Ms rest_until = 0;
    std::vector<std::string> ids;  // all that it ever got
  };

  // simulation.cc
  void plan();
  void live_until(Ms at, const std::function<bool()>& done);
  void die(Death how);
  void come_back();
  void on_death(Death how, Durable durable);
  void drain();
  void lanes_end(std::shared_ptr<bool> settled, std::shared_ptr<std::string> last);
  void audit();
  void explain(const std::string& topic, const std::string& group,
               std::shared_ptr<std::string> story);
  [[nodiscard]] bool quiet();
  void note(const std::string& line) const;
  void sync_time();
  // What a process still says after the moment of its death is heard by nobody.
  [[nodiscard]] bool dying() const { return !world_->alive() || world_->struck(); }
  void every(Ms least, Ms most, std::function<void()> what);
  // `work` on the thread of a connection of this life; dropped with the process.
  void call(std::uint32_t edge, std::function<void()> work);
  [[nodiscard]] api::Traffic& traffic(std::uint32_t edge);
  [[nodiscard]] api::Admin& admin(std::uint32_t edge);
  [[nodiscard]] std::uint32_t any_edge();

  // workload.cc
  [[nodiscard]] static delivery::Ordering api_ordering(Ordering ordering);
  void start_work();
  void publish_some();
  void client_turn(std::size_t index);
  void subscribe(Client& client);
  void unsubscribe(Client& client);
  void attach(Client& client);
  void detach(Client& client);
  void received(Client& client, std::uint64_t turn, std::span<const channel::Delivery> got);
  void ended(Client& client, std::uint64_t turn, bool gone);
  void decide(Client& client, const DeliverySeen& seen);
  void settle_later(Client& client, Ms after, Verb verb, const std::string& id,
                    std::optional<std::int64_t> ms, bool invalid = false);
  void settle(const std::string& client, Verb verb, const std::string& id,
              std::optional<std::int64_t> ms, bool invalid);

  // operators.cc
  void start_operators();
  void operator_turn();
  void keep_topics();
  void make_topic(TopicPlan& topic);
  void remove_topic(TopicPlan& topic);
  void ask_lag(bool audit, std::function<void(const std::vector<api::GroupLag>&)> then);
  void ask_dead(std::size_t topic, std::optional<std::string> after,
                std::shared_ptr<std::vector<DeadSeen>> all, std::function<void()> then);
  void ask_log(std::size_t topic, std::map<std::uint32_t, Offset> cursor,
               std::shared_ptr<std::vector<LogSeen>> all, std::function<void()> then);
  void reopen(GroupPlan& group);
  void replay_lane(GroupPlan& group);
  void redrive(std::size_t topic);
  void purge(std::size_t topic);
  void meddle();
  void patch(GroupPlan& group);
  void drain_server(bool on);
  void delete_group(GroupPlan& group);
  void end_group(GroupPlan& group, TopicPlan& topic);
  void send_away(Client& client);
  void hit_disk(DiskFault fault);
  void look_around();
  void start_faults();
  void fault();
  void restart_soon(Death how, Ms after);

  struct Ends {
    std::int64_t log_start = 0;
    std::int64_t high_watermark = -1;
  };

  SimulationOptions options_;
  Random random_;
  Random more_;  // of what came later: the choices of `random_` stay what they were
  std::unique_ptr<World> world_;
  std::unique_ptr<Checker> checker_;
  std::vector<TopicPlan> topics_;
  std::vector<GroupPlan> groups_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::string> old_ids_;
  std::map<std::pair<std::string, std::uint32_t>, Ends> ends_;
  std::vector<std::unique_ptr<Channel>> old_channels_;
  SimulationResult result_;
  std::uint64_t next_event_ = 1;
  bool healing_ = false;
  bool deletes_topics_ = false;
  bool purges_ = false;
  bool resets_ = false;
  bool hold_ = true;
  bool admins_ = false;  // groups are deleted, clients sent away, policies changed, lanes ended
  bool drains_ = false;
  bool moves_rows_ = false;  // a start may keep deliveries elsewhere
  int early_deaths_ = 0;
  std::vector<std::string> lanes_;
  std::optional<Death> death_wanted_;
  Ms active_ms_ = 0;
  Ms died_at_ = 0;
};

}  // namespace ackline::sim
