// Dead letters: browse, redrive, purge.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "ackline/api/handlers.h"
#include "ackline/api/lane_json.h"
#include "ackline/api/words.h"
#include "ackline/event/frame.h"
#include "ackline/event/names.h"

namespace ackline::api {
namespace {

constexpr std::string_view kMaxRemedy =
    "Leave it out to take as many as one call may, and call again for the rest.";

constexpr std::size_t kMaxIds = 10'000;
constexpr Word<std::string_view> kReasons[] = {{"max_attempts", "max_attempts"},
                                               {"max_restarts", "max_restarts"},
                                               {"rejected", "rejected"},
                                               {"expired", "expired"}};

// "<dlqTopic>:<partition>:<offset>" of this topic's dead letters.
bool is_entry_id(std::string_view id, std::string_view topic) {
  const std::string prefix = event::dlq_topic(topic) + ":";
  if (!id.starts_with(prefix)) {
    return false;
  }
  const std::string_view rest = id.substr(prefix.size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  const auto is_number = [](std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && text.front() != '-' && error == std::errc() &&
           end == text.data() + text.size();
  };
  return is_number(rest.substr(0, colon)) && is_number(rest.substr(colon + 1));
}

// The topic is the source; its dead-letter topic is understood, too.
DeadLetterQuery read_selection(Input& input) {
  DeadLetterQuery query;
  query.topic = std::string(event::source_topic(input.topic()));
  query.group = input.optional_group();
  if (const auto reason = input.word("reason", kReasons)) {
    query.reason = std::string(*reason);
  }
  query.since = input.time("since");
  query.until = input.time("until");
  if (auto filter = input.filter("filter"); filter && !filter->empty()) {
    query.filter_json = std::move(filter);
  }
  return query;
}

void read_ids(Input& input, DeadLetterQuery& query) {
  query.ids = input.texts("ids", kMaxIds).value_or(std::vector<std::string>());
  for (const std::string& id : query.ids) {
    if (!is_entry_id(id, query.topic)) {
      input.set_error({ErrorCode::kBadValue,
                       fmt::format("ids has \"{}\", which is no dead letter of {}",
                                   id.substr(0, 64), query.topic),
                       "Use `id` as /admin/dlq/browse shows it.", "ids"});
      return;
    }
  }
}

void append_entry(JsonWriter& writer, const DeadLetterItem& item) {
  writer.begin_object()
      .field("id", item.id)
      .field("group", item.group)
      .field("reason", item.reason)
      .field("attempts", item.attempts)
      .field_or_null("lastError", item.last_error)
      .field("deadTime", item.dead_time);
  writer.key("origin")
      .begin_object()
      .field("topic", item.origin_topic)
      .field("partition", item.origin_partition)
      .field("offset", item.origin_offset)
      .field_or_null("deliveryId", item.origin_delivery_id)
      .end_object();
  writer.field("state", word_of(kEntryStates, item.state))
      .field("redrives", item.redrives)
      .key("event");
  if (const auto frame = event::FrameView::open(item.frame)) {
    event::append_json(*frame, writer.buffer_for_value(), {.drop_dlq = true});
  } else {
    writer.value(nullptr);
  }
  writer.end_object();
}

void append_entries(JsonWriter& writer, const std::string& topic, const DeadLetterPage& page) {
  writer.begin_object()
      .field("topic", topic)
      .field("dlqTopic", page.dlq_topic)
      .field("total", page.total)
      .field("next", page.next)
      .left_out(page.quarantined)
      .key("items")
      .begin_array();
  for (const DeadLetterItem& item : page.items) {
    append_entry(writer, item);
  }
  writer.end_array().end_object();
}

}  // namespace

void browse_dead_letters(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 10> kParameters = {
      "topic", "group", "reason", "state", "since", "until", "filter", "max", "limit", "after"};
  Input input = call.query(kParameters);
  DeadLetterQuery query = read_selection(input);
  query.state = input.word("state", kEntryStates);
  query.max = input.limit();
  query.after = input.text("after");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  std::string topic = query.topic;
  api.admin().browse_dead(
      std::move(query),
      answer_with<DeadLetterPage>(
          std::move(call.responder),
          [topic = std::move(topic)](JsonWriter& writer, const DeadLetterPage& page) {
            append_entries(writer, topic, page);
          }));
}

void redrive(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 10> kFields = {
      "topic", "group",  "ids", "reason",        "since",
      "until", "filter", "max", "ratePerSecond", "dryRun"};
  constexpr std::uint32_t kDefaultRate = 100;
  Input input = call.only_body(kFields);
  RedriveRequest request;
  request.which = read_selection(input);
  read_ids(input, request.which);
  request.which.max = input.whole32("max", {1, kJobEntriesMax}, kMaxRemedy);
  request.rate_per_second =
      input.whole32("ratePerSecond", {1, 1'000'000}, "Leave it out for the default of 100.")
          .value_or(kDefaultRate);
  request.dry_run = input.flag("dryRun").value_or(false);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().redrive(std::move(request),
                      answer_with<LaneItem>(std::move(call.responder), append_lane));
}

void purge_dead_letters(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 9> kFields = {"topic", "group",  "ids", "reason", "since",
                                                       "until", "filter", "max", "confirm"};
  Input input = call.only_body(kFields);
  DeadLetterQuery query = read_selection(input);
  read_ids(input, query);
  query.max = input.whole32("max", {1, kJobEntriesMax}, kMaxRemedy);
  confirmed(input, "purging dead letters");
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  std::string topic = query.topic;
  api.admin().purge_dead(
      std::move(query),
      answer_with<Purged>(std::move(call.responder),
                          [topic = std::move(topic)](JsonWriter& writer, const Purged& purged) {
                            writer.begin_object()
                                .field("topic", topic)
                                .field("purged", purged.purged)
                                .field_or_null("auditId", purged.audit_id)
                                .end_object();
                          }));
}

}  // namespace ackline::api
