// Text form of DeadLetterKey: the `dlqkey` extension and the key of the ledger.
#include <fmt/format.h>

#include <charconv>

#include "ackline/state/dead_letter_store.h"

namespace ackline::state {
namespace {

// Takes what lies before `separator` off the front of `rest`; nothing when it is not there.
std::optional<std::string_view> take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return part;
}

template <class Number>
bool number(std::optional<std::string_view> text, Number& out) {
  if (!text) {
    return false;
  }
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, out);
  return error == std::errc() && stopped == end;
}

}  // namespace

std::string DeadLetterKey::text() const {
  return fmt::format("{}/{}@{}/{}/{}/{}", group, topic, incarnation.value(), partition.value(),
                     offset.value(), generation.value());
}

Result<DeadLetterKey> DeadLetterKey::parse(std::string_view text) {
  std::string_view rest = text;
  const auto group_part = take(rest, '/');
  const auto topic_part = take(rest, '@');
  Incarnation::rep incarnation_number = 0;
  PartitionIndex::rep partition_number = 0;
  Offset::rep offset_number = 0;
  Generation::rep generation_number = 0;
  const bool numbers = number(take(rest, '/'), incarnation_number) &&
                       number(take(rest, '/'), partition_number) &&
                       number(take(rest, '/'), offset_number) && number(rest, generation_number);
  if (group_part && topic_part && !group_part->empty() && !topic_part->empty() && numbers) {
    DeadLetterKey key{std::string(*group_part),        std::string(*topic_part),
                      Incarnation(incarnation_number), PartitionIndex(partition_number),
                      Offset(offset_number),           Generation(generation_number)};
    // Also refuses another spelling of the same numbers, and separators within the names.
    if (offset_number >= 0 && key.text() == text &&
        key.topic.find_first_of("#/@") == std::string::npos &&
        key.group.find_first_of("#/@") == std::string::npos) {
      return key;
    }
  }
  return fail(ErrorCode::kBadValue,
              fmt::format("'{}' is no dead-letter key (group/topic@incarnation/partition/offset/"
                          "generation)",
                          text));
}

}  // namespace ackline::state
