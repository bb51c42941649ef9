// CloudEvents as JSON: structured mode and batches, in and out.
//
// Pure functions, any thread. Reading fails with `bad_json`, `bad_utf8`, `duplicate_key`,
// `missing_attribute`, `bad_attribute` (`Error::field` names the attribute), `too_large`.
// - An extension keeps its type: string, boolean, integer. Other numbers, arrays and objects are
//   `bad_attribute`; null is the same as absent.
// - `data` keeps its text; a string under a media type that is not JSON is text. `data` null is the
//   JSON value null. Members inside `data` are not looked at.
// - Internal attributes (`is_internal_attribute`) are dropped, in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/event/cloud_event.h"

namespace ackline::event {

struct ParseLimits {
  std::size_t event_bytes = std::size_t{1} << 20U;
  std::size_t batch_events = 1000;
};

[[nodiscard]] Result<CloudEvent> parse_event(std::string_view json, const ParseLimits& limits = {});

// One result an element, in order: a bad event spoils only itself. The whole fails when the text is
// no JSON array (`bad_json`), is empty (`bad_value`) or has too many elements (`too_large`).
[[nodiscard]] Result<std::vector<Result<CloudEvent>>> parse_batch(std::string_view json,
                                                                  const ParseLimits& limits = {});

// Appends the event as one JSON object on one line.
void append_json(const CloudEvent& event, std::string& out);

// How a publish request carries its events.
enum class ContentMode : std::uint8_t { kStructured, kBatch, kBinary };

// By Content-Type, as the OpenAPI document says; `application/json` without `ce-specversion` is
// told apart by the first character of the body. Else `media_type`.
[[nodiscard]] Result<ContentMode> content_mode(std::string_view content_type, bool has_specversion,
                                               std::string_view body);

}  // namespace ackline::event
