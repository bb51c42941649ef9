#include "bench/load/hold.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "ackline/cli/load/connection.h"

namespace ackline::bench {
namespace {

using cli::load::Connection;
using cli::load::HttpAnswers;
using cli::load::HttpStream;
using cli::load::Loop;
using cli::load::seconds_now;

constexpr std::string_view kDelivery = R"({"deliveryId":")";
constexpr double kLongestRun = 300;

struct Samples {
  std::FILE* file = nullptr;
  std::uint64_t every = 1000;
  std::uint64_t seen = 0;
  void take(std::string_view delivery) {
    if (file != nullptr && seen++ % every == 0) {
      fmt::print(file, "{}\n", delivery.substr(0, delivery.find(R"(,"event":)")));
    }
  }
};

void append_poll(std::string& out, const std::string& address, const std::string& client,
                 std::uint64_t max, std::uint64_t timeout_ms) {
  fmt::format_to(std::back_inserter(out),
                 "GET /events/poll?clientId={}&max={}&timeoutMs={} HTTP/1.1\r\nHost: {}\r\n\r\n",
                 client, max, timeout_ms, address);
}

// Why it went wrong, or "".
std::string hold_one(const std::string& address, const std::string& client, std::uint64_t each,
                     Samples& samples) {
  Loop loop;
  std::uint64_t held = 0;
  bool answered = true;
  HttpAnswers answers([&](int status, std::string_view body) {
    if (status != 200) return loop.fail(fmt::format("{} {}", status, body.substr(0, 300)));
    answered = true;
    for (std::size_t at = body.find(kDelivery); at != std::string_view::npos; ++held) {
      const std::size_t next = body.find(kDelivery, at + kDelivery.size());
      samples.take(body.substr(at, next - at));
      at = next;
    }
  });
  Connection connection(loop, address, [&](std::string_view bytes) { return answers.take(bytes); });
  const double start = seconds_now();
  while (held < each && !loop.failed()) {
    if (std::exchange(answered, false)) {
      append_poll(connection.out(), address, client, std::min<std::uint64_t>(1000, each - held),
                  1000);
      loop.flush(connection);
    }
    loop.wait(seconds_now() + 1);
    if (!answers.problem().empty()) loop.fail(answers.problem());
    if (seconds_now() - start > kLongestRun) loop.fail("the run took too long");
  }
  return loop.failed() ? loop.error().detail : "";
}

// One client that waits.
struct Waiter {
  Waiter(Loop& loop, const std::string& address, const std::string& client, bool stream)
      : answers([this](int /*status*/, std::string_view /*body*/) { answered = true; }),
        events([](std::string_view /*id*/, std::string_view /*data*/) {}),
        streams(stream),
        connection(loop, address, [this, &loop](std::string_view bytes) {
          const std::size_t used = streams ? events.take(bytes) : answers.take(bytes);
          const std::string& problem = streams ? events.problem() : answers.problem();
          if (!problem.empty()) loop.fail(problem);
          return used;
        }) {
    if (streams) {
      fmt::format_to(std::back_inserter(connection.out()),
                     "GET /events/stream?clientId={} HTTP/1.1\r\nHost: {}\r\n\r\n", client,
                     address);
    }
  }
  HttpAnswers answers;
  HttpStream events;
  bool streams;
  bool answered = true;
  Connection connection;
};

bool input_ended() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char byte = 0;
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

}  // namespace

int hold(const Arguments& arguments) {
  const std::string path = arguments.text("--samples");
  Samples samples{path.empty() ? nullptr : std::fopen(path.c_str(), "w"),
                  arguments.number("--every", 1000)};
  const std::uint64_t each = arguments.number("--events", 100'000);
  const double start = seconds_now();
  cli::load::CycleReport report;
  for (const std::string& client : arguments.clients()) {
    const std::string why = hold_one(arguments.text("--address"), client, each, samples);
    if (!why.empty()) return give_up(why);
    report.events += each;
  }
  if (samples.file != nullptr) std::fclose(samples.file);
  report.seconds = seconds_now() - start;
  print(report);
  return 0;
}

int idle(const Arguments& arguments) {
  constexpr std::uint64_t kPollMs = 60'000;
  const std::string address = arguments.text("--address");
  const bool streams = arguments.text("--deliver") == "stream";
  const std::vector<std::string> clients = arguments.clients();
  Loop loop;
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (const std::string& client : clients) {
    waiters.push_back(std::make_unique<Waiter>(loop, address, client, streams));
    loop.flush(waiters.back()->connection);
    if (loop.failed()) break;
  }
  bool said = false;
  while (!loop.failed() && !input_ended()) {
    for (std::size_t i = 0; i < waiters.size() && !streams; ++i) {
      if (!std::exchange(waiters[i]->answered, false)) continue;
      append_poll(waiters[i]->connection.out(), address, clients[i], 100, kPollMs);
      loop.flush(waiters[i]->connection);
    }
    const auto open = [&](const auto& waiter) { return !streams || waiter->events.open(); };
    if (!said && std::ranges::all_of(waiters, open)) {
      said = true;
      fmt::print("{{\"waiting\":{}}}\n", waiters.size());
      std::fflush(stdout);
    }
    loop.wait(seconds_now() + 0.05);
  }
  return loop.failed() ? give_up(loop.error().detail) : 0;
}

}  // namespace ackline::bench
