// Clients as their home shard knows them: the edge side of a client (architecture.md, "Edge and
// owner").
//
// A client lives on the shard that its id hashes to, wherever its connections are. Its session
// lends the client's credit to the shards that own partitions of its topics, takes their offers and
// hands them to the one channel that is open: a poll, which ends with the first offers, or a
// stream. What a poll cannot take any more is withdrawn, so that its attempt is given back. Leases,
// attempts and ids exist only at the owners.
//
// Home shard's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ackline/api/traffic.h"
#include "ackline/base/executor.h"
#include "ackline/channel/push_channel.h"
#include "ackline/delivery/port.h"
#include "ackline/runtime/catalog.h"

namespace ackline::runtime {

// What a session asks of the shard that owns partitions; runs there, in order.
struct OwnerLink {
  std::function<void(ShardIndex, ClientNumber, std::uint32_t events, std::uint64_t bytes)>
      set_window;
  std::function<void(ShardIndex, ClientNumber, std::uint32_t events)> set_demand;
  std::function<void(ShardIndex, ClientNumber)> connected;
  std::function<void(ShardIndex, ClientNumber)> disconnected;
  std::function<void(ShardIndex, delivery::DeliveryId)> withdraw;
  // Calls back, on the home's thread, when what that shard can offer now has been handed over.
  std::function<void(ShardIndex, Task)> when_offered;
};

// The far end of a stream, on the thread of the shard that has the connection.
struct StreamEnd {
  std::function<void(std::vector<channel::Delivery>)> deliver;
  std::function<void(channel::EndReason)> end;
  std::string remote = {};  // "address:port" of the connection
};

struct SessionView {
  std::string client_id;
  std::string channel;  // "sse", "poll", "none"
  bool connected = false;
  WallMs last_seen;
  std::string remote;  // of its open channel, else of the last call; "" unknown
};

class Sessions {
 public:
  struct Options {
    ShardIndex home;
    std::uint32_t shards = 1;
    std::uint32_t max_in_flight = 1000;
    std::uint64_t max_in_flight_bytes = 64U << 20U;
  };
  Sessions(Options options, Executor& executor, const Catalog& catalog,
           const delivery::DeliveryIdCodec& ids, OwnerLink owners);

  // At boot, once the catalog is loaded: every subscription of a client that lives here.
  void start();
  void adopt(const Delta& delta);

  using PollDone = std::move_only_function<void(Result<std::vector<channel::Delivery>>)>;
  // Returns the poll's number for `cancel_poll`; 0 when `done` was called with an error.
  std::uint64_t poll(const std::string& client_id, std::string remote, std::uint32_t max,
                     std::int64_t timeout_ms, PollDone done);
  // The connection has gone: the poll ends with nothing, and what comes now is withdrawn.
  void cancel_poll(const std::string& client_id, std::uint64_t poll);
  [[nodiscard]] Result<std::uint64_t> open_stream(const std::string& client_id, StreamEnd end);
  void close_stream(const std::string& client_id, std::uint64_t stream);
  // It called by another connection than its channel's.
  void seen(const std::string& client_id, std::string remote);
  // Ends the client's stream or poll from our side.
  void end_channels(const std::string& client_id, channel::EndReason reason);
  void end_all(channel::EndReason reason);
  void set_draining(bool draining) { draining_ = draining; }

  void on_offers(const std::vector<delivery::Offer>& offers);

  [[nodiscard]] std::vector<SessionView> views() const;
  [[nodiscard]] std::optional<WallMs> last_seen(const std::string& client_id) const;

 private:
  struct Poll {
    std::uint64_t number = 0;
    std::uint32_t max = 0;
    PollDone done;
    std::vector<channel::Delivery> got;
    Executor::TimerId timer = 0;
    std::size_t asked = 0;  // owners, in its last round
  };
  struct Session {
    std::string client_id;
    std::map<ClientNumber, std::vector<ShardIndex>> owners;  // by subscription
    std::unique_ptr<Poll> poll;
    std::uint64_t stream = 0;  // 0: none
    StreamEnd end;
    WallMs last_seen;
    std::string remote;
  };
  void add(const SubscriptionPtr& subscription);
  void remove(const SubscriptionPtr& subscription, channel::EndReason reason);
  void lend(Session& session, const SubscriptionPtr& subscription);
  void demand(Session& session, std::uint32_t events);
  [[nodiscard]] Session* with_poll(const std::string& client_id, std::uint64_t number);
  void last_round(const std::string& client_id, std::uint64_t number);
  void finish_poll(Session& session, Result<void> outcome);
  [[nodiscard]] channel::Delivery as_delivery(const delivery::Offer& offer) const;
  [[nodiscard]] ShardIndex owner_of(const delivery::Offer& offer) const;

  Options options_;
  Executor& executor_;
  const Catalog& catalog_;
  const delivery::DeliveryIdCodec& ids_;
  OwnerLink owners_;
  std::unordered_map<std::string, Session> sessions_;
  std::unordered_map<ClientNumber, std::string> clients_;
  std::uint64_t next_number_ = 1;
  bool draining_ = false;
};

}  // namespace ackline::runtime
