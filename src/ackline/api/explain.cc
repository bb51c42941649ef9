// Explain: what holds a group up.
#include <array>

#include "ackline/api/explain_text.h"
#include "ackline/api/handlers.h"
#include "ackline/api/words.h"

namespace ackline::api {
namespace {

void append_blocker(JsonWriter& writer, const ExplainPartition& partition) {
  const delivery::BlockerReport& blocker = partition.blocker;
  writer.key("blocker");
  if (partition.quarantined || blocker.caught_up || partition.lag.lag == 0) {
    writer.value(nullptr);
    return;
  }
  writer.begin_object()
      .field("offset", blocker.offset)
      .field_or_null("eventId", partition.event_id)
      .field_or_null("type", partition.event_type)
      .field("key", partition.event_key)
      .field("state", word_of(kBlockerStates, blocker.state))
      .field_or_null("clientId", blocker.client_id)
      .field_or_null("deliveryId", partition.delivery_id)
      .field("attempt", blocker.attempt)
      .field("maxAttempts", blocker.max_attempts)
      .field("since", partition.since)
      .field("forSeconds", partition.since ? std::optional(partition.for_seconds) : std::nullopt)
      .field("leaseLeftMs", blocker.lease_left_ms)
      .field("nextAttemptInMs", blocker.next_attempt_in_ms)
      .field_or_null("lastError", blocker.last_error)
      .end_object();
}

void append_explained(JsonWriter& writer, std::string_view topic, std::string_view group,
                      const ExplainAnswer& answer) {
  const GroupExplained whole = explain_group(answer);
  writer.begin_object()
      .field("topic", topic)
      .field("group", group)
      .field("asOf", answer.as_of)
      .field("state", progress_state_word(whole.state))
      .field("sentence", whole.sentence);
  writer.key("partitions").begin_object();
  for (const auto& [index, partition] : answer.partitions) {
    const bool known = partition.lag.known && !partition.quarantined;
    const auto told = [known](auto value) { return known ? std::optional(value) : std::nullopt; };
    writer.key(index)
        .begin_object()
        .field("state", progress_state_word(progress_state(partition)))
        .field("sentence", partition_sentence(partition))
        .field("frontier", told(partition.lag.report.frontier))
        .field("lag", told(partition.lag.lag))
        .field("settledBehind", told(partition.blocker.settled_behind));
    append_blocker(writer, partition);
    writer.field_or_null("remedy", partition_remedy(partition, answer.clients)).end_object();
  }
  writer.end_object().end_object();
}

}  // namespace

void explain(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 3> kParameters = {"topic", "group", "partition"};
  Input input = call.query(kParameters);
  const std::string topic = input.topic();
  const std::string group = input.group();
  const auto partition = input.whole32("partition", {0, 0xFFFF'FFFE});
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().explain(
      topic, group, partition,
      answer_with<ExplainAnswer>(std::move(call.responder),
                                 [topic, group](JsonWriter& writer, const ExplainAnswer& answer) {
                                   append_explained(writer, topic, group, answer);
                                 }));
}

}  // namespace ackline::api
