#include "ackline/api/explain_text.h"

#include <fmt/format.h>

#include "ackline/base/counted.h"

namespace ackline::api {
namespace {

using delivery::BlockerState;

std::string seconds(double value) {
  return fmt::format("{:.1f} s", value);
}
std::string seconds(std::int64_t ms) {
  return seconds(static_cast<double>(ms) / 1000.0);
}
std::string who(const delivery::BlockerReport& blocker) {
  return blocker.client_id.empty() ? "a client that has gone" : blocker.client_id;
}
std::string because(const delivery::BlockerReport& blocker) {
  return blocker.last_error.empty() ? std::string() : fmt::format(" ({})", blocker.last_error);
}

// What is the matter with the event at the frontier.
std::string cause(const ExplainPartition& partition) {
  const delivery::BlockerReport& blocker = partition.blocker;
  switch (blocker.state) {
    case BlockerState::kLeased:
      return fmt::format("leased by {} for {}, attempt {} of {}", who(blocker),
                         seconds(partition.for_seconds), blocker.attempt, blocker.max_attempts);
    case BlockerState::kWaitingRetry: {
      const std::int64_t left_ms = blocker.next_attempt_in_ms.value_or(0);
      const std::string next =
          left_ms > 0 ? fmt::format("the next comes in {}", seconds(left_ms)) : "the next is due";
      return fmt::format("attempt {} of {} failed{}, {}", blocker.attempt, blocker.max_attempts,
                         because(blocker), next);
    }
    case BlockerState::kBlockedByKey:
      return partition.event_key
                 ? fmt::format("waits for an earlier event of its key {}", *partition.event_key)
                 : std::string("waits for an earlier event of its key");
    case BlockerState::kDeadLettering:
      return fmt::format("on its way to the dead letters for {} after attempt {} of {}{}",
                         seconds(partition.for_seconds), blocker.attempt, blocker.max_attempts,
                         because(blocker));
    case BlockerState::kNotOffered:
      return blocker.has_client ? "not offered yet" : "not offered, since no client takes it";
    case BlockerState::kAheadLimit:
      return "not offered, since the bound of events offered past the frontier is reached";
  }
  return "not known";
}

std::string stopped_ahead(const ExplainPartition& partition) {
  return partition.blocker.ahead_limited
             ? " Nothing further is offered until it is settled (delivery.maxAhead)."
             : "";
}

std::string lost(const ExplainPartition& partition) {
  return partition.quarantined || partition.lag.report.gone == 0
             ? std::string()
             : fmt::format(" Retention took {} before the group had passed them.",
                           counted(partition.lag.report.gone, "event"));
}

// The subject is there already.
std::string_view why_quarantined(std::string_view detail) {
  constexpr std::string_view kSaid = "is quarantined: ";
  if (const auto said = detail.find(kSaid); said != std::string_view::npos) {
    detail.remove_prefix(said + kSaid.size());
  }
  if (detail.ends_with('.')) {
    detail.remove_suffix(1);
  }
  return detail.empty() ? std::string_view("its files are damaged") : detail;
}

// Without its subject: "blocked at offset 3: leased by c1 …".
std::string predicate(const ExplainPartition& partition, bool long_form) {
  const delivery::BlockerReport& blocker = partition.blocker;
  const std::int64_t at = blocker.offset.value();
  if (blocker.stuck_ms && !partition.quarantined) {
    return fmt::format(
        "stuck at offset {}: for {} something could be offered to a client that waits, and is not. "
        "This is a fault of the server.",
        at, seconds(*blocker.stuck_ms));
  }
  switch (progress_state(partition)) {
    case ProgressState::kCaughtUp:
      return partition.lag.high_watermark.value() < 0
                 ? std::string("caught up: it has no events yet.")
                 : fmt::format("caught up: everything up to offset {} is settled.",
                               partition.lag.high_watermark.value());
    case ProgressState::kMoving:
      if (blocker.caught_up) {
        return fmt::format("moving: {} came just now.", counted(partition.lag.pending, "event"));
      }
      return fmt::format("moving: offset {} is {}; {} to go.", at, cause(partition),
                         counted(partition.lag.pending, "event"));
    case ProgressState::kWaiting:
      return fmt::format("waiting at offset {}: {}.", at, cause(partition));
    case ProgressState::kNoClient:
      return fmt::format("without a client: {} wait{} from offset {} on.",
                         counted(partition.lag.pending, "event"),
                         partition.lag.pending == 1 ? "s" : "", at);
    case ProgressState::kBlocked:
      return fmt::format("blocked at offset {}: {}; {} settled behind it.{}", at, cause(partition),
                         long_form ? counted(blocker.settled_behind, "event") +
                                         (blocker.settled_behind == 1 ? " is" : " are")
                                   : fmt::format("{}", blocker.settled_behind),
                         stopped_ahead(partition));
    case ProgressState::kQuarantined:
      return fmt::format("quarantined: {}.", why_quarantined(partition.quarantine_detail));
    case ProgressState::kUnknown:
      break;
  }
  return "in a state that is not known just now.";
}

std::string remedy_without_client(std::uint64_t clients) {
  return clients == 0
             ? "Start a client of the group: subscribe, then poll or open a stream."
             : "Have a client of the group that may take this partition poll or open a stream.";
}

std::string remedy_of_blocker(const ExplainPartition& partition, std::uint64_t clients) {
  const delivery::BlockerReport& blocker = partition.blocker;
  if (blocker.stuck_ms) {
    return "Keep the server's log and this answer, then restart it: nothing is lost.";
  }
  switch (blocker.state) {
    case BlockerState::kLeased:
      return fmt::format(
          "Wait {} for the lease to end, or have {} ack, nack or reject it.",
          seconds(blocker.lease_left_ms.value_or(0)),
          blocker.client_id.empty() ? "its client" : std::string_view(blocker.client_id));
    case BlockerState::kWaitingRetry:
      if (!blocker.has_client) {
        return "Have a client of the group poll or open a stream: the retry waits for one.";
      }
      return fmt::format(
          "Wait {} for the next attempt; a reject then sends it to the dead letters at once.",
          seconds(blocker.next_attempt_in_ms.value_or(0)));
    case BlockerState::kBlockedByKey:
      return "Settle the earlier event of this key first; /admin/holes shows where it is.";
    case BlockerState::kDeadLettering:
      return "Wait for the write; if it lasts, look at /readyz and free space on the disk.";
    case BlockerState::kNotOffered:
      if (!blocker.has_client) {
        return remedy_without_client(clients);
      }
      return "Wait; if it stays, the clients have no credit left: have them settle what they hold.";
    case BlockerState::kAheadLimit:
      return "Settle the oldest holes first (/admin/holes), or raise delivery.maxAhead.";
  }
  return {};
}

}  // namespace

std::string_view progress_state_word(ProgressState state) {
  switch (state) {
    case ProgressState::kCaughtUp:
      return "caught_up";
    case ProgressState::kMoving:
      return "moving";
    case ProgressState::kUnknown:
      return "unknown";
    case ProgressState::kWaiting:
      return "waiting";
    case ProgressState::kNoClient:
      return "no_client";
    case ProgressState::kBlocked:
      return "blocked";
    case ProgressState::kQuarantined:
      return "quarantined";
  }
  return "unknown";
}

ProgressState progress_state(const ExplainPartition& partition) {
  const delivery::BlockerReport& blocker = partition.blocker;
  if (partition.quarantined) {
    return ProgressState::kQuarantined;
  }
  if (partition.lag.lag == 0) {
    return ProgressState::kCaughtUp;
  }
  if (blocker.caught_up) {
    return ProgressState::kMoving;
  }
  if (blocker.settled_behind > 0) {
    return ProgressState::kBlocked;
  }
  if (blocker.state == BlockerState::kLeased || blocker.state == BlockerState::kDeadLettering) {
    return ProgressState::kMoving;
  }
  if (!blocker.has_client) {
    return ProgressState::kNoClient;
  }
  return blocker.state == BlockerState::kWaitingRetry ? ProgressState::kWaiting
                                                      : ProgressState::kMoving;
}

std::string partition_sentence(const ExplainPartition& partition) {
  std::string text = predicate(partition, false);
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + lost(partition);
}

std::string partition_remedy(const ExplainPartition& partition, std::uint64_t clients) {
  switch (progress_state(partition)) {
    case ProgressState::kCaughtUp:
      return {};
    case ProgressState::kQuarantined:
      return "Stop the server, run ackline doctor on its data directory, and start it again.";
    case ProgressState::kUnknown:
      return "Ask again.";
    case ProgressState::kNoClient:
      return remedy_without_client(clients);
    case ProgressState::kMoving:
      if (partition.blocker.caught_up) {
        return {};
      }
      break;
    case ProgressState::kWaiting:
    case ProgressState::kBlocked:
      break;
  }
  return remedy_of_blocker(partition, clients);
}

GroupExplained explain_group(const ExplainAnswer& answer) {
  GroupExplained out;
  const ExplainPartition* worst = nullptr;
  std::uint32_t worst_index = 0;
  std::size_t alike = 0;
  std::uint64_t pending = 0;
  for (const auto& [index, partition] : answer.partitions) {
    const ProgressState state = progress_state(partition);
    pending += partition.lag.pending;
    if (worst == nullptr || state > out.state) {
      out.state = state;
      worst = &partition;
      worst_index = index;
      alike = 1;
    } else if (state == out.state) {
      ++alike;
    }
  }
  if (worst == nullptr) {
    out.state = ProgressState::kUnknown;
    out.sentence = "The group has no partitions to look at.";
    return out;
  }
  if (out.state == ProgressState::kCaughtUp && answer.partitions.size() > 1) {
    out.sentence = "The group is caught up: every event of the topic is settled.";
    return out;
  }
  if (out.state == ProgressState::kNoClient && answer.clients == 0) {
    out.sentence = fmt::format("The group has no client connected: {} wait{}.",
                               counted(pending, "event"), pending == 1 ? "s" : "");
    return out;
  }
  out.sentence =
      fmt::format("Partition {} is {}{}", worst_index, predicate(*worst, true), lost(*worst));
  if (alike > 1) {
    out.sentence += fmt::format(" So {} {} more.", alike == 2 ? "is" : "are", alike - 1);
  }
  return out;
}

}  // namespace ackline::api
