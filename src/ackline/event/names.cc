#include "ackline/event/names.h"

#include <fmt/format.h>

#include <utility>

namespace ackline::event {
namespace {

constexpr std::size_t kMaxShown = 64;

bool is_name_character(char c, std::string_view marks) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         marks.find(c) != std::string_view::npos;
}

struct Rule {
  std::string_view field;
  std::string_view what;
  std::string_view marks;
  std::size_t max;
};

std::unexpected<Error> bad(const Rule& rule, std::string detail) {
  return fail(ErrorCode::kBadName, std::move(detail),
              fmt::format("Use 1 to {} of A-Z, a-z, 0-9 and {}", rule.max, rule.marks),
              std::string(rule.field));
}

Result<void> check(const Rule& rule, std::string_view name) {
  if (name.empty()) {
    return bad(rule, fmt::format("the {} is empty", rule.what));
  }
  if (name.size() > rule.max) {
    return bad(rule, fmt::format("the {} has {} bytes; at most {} are allowed", rule.what,
                                 name.size(), rule.max));
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_name_character(name[i], rule.marks)) {
      const auto byte = static_cast<unsigned char>(name[i]);
      return bad(rule, byte > 0x20 && byte < 0x7F
                           ? fmt::format("the {} has '{}' at position {}", rule.what, name[i], i)
                           : fmt::format("the {} has the byte {:#04x} at position {}", rule.what,
                                         byte, i));
    }
  }
  return {};
}

}  // namespace

Result<void> check_any_topic_name(std::string_view topic) {
  constexpr Rule kRule{"topic", "topic name", "._-", kMaxTopicName};
  const std::string_view base = source_topic(topic);
  if (base == "." || base == "..") {
    return bad(kRule,
               fmt::format("the topic name {} means a directory", topic.substr(0, kMaxShown)));
  }
  return check(kRule, base);
}

Result<void> check_topic_name(std::string_view topic) {
  if (is_dlq_topic(topic)) {
    return fail(ErrorCode::kBadName,
                fmt::format("the suffix {} is reserved for dead letters", kDlqSuffix),
                fmt::format("Use a name that does not end with {}.", kDlqSuffix), "topic");
  }
  return check_any_topic_name(topic);
}

Result<void> check_client_id(std::string_view client_id) {
  return check({"clientId", "clientId", "._:-", kMaxClientName}, client_id);
}

Result<void> check_group_name(std::string_view group) {
  return check({"group", "group name", "._:-", kMaxClientName}, group);
}

bool is_dlq_topic(std::string_view topic) {
  return topic.ends_with(kDlqSuffix);
}

std::string dlq_topic(std::string_view topic) {
  return std::string(topic).append(kDlqSuffix);
}

std::string_view source_topic(std::string_view dlq_topic) {
  if (is_dlq_topic(dlq_topic)) {
    dlq_topic.remove_suffix(kDlqSuffix.size());
  }
  return dlq_topic;
}

}  // namespace ackline::event
