// Names that users choose: topics, groups, clients. Pure functions, any thread; `bad_name` with the
// remedy for what does not fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ackline/base/result.h"

namespace ackline::event {

inline constexpr std::string_view kDlqSuffix = "_DLQ";
inline constexpr std::size_t kMaxTopicName = 123;  // with its suffix a dead-letter topic has 127
inline constexpr std::size_t kMaxClientName = 127;

// A topic that a user may publish to, subscribe to or create: `[A-Za-z0-9._-]{1,123}`, not "." or
// "..", without the reserved suffix.
[[nodiscard]] Result<void> check_topic_name(std::string_view topic);
// The same, dead-letter topics allowed: for reading (admin, queries).
[[nodiscard]] Result<void> check_any_topic_name(std::string_view topic);
// 1 to 127 of `[A-Za-z0-9._:-]`.
[[nodiscard]] Result<void> check_client_id(std::string_view client_id);
[[nodiscard]] Result<void> check_group_name(std::string_view group);

[[nodiscard]] bool is_dlq_topic(std::string_view topic);
// "orders" → "orders_DLQ".
[[nodiscard]] std::string dlq_topic(std::string_view topic);
// "orders_DLQ" → "orders"; another name stays as it is.
[[nodiscard]] std::string_view source_topic(std::string_view dlq_topic);

}  // namespace ackline::event
