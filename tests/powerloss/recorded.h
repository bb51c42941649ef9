// A recorded run: clients that publish, take, ack, reject, redrive and ask for progress on a
// process, and what they were told up to any moment. The record is the clients' own; the server's
// state is not looked at. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/powerloss/process.h"

namespace ackline::powerloss {

struct Place {
  std::string topic;
  std::uint32_t partition = 0;
  std::int64_t offset = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

// What clients know. "Told" is certain, "asked" may have happened.
struct Told {
  std::set<std::string> sent;                                               // ids
  std::map<Place, std::string> accepted;                                    // 202, and its id
  std::set<Place> asked;                                                    // to ack or to reject
  std::set<Place> acked;                                                    // 200
  std::set<Place> rejected;                                                 // 200
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> frontiers;  // of group `g`
  bool subscribed = false;                                                  // 200
};

// What the one client asks for.
[[nodiscard]] api::SubscribeRequest subscribe_request();

class Recorded {
 public:
  Recorded(Process& process, std::uint64_t seed) : process_(process), random_(seed) {}

  // Sets the clients to work; they go on as long as the process runs.
  void start();
  // What is under way ends; nothing new is asked.
  void stop() { working_ = false; }
  [[nodiscard]] const Told& told() const { return told_; }

 private:
  void every(std::int64_t least_ms, std::int64_t most_ms, std::function<void()> what);
  void publish();
  void subscribe();
  void poll();
  void received(const std::vector<channel::Delivery>& got);
  void settle(delivery::Verb verb, std::vector<std::string> ids, std::vector<Place> places);
  void ask_lag();
  void redrive();

  Process& process_;
  Random random_;
  Told told_;
  std::uint64_t next_ = 1;
  bool working_ = true;
  bool polling_ = false;
  std::unique_ptr<api::Attachment> attachment_;
};

}  // namespace ackline::powerloss
