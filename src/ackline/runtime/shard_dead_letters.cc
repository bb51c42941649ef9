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
#include "ackline/runtime/waiting_settle.h"

namespace ackline::runtime {

void Shard::write_dead_letters() {
  std::vector<delivery::DeadLetterRequest> requests = std::move(dead_letters_);
  dead_letters_.clear();
  for (std::size_t next = 0; next < requests.size(); ++next) {
    if (journal_->open_bytes() >= options_.batch_bytes) {
      dead_letters_.insert(
          dead_letters_.begin(),
          std::make_move_iterator(requests.begin() + static_cast<std::ptrdiff_t>(next)),
          std::make_move_iterator(requests.end()));
      schedule_turn();
      break;
    }
    auto& request = requests[next];
    const auto found = partitions_.find(request.key.partition);
    if (found == partitions_.end()) {
      drop_dead_letter(request);
      continue;
    }
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
        log::PartitionLog* warm = partition(request.key.partition);
        if (warm == nullptr) {
          drop_dead_letter(request);
          return true;
        }
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
  const GroupPtr group = catalog_.group(request.group);
  if (!place || !group) {
    drop_dead_letter(request);
    return;
  }
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
      {"dlqreason", kString,
       std::string(state::dead_reason_name(delivery::record_reason(request.reason)))},
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
  const std::string copy = event::with_extensions(*frame, extensions);
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
  // Retention took a lane's event meanwhile: there is nothing to write, and the delivery is over.
  const bool gone = !dlq_offset && dlq_offset.error().code == ErrorCode::kNotFound &&
                    request.key.progress != request.group;
  const auto change =
      gone ? Repeated::Change::kNone : dead_letter_writes_.note(dlq_offset.has_value());
  if (change == Repeated::Change::kWorksAgain) {
    log_info("dead letters are written again", {{"shard", options_.index}});
  } else if (change == Repeated::Change::kBroke) {
    log_warn("a dead letter could not be written; such are tried again",
             {{"partition", request.key.partition},
              {"offset", request.offset},
              {"error", dlq_offset.error().detail}});
  }
  burying_ = dlq_offset.has_value();
  dispatcher_->dead_lettered(request, dlq_offset, now());
  burying_ = false;
  io::failpoint(io::Failpoint::kDeadLetterSettled);
  for (WaitingSettle& one : take_waiting(request)) {
    if (one.again) {
      settle(one.request(), std::move(one.done));
    } else if (!dlq_offset && !gone) {
      one.done(fail(dlq_offset));
    } else {
      settled_releases().push_back([done = std::move(one.done)](const Error* error) mutable {
        if (error != nullptr) {
          done(std::unexpected(*error));
        } else {
          done(delivery::SettleAnswer{.status = delivery::SettleStatus::kRejected});
        }
      });
    }
  }
}

// Its topic or group was deleted while it was on its way.
void Shard::drop_dead_letter(const delivery::DeadLetterRequest& request) {
  for (WaitingSettle& one : take_waiting(request)) {
    one.done(fail(ErrorCode::kStale, "its group, lane or topic was deleted",
                  "Drop it; the event is not owed any more.", "deliveryId"));
  }
}

void Shard::wait_for_dead_letter(const delivery::SettleRequest& request, bool again,
                                 SettleDone done) {
  const GroupPtr group = catalog_.group(request.id.progress);
  const LanePtr lane = catalog_.lane(request.id.progress);
  const TopicPtr topic = catalog_.topic(group ? group->topic : lane->topic);
  const PartitionNumber partition = topic->partitions[request.id.partition.value()];
  waiting_settles_[{{request.id.progress, partition}, request.id.slot, request.id.offset}]
      .emplace_back(again, request, std::move(done));
  schedule_turn();
}

std::vector<Shard::WaitingSettle> Shard::take_waiting(const delivery::DeadLetterRequest& request) {
  auto node = waiting_settles_.extract({request.key, request.slot, request.offset});
  return node.empty() ? std::vector<WaitingSettle>() : std::move(node.mapped());
}

Result<delivery::LanePartReport> Shard::start_lane(const Lane& lane) {
  delivery::LanePartReport sum;
  const TopicPtr topic = catalog_.topic(lane.topic);
  if (!topic) return sum;
  // The rate is the lane's: each part has its share of it.
  const std::uint64_t parts = std::max<std::uint64_t>(lane.entries.size(), 1);
  const std::uint64_t rate_milli = (std::uint64_t{lane.rate_per_second} * 1000 + parts - 1) / parts;
  for (const auto& [index, entries] : lane.entries) {
    const PartitionNumber number = topic->partitions[index];
    if (!owns(number)) continue;
    auto report = dispatcher_->start_lane(
        {lane.number, lane.group_number, number, lane.kind, entries, rate_milli}, now());
    if (!report) return fail(report);
    sum.matched += report->matched;
    sum.taken += report->taken;
  }
  io::failpoint(io::Failpoint::kLaneTaken);
  schedule_turn();
  return sum;
}

}  // namespace ackline::runtime
