#include "ackline/base/metric_names.h"

#include <array>

namespace ackline::metric {
namespace {

constexpr std::array<std::string_view, 1> kTopic{"topic"};
constexpr std::array<std::string_view, 2> kTopicGroup{"topic", "group"};
constexpr std::array<std::string_view, 3> kTopicGroupResult{"topic", "group", "result"};
constexpr std::array<std::string_view, 3> kTopicGroupOutcome{"topic", "group", "outcome"};
constexpr std::array<std::string_view, 3> kTopicGroupReason{"topic", "group", "reason"};
constexpr std::array<std::string_view, 3> kTopicGroupPartition{"topic", "group", "partition"};
constexpr std::array<std::string_view, 1> kShard{"shard"};
constexpr std::array<std::string_view, 1> kFilter{"filter"};
constexpr std::array<std::string_view, 3> kConfigLabels{"storage", "meta", "topology"};
constexpr std::array<std::string_view, 1> kVersion{"version"};

// From a write into the page cache to a disk in trouble.
constexpr std::array<double, 15> kSeconds{
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

}  // namespace

const MetricSpec kEventsPublished{"ackline_events_published_total",
                                  MetricKind::kCounter,
                                  "Events accepted by publish.",
                                  kTopic,
                                  {}};
const MetricSpec kPublishDuration{"ackline_publish_duration_seconds",
                                  MetricKind::kHistogram,
                                  "From a publish request read to its answer.",
                                  {},
                                  kSeconds};
const MetricSpec kDeliveries{"ackline_deliveries_total",
                             MetricKind::kCounter,
                             "Deliveries by result: offered, resent, withdrawn, expired, lost.",
                             kTopicGroupResult,
                             {}};
const MetricSpec kAcks{"ackline_acks_total",
                       MetricKind::kCounter,
                       "Answers to deliveries by outcome: acked, nacked, rejected, extended, "
                       "already or the word of the error.",
                       kTopicGroupOutcome,
                       {}};
const MetricSpec kDeadLetters{"ackline_dead_letters_total",
                              MetricKind::kCounter,
                              "Events moved to the dead-letter topic, by reason.",
                              kTopicGroupReason,
                              {}};
const MetricSpec kGroupLag{
    "ackline_group_lag_events", MetricKind::kGauge, "Events past the frontier.", kTopicGroup, {}};
const MetricSpec kGroupPending{"ackline_group_pending_events",
                               MetricKind::kGauge,
                               "Events past the frontier that are not settled yet.",
                               kTopicGroup,
                               {}};
const MetricSpec kGroupOldestPending{"ackline_group_oldest_pending_seconds",
                                     MetricKind::kGauge,
                                     "Age of the oldest pending event; 0 when there is none.",
                                     kTopicGroup,
                                     {}};
const MetricSpec kGroupFrontier{"ackline_group_frontier",
                                MetricKind::kGauge,
                                "Highest offset up to which every event is settled.",
                                kTopicGroupPartition,
                                {}};
const MetricSpec kGroupStuck{
    "ackline_group_stuck",
    MetricKind::kGauge,
    "Partitions on which something could be offered and is not, for longer "
    "than delivery.stuckAfter: a fault of the server.",
    kTopicGroup,
    {}};
const MetricSpec kInflight{
    "ackline_inflight", MetricKind::kGauge, "Deliveries leased to a client now.", kTopicGroup, {}};
const MetricSpec kHoles{"ackline_holes",
                        MetricKind::kGauge,
                        "Runs of unsettled offsets below the cursor.",
                        kTopicGroup,
                        {}};
const MetricSpec kLogFsyncDuration{"ackline_log_fsync_duration_seconds",
                                   MetricKind::kHistogram,
                                   "Syncs of the journal.",
                                   {},
                                   kSeconds};
const MetricSpec kLogBytes{"ackline_log_bytes",
                           MetricKind::kGauge,
                           "Bytes of the partition segments on disk.",
                           kTopic,
                           {}};
const MetricSpec kJournalBytes{"ackline_journal_bytes",
                               MetricKind::kGauge,
                               "Bytes of the journal files of a shard.",
                               kShard,
                               {}};
const MetricSpec kOffsetWriteFailures{"ackline_offset_write_failures_total",
                                      MetricKind::kCounter,
                                      "Failed writes to the offset store.",
                                      {},
                                      {}};
const MetricSpec kPendingDeliveries{"ackline_pending_deliveries",
                                    MetricKind::kGauge,
                                    "Deliveries held: leased, waiting or blocked.",
                                    {},
                                    {}};
const MetricSpec kGateDenied{"ackline_gate_denied_total",
                             MetricKind::kCounter,
                             "Requests that the security gate denied, by filter.",
                             kFilter,
                             {}};
const MetricSpec kFencedWrites{"ackline_fenced_writes_total",
                               MetricKind::kCounter,
                               "Writes refused because another instance owns the partition.",
                               {},
                               {}};
const MetricSpec kMetaCacheAge{
    "ackline_meta_cache_age_seconds", MetricKind::kGauge, "Age of the cached metadata.", {}, {}};
const MetricSpec kConfigInfo{"ackline_config_info",
                             MetricKind::kGauge,
                             "Always 1; what the instance runs with.",
                             kConfigLabels,
                             {}};
const MetricSpec kBuildInfo{
    "ackline_build_info", MetricKind::kGauge, "Always 1; the version of the build.", kVersion, {}};

std::span<const MetricSpec* const> all() {
  static constexpr std::array kAll{
      &kEventsPublished,   &kPublishDuration, &kDeliveries,   &kAcks,
      &kDeadLetters,       &kGroupLag,        &kGroupPending, &kGroupOldestPending,
      &kGroupFrontier,     &kGroupStuck,      &kInflight,     &kHoles,
      &kLogFsyncDuration,  &kLogBytes,        &kJournalBytes, &kOffsetWriteFailures,
      &kPendingDeliveries, &kGateDenied,      &kFencedWrites, &kMetaCacheAge,
      &kConfigInfo,        &kBuildInfo};
  return kAll;
}

}  // namespace ackline::metric
