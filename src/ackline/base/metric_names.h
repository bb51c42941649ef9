// Every metric of Ackline, declared in one place: name, kind, help, labels.
//
// Names and labels are part of the public contract (dashboards and alerts hang on them): add, never
// rename. A test holds this list to what `/metrics` shows.
#pragma once

#include <span>

#include "ackline/base/metrics.h"

namespace ackline::metric {

extern const MetricSpec kEventsPublished;      // {topic}
extern const MetricSpec kPublishDuration;      // histogram
extern const MetricSpec kDeliveries;           // {topic,group,result}
extern const MetricSpec kAcks;                 // {topic,group,outcome}
extern const MetricSpec kDeadLetters;          // {topic,group,reason}
extern const MetricSpec kGroupLag;             // {topic,group}
extern const MetricSpec kGroupPending;         // {topic,group}
extern const MetricSpec kGroupOldestPending;   // {topic,group}
extern const MetricSpec kGroupFrontier;        // {topic,group,partition}
extern const MetricSpec kGroupStuck;           // {topic,group}
extern const MetricSpec kInflight;             // {topic,group}
extern const MetricSpec kHoles;                // {topic,group}
extern const MetricSpec kLogFsyncDuration;     // histogram
extern const MetricSpec kLogBytes;             // {topic}
extern const MetricSpec kJournalBytes;         // {shard}
extern const MetricSpec kOffsetWriteFailures;  //
extern const MetricSpec kPendingDeliveries;    //
extern const MetricSpec kGateDenied;           // {filter}
extern const MetricSpec kFencedWrites;         //
extern const MetricSpec kMetaCacheAge;         //
extern const MetricSpec kConfigInfo;           // {storage,meta,topology}
extern const MetricSpec kBuildInfo;            // {version}

// All of them.
[[nodiscard]] std::span<const MetricSpec* const> all();

}  // namespace ackline::metric
