// The story that `ackline demo` plays against a real server, and its comparisons.
//
// Each number that the server gives is held against the story's own record of what it published and
// settled. Blocking; one thread. An error is a call that failed; a comparison that does not hold is
// counted and the story goes on.
#pragma once

#include <functional>
#include <string>

#include "ackline/cli/command.h"
#include "ackline/cli/demo_record.h"
#include "ackline/cli/demo_server.h"

namespace ackline::cli {

class DemoStory {
 public:
  // `stop` is asked between steps; true ends the story with kUnavailable.
  DemoStory(Console& console, DemoServer& server, std::function<bool()> stop);

  [[nodiscard]] Result<void> play();
  // Something to look at afterwards: a stuck consumer and a dead letter.
  [[nodiscard]] Result<void> leave_something();
  void check(std::string_view what, std::string_view server_says, std::string_view record_says);
  [[nodiscard]] int held() const { return held_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  static constexpr std::string_view kTopic = "orders";
  static constexpr std::string_view kFast = "billing";
  static constexpr std::string_view kSlow = "shipping";
  static constexpr std::string_view kFastClient = "billing-1";
  static constexpr std::string_view kSlowClient = "shipping-1";
  static constexpr std::string_view kPoison = "order-4242";

  struct Delivery {
    std::string id;
    std::string event_id;
    std::size_t partition = 0;
    std::int64_t offset = 0;
    std::string lane;
  };
  Result<void> publish_all();
  Result<void> publish_batch(std::int64_t first, std::int64_t count);
  Result<void> subscribe_groups();
  Result<void> run_fast_group();
  Result<void> run_slow_group(std::int64_t until);
  Result<void> look_at_hole(std::string_view when);
  Result<void> kill_and_restart();
  Result<void> finish_slow_group();
  Result<void> look_at_dead_letter();
  Result<void> redrive();
  Result<void> wait_for_lane(const std::string& lane);
  Result<void> replay_dry_run();

  static Target group_target(std::string_view path, std::string_view group);
  void title(std::string_view text);
  void say(std::string_view text);
  void connect();
  Result<Json> get(const Target& target);
  Result<Json> post(Port port, std::string_view path, const JsonObject& body);
  Result<std::vector<Delivery>> poll(std::string_view client, std::int64_t max);
  Result<void> ack(std::string_view client, GroupRecord& group,
                   const std::vector<Delivery>& deliveries);
  // Frontier, lag and pending of every partition.
  Result<void> compare_progress(std::string_view group, const GroupRecord& record);

  Console& console_;
  DemoServer& server_;
  std::function<bool()> stop_;
  ApiClient api_;
  Published published_;
  GroupRecord fast_;
  GroupRecord slow_;
  Delivery held_back_;  // what the slow group's client does not settle
  bool holds_ = false;
  int step_ = 0;
  int held_ = 0;
  int failed_ = 0;
};

}  // namespace ackline::cli
