// The events query.
#include <array>

#include "ackline/api/handlers.h"
#include "ackline/event/frame.h"

namespace ackline::api {
namespace {

event::EventQuery read_event_query(Input& input) {
  event::EventQuery query;
  query.id = input.text("id");
  query.type = input.text("type");
  query.source = input.text("source");
  query.subject = input.text("subject");
  query.key = input.text("key");
  query.since = input.time("since");
  query.until = input.time("until");
  if (const auto filter = input.filter("filter"); filter && !filter->empty()) {
    if (auto parsed = event::Filter::parse(*filter)) {
      query.filter = std::move(*parsed);
    }
  }
  if (const auto data = input.text("data")) {
    auto match = event::DataMatch::parse(*data);
    if (match) {
      query.data = std::move(*match);
    } else {
      Error error = match.error();
      error.field = "data";
      input.set_error(std::move(error));
    }
  }
  return query;
}

void append_events(JsonWriter& writer, const std::string& topic, const EventsAnswer& answer) {
  writer.begin_object().field("topic", topic).key("items").begin_array();
  for (const EventItem& item : answer.items) {
    writer.begin_object()
        .field("partition", item.partition)
        .field("offset", item.offset)
        .field("time", item.time)
        .key("event");
    if (const auto frame = event::FrameView::open(item.frame)) {
      event::append_json(*frame, writer.buffer_for_value());
    } else {
      writer.value(nullptr);
    }
    writer.end_object();
  }
  writer.end_array()
      .field("next", answer.next)
      .field("end", answer.end)
      .field("scanned", answer.scanned)
      .left_out(answer.quarantined)
      .end_object();
}

}  // namespace

void query_events(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 14> kParameters = {
      "topic", "partition", "id",     "type", "source", "subject", "key",
      "since", "until",     "filter", "data", "limit",  "max",     "cursor"};
  Input input = call.query(kParameters);
  EventsQuery query;
  query.topic = input.topic();
  query.partition = input.whole32("partition", {0, 0xFFFF'FFFE});
  query.query = read_event_query(input);
  query.limit = input.limit();
  if (const auto cursor = input.raw("cursor")) {
    Input probe = Input::from_query(call.request.query, kParameters);
    if (auto offsets = probe.offsets("cursor")) {
      query.cursor = std::move(*offsets);
    } else {
      Error error = probe.error();
      error.code = ErrorCode::kBadCursor;
      input.set_error(std::move(error));
    }
  }
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  api.admin().events(std::move(query),
                     answer_with<EventsAnswer>(std::move(call.responder),
                                               [topic = input.text("topic").value_or("")](
                                                   JsonWriter& writer, const EventsAnswer& answer) {
                                                 append_events(writer, topic, answer);
                                               }));
}

}  // namespace ackline::api
