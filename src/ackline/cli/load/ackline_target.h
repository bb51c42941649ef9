// Ackline as a target of load: HTTP/1.1, pipelined, publishes over some connections, takes
// deliveries by event stream or poll, and acks them.
//
// Subscriptions are the caller's. Owned by a run; on the loop's thread. A refused publish, an ack
// that does not count and a broken connection end the run (Loop::fail).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ackline/cli/load/connection.h"
#include "ackline/cli/load/cycle.h"
#include "ackline/cli/load/http_answers.h"

namespace ackline::cli::load {

enum class Delivery : std::uint8_t { kPoll, kStream };

struct AcklineOptions {
  std::string address;               // host:port
  std::string topic;                 // published to
  std::size_t size = 256;            // bytes of data of an event
  std::size_t connections = 8;       // that publish
  std::vector<std::string> clients;  // that take deliveries, subscribed already
  Delivery delivery = Delivery::kPoll;
  std::size_t poll_max = 500;  // deliveries in an answer
  std::size_t ack_max = 1000;  // ids in an ack; 1: one request each
  // One event in so many is nacked at its first attempt; one in so many at each, until it is dead
  // after `attempts`. 0: none. Such an event counts as acked when it is done with.
  std::uint64_t nack_every = 0;
  std::uint64_t poison_every = 0;
  std::uint64_t attempts = 5;  // of the group
};

class AcklineTarget final : public Target {
 public:
  AcklineTarget(Loop& loop, AcklineOptions options);
  ~AcklineTarget() override;

  void begin(Account& account) override;
  void publish(std::uint64_t first, std::size_t count) override;
  void flush() override;
  [[nodiscard]] double next_due() const override;
  void all_delivered() override {}

 private:
  struct Publisher;
  struct Acks;
  struct Client;

  void published(Publisher& publisher, int status, std::string_view body);
  void deliver(Client& client, std::string_view id, std::string_view delivery);
  // Whether the event is to be nacked now, and whether that ends it.
  struct Verdict {
    bool nack = false;
    bool dead = false;
  };
  [[nodiscard]] Verdict judge(std::uint64_t number, std::string_view delivery) const;
  void take_poll(Client& client, std::string_view body);
  void acked(Acks& acks, int status, std::string_view body);
  void poll(Client& client);
  void send_acks(Client& client);
  void send_nacks(Client& client);

  Loop& loop_;
  AcklineOptions options_;
  Account* account_ = nullptr;
  std::string request_;               // a publish of `batch_` events
  std::vector<std::size_t> id_ends_;  // where the number of each event ends in `request_`
  std::size_t batch_ = 0;
  std::uint64_t requests_ = 0;
  std::vector<std::unique_ptr<Publisher>> publishers_;
  std::vector<std::unique_ptr<Acks>> acks_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> dirty_;  // have ids to ack
};

// Makes `count` requests over one connection, pipelined, and waits for all: each answer must have
// `status`. `append` writes request number i. Errors: kUnavailable, with the first wrong answer.
[[nodiscard]] Result<void> pipeline(
    const std::string& address, std::size_t count, int status,
    const std::function<void(std::size_t i, std::string& out)>& append);

// "POST `target` …" with a JSON body.
void append_post(std::string& out, std::string_view address, std::string_view target,
                 std::string_view body);

}  // namespace ackline::cli::load
