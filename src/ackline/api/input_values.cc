// Numbers, times, lists, positions and filters of an Input.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ackline/api/input.h"
#include "ackline/base/time_text.h"
#include "ackline/event/filter.h"
#include "ackline/event/json_scan.h"

namespace ackline::api {
namespace {

enum class Digits : std::uint8_t { kNone, kOverflow, kOk };

// An optional sign and digits, nothing else.
Digits read_digits(std::string_view text, std::int64_t& value) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return Digits::kNone;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? Digits::kOk : Digits::kOverflow;
}

std::string range_text(WholeRange range) {
  return range.max == INT64_MAX ? fmt::format("{} and more", range.min)
                                : fmt::format("{} to {}", range.min, range.max);
}

constexpr WholeRange kPartitionRange{0, 0xFFFF'FFFE};

}  // namespace

std::optional<std::int64_t> Input::whole_of(std::string_view name, std::string_view value,
                                            WholeRange range, std::string_view remedy) {
  if (json_ && event::json_kind(value) != event::JsonKind::kNumber) {
    wrong_type(name, value, "a whole number");
    return std::nullopt;
  }
  std::int64_t number = 0;
  const Digits digits = read_digits(value, number);
  if (digits == Digits::kNone) {
    bad(name, fmt::format("{} is {}, not a whole number", name, value.substr(0, 32)),
        fmt::format("Send a whole number, {}.", range_text(range)));
    return std::nullopt;
  }
  if (digits == Digits::kOverflow || number < range.min || number > range.max) {
    bad(name, fmt::format("{} is {}; allowed are {}", name, value.substr(0, 32), range_text(range)),
        remedy.empty() ? std::string("Send a number in that range.") : std::string(remedy));
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> Input::whole(std::string_view name, WholeRange range,
                                         std::string_view remedy) {
  const Field* field = find(name);
  return field == nullptr ? std::nullopt : whole_of(name, field->value, range, remedy);
}

std::optional<std::uint32_t> Input::whole32(std::string_view name, WholeRange range,
                                            std::string_view remedy) {
  range.max = std::min<std::int64_t>(range.max, UINT32_MAX);
  const auto number = whole(name, range, remedy);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<bool> Input::flag(std::string_view name) {
  const Field* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (field->value != "true" && field->value != "false") {
    wrong_type(name, field->value, "true or false");
    return std::nullopt;
  }
  return field->value == "true";
}

std::optional<WallMs> Input::time(std::string_view name) {
  const auto given = text(name);
  if (!given) {
    return std::nullopt;
  }
  const auto parsed = parse_rfc3339(*given);
  if (!parsed) {
    bad(name, fmt::format("{} is \"{}\", not a time", name, given->substr(0, 64)),
        "Write it like 2026-11-29T12:00:00Z.");
  }
  return parsed;
}

std::optional<std::vector<std::string>> Input::texts(std::string_view name, std::size_t max) {
  const Field* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (event::json_kind(field->value) != event::JsonKind::kArray) {
    wrong_type(name, field->value, "an array of strings");
    return std::nullopt;
  }
  std::vector<std::string> list;
  std::string_view element;
  for (event::JsonWalker walker(field->value); walker.next(element);) {
    if (event::json_kind(element) != event::JsonKind::kString) {
      wrong_type(fmt::format("{}[{}]", name, list.size()), element, "a string");
      return std::nullopt;
    }
    if (list.size() == max) {
      bad(name, fmt::format("{} has more than {} entries", name, max), "Send several requests.");
      return std::nullopt;
    }
    auto one = event::json_string(element);
    if (!one) {
      unescaped(name);
      return std::nullopt;
    }
    list.push_back(std::move(*one));
  }
  return list;
}

std::optional<std::vector<std::int64_t>> Input::wholes(std::string_view name, WholeRange range,
                                                       std::size_t max) {
  const Field* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (event::json_kind(field->value) != event::JsonKind::kArray) {
    wrong_type(name, field->value, "an array of whole numbers");
    return std::nullopt;
  }
  std::vector<std::int64_t> list;
  std::string_view element;
  for (event::JsonWalker walker(field->value); walker.next(element);) {
    if (list.size() == max) {
      bad(name, fmt::format("{} has more than {} entries", name, max), "Send fewer.");
      return std::nullopt;
    }
    const auto number = whole_of(fmt::format("{}[{}]", name, list.size()), element, range, {});
    if (!number) {
      return std::nullopt;
    }
    list.push_back(*number);
  }
  if (list.empty()) {
    bad(name, fmt::format("{} is empty", name), "Leave it out for the default.");
    return std::nullopt;
  }
  return list;
}

std::vector<std::uint32_t> Input::partitions(std::string_view name) {
  std::vector<std::uint32_t> list;
  for (const std::int64_t number :
       wholes(name, kPartitionRange, 65'536).value_or(std::vector<std::int64_t>())) {
    list.push_back(static_cast<std::uint32_t>(number));
  }
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
  return list;
}

std::optional<std::map<std::uint32_t, Offset>> Input::offsets_of(std::string_view name,
                                                                 std::string_view json) {
  if (event::json_kind(json) != event::JsonKind::kObject) {
    bad(name,
        fmt::format("{} is {}, not an object", name, event::json_kind_name(event::json_kind(json))),
        "Write it like {\"0\":10}.");
    return std::nullopt;
  }
  std::map<std::uint32_t, Offset> offsets;
  event::JsonMember member;
  for (event::JsonWalker walker(json); walker.next(member);) {
    const std::string key = event::json_string(member.name).value_or("");
    std::int64_t partition = 0;
    std::int64_t offset = 0;
    if (read_digits(key, partition) != Digits::kOk || partition < 0 ||
        partition > kPartitionRange.max || key != fmt::format_int(partition).c_str()) {
      bad(name, fmt::format("{} has the key \"{}\", not a partition", name, key.substr(0, 32)),
          "Use partition numbers as keys, like {\"0\":10}.");
      return std::nullopt;
    }
    if (event::json_kind(member.value) != event::JsonKind::kNumber ||
        read_digits(member.value, offset) != Digits::kOk || offset < 0) {
      bad(name,
          fmt::format("{} has {} for partition {}, not an offset", name, member.value.substr(0, 32),
                      key),
          "Use whole numbers from 0, like {\"0\":10}.");
      return std::nullopt;
    }
    if (!offsets.emplace(static_cast<std::uint32_t>(partition), Offset(offset)).second) {
      set_error({ErrorCode::kDuplicateKey, fmt::format("{} names partition {} twice", name, key),
                 "Name it once.", std::string(name)});
      return std::nullopt;
    }
  }
  return offsets;
}

std::optional<std::map<std::uint32_t, Offset>> Input::offsets(std::string_view name) {
  const Field* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (json_) {
    return offsets_of(name, field->value);
  }
  const auto document = event::json_document(field->value, 4);
  if (!document) {
    bad(name, fmt::format("{} is not JSON: {}", name, document.error().detail),
        "Write it like {\"0\":10}, percent-encoded.");
    return std::nullopt;
  }
  return offsets_of(name, *document);
}

std::optional<Position> Input::position_of(std::string_view name, std::string_view json) {
  constexpr std::string_view kRemedy =
      "Use \"earliest\", \"latest\", {\"offset\":N}, {\"offsets\":{\"0\":N}} or {\"time\":\"…\"}.";
  if (event::json_kind(json) == event::JsonKind::kString) {
    const std::string word = event::json_string(json).value_or("");
    if (word == "earliest") {
      return Earliest{};
    }
    if (word == "latest") {
      return Latest{};
    }
    bad(name, fmt::format("{} is \"{}\", not a position", name, word.substr(0, 32)),
        std::string(kRemedy));
    return std::nullopt;
  }
  if (event::json_kind(json) != event::JsonKind::kObject) {
    bad(name, fmt::format("{} is no position", name), std::string(kRemedy));
    return std::nullopt;
  }
  constexpr std::string_view kNames[] = {"offset", "offsets", "time"};
  Input inner = from_body(json, kNames);
  if (!inner.failed() && inner.fields_.size() != 1) {
    inner.bad(name, fmt::format("{} names {} positions, not one", name, inner.fields_.size()),
              std::string(kRemedy));
  }
  const auto offset = inner.whole("offset", {});
  const auto some = inner.offsets("offsets");
  const auto at = inner.time("time");
  if (!inner.failed() && (some ? some->empty() : !offset && !at)) {
    inner.bad(name, fmt::format("{} names no position", name), std::string(kRemedy));
  }
  if (inner.failed()) {
    Error error = inner.error();
    error.field = error.field.empty() || error.field == name
                      ? std::string(name)
                      : fmt::format("{}.{}", name, error.field);
    set_error(std::move(error));
    return std::nullopt;
  }
  if (offset) {
    return AtOffsets{Offset(*offset), {}};
  }
  return some ? Position(AtOffsets{std::nullopt, *some}) : Position(AtTime{*at});
}

std::optional<Position> Input::position(std::string_view name) {
  const Field* field = find(name);
  return field == nullptr ? std::nullopt : position_of(name, field->value);
}

std::optional<std::string> Input::filter(std::string_view name) {
  const Field* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  const auto filter = event::Filter::parse(field->value);
  if (!filter) {
    Error error = filter.error();
    if (error.field.empty()) {
      error.field = name;
    }
    set_error(std::move(error));
    return std::nullopt;
  }
  return filter->matches_everything() ? std::string() : filter->to_json();
}

}  // namespace ackline::api
