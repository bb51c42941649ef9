// Dead letters on the embedded log: the copy in the dead-letter partition and the settle share one
// journal batch (J7).
#include <fmt/format.h>

#include "ackline/base/logging.h"
#include "ackline/base/metric_names.h"
#include "ackline/base/time_text.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"
#include "ackline/event/names.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/shard.h"
#include "ackline/runtime/shard_metrics.h"

namespace ackline::runtime {
namespace {

state::DeadReason record_reason(delivery::DeadReason reason) {
  switch (reason) {
    case delivery::DeadReason::kMaxAttempts:
      return state::DeadReason::kMaxAttempts;
    case delivery::DeadReason::kMaxRestarts:
      return state::DeadReason::kMaxRestarts;
    case delivery::DeadReason::kRejected:
      return state::DeadReason::kRejected;
    case delivery::DeadReason::kExpired:
      return state::DeadReason::kExpired;
  }
  return state::DeadReason::kMaxAttempts;
}

}  // namespace

void Shard::write_dead_letters() {
  std::vector<delivery::DeadLetterRequest> requests = std::move(dead_letters_);
  dead_letters_.clear();
  for (auto& request : requests) {
    const auto found = partitions_.find(request.key.partition);
    if (found == partitions_.end()) continue;
    const log::ReadLimits one{.max_events = 1, .max_bytes = 1};
    auto batch = found->second.log->read(request.offset, one);
    if (batch && !batch->events.empty() && batch->events.front().offset == request.offset) {
      write_dead_letter(request, batch->events.front());
    } else if (batch) {
      finish_dead_letter(request, fail(ErrorCode::kNotFound, "the event is no longer in the log"));
    } else if (batch.error().code == ErrorCode::kTimeout) {
      const PartitionNumber number = request.key.partition;
      const Offset offset = request.offset;
      read_cold(number, offset, [this, request = std::move(request), one]() mutable {
        log::LocalPartition* warm = partition(request.key.partition);
        if (warm == nullptr) return true;
        auto again = warm->read(request.offset, one);
        if (!again && again.error().code == ErrorCode::kTimeout) return false;
        // Once more through the turn, which finds it in memory now: record and settle belong in one
        // batch.
        dead_letters_.push_back(std::move(request));
        schedule_turn();
        return true;
      });
    } else {
      finish_dead_letter(request, fail(batch));
    }
  }
}

void Shard::write_dead_letter(const delivery::DeadLetterRequest& request,
                              const log::StoredEvent& event) {
  const auto place = catalog_.place(request.key.partition);
  const GroupPtr group = catalog_.group(request.key.progress);
  if (!place || !group) return;  // deleted meanwhile
  auto frame = event::FrameView::open(event.frame);
  if (!frame) {
    finish_dead_letter(request, fail(frame));
    return;
  }
  const Topic& topic = *place->topic;
  const std::uint32_t index = place->index.value();
  std::string id;
  options_.ids->encode(request.id, id);
  using enum event::AttributeType;
  const std::vector<event::Attribute> extensions = {
      {"dlqreason", kString, std::string(state::dead_reason_name(record_reason(request.reason)))},
      {"dlqattempts", kInteger, std::to_string(request.attempts)},
      {"dlqerror", kString, request.error},
      {"dlqtopic", kString, topic.name},
      {"dlqpartition", kInteger, std::to_string(index)},
      {"dlqoffset", kString, std::to_string(request.offset.value())},
      {"dlqgroup", kString, group->name},
      {"dlqtime", kTimestamp, format_rfc3339(wall())},
      {"dlqkey", kString,
       fmt::format("{}/{}@{}/{}/{}/{}", group->name, topic.name, topic.incarnation.value(), index,
                   request.offset.value(), request.generation.value())},
      {"dlqdeliveryid", kString, id},
  };
  std::string copy = event::with_extensions(*frame, extensions);
  if (auto room = room_for(copy.size()); !room) {
    finish_dead_letter(request, fail(room));
    return;
  }
  const PartitionNumber number = topic.dead_letters[index];
  Partition& target = partitions_.at(number);
  const ByteView view = as_bytes(copy);
  scratch_.clear();
  auto offset = target.log->append(std::span(&view, 1), wall(), scratch_);
  if (!offset) {
    finish_dead_letter(request, fail(offset));
    return;
  }
  journal_->append(static_cast<std::uint8_t>(state::RecordType::kPublish), number,
                   as_bytes(scratch_));
  turn_appended_.push_back({number, target.log->next_offset()});
  io::failpoint(io::Failpoint::kDeadLetterAppended);
  if (const auto metrics = group_metrics_.find(group->number); metrics != group_metrics_.end()) {
    using enum delivery::DeadReason;
    switch (request.reason) {
      case kMaxAttempts:
        metrics->second->dead_max_attempts->add();
        break;
      case kMaxRestarts:
        metrics->second->dead_max_restarts->add();
        break;
      case kRejected:
        metrics->second->dead_rejected->add();
        break;
      case kExpired:
        metrics->second->dead_expired->add();
        break;
    }
  }
  finish_dead_letter(request, *offset);
}

void Shard::finish_dead_letter(const delivery::DeadLetterRequest& request,
                               Result<Offset> dlq_offset) {
  const bool done = dlq_offset.has_value();
  Error why = done ? Error{} : dlq_offset.error();
  if (!done) {
    log_warn(
        "a dead letter could not be written; it is tried again",
        {{"partition", request.key.partition}, {"offset", request.offset}, {"error", why.detail}});
  }
  dispatcher_->dead_lettered(request, std::move(dlq_offset), now());
  io::failpoint(io::Failpoint::kDeadLetterSettled);
  const auto waiting = rejects_.find({request.key, request.slot, request.offset});
  if (waiting == rejects_.end()) return;
  std::vector<WaitingReject> answers = std::move(waiting->second);
  rejects_.erase(waiting);
  for (WaitingReject& one : answers) {
    if (!done) {
      one.done(std::unexpected(why));
      continue;
    }
    auto& release = options_.ack_sync ? turn_after_sync_ : written_;
    release.push_back([one = std::move(one)](const Error* error) mutable {
      if (error != nullptr) {
        one.done(std::unexpected(*error));
      } else {
        one.done(delivery::SettleAnswer{one.status, 0, false});
      }
    });
  }
}

Result<delivery::LanePartReport> Shard::start_lane(const Lane& lane) {
  delivery::LanePartReport sum;
  const TopicPtr topic = catalog_.topic(lane.topic);
  if (!topic) return sum;
  for (const auto& [index, entries] : lane.entries) {
    const PartitionNumber number = topic->partitions[index];
    if (!owns(number)) continue;
    auto report = dispatcher_->start_lane(
        {lane.number, lane.group_number, number, entries, lane.rate_per_second}, now());
    if (!report) return fail(report);
    sum.matched += report->matched;
    sum.taken += report->taken;
  }
  io::failpoint(io::Failpoint::kLaneTaken);
  schedule_turn();
  return sum;
}

}  // namespace ackline::runtime
