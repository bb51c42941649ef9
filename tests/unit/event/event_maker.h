// Random but valid events for the property tests, from a seed.
#pragma once

#include <string>
#include <string_view>

#include "ackline/base/random.h"
#include "ackline/event/cloud_event.h"

namespace ackline::event {

class EventMaker {
 public:
  explicit EventMaker(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }

  // `wire_types`: only what structured JSON can tell apart (string, boolean, integer extensions).
  CloudEvent make(bool wire_types) {
    CloudEvent event;
    event.set("id", text(1, 20));
    event.set("source", "/shop/" + name());
    event.set("type", text(1, 30));
    if (random_.chance(1, 2)) {
      event.set("subject", text(1, 12));
    }
    if (random_.chance(1, 2)) {
      event.set("time",
                random_.chance(1, 2) ? "2026-11-29T12:00:00.123456Z" : "2026-11-29t13:00:00+01:00");
    }
    if (random_.chance(1, 3)) {
      event.set("dataschema", "https://example.org/schema#" + name());
    }
    for (std::uint64_t count = random_.below(6); count > 0; --count) {
      add_extension(event, wire_types);
    }
    add_data(event);
    return event;
  }

  std::string name() {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::string out = "x";  // no name of the specification starts with x
    for (std::uint64_t length = random_.below(24); length > 0; --length) {
      out.push_back(kLetters[random_.below(kLetters.size())]);
    }
    return out;
  }

  std::string text(std::uint64_t least, std::uint64_t most) {
    constexpr std::string_view kPieces[] = {
        "a", "Z", "7", " ", "\"",       "\\",           "/",
        "%", ",", "{", "]", "\xC3\xBC", "\xE6\x97\xA5", "\xF0\x9F\x98\x80",
        "=", ":"};
    std::string out;
    for (std::uint64_t count = least + random_.below(most - least + 1); count > 0; --count) {
      out.append(kPieces[random_.below(std::size(kPieces))]);
    }
    return out;
  }

  std::string bytes(std::uint64_t most) {
    std::string out;
    for (std::uint64_t count = random_.below(most); count > 0; --count) {
      out.push_back(static_cast<char>(random_.below(256)));
    }
    return out;
  }

  std::string json(int depth) {
    constexpr std::string_view kScalars[] = {
        "0",          "-1",    "3.140",          "1e400", "true",
        "null",       "false", "\"\\u00e9\\n\"", "\"\"",  "123456789012345678901234567890",
        "\"a]}\\\"\""};
    if (depth == 0 || random_.chance(1, 3)) {
      return std::string(kScalars[random_.below(std::size(kScalars))]);
    }
    const bool object = random_.chance(1, 2);
    std::string out(object ? "{" : "[");
    const std::uint64_t count = random_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      out += i > 0 ? ", " : " ";
      if (object) {
        out += "\"k" + std::to_string(i) + "\" :";
      }
      out += json(depth - 1);
    }
    return out + (object ? "}" : " ]");
  }

 private:
  void add_extension(CloudEvent& event, bool wire_types) {
    const std::string extension = name();
    switch (random_.below(wire_types ? 3 : 7)) {
      case 0:
        event.set(extension, AttributeType::kString, text(0, 10));
        return;
      case 1:
        event.set_boolean(extension, random_.chance(1, 2));
        return;
      case 2:
        event.set_integer(extension, static_cast<std::int32_t>(
                                         random_.between(-2'147'483'648LL, 2'147'483'647LL)));
        return;
      case 3:
        event.set(extension, AttributeType::kBinary, bytes(20));
        return;
      case 4:
        event.set(extension, AttributeType::kUri, "urn:x:" + name());
        return;
      case 5:
        event.set(extension, AttributeType::kUriReference, "../" + name());
        return;
      default:
        event.set_timestamp(extension, WallMs(random_.between(0, 4'000'000'000'000)));
    }
  }

  void add_data(CloudEvent& event) {
    switch (random_.below(4)) {
      case 0:
        return;
      case 1:
        event.set_data(DataKind::kJson, json(4));
        if (random_.chance(1, 2)) {
          event.set("datacontenttype", "application/json");
        }
        return;
      case 2:
        event.set("datacontenttype", "text/plain");
        event.set_data(DataKind::kText, text(1, 30));
        return;
      default:
        event.set("datacontenttype", "application/octet-stream");
        event.set_data(DataKind::kBinary, "\x01" + bytes(60));
    }
  }

  Random random_;
};

}  // namespace ackline::event
