#include "ackline/runtime/options_from_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/check.h"

namespace ackline::runtime {
namespace {

template <class T>
T as(std::int64_t value) {
  return static_cast<T>(value);
}

// The waits between the attempts: initial, times the multiplier, up to the maximum.
std::vector<std::int64_t> backoff(const Config& config) {
  std::vector<std::int64_t> waits;
  const std::int64_t most = config.duration_ms("delivery.backoff.max");
  const std::int64_t factor = config.integer("delivery.backoff.multiplier");
  std::int64_t wait = config.duration_ms("delivery.backoff.initial");
  while (wait < most && factor > 1 && wait > 0 && waits.size() < 64) {
    waits.push_back(wait);
    wait *= factor;
  }
  waits.push_back(std::min(wait, most));
  return waits;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]";
}

}  // namespace

NodeOptions node_options(const Config& config) {
  NodeOptions options;
  options.data_path = config.string("data.path");
  ShardOptions& shard = options.shard;
  shard.dispatcher.ahead_max = as<std::uint64_t>(config.integer("delivery.maxAhead"));
  shard.dispatcher.suspects_per_client = as<std::uint32_t>(config.integer("delivery.suspects"));
  shard.dispatcher.jitter_percent =
      as<std::uint32_t>(config.integer("delivery.backoff.jitterPercent"));
  shard.dispatcher.reconnect_grace_ms = config.duration_ms("delivery.reconnectGrace");
  shard.partition.segment_bytes =
      as<std::uint64_t>(config.size_bytes("storage.local.segmentBytes"));
  shard.stuck_after_ms = config.duration_ms("delivery.stuckAfter");
  shard.sync_commit = config.string("storage.local.sync") == "commit";
  shard.sync_interval_ms = config.duration_ms("storage.local.syncInterval");
  shard.delivery_rows = config.string("delivery.store") == "rocksdb";
  shard.delivery_cache_entries = as<std::size_t>(config.integer("delivery.cache.entries"));
  shard.delivery_flush_ms = config.duration_ms("delivery.cache.flush");
  shard.ack_sync = config.string("delivery.ackSync") == "commit";
  shard.checkpoint_interval_ms = config.duration_ms("storage.local.checkpointInterval");
  shard.checkpoint_bytes = as<std::uint64_t>(config.size_bytes("storage.local.checkpointBytes"));
  shard.disk_reserve_bytes = as<std::uint64_t>(config.size_bytes("disk.reserve"));
  // The next journal file is made while publishing is already refused: it has to fit the reserve.
  shard.journal_file_bytes =
      std::clamp<std::uint64_t>(shard.disk_reserve_bytes / 8, 1U << 20U, shard.journal_file_bytes);
  shard.retention_hold = config.string("retention.groups") == "hold";
  if (const auto most = config.number_or_none("retention.holdBytes")) {
    shard.retention_hold_bytes = as<std::uint64_t>(*most);
  }
  options.auto_create = config.boolean("topic.autoCreate");
  options.default_partitions = as<std::uint32_t>(config.integer("topic.partitions"));
  options.default_partitioner = config.string("topic.partitioner");
  options.default_policy.max_attempts = as<std::uint32_t>(config.integer("delivery.maxAttempts"));
  options.default_policy.backoff_ms = backoff(config);
  options.ack_timeout_ms = config.duration_ms("delivery.ackTimeout");
  options.max_lease_ms = config.duration_ms("delivery.maxLease");
  options.max_in_flight = as<std::uint32_t>(config.integer("delivery.maxInFlight"));
  options.max_in_flight_bytes = as<std::uint64_t>(config.size_bytes("delivery.maxInFlightBytes"));
  options.client_idle_ms = config.duration_ms("client.idle");
  options.reap_interval_ms = std::clamp<std::int64_t>(config.duration_ms("client.ttl") / 4, 1000,
                                                      options.reap_interval_ms);
  options.client_ttl_ms = config.duration_ms("client.ttl");
  options.group_ttl_ms = config.duration_ms("group.ttl");
  options.topics_max = as<std::uint64_t>(config.integer("limits.topics"));
  options.groups_max = as<std::uint64_t>(config.integer("limits.groups"));
  options.clients_max = as<std::uint64_t>(config.integer("limits.clients"));
  return options;
}

http::Limits http_limits(const Config& config) {
  http::Limits limits;
  limits.headers_bytes = as<std::size_t>(config.size_bytes("limits.headers"));
  limits.body_bytes = as<std::size_t>(config.size_bytes("limits.body"));
  limits.header_read_ms = config.duration_ms("limits.headerTimeout");
  limits.body_read_ms = config.duration_ms("limits.bodyTimeout");
  limits.idle_ms = config.duration_ms("limits.idleTimeout");
  return limits;
}

event::ParseLimits event_limits(const Config& config) {
  event::ParseLimits limits;
  limits.event_bytes = as<std::size_t>(config.size_bytes("limits.event"));
  limits.batch_events = as<std::size_t>(config.integer("limits.batch"));
  return limits;
}

std::uint32_t shard_count(const Config& config, std::uint32_t cores) {
  const std::int64_t wanted = config.integer("server.shards");
  if (wanted > 0) return as<std::uint32_t>(wanted);
  return std::max<std::uint32_t>(1, cores / 2);
}

Result<void> check_startable(const Config& config) {
  for (const std::string_view key : {"http.host", "admin.host"}) {
    const std::string& host = config.string(key);
    if (is_loopback(host) || config.boolean("security.allowAnonymous")) continue;
    return fail(ErrorCode::kForbidden,
                fmt::format("{} is {}: others could reach this listener, and no gate is configured",
                            key, host),
                "Bind it to 127.0.0.1, or set security.allowAnonymous: true.", std::string(key));
  }
  return {};
}

}  // namespace ackline::runtime
