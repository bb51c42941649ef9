// The CloudEvents codecs: structured JSON, batches, HTTP binary mode, frames. Law: what one codec
// reads is a valid event that each of them writes and reads again as the same event.
#include <cstdint>
#include <string>
#include <vector>

#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"
#include "ackline/event/http_binary.h"
#include "ackline/event/json_codec.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using ackline::event::CloudEvent;
using ackline::event::FrameView;
using ackline::event::HeaderField;
using ackline::event::HttpMessage;
using ackline::fuzz::Input;
using ackline::fuzz::law;

// Written forms are longer than what was read, by escapes.
constexpr ackline::event::ParseLimits kWide{.event_bytes = std::size_t{64} << 20U};

std::string json_of(const CloudEvent& event) {
  std::string json;
  ackline::event::append_json(event, json);
  return json;
}

void check_json(const CloudEvent& event) {
  const auto again = ackline::event::parse_event(json_of(event), kWide);
  law(again.has_value(), "written JSON can be read");
  law(json_of(*again) == json_of(event), "JSON keeps the event");
}

void check_frame(const CloudEvent& event) {
  std::string frame;
  ackline::event::append_frame(event, frame);
  const auto again = ackline::event::decode_frame(frame);
  law(again.has_value(), "a written frame can be read");
  law(*again == event, "a frame keeps the event with its types");
  const auto view = FrameView::open(std::string_view(frame));
  law(view.has_value(), "a written frame can be opened");
  std::string json;
  ackline::event::append_json(*view, json);
  const auto delivered = ackline::event::parse_event(json, kWide);
  law(delivered.has_value(), "JSON of a frame can be read");
  law(json_of(*delivered) == json_of(event), "a frame is delivered as the event it keeps");
}

std::vector<HeaderField> fields_of(const HttpMessage& message) {
  std::vector<HeaderField> fields;
  for (const auto& [name, value] : message.headers) fields.push_back({name, value});
  return fields;
}

void check_binary(const CloudEvent& event) {
  const HttpMessage message = ackline::event::to_http_binary(event);
  const auto once = ackline::event::parse_http_binary(fields_of(message), message.body, kWide);
  law(once.has_value(), "written headers can be read");
  // Types of extensions are lost on this wire, the texts are not. A JSON body without a type gets
  // the Content-Type that it had by default.
  const std::size_t added =
      event.find("datacontenttype") == nullptr && once->get("datacontenttype") == "application/json"
          ? 1
          : 0;
  law(once->attributes().size() == event.attributes().size() + added, "headers add nothing else");
  for (const auto& attribute : event.attributes()) {
    std::string text;
    ackline::event::append_canonical(text, attribute.view());
    std::string found;
    if (const auto* kept = once->find(attribute.name)) {
      ackline::event::append_canonical(found, kept->view());
    }
    law(text == found, "headers keep the text of an attribute");
  }
}

void check(const CloudEvent& event) {
  law(ackline::event::check_event(event).has_value(), "what a codec reads is a valid event");
  ackline::fuzz::planted(event.get("id").size() == 2);
  check_json(event);
  check_frame(event);
  check_binary(event);
}

void read_binary(Input& input) {
  std::vector<HeaderField> fields;
  for (int count = input.byte() % 12; count > 0; --count) {
    const std::string_view line = input.line();
    const std::size_t colon = std::min(line.find(':'), line.size());
    fields.push_back({line.substr(0, colon), line.substr(std::min(colon + 1, line.size()))});
  }
  const auto event = ackline::event::parse_http_binary(fields, input.rest());
  if (event) check(*event);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.byte() % 4) {
    case 0:
      if (const auto event = ackline::event::parse_event(input.rest())) check(*event);
      break;
    case 1:
      if (const auto batch = ackline::event::parse_batch(input.rest())) {
        for (const auto& event : *batch) {
          if (event) check(*event);
        }
      }
      break;
    case 2:
      read_binary(input);
      break;
    default:
      if (const auto event = ackline::event::decode_frame(input.rest())) check(*event);
      break;
  }
  return 0;
}
