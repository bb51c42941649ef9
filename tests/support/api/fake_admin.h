// `Admin` that records what it is asked and answers what the test wrote, one turn later.
#pragma once

#include <utility>
#include <vector>

#include "ackline/api/admin.h"
#include "tests/support/manual_executor.h"

namespace ackline::api::testing {

class FakeAdmin final : public Admin {
 public:
  explicit FakeAdmin(ackline::testing::ManualExecutor& executor) : executor_(executor) {}

  // Answers of every call; set to an error to make them fail.
  std::optional<Error> error;
  std::vector<TopicItem> topic_items;
  std::vector<GroupItem> group_items;
  std::vector<SubscriptionItem> subscription_items;
  std::vector<ClientItem> client_items;
  std::vector<OffsetItem> offset_items;
  std::vector<GroupLag> lags;
  HolesAnswer holes_answer;
  ExplainAnswer explain_answer;
  ReopenAnswer reopen_answer;
  EventsAnswer events_answer;
  DeadLetterPage dead_page;
  LaneItem lane_item;
  Purged purged_answer{1, "a-93"};
  DrainState drain_state{"draining", 0};
  std::vector<HealthCheck> health{{"log", true, {}}};

  // What was asked last.
  std::optional<std::string> topic_asked;
  std::optional<std::string> group_asked;
  std::optional<std::uint32_t> partition_asked;
  bool audit_asked = false;
  bool force_asked = false;
  TopicCreate create_asked;
  GroupPatch patch_asked;
  std::string client_asked;
  HolesQuery holes_asked;
  ReopenQuery reopen_asked;
  EventsQuery events_asked;
  DeadLetterQuery dead_asked;
  RedriveRequest redrive_asked;
  std::string lane_asked;
  std::vector<bool> drains;
  int calls = 0;

  void topics(Done<std::vector<TopicItem>> done) override { answer(std::move(done), topic_items); }
  void topic(std::string name, Done<TopicItem> done) override {
    topic_asked = std::move(name);
    answer(std::move(done), topic_items.empty() ? TopicItem{} : topic_items.front());
  }
  void create_topic(TopicCreate request, Done<TopicItem> done) override {
    create_asked = std::move(request);
    answer(std::move(done), topic_items.empty() ? TopicItem{} : topic_items.front());
  }
  void delete_topic(std::string name, bool force, Done<Removed> done) override {
    topic_asked = std::move(name);
    force_asked = force;
    answer(std::move(done), Removed{true, "a-1"});
  }
  void groups(std::optional<std::string> topic, Done<std::vector<GroupItem>> done) override {
    topic_asked = std::move(topic);
    answer(std::move(done), group_items);
  }
  void group(std::string topic, std::string group, Done<GroupItem> done) override {
    name(std::move(topic), std::move(group));
    answer(std::move(done), group_items.empty() ? GroupItem{} : group_items.front());
  }
  void patch_group(GroupPatch patch, Done<GroupPatched> done) override {
    patch_asked = std::move(patch);
    answer(std::move(done),
           GroupPatched{group_items.empty() ? GroupItem{} : group_items.front(), "a-2"});
  }
  void delete_group(std::string topic, std::string group, bool force, Done<Removed> done) override {
    name(std::move(topic), std::move(group));
    force_asked = force;
    answer(std::move(done), Removed{true, "a-3"});
  }
  void subscriptions(std::optional<std::string> topic,
                     Done<std::vector<SubscriptionItem>> done) override {
    topic_asked = std::move(topic);
    answer(std::move(done), subscription_items);
  }
  void clients(std::optional<std::string> topic, Done<std::vector<ClientItem>> done) override {
    topic_asked = std::move(topic);
    answer(std::move(done), client_items);
  }
  void reject_client(std::string client_id, Done<Removed> done) override {
    client_asked = std::move(client_id);
    answer(std::move(done), Removed{true, "a-4"});
  }
  void offsets(std::string topic, Done<std::vector<OffsetItem>> done) override {
    topic_asked = std::move(topic);
    answer(std::move(done), offset_items);
  }
  void lag(std::optional<std::string> topic, std::optional<std::string> group, bool audit,
           Done<std::vector<GroupLag>> done) override {
    topic_asked = std::move(topic);
    group_asked = std::move(group);
    audit_asked = audit;
    answer(std::move(done), lags);
  }
  void holes(HolesQuery query, Done<HolesAnswer> done) override {
    holes_asked = std::move(query);
    answer(std::move(done), holes_answer);
  }
  void explain(std::string topic, std::string group, std::optional<std::uint32_t> partition,
               Done<ExplainAnswer> done) override {
    name(std::move(topic), std::move(group));
    partition_asked = partition;
    answer(std::move(done), explain_answer);
  }
  void reopen(ReopenQuery query, Done<ReopenAnswer> done) override {
    reopen_asked = std::move(query);
    answer(std::move(done), reopen_answer);
  }
  void events(EventsQuery query, Done<EventsAnswer> done) override {
    events_asked = std::move(query);
    answer(std::move(done), events_answer);
  }
  void browse_dead(DeadLetterQuery query, Done<DeadLetterPage> done) override {
    dead_asked = std::move(query);
    answer(std::move(done), dead_page);
  }
  void redrive(RedriveRequest request, Done<LaneItem> done) override {
    redrive_asked = std::move(request);
    answer(std::move(done), lane_item);
  }
  void purge_dead(DeadLetterQuery which, Done<Purged> done) override {
    dead_asked = std::move(which);
    answer(std::move(done), purged_answer);
  }
  void lanes(std::optional<std::string> topic, std::optional<std::string> group,
             Done<std::vector<LaneItem>> done) override {
    topic_asked = std::move(topic);
    group_asked = std::move(group);
    answer(std::move(done), std::vector<LaneItem>{lane_item});
  }
  void lane(std::string lane_id, Done<LaneItem> done) override {
    lane_asked = std::move(lane_id);
    answer(std::move(done), lane_item);
  }
  void end_lane(std::string lane_id, Done<Removed> done) override {
    lane_asked = std::move(lane_id);
    answer(std::move(done), Removed{true, "a-5"});
  }
  void drain(bool on, Done<DrainState> done) override {
    drains.push_back(on);
    drain_state.state = on ? "draining" : "serving";
    answer(std::move(done), drain_state);
  }
  void drain_progress(Done<DrainState> done) override { answer(std::move(done), drain_state); }
  [[nodiscard]] std::vector<HealthCheck> readiness() const override { return health; }

 private:
  void name(std::string topic, std::string group) {
    topic_asked = std::move(topic);
    group_asked = std::move(group);
  }
  template <class T>
  void answer(Done<T> done, T value) {
    ++calls;
    Result<T> result = error ? Result<T>(std::unexpected(*error)) : Result<T>(std::move(value));
    executor_.post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }
  ackline::testing::ManualExecutor& executor_;
};

}  // namespace ackline::api::testing
