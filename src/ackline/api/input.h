// What a request says, read strictly: the members of a JSON body or the parameters of a query.
//
// Both are read by the same getters, so that `limit=x` and `{"limit":"x"}` fail alike. The first
// problem is kept and later reads give their fallback: a handler reads everything, then asks
// `error()` once. `null` is the same as left out. An `Input` looks into the request, which outlives
// it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/api/traffic.h"
#include "ackline/base/nearest.h"
#include "ackline/base/result.h"
#include "ackline/http/message.h"

namespace ackline::api {

using Names = std::span<const std::string_view>;

struct WholeRange {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

template <class E>
struct Word {
  std::string_view text;
  E value;
};

class Input {
 public:
  // Errors: bad_utf8, bad_json (empty, no JSON, no object), duplicate_key, unknown_field.
  [[nodiscard]] static Input from_body(std::string_view json, Names known);
  // Errors: unknown_field, duplicate_key.
  [[nodiscard]] static Input from_query(const std::vector<http::QueryParameter>& query,
                                        Names known);

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  // It is there and says null, for the few fields where that is not the same as left out.
  [[nodiscard]] bool is_null(std::string_view name) const;
  // Text as it stands: JSON of a body's member, the value of a parameter.
  [[nodiscard]] std::optional<std::string_view> raw(std::string_view name) const;

  [[nodiscard]] std::optional<std::string> text(std::string_view name);
  [[nodiscard]] std::string required_text(std::string_view name);
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view name, WholeRange range,
                                                  std::string_view remedy = {});
  [[nodiscard]] std::optional<std::uint32_t> whole32(std::string_view name, WholeRange range,
                                                     std::string_view remedy = {});
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  [[nodiscard]] std::optional<WallMs> time(std::string_view name);
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view name,
                                                              std::size_t max);
  [[nodiscard]] std::optional<std::vector<std::int64_t>> wholes(std::string_view name,
                                                                WholeRange range, std::size_t max);
  // Partition numbers, in order, each once; empty when left out.
  [[nodiscard]] std::vector<std::uint32_t> partitions(std::string_view name);
  [[nodiscard]] std::optional<Position> position(std::string_view name);
  // {"0":10}: partition to offset.
  [[nodiscard]] std::optional<std::map<std::uint32_t, Offset>> offsets(std::string_view name);
  // Canonical text of a filter; "" for one that matches everything.
  [[nodiscard]] std::optional<std::string> filter(std::string_view name);
  template <class E, std::size_t N>
  [[nodiscard]] std::optional<E> word(std::string_view name, const Word<E> (&words)[N]) {
    const auto given = text(name);
    if (!given) {
      return std::nullopt;
    }
    std::vector<std::string_view> known;
    for (const Word<E>& one : words) {
      if (one.text == *given) {
        return one.value;
      }
      known.push_back(one.text);
    }
    bad_word(name, *given, known);
    return std::nullopt;
  }

  // Names of topics, groups and clients; required unless said otherwise.
  [[nodiscard]] std::string topic(bool dead_letters_too = true);
  [[nodiscard]] std::optional<std::string> optional_topic();
  [[nodiscard]] std::string group();
  [[nodiscard]] std::optional<std::string> optional_group();
  [[nodiscard]] std::string client_id();

  // `limit` or `max`, 1 to 1000.
  [[nodiscard]] std::uint32_t limit(std::uint32_t fallback = 100);

  // Keeps the first.
  void set_error(Error error);
  void check(const Result<void>& outcome);
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  explicit Input(bool json) : json_(json) {}
  [[nodiscard]] const Field* find(std::string_view name) const;
  void bad(std::string_view name, std::string detail, std::string remedy);
  void wrong_type(std::string_view name, std::string_view value, std::string_view wanted);
  void bad_word(std::string_view name, std::string_view given, Names known);
  [[nodiscard]] std::optional<std::int64_t> whole_of(std::string_view name, std::string_view value,
                                                     WholeRange range, std::string_view remedy);
  [[nodiscard]] std::optional<std::map<std::uint32_t, Offset>> offsets_of(std::string_view name,
                                                                          std::string_view json);
  [[nodiscard]] std::optional<Position> position_of(std::string_view name, std::string_view json);
  void unescaped(std::string_view name);

  bool json_;
  std::vector<Field> fields_;
  std::optional<Error> error_;
};

}  // namespace ackline::api
