// Answers as JSON text: a writer that puts in the commas.
//
// A plain value over a string of its own; one thread. Names of members are literals of ours and are
// not escaped.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/types.h"

namespace ackline::api {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& key(std::uint32_t number);  // "0"

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);  // three decimals at most; null when it is no number
  JsonWriter& value(WallMs time);    // RFC 3339
  JsonWriter& value(std::nullptr_t);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonWriter& value(T number) {
    if constexpr (std::is_signed_v<T>) {
      return integer(static_cast<std::int64_t>(number));
    } else {
      return natural(static_cast<std::uint64_t>(number));
    }
  }
  template <class Tag, class Rep>
    requires(!std::same_as<Strong<Tag, Rep>, WallMs>)
  JsonWriter& value(Strong<Tag, Rep> number) {
    return value(number.value());
  }
  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : value(nullptr);
  }
  template <class T>
  JsonWriter& value(const std::vector<T>& list) {
    begin_array();
    for (const T& element : list) {
      value(element);
    }
    return end_array();
  }
  template <class T>
  JsonWriter& value(const std::map<std::uint32_t, T>& by_partition) {
    begin_object();
    for (const auto& [partition, element] : by_partition) {
      key(partition).value(element);
    }
    return end_object();
  }
  // What an answer leaves out is said; where it leaves out nothing it is as ever.
  JsonWriter& left_out(const std::vector<std::uint32_t>& quarantined) {
    return quarantined.empty() ? *this : field("quarantined", quarantined);
  }
  // JSON that is there already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view name, const T& what) {
    return key(name).value(what);
  }
  // null for an empty text.
  JsonWriter& field_or_null(std::string_view name, std::string_view text);
  // null for an empty text; the text is JSON.
  JsonWriter& raw_or_null(std::string_view name, std::string_view json);

  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }
  [[nodiscard]] std::string& buffer_for_value();  // append one JSON value to it

 private:
  void separate();
  JsonWriter& integer(std::int64_t number);
  JsonWriter& natural(std::uint64_t number);
  std::string out_;
  bool comma_ = false;
};

}  // namespace ackline::api
