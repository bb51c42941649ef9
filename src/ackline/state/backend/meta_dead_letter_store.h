// DeadLetterStore on a MetaStore: `/em/dlq/<key>` holds `<dlqTopic>:<offset>`, as EventMesh's does.
//
// For logs that are not local; on the local log the settle record is the ledger. Blocking, any
// thread.
#pragma once

#include <memory>

#include "ackline/meta/meta_store.h"
#include "ackline/state/dead_letter_store.h"

namespace ackline::state {

inline constexpr std::string_view kDeadLettersPrefix = "/em/dlq/";

// `store` outlives it.
[[nodiscard]] std::unique_ptr<DeadLetterStore> make_meta_dead_letter_store(meta::MetaStore& store);

}  // namespace ackline::state
