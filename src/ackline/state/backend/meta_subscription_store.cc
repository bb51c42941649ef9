#include "ackline/state/backend/meta_subscription_store.h"

#include <fmt/format.h>

#include <compare>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "ackline/meta/caching_meta_store.h"
#include "ackline/state/backend/sealed_value.h"
#include "ackline/state/backend/subscription_codec.h"

namespace ackline::state {
namespace {

struct SubscriptionKey {
  std::string topic;
  std::string client_id;
  friend auto operator<=>(const SubscriptionKey&, const SubscriptionKey&) = default;
};

std::string text_of(const SubscriptionKey& key) {
  return fmt::format("{}{}/{}", kSubscriptionsPrefix, key.topic, key.client_id);
}

Result<SubscriptionKey> parse_key(std::string_view after_prefix) {
  const std::size_t slash = after_prefix.find('/');
  if (slash == std::string_view::npos ||
      after_prefix.find('/', slash + 1) != std::string_view::npos) {
    return std::unexpected(corrupt_value("subscription", after_prefix));
  }
  return SubscriptionKey{std::string(after_prefix.substr(0, slash)),
                         std::string(after_prefix.substr(slash + 1))};
}

// A record under another key than its own is damage.
Result<Subscription> decode_value(const SubscriptionKey& key, std::string_view bytes) {
  const std::string text = text_of(key);
  Result<Subscription> value = decode_subscription(text, bytes);
  if (value && (value->topic != key.topic || value->client_id != key.client_id)) {
    return std::unexpected(corrupt_value("subscription", text));
  }
  return value;
}

using Cache = meta::CachingMetaStore<SubscriptionKey, Subscription>;

class MetaSubscriptionStore final : public SubscriptionStore {
 public:
  MetaSubscriptionStore(meta::MetaStore& store, const Clock& clock,
                        MetaSubscriptionStoreOptions options)
      : store_(store),
        cache_(store, clock, std::string(kSubscriptionsPrefix),
               {.key = parse_key, .value = decode_value},
               {.on_lost = std::move(options.on_lost),
                .on_change = [this](const SubscriptionKey& key, const meta::Cached<Subscription>*) {
                  reindex(key);
                }}) {}

  std::string_view name() const override { return "subscriptions (meta)"; }
  StoreHealth health() const override;
  // Each write is durable when it returns.
  Result<void> flush() override { return require_open(); }
  Result<void> close() override {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    return {};
  }

  Result<meta::Written> put(const Subscription& subscription, meta::Revision expected) override;
  Result<meta::Written> remove(std::string_view topic, std::string_view client_id) override;
  Result<std::optional<StoredSubscription>> read(std::string_view topic,
                                                 std::string_view client_id) override;
  std::vector<StoredSubscription> targets_for(
      std::string_view topic,
      const std::function<bool(const Subscription&)>& matches) const override;
  std::optional<std::string> instance_of(std::string_view client_id) const override;
  std::vector<std::string> topics() const override;
  std::uint64_t cache_age_ms() const override { return cache_.age_ms(); }
  Result<void> refresh() override { return cache_.refresh(); }

 private:
  [[nodiscard]] Result<void> require_open() const {
    const std::scoped_lock lock(mutex_);
    return closed_ ? fail(ErrorCode::kUnavailable, "the subscription store is closed")
                   : Result<void>();
  }
  [[nodiscard]] Result<void> check(std::string_view topic, std::string_view client_id) const;
  void reindex(const SubscriptionKey& key);

  meta::MetaStore& store_;
  mutable std::mutex mutex_;  // of what follows; taken before the cache's
  bool closed_ = false;
  std::map<std::string, std::set<std::string>, std::less<>> topics_of_client_;
  Cache cache_;  // last: its callbacks use the rest
};

StoreHealth MetaSubscriptionStore::health() const {
  if (const std::uint64_t age = cache_.age_ms(); age > 0) {
    return {false, fmt::format("the subscription cache has not seen meta for {} ms", age)};
  }
  if (const std::uint64_t bad = cache_.unreadable_count(); bad > 0) {
    return {false, fmt::format("{} subscription records could not be read", bad)};
  }
  return {};
}

Result<void> MetaSubscriptionStore::check(std::string_view topic,
                                          std::string_view client_id) const {
  if (const Result<void> open = require_open(); !open) {
    return open;
  }
  if (const Result<void> fine = check_key_part("topic", topic); !fine) {
    return fine;
  }
  return check_key_part("clientId", client_id);
}

void MetaSubscriptionStore::reindex(const SubscriptionKey& key) {
  const std::scoped_lock lock(mutex_);
  // What is in the cache now counts, whatever change brought us here: two changes of one key may be
  // told in either order.
  if (cache_.find(key)) {
    topics_of_client_[key.client_id].insert(key.topic);
    return;
  }
  const auto found = topics_of_client_.find(key.client_id);
  if (found == topics_of_client_.end()) {
    return;
  }
  found->second.erase(key.topic);
  if (found->second.empty()) {
    topics_of_client_.erase(found);
  }
}

Result<meta::Written> MetaSubscriptionStore::put(const Subscription& subscription,
                                                 meta::Revision expected) {
  if (const Result<void> fine = check(subscription.topic, subscription.client_id); !fine) {
    return fail(fine);
  }
  if (const Result<void> fine = check_key_part("group", subscription.group); !fine) {
    return fail(fine);
  }
  const SubscriptionKey key{subscription.topic, subscription.client_id};
  const std::string text = text_of(key);
  meta::Transaction transaction;
  transaction.compares.push_back({text, expected});
  transaction.writes.push_back({text, encode_subscription(text, subscription), meta::SessionId{}});
  const Result<meta::Written> written = store_.commit(transaction);
  if (written && written->done) {
    cache_.note_put(key, subscription, written->revision);
  }
  return written;
}

Result<meta::Written> MetaSubscriptionStore::remove(std::string_view topic,
                                                    std::string_view client_id) {
  if (const Result<void> fine = check(topic, client_id); !fine) {
    return fail(fine);
  }
  const SubscriptionKey key{std::string(topic), std::string(client_id)};
  const Result<meta::Written> removed = store_.remove(text_of(key));
  if (removed && removed->done) {
    cache_.note_remove(key, removed->revision);
  }
  return removed;
}

Result<std::optional<StoredSubscription>> MetaSubscriptionStore::read(std::string_view topic,
                                                                      std::string_view client_id) {
  if (const Result<void> fine = check(topic, client_id); !fine) {
    return fail(fine);
  }
  const SubscriptionKey key{std::string(topic), std::string(client_id)};
  const Result<std::optional<meta::Entry>> entry = store_.get(text_of(key));
  if (!entry) {
    return fail(entry);
  }
  if (!*entry) {
    return std::optional<StoredSubscription>();
  }
  Result<Subscription> value = decode_value(key, (*entry)->value);
  if (!value) {
    return fail(value);
  }
  return StoredSubscription{std::move(*value), (*entry)->revision};
}

std::vector<StoredSubscription> MetaSubscriptionStore::targets_for(
    std::string_view topic, const std::function<bool(const Subscription&)>& matches) const {
  std::vector<StoredSubscription> candidates;
  cache_.for_each_from({std::string(topic), {}},
                       [&](const SubscriptionKey& key, const meta::Cached<Subscription>& cached) {
                         if (key.topic != topic) {
                           return false;
                         }
                         candidates.push_back({cached.value, cached.revision});
                         return true;
                       });
  // A filter may be slow: it runs outside the cache's lock.
  if (matches) {
    std::erase_if(candidates,
                  [&](const StoredSubscription& one) { return !matches(one.subscription); });
  }
  return candidates;
}

std::optional<std::string> MetaSubscriptionStore::instance_of(std::string_view client_id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = topics_of_client_.find(client_id);
  if (found == topics_of_client_.end()) {
    return std::nullopt;
  }
  std::optional<meta::Cached<Subscription>> latest;
  for (const std::string& topic : found->second) {
    auto cached = cache_.find({topic, std::string(client_id)});
    if (cached && (!latest || latest->revision < cached->revision)) {
      latest = std::move(cached);
    }
  }
  return latest ? std::optional(latest->value.instance) : std::nullopt;
}

std::vector<std::string> MetaSubscriptionStore::topics() const {
  std::vector<std::string> out;
  cache_.for_each([&](const SubscriptionKey& key, const meta::Cached<Subscription>&) {
    if (out.empty() || out.back() != key.topic) {
      out.push_back(key.topic);
    }
    return true;
  });
  return out;
}

}  // namespace

Result<std::unique_ptr<SubscriptionStore>> open_meta_subscription_store(
    meta::MetaStore& store, const Clock& clock, MetaSubscriptionStoreOptions options) {
  auto made = std::make_unique<MetaSubscriptionStore>(store, clock, std::move(options));
  if (const Result<void> filled = made->refresh(); !filled) {
    return fail(filled);
  }
  return made;
}

}  // namespace ackline::state
