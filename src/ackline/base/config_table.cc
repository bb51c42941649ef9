// The table of all configuration keys. A key is one entry here and nothing else anywhere.
#include "ackline/base/config_keys.h"

namespace ackline {
namespace {

using enum ConfigType;
using Words = std::string_view[];

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kYear = 365 * kDay;
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;
constexpr std::int64_t kTiB = 1024 * kGiB;

// Parts that this build does not have. A part that comes to exist leaves this list and its keys
// lose the name.
constexpr std::string_view kSqlLog = "SQL event log";
constexpr std::string_view kKafkaLog = "Kafka event log";
constexpr std::string_view kRocketLog = "RocketMQ event log";
constexpr std::string_view kRemoteMeta = "shared meta store";
constexpr std::string_view kTcp = "EventMesh TCP listener";
constexpr std::string_view kGate = "security gate";
constexpr std::string_view kTls = "TLS";
constexpr std::string_view kCluster = "cluster of instances";
constexpr std::string_view kWebhook = "webhook channel";
constexpr std::string_view kConnectors = "connectors";
constexpr std::string_view kOffsetMeta = "offset mirror in meta";

constexpr Words kStorageTypes{"local", "sqlite", "postgres", "kafka", "rocketmq", "rocketmq5"};
constexpr Words kStorageAbsent{"sqlite", "postgres", "kafka", "rocketmq", "rocketmq5"};
constexpr Words kPartitioners{"murmur2", "phash2"};
constexpr Words kSyncModes{"commit", "interval"};
constexpr Words kAckSyncModes{"interval", "commit"};
constexpr Words kRetentionGroups{"hold", "drop"};
constexpr Words kTopologies{"LOCAL_STICKY_PULL", "PARTITION_OWNED_PULL"};
constexpr Words kTopologiesAbsent{"PARTITION_OWNED_PULL"};
constexpr Words kDeliveryStores{"journal", "rocksdb"};
constexpr Words kMetaTypes{"local", "etcd", "nacos"};
constexpr Words kMetaAbsent{"etcd", "nacos"};
constexpr Words kOffsetStores{"memory", "file"};
constexpr Words kLogLevels{"debug", "info", "warn", "error"};

// clang-format off
constexpr ConfigKey kKeys[] = {
    // What is written where.
    {.name = "data.path", .type = kString, .default_value = "./ackline-data",
     .help = "Directory for everything that Ackline writes; one process at a time."},
    {.name = "disk.reserve", .type = kSize, .default_value = "256MiB",
     .help = "Free disk space below which publish is refused while acks go on.", .max = kTiB},
    {.name = "instance.id", .type = kString, .default_value = "",
     .help = "Name of this instance; empty: host:port of the traffic listener."},
    {.name = "log.level", .type = kEnum, .default_value = "info",
     .help = "Least level of log lines.", .allowed = kLogLevels},

    // Listeners.
    {.name = "http.host", .type = kString, .default_value = "127.0.0.1",
     .help = "Address of the traffic listener."},
    {.name = "http.port", .type = kInt, .default_value = "10105",
     .help = "Port of the traffic listener; 0 picks a free one.", .max = 65535},
    {.name = "http.advertisedAddr", .type = kString, .default_value = "",
     .help = "host:port that clients are told; empty: where the listener is bound."},
    {.name = "http.names", .type = kList, .default_value = "",
     .help = "Further names that a Host header may carry; loopback and the address always may."},
    {.name = "admin.host", .type = kString, .default_value = "127.0.0.1",
     .help = "Address of the admin listener."},
    {.name = "admin.port", .type = kInt, .default_value = "10106",
     .help = "Port of the admin listener; 0 picks a free one.", .max = 65535},
    {.name = "admin.security.token", .type = kString, .default_value = "",
     .help = "Bearer token for admin calls; empty: made once and kept in data.path/admin.token.",
     .alias = "admin.token", .secret = true},
    {.name = "admin.security.acl", .type = kList, .default_value = "",
     .help = "Who may do what on the admin API.",
     .part = kGate, .when_absent = WhenAbsent::kRefuse},
    {.name = "admin.security.tls.cert", .type = kString, .default_value = "",
     .help = "Certificate chain of the admin listener, PEM.",
     .part = kTls, .when_absent = WhenAbsent::kRefuse},
    {.name = "admin.security.tls.key", .type = kString, .default_value = "",
     .help = "Private key of the admin listener, PEM.",
     .part = kTls, .when_absent = WhenAbsent::kRefuse, .secret = true},
    {.name = "tcp.host", .type = kString, .default_value = "127.0.0.1",
     .help = "Address of the EventMesh TCP listener.", .part = kTcp},
    {.name = "tcp.port", .type = kInt, .default_value = "10000",
     .help = "Port of the EventMesh TCP listener; 0 picks a free one.", .max = 65535, .part = kTcp},

    // Who may come in.
    {.name = "security.allowAnonymous", .type = kBool, .default_value = "false",
     .help = "Allow listeners on other than loopback addresses without a security gate."},
    {.name = "security.gate.filters", .type = kList, .default_value = "",
     .help = "Filters of the gate in order: token, signature, acl, quota, audit.",
     .part = kGate, .when_absent = WhenAbsent::kRefuse},
    {.name = "security.gate.failClosed", .type = kBool, .default_value = "false",
     .help = "Deny when the gate itself fails; its verdicts always stand.", .part = kGate},
    {.name = "security.tls.cert", .type = kString, .default_value = "",
     .help = "Certificate chain of the traffic listener, PEM.",
     .part = kTls, .when_absent = WhenAbsent::kRefuse},
    {.name = "security.tls.key", .type = kString, .default_value = "",
     .help = "Private key of the traffic listener, PEM.",
     .part = kTls, .when_absent = WhenAbsent::kRefuse, .secret = true},

    // Limits.
    {.name = "limits.event", .type = kSize, .default_value = "1MiB",
     .help = "Largest event.", .min = kKiB, .max = 64 * kMiB},
    {.name = "limits.body", .type = kSize, .default_value = "16MiB",
     .help = "Largest request body.", .min = kKiB, .max = 256 * kMiB},
    {.name = "limits.batch", .type = kInt, .default_value = "1000",
     .help = "Most events in one publish batch.", .min = 1, .max = 1000},
    {.name = "limits.headers", .type = kSize, .default_value = "32KiB",
     .help = "Largest request line and headers together.", .min = kKiB, .max = kMiB},
    {.name = "limits.topics", .type = kInt, .default_value = "10000",
     .help = "Most topics.", .min = 1, .max = 1'000'000},
    {.name = "limits.groups", .type = kInt, .default_value = "10000",
     .help = "Most groups over all topics.", .min = 1, .max = 1'000'000},
    {.name = "limits.clients", .type = kInt, .default_value = "100000",
     .help = "Most subscribed clients.", .min = 1, .max = 10'000'000},
    {.name = "limits.connections", .type = kInt, .default_value = "20000",
     .help = "Most open connections of a listener.", .min = 1, .max = 1'000'000},
    {.name = "limits.headerTimeout", .type = kDuration, .default_value = "10s",
     .help = "Time for a client to send its headers.", .min = 100, .max = kHour},
    {.name = "limits.bodyTimeout", .type = kDuration, .default_value = "30s",
     .help = "Time for a client to send its body.", .min = 100, .max = kHour},
    {.name = "limits.idleTimeout", .type = kDuration, .default_value = "60s",
     .help = "Time after which a connection without a request is closed.", .min = 100, .max = kDay},

    // The log of events.
    {.name = "storage.type", .type = kEnum, .default_value = "local",
     .help = "The event log.", .allowed = kStorageTypes, .absent = kStorageAbsent},
    {.name = "storage.local.sync", .type = kEnum, .default_value = "commit",
     .help = "commit: publish answers after the sync; interval: before it.", .allowed = kSyncModes},
    {.name = "storage.local.syncInterval", .type = kDuration, .default_value = "10ms",
     .help = "Longest time between a journal write and its sync when nobody waits.",
     .min = 1, .max = kMinute},
    {.name = "storage.local.checkpointInterval", .type = kDuration, .default_value = "30s",
     .help = "Longest time between checkpoints while something changes.", .min = 100, .max = kHour},
    {.name = "storage.local.checkpointBytes", .type = kSize, .default_value = "64MiB",
     .help = "Journaled bytes that make a checkpoint due.", .min = kMiB, .max = 16 * kGiB},
    {.name = "storage.local.segmentBytes", .type = kSize, .default_value = "64MiB",
     .help = "Size at which a partition segment is sealed.", .min = 64 * kKiB, .max = kGiB},
    {.name = "storage.sqlite.path", .type = kString, .default_value = "",
     .help = "Database file.", .part = kSqlLog},
    {.name = "storage.postgres.url", .type = kString, .default_value = "",
     .help = "Connection string.", .part = kSqlLog, .secret = true},
    {.name = "storage.kafka.bootstrap", .type = kList, .default_value = "",
     .help = "host:port of brokers.", .part = kKafkaLog},
    {.name = "storage.rocketmq.namesrv", .type = kList, .default_value = "",
     .help = "host:port of name servers.", .part = kRocketLog},
    {.name = "topic.autoCreate", .type = kBool, .default_value = "true",
     .help = "Publish and subscribe make a topic that does not exist."},
    {.name = "topic.partitions", .type = kInt, .default_value = "4",
     .help = "Partitions of a new topic.", .min = 1, .max = 10'000},
    {.name = "topic.partitioner", .type = kEnum, .default_value = "murmur2",
     .help = "From partition key to partition, fixed when a topic is made.",
     .allowed = kPartitioners},
    {.name = "retention.groups", .type = kEnum, .default_value = "hold",
     .help = "hold: keep what a group has not passed; drop: do not.", .allowed = kRetentionGroups},
    {.name = "retention.holdBytes", .type = kSize, .default_value = "none",
     .help = "Most bytes of a partition kept for groups that are behind.",
     .min = kMiB, .optional = true},

    // Delivery. Most are defaults for groups: subscribe may set its own.
    {.name = "delivery.topology", .type = kEnum, .default_value = "LOCAL_STICKY_PULL",
     .help = "How partitions are spread over instances.",
     .allowed = kTopologies, .absent = kTopologiesAbsent},
    {.name = "delivery.store", .type = kEnum, .default_value = "journal",
     .help = "Where deliveries are kept; a change is carried out at the next start.",
     .allowed = kDeliveryStores},
    {.name = "delivery.cache.entries", .type = kInt, .default_value = "10000",
     .help = "With delivery.store rocksdb: changes of a shard held back before offers wait. "
             "0: an offer leaves after its write, too.",
     .max = 10'000'000},
    {.name = "delivery.cache.flush", .type = kDuration, .default_value = "100ms",
     .help = "With delivery.store rocksdb: how long a change waits that nobody waits for.",
     .min = 1, .max = kMinute},
    {.name = "delivery.ackTimeout", .type = kDuration, .default_value = "30s",
     .help = "Length of a lease.", .min = 100, .max = kDay},
    {.name = "delivery.maxLease", .type = kDuration, .default_value = "10m",
     .help = "Longest a lease may be extended, counted from its offer.",
     .min = 100, .max = 7 * kDay},
    {.name = "delivery.maxAttempts", .type = kInt, .default_value = "6",
     .help = "Offers of an event before it is dead-lettered.", .min = 1, .max = 1000},
    {.name = "delivery.backoff.initial", .type = kDuration, .default_value = "1s",
     .help = "Wait before the second attempt.", .max = kDay},
    {.name = "delivery.backoff.multiplier", .type = kInt, .default_value = "2",
     .help = "Factor from each wait to the next.", .min = 1, .max = 100},
    {.name = "delivery.backoff.max", .type = kDuration, .default_value = "16s",
     .help = "Longest wait between attempts.", .max = kDay},
    {.name = "delivery.backoff.jitterPercent", .type = kInt, .default_value = "20",
     .help = "How far a wait may be off, up or down.", .max = 100},
    {.name = "delivery.maxInFlight", .type = kInt, .default_value = "1000",
     .help = "Most deliveries leased to one client.", .min = 1, .max = 100'000},
    {.name = "delivery.maxInFlightBytes", .type = kSize, .default_value = "64MiB",
     .help = "Most bytes leased to one client.", .min = kKiB, .max = 16 * kGiB},
    {.name = "delivery.maxAhead", .type = kInt, .default_value = "4194304",
     .help = "Most events offered past the frontier of a group, per partition.",
     .min = 1, .max = std::int64_t{1} << 30},
    {.name = "delivery.suspects", .type = kInt, .default_value = "1",
     .help = "Most events that may have killed a client held by one client at a time.",
     .min = 1, .max = 1000},
    {.name = "delivery.ackSync", .type = kEnum, .default_value = "interval",
     .help = "commit: an ack answers after the sync; interval: after the write.",
     .allowed = kAckSyncModes},
    {.name = "delivery.reconnectGrace", .type = kDuration, .default_value = "5s",
     .help = "How long leases stay with a client whose connection is gone.", .max = kHour},
    {.name = "delivery.stuckAfter", .type = kDuration, .default_value = "30s",
     .help = "Time without an offer that could be made after which a group is called stuck.",
     .min = kSecond, .max = kHour},
    {.name = "client.idle", .type = kDuration, .default_value = "60s",
     .help = "Time unseen after which a client has no say in its group's policy.",
     .min = kSecond, .max = kYear},
    {.name = "client.ttl", .type = kDuration, .default_value = "24h",
     .help = "Time unseen after which a client is unsubscribed.", .min = kSecond, .max = kYear},
    {.name = "group.ttl", .type = kDuration, .default_value = "30d",
     .help = "Time without clients after which a group is removed.",
     .min = kMinute, .max = 10 * kYear},
    {.name = "offset.path", .type = kString, .default_value = "",
     .help = "File of mirrored offsets; empty: under data.path."},
    {.name = "offset.meta", .type = kBool, .default_value = "false",
     .help = "Mirror offsets into the meta store.", .part = kOffsetMeta},
    {.name = "webhook.allowPrivate", .type = kBool, .default_value = "false",
     .help = "Allow webhooks on private addresses.", .part = kWebhook},
    {.name = "connector.offset.store", .type = kEnum, .default_value = "memory",
     .help = "Where connectors keep their position.",
     .allowed = kOffsetStores, .part = kConnectors},

    // The instance and its peers.
    {.name = "server.shards", .type = kInt, .default_value = "1",
     .help = "Threads that partitions are spread over.", .min = 1, .max = 64},
    {.name = "drain.timeout", .type = kDuration, .default_value = "20s",
     .help = "Longest a stop waits for deliveries in flight.", .max = kHour},
    {.name = "meta.type", .type = kEnum, .default_value = "local",
     .help = "The store of topics, groups and numbers.",
     .allowed = kMetaTypes, .absent = kMetaAbsent},
    {.name = "meta.addr", .type = kList, .default_value = "",
     .help = "host:port of the meta store.", .part = kRemoteMeta},
    {.name = "cluster.secret", .type = kString, .default_value = "",
     .help = "Shared secret that peers authenticate with.", .part = kCluster, .secret = true},
};
// clang-format on

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

}  // namespace ackline
