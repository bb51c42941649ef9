// JSON as the commands need it: read answers, write bodies.
//
// `Json` is a piece of a checked text that it shares; a missing member is null, so that paths can
// be followed without a check at each step. What is passed on keeps its tokens as they were
// written: the digits of numbers, the escapes of strings. Any thread once parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/base/result.h"

namespace ackline::cli {

class Json {
 public:
  Json() = default;
  // Errors: kBadJson.
  [[nodiscard]] static Result<Json> parse(std::string_view text);

  [[nodiscard]] Json operator[](std::string_view member) const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  // A string as it is, other values as JSON, `if_null` for null.
  [[nodiscard]] std::string text(std::string_view if_null = "") const;
  // `if_not` also for a number with a fraction, an exponent, or more than 64 bits.
  [[nodiscard]] std::int64_t integer(std::int64_t if_not = 0) const;
  [[nodiscard]] bool boolean() const;  // true only for true
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<Json> items() const;
  [[nodiscard]] std::vector<std::pair<std::string, Json>> members() const;
  // On one line, without space between tokens.
  [[nodiscard]] std::string dump() const;

 private:
  Json(std::shared_ptr<const std::string> document, std::string_view value)
      : document_(std::move(document)), value_(value) {}

  std::shared_ptr<const std::string> document_;
  std::string_view value_;  // of the document; "" is null
};

// `JsonObject().text("topic", "orders").integer("max", 5).str()`
class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& integer(std::string_view name, std::int64_t value);
  JsonObject& boolean(std::string_view name, bool value);
  JsonObject& texts(std::string_view name, const std::vector<std::string>& values);
  // `value` is JSON already.
  JsonObject& raw(std::string_view name, std::string_view value);
  [[nodiscard]] std::string str() const { return body_ + "}"; }

 private:
  JsonObject& name(std::string_view name);
  std::string body_ = "{";
};

}  // namespace ackline::cli
