// What Ackline is compared with, as targets of the same load loop: each speaks its server's own
// protocol over the same sockets, so that no peer has the worse client.
//
// One thread. A refusal or a broken connection ends the run (Loop::fail).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackline/cli/load/cycle.h"

namespace ackline::bench {

struct PeerOptions {
  std::string address;       // host:port
  std::string name;          // of the stream, queue or table that the runner made
  std::size_t size = 256;    // bytes of an event
  std::size_t batch = 1;     // events in a publish
  std::size_t ack_max = 1;   // events in an ack, where the protocol has that
  std::size_t window = 500;  // deliveries that are not acked
};

// JetStream: asynchronous publishes, a durable pull consumer `bench` with explicit acks, each acked
// by itself (it has no ack of many). Its acks are not answered: a ping behind the last is.
std::unique_ptr<cli::load::Target> nats_target(cli::load::Loop& loop, PeerOptions options);
// A Redis stream: XADD, XREADGROUP, XACK, pipelined.
std::unique_ptr<cli::load::Target> redis_target(cli::load::Loop& loop, PeerOptions options);
// AMQP 0-9-1: publisher confirms, consumer with prefetch and manual acks.
std::unique_ptr<cli::load::Target> rabbitmq_target(cli::load::Loop& loop, PeerOptions options);
// A table as a queue: INSERT; DELETE ... FOR UPDATE SKIP LOCKED in a transaction whose COMMIT is
// the ack. `name` is a table (id bigserial primary key, n bigint, d text).
std::unique_ptr<cli::load::Target> postgres_target(cli::load::Loop& loop, PeerOptions options);

// Waits until `done` or the loop has failed; after 20 s it fails the loop. For handshakes.
template <class Done>
void wait_for(cli::load::Loop& loop, Done done) {
  const double deadline = cli::load::seconds_now() + 20;
  while (!done() && !loop.failed()) {
    loop.wait(cli::load::seconds_now() + 1);
    if (cli::load::seconds_now() > deadline) loop.fail("the server did not answer for 20 s");
  }
}

}  // namespace ackline::bench
