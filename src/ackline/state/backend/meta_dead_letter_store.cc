#include "ackline/state/backend/meta_dead_letter_store.h"

#include <fmt/format.h>

#include <charconv>
#include <mutex>

#include "ackline/state/backend/sealed_value.h"

namespace ackline::state {
namespace {

// Races on one key are between the few owners that believe to own a partition.
constexpr int kRacesMax = 64;

std::string value_of(const DeadLetterPlace& place) {
  return fmt::format("{}:{}", place.dlq_topic, place.dlq_offset.value());
}

Result<DeadLetterPlace> parse_value(std::string_view key, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon > 0) {
    const std::string_view digits = text.substr(colon + 1);
    Offset::rep offset = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), offset);
    DeadLetterPlace place{std::string(text.substr(0, colon)), Offset(offset)};
    if (offset >= 0 && value_of(place) == text) {
      return place;
    }
  }
  return std::unexpected(corrupt_value("dead-letter", key));
}

class MetaDeadLetterStore final : public DeadLetterStore {
 public:
  explicit MetaDeadLetterStore(meta::MetaStore& store) : store_(store) {}

  std::string_view name() const override { return "dead letters (meta)"; }
  StoreHealth health() const override {
    const std::scoped_lock lock(mutex_);
    return health_;
  }
  // Each write is durable when it returns.
  Result<void> flush() override { return require_open(); }
  Result<void> close() override {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    return {};
  }

  Result<DeadLetterRecorded> record_dead_letter(const DeadLetterKey& key,
                                                const DeadLetterPlace& place,
                                                const std::optional<OwnerFence>& fence) override {
    if (const Result<void> fine = check(key); !fine) {
      return fail(fine);
    }
    if (place.dlq_topic.empty() || place.dlq_offset.value() < 0) {
      return fail(ErrorCode::kBadValue, "a dead letter needs a DLQ topic and an offset from 0");
    }
    for (int race = 0; race < kRacesMax; ++race) {
      const Result<std::optional<DeadLetterRecorded>> outcome = note(try_record(key, place, fence));
      if (!outcome) {
        return fail(outcome);
      }
      if (*outcome) {
        return **outcome;
      }
    }
    return fail(ErrorCode::kUnavailable,
                fmt::format("the dead-letter record '{}' kept changing", key.text()));
  }

  Result<std::optional<DeadLetterPlace>> is_dead_lettered(const DeadLetterKey& key) override {
    if (const Result<void> fine = check(key); !fine) {
      return fail(fine);
    }
    const Result<std::optional<Found>> found = note(find(meta_key(key)));
    if (!found) {
      return fail(found);
    }
    return *found ? std::optional((*found)->place) : std::nullopt;
  }

  Result<bool> forget(const DeadLetterKey& key) override {
    if (const Result<void> fine = check(key); !fine) {
      return fail(fine);
    }
    const Result<meta::Written> removed = note(store_.remove(meta_key(key)));
    return removed ? Result<bool>(removed->done) : fail(removed);
  }

 private:
  struct Found {
    DeadLetterPlace place;
    meta::Revision revision;
  };

  static std::string meta_key(const DeadLetterKey& key) {
    return std::string(kDeadLettersPrefix) + key.text();
  }

  [[nodiscard]] Result<void> require_open() const {
    const std::scoped_lock lock(mutex_);
    return closed_ ? fail(ErrorCode::kUnavailable, "the dead-letter store is closed")
                   : Result<void>();
  }

  [[nodiscard]] Result<void> check(const DeadLetterKey& key) const {
    if (const Result<void> open = require_open(); !open) {
      return open;
    }
    if (const Result<void> fine = check_key_part("topic", key.topic); !fine) {
      return fine;
    }
    return check_key_part("group", key.group);
  }

  [[nodiscard]] Result<std::optional<Found>> find(const std::string& key) {
    const Result<std::optional<meta::Entry>> entry = store_.get(key);
    if (!entry) {
      return fail(entry);
    }
    if (!*entry) {
      return std::optional<Found>();
    }
    const Result<DeadLetterPlace> place = parse_value(key, (*entry)->value);
    return place ? Result<std::optional<Found>>(Found{*place, (*entry)->revision}) : fail(place);
  }

  // One round of reading and compare-and-set; nullopt: somebody wrote in between.
  [[nodiscard]] Result<std::optional<DeadLetterRecorded>> try_record(
      const DeadLetterKey& key, const DeadLetterPlace& place,
      const std::optional<OwnerFence>& fence) {
    const std::string text = meta_key(key);
    const Result<std::optional<Found>> found = find(text);
    if (!found) {
      return fail(found);
    }
    if (*found && (*found)->place.dlq_topic != place.dlq_topic) {
      return fail(ErrorCode::kBadValue,
                  fmt::format("'{}' is dead in {} already, not in {}", key.text(),
                              (*found)->place.dlq_topic, place.dlq_topic));
    }
    if (*found && (*found)->place.dlq_offset <= place.dlq_offset) {
      return DeadLetterRecorded{false, (*found)->place};
    }
    meta::Transaction transaction;
    if (fence) {
      transaction.compares.push_back({fence->key, fence->revision});
    }
    transaction.compares.push_back({text, *found ? (*found)->revision : meta::Revision()});
    transaction.writes.push_back({text, value_of(place), meta::SessionId{}});
    const Result<meta::Written> written = store_.commit(transaction);
    if (!written) {
      return fail(written);
    }
    if (written->done) {
      return DeadLetterRecorded{!*found, place};
    }
    if (!fence) {
      return std::optional<DeadLetterRecorded>();
    }
    const Result<std::optional<meta::Entry>> owner = store_.get(fence->key);
    if (!owner) {
      return fail(owner);
    }
    if (!*owner || (*owner)->revision != fence->revision) {
      return fail(ErrorCode::kFenced,
                  fmt::format("'{}' has another owner now; its dead letter is theirs", fence->key));
    }
    return std::optional<DeadLetterRecorded>();
  }

  // Keeps the outcome for `health`; being fenced is no fault of the store.
  template <class T>
  Result<T> note(Result<T> result) {
    const std::scoped_lock lock(mutex_);
    const bool fine = result || result.error().code == ErrorCode::kFenced ||
                      result.error().code == ErrorCode::kBadValue;
    health_ = fine ? StoreHealth{} : StoreHealth{false, result.error().detail};
    return result;
  }

  meta::MetaStore& store_;
  mutable std::mutex mutex_;
  StoreHealth health_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<DeadLetterStore> make_meta_dead_letter_store(meta::MetaStore& store) {
  return std::make_unique<MetaDeadLetterStore>(store);
}

}  // namespace ackline::state
