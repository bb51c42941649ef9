// What the routes of one connection's shard call: finds the shard that owns what is asked for, and
// brings the answer back.
//
// One edge a shard; all its methods are called, and all `done` run, on that shard's thread. It
// keeps nothing but counters: state is the shards', the sessions' and the control plane's.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/runtime/node.h"

namespace ackline::runtime {

// The first offset to be offered that `position` means on one partition; nullopt when it does not
// name the partition. Errors: kBadValue (outside the log), kTimeout (not in memory), the log's.
[[nodiscard]] Result<std::optional<Offset>> offset_of_position(log::PartitionLog& log,
                                                               std::uint32_t partition,
                                                               const api::Position& position,
                                                               bool strict);

// kBadValue: it names a partition that the topic does not have.
[[nodiscard]] Result<void> check_position(const Topic& topic, const api::Position& position);

struct SubscribeFacts;
struct ReplaySelection;

class Edge final : public api::Traffic, public api::Admin {
 public:
  Edge(Node& node, ShardIndex here);

  // --- api::Traffic (edge_publish.cc, edge_subscribe.cc, edge_delivery.cc)
  void publish(api::PublishRequest request, api::Done<api::PublishResults> done) override;
  void subscribe(api::SubscribeRequest request, api::Done<api::Subscribed> done) override;
  void unsubscribe(std::string client_id, std::optional<std::string> topic, api::Caller caller,
                   api::Done<api::Unsubscribed> done) override;
  [[nodiscard]] std::unique_ptr<api::Attachment> poll(
      std::string client_id, api::Caller caller, std::uint32_t max, std::int64_t timeout_ms,
      api::Done<std::vector<channel::Delivery>> done) override;
  [[nodiscard]] std::unique_ptr<api::Attachment> stream(std::string client_id, api::Caller caller,
                                                        channel::PushChannel& channel,
                                                        api::Done<void> opened) override;
  void settle(api::SettleCall call, api::Done<api::SettleResults> done) override;

  // --- api::Admin (edge_topics.cc, edge_groups.cc)
  void topics(api::Done<std::vector<api::TopicItem>> done) override;
  void topic(std::string name, api::Done<api::TopicItem> done) override;
  void create_topic(api::TopicCreate request, api::Done<api::TopicItem> done) override;
  void delete_topic(std::string name, bool force, api::Done<api::Removed> done) override;
  void groups(std::optional<std::string> topic,
              api::Done<std::vector<api::GroupItem>> done) override;
  void group(std::string topic, std::string group, api::Done<api::GroupItem> done) override;
  void patch_group(api::GroupPatch patch, api::Done<api::GroupPatched> done) override;
  void delete_group(std::string topic, std::string group, bool force,
                    api::Done<api::Removed> done) override;
  void subscriptions(std::optional<std::string> topic,
                     api::Done<std::vector<api::SubscriptionItem>> done) override;
  void clients(std::optional<std::string> topic,
               api::Done<std::vector<api::ClientItem>> done) override;
  void reject_client(std::string client_id, api::Done<api::Removed> done) override;
  void offsets(std::string topic, api::Done<std::vector<api::OffsetItem>> done) override;

  // --- api::Admin (edge_progress.cc, edge_reopen.cc)
  void lag(std::optional<std::string> topic, std::optional<std::string> group, bool audit,
           api::Done<std::vector<api::GroupLag>> done) override;
  void holes(api::HolesQuery query, api::Done<api::HolesAnswer> done) override;
  void explain(std::string topic, std::string group, std::optional<std::uint32_t> partition,
               api::Done<api::ExplainAnswer> done) override;
  void reopen(api::ReopenQuery query, api::Done<api::ReopenAnswer> done) override;

  // --- api::Admin (edge_events.cc, edge_dead_letters.cc, edge_lanes.cc)
  void events(api::EventsQuery query, api::Done<api::EventsAnswer> done) override;
  void browse_dead(api::DeadLetterQuery query, api::Done<api::DeadLetterPage> done) override;
  void redrive(api::RedriveRequest request, api::Done<api::LaneItem> done) override;
  void purge_dead(api::DeadLetterQuery which, api::Done<api::Purged> done) override;
  void lanes(std::optional<std::string> topic, std::optional<std::string> group,
             api::Done<std::vector<api::LaneItem>> done) override;
  void lane(std::string lane_id, api::Done<api::LaneItem> done) override;
  void end_lane(std::string lane_id, api::Done<api::Removed> done) override;

  void drain(bool on, api::Done<api::DrainState> done) override;
  void drain_progress(api::Done<api::DrainState> done) override;
  [[nodiscard]] std::vector<api::HealthCheck> readiness() const override;

 private:
  [[nodiscard]] ShardUnit& here() { return node_.unit(here_); }
  [[nodiscard]] Executor& executor() { return node_.unit(here_).executor; }
  [[nodiscard]] const Catalog& catalog() { return here().shard->catalog(); }
  // An answer that is known at once still comes after the call has returned.
  template <class T>
  void answer_later(api::Done<T> done, Result<T> result) {
    executor().post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }
  // Runs a change on the control plane; `done` here, with what `planner` left in `out`.
  template <class T>
  void change(const std::shared_ptr<T>& out, Control::Planner planner, api::Done<T> done) {
    run_on(node_.control_executor(), [this, out, planner = std::move(planner),
                                      done = std::move(done)]() mutable {
      node_.control().change(std::move(planner), [this, out, done = std::move(done)](
                                                     Result<void> outcome) mutable {
        run_on(executor(), [out, done = std::move(done), outcome = std::move(outcome)]() mutable {
          if (!outcome) {
            done(std::unexpected(outcome.error()));
          } else {
            done(std::move(*out));
          }
        });
      });
    });
  }
  // Writes the audit line once the change is in meta, and puts its id into the answer.
  [[nodiscard]] api::Done<api::Removed> audited(std::string what, std::string subject,
                                                api::Done<api::Removed> done);
  // Tells the client's home that it called, and from where.
  void mark_seen(const std::string& client_id, std::string remote);
  // The topic, made when it is not there and may be made by itself.
  void ensure_topic(std::string name, api::Done<TopicPtr> done);
  void publish_to(const TopicPtr& topic, api::PublishRequest request,
                  api::Done<api::PublishResults> done);
  void publish_one(const Topic& topic, const event::Partitioner& partitioner,
                   api::PublishRequest request, api::Done<api::PublishResults> done);
  [[nodiscard]] Result<TopicPtr> require_topic(std::string_view name);
  [[nodiscard]] Result<GroupPtr> require_group(std::string_view topic, std::string_view group);
  // Position -> first offset of the partitions in `only` (empty: every one of the topic), asked
  // from the shards that own them. `kReset`: offsets outside the log are refused. What it is for
  // decides of damaged partitions.
  enum class Resolve : std::uint8_t { kStart, kReplay, kReset };
  void resolve(const TopicPtr& topic, api::Position position, std::vector<std::uint32_t> only,
               Resolve what, api::Done<std::map<std::uint32_t, Offset>> done);
  void start_lanes(std::vector<std::shared_ptr<Lane>> lanes, api::LaneItem sum,
                   api::Done<api::LaneItem> done);
  // A replay by filter; `group` and the partitions named are there (edge_replay.cc).
  void replay_lane(const TopicPtr& topic, GroupPtr group, api::ReopenQuery query,
                   api::Done<api::ReopenAnswer> done);
  void replay_range(const std::shared_ptr<const ReplaySelection>& selection, api::ReopenQuery query,
                    api::Done<api::ReopenAnswer> done);
  // Offsets in the dead-letter partitions.
  using PurgeEntries = std::map<delivery::ProgressKey, std::vector<Offset>>;
  void purge_entries(const TopicPtr& topic, std::shared_ptr<const PurgeEntries> entries,
                     api::Done<api::Purged> done);
  void with_counts(const std::vector<LanePtr>& lanes, api::Done<std::vector<api::LaneItem>> done);
  void finish_subscribe(api::SubscribeRequest request, SubscribeFacts facts,
                        api::Done<api::Subscribed> done);
  void subscribe_with(const TopicPtr& topic, api::SubscribeRequest request,
                      api::Done<api::Subscribed> done);

  Node& node_;
  ShardIndex here_;
  std::unordered_map<std::string, std::uint32_t> turns_;  // publishes without a key: next partition
};

}  // namespace ackline::runtime
