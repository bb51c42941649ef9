#include "ackline/api/input.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/utf8.h"
#include "ackline/event/json_scan.h"
#include "ackline/event/names.h"

namespace ackline::api {
namespace {

// A body with more members than any of ours has is not read on.
constexpr std::size_t kMaxMembers = 64;

std::string shown(std::string_view text) {
  constexpr std::size_t kMax = 64;
  std::string_view cut = text.substr(0, kMax);
  // A cut within a character would not be UTF-8 any more.
  cut = cut.substr(0, utf8_valid_prefix(cut));
  return cut.size() < text.size() ? fmt::format("{}…", cut) : std::string(cut);
}

}  // namespace

Input Input::from_body(std::string_view json, Names known) {
  Input input(true);
  if (auto utf8 = event::check_utf8(json); !utf8) {
    input.set_error(utf8.error());
    return input;
  }
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    input.set_error({ErrorCode::kBadJson, "the body is empty", "Send a JSON object.", {}});
    return input;
  }
  const auto document = event::json_document(json, 64);
  if (!document) {
    input.set_error(document.error());
    return input;
  }
  if (event::json_kind(*document) != event::JsonKind::kObject) {
    input.set_error({ErrorCode::kBadJson,
                     fmt::format("the body is {}, not an object",
                                 event::json_kind_name(event::json_kind(*document))),
                     "Send a JSON object.",
                     {}});
    return input;
  }
  event::JsonMember member;
  for (event::JsonWalker walker(*document); walker.next(member);) {
    // Members are compared by their text; an escape in a name of ours is nobody's way to write it,
    // but it is right.
    const auto name = event::json_string(member.name);
    const auto at = name ? std::ranges::find(known, std::string_view(*name)) : known.end();
    if (at == known.end() || input.fields_.size() > kMaxMembers) {
      input.set_error(unknown_field_error("the body", name.value_or(""), known));
      return input;
    }
    if (std::ranges::find(input.fields_, *at, &Field::name) != input.fields_.end()) {
      input.set_error({ErrorCode::kDuplicateKey, fmt::format("{} is there twice", *at),
                       "Name it once.", std::string(*at)});
      return input;
    }
    input.fields_.push_back({*at, member.value});
  }
  return input;
}

Input Input::from_query(const std::vector<http::QueryParameter>& query, Names known) {
  Input input(false);
  for (const auto& [name, value] : query) {
    const auto at = std::ranges::find(known, std::string_view(name));
    if (at == known.end()) {
      input.set_error(unknown_field_error("the query", shown(name), known));
      return input;
    }
    if (std::ranges::find(input.fields_, *at, &Field::name) != input.fields_.end()) {
      input.set_error({ErrorCode::kDuplicateKey, fmt::format("{} is in the query twice", *at),
                       "Name it once.", std::string(*at)});
      return input;
    }
    if (!is_utf8(value)) {
      input.set_error({ErrorCode::kBadUtf8, fmt::format("{} is not UTF-8", *at),
                       "Percent-encode the UTF-8 form of the text.", std::string(*at)});
      return input;
    }
    input.fields_.push_back({*at, value});
  }
  return input;
}

const Input::Field* Input::find(std::string_view name) const {
  const auto at = std::ranges::find(fields_, name, &Field::name);
  if (at == fields_.end() || (json_ && at->value == "null")) {
    return nullptr;
  }
  return &*at;
}

bool Input::is_null(std::string_view name) const {
  const auto at = std::ranges::find(fields_, name, &Field::name);
  return json_ && at != fields_.end() && at->value == "null";
}

std::optional<std::string_view> Input::raw(std::string_view name) const {
  const Field* field = find(name);
  return field == nullptr ? std::nullopt : std::optional(field->value);
}

void Input::set_error(Error error) {
  if (!error_) {
    error_ = std::move(error);
  }
}

void Input::check(const Result<void>& outcome) {
  if (!outcome) {
    set_error(outcome.error());
  }
}

void Input::bad(std::string_view name, std::string detail, std::string remedy) {
  set_error({ErrorCode::kBadValue, std::move(detail), std::move(remedy), std::string(name)});
}

void Input::wrong_type(std::string_view name, std::string_view value, std::string_view wanted) {
  if (json_) {
    bad(name,
        fmt::format("{} is {}, not {}", name, event::json_kind_name(event::json_kind(value)),
                    wanted),
        fmt::format("Send {}.", wanted));
  } else {
    bad(name, fmt::format("{} is \"{}\", not {}", name, shown(value), wanted),
        fmt::format("Send {}.", wanted));
  }
}

void Input::bad_word(std::string_view name, std::string_view given, Names known) {
  const std::string_view near = nearest_name(given, known);
  bad(name, fmt::format("{} is \"{}\"; allowed are {}", name, shown(given), fmt::join(known, ", ")),
      near.empty() ? std::string("Use one of these.") : fmt::format("Use {}.", near));
}

void Input::unescaped(std::string_view name) {
  set_error({ErrorCode::kBadUtf8, fmt::format("{} has half of a surrogate pair", name),
             "Write the whole character.", std::string(name)});
}

std::optional<std::string> Input::text(std::string_view name) {
  const Field* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!json_) {
    return std::string(field->value);
  }
  if (event::json_kind(field->value) != event::JsonKind::kString) {
    wrong_type(name, field->value, "a string");
    return std::nullopt;
  }
  auto text = event::json_string(field->value);
  if (!text) {
    unescaped(name);
  }
  return text;
}

std::string Input::required_text(std::string_view name) {
  if (!has(name)) {
    set_error({ErrorCode::kMissingField, fmt::format("{} is required", name),
               json_ ? fmt::format("Add \"{}\" to the body.", name)
                     : fmt::format("Add {}=… to the query.", name),
               std::string(name)});
    return {};
  }
  return text(name).value_or("");
}

std::string Input::topic(bool dead_letters_too) {
  std::string name = required_text("topic");
  if (!failed()) {
    check(dead_letters_too ? event::check_any_topic_name(name) : event::check_topic_name(name));
  }
  return name;
}

std::optional<std::string> Input::optional_topic() {
  auto name = text("topic");
  if (name) {
    check(event::check_any_topic_name(*name));
  }
  return name;
}

std::string Input::group() {
  std::string name = required_text("group");
  if (!failed()) {
    check(event::check_group_name(name));
  }
  return name;
}

std::optional<std::string> Input::optional_group() {
  auto name = text("group");
  if (name) {
    check(event::check_group_name(*name));
  }
  return name;
}

std::string Input::client_id() {
  std::string name = required_text("clientId");
  if (!failed()) {
    check(event::check_client_id(name));
  }
  return name;
}

std::uint32_t Input::limit(std::uint32_t fallback) {
  constexpr WholeRange kRange{1, 1000};
  if (has("limit") && has("max")) {
    set_error({ErrorCode::kDuplicateKey, "limit and max are the same", "Name one of them.", "max"});
    return fallback;
  }
  const std::string_view name = has("max") ? "max" : "limit";
  return whole32(name, kRange, fmt::format("Leave it out for the default of {}.", fallback))
      .value_or(fallback);
}

}  // namespace ackline::api
