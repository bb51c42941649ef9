// SubscriptionStore on a MetaStore, with a CachingMetaStore over `/em/subs/`.
//
// Every call but the cached reads blocks (storage threads). Any thread.
#pragma once

#include <functional>
#include <memory>

#include "ackline/base/clock.h"
#include "ackline/meta/meta_store.h"
#include "ackline/state/subscription_store.h"

namespace ackline::state {

struct MetaSubscriptionStoreOptions {
  // The cache lost its watch: call `refresh` on a storage thread until it succeeds. Must not block.
  std::function<void()> on_lost;
};

inline constexpr std::string_view kSubscriptionsPrefix = "/em/subs/";

// `store` and `clock` outlive it. Fills the cache first; errors as `refresh`.
[[nodiscard]] Result<std::unique_ptr<SubscriptionStore>> open_meta_subscription_store(
    meta::MetaStore& store, const Clock& clock, MetaSubscriptionStoreOptions options = {});

}  // namespace ackline::state
