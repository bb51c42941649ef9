// A settle whose answer waits for a dead letter of its event (Shard::waiting_settles_). It owns
// what the request only looks at. Shard's thread.
#pragma once

#include <string>
#include <utility>

#include "ackline/runtime/shard.h"

namespace ackline::runtime {

struct Shard::WaitingSettle {
  WaitingSettle(bool asked_again, const delivery::SettleRequest& what, SettleDone answer)
      : again(asked_again),
        done(std::move(answer)),
        client_id_(what.client_id),
        principal_(what.principal),
        reason_(what.reason),
        asked_(what) {}

  [[nodiscard]] delivery::SettleRequest request() const {
    delivery::SettleRequest out = asked_;
    out.client_id = client_id_;
    out.principal = principal_;
    out.reason = reason_;
    return out;
  }

  bool again;  // not the reject that asked for the dead letter: to be asked once more
  SettleDone done;

 private:
  std::string client_id_;
  std::string principal_;
  std::string reason_;
  delivery::SettleRequest asked_;
};

}  // namespace ackline::runtime
