#include "ackline/base/metrics.h"

#include <gmock/gmock.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ackline/base/metric_names.h"

namespace ackline {
namespace {

std::string rendered(const MetricRegistry& registry) {
  std::string out;
  registry.render_prometheus(out);
  return out;
}

constexpr std::array<double, 2> kBounds{0.5, 2};
const MetricSpec kTimes{"t_seconds", MetricKind::kHistogram, "Times.", {}, kBounds};

TEST(Metrics, ACounterIsRenderedWithHelpTypeAndLabels) {
  MetricRegistry registry;
  registry.counter(metric::kEventsPublished, {{"topic", "orders"}})->add(3);
  EXPECT_EQ(rendered(registry),
            "# HELP ackline_events_published_total Events accepted by publish.\n"
            "# TYPE ackline_events_published_total counter\n"
            "ackline_events_published_total{topic=\"orders\"} 3\n");
}

TEST(Metrics, LabelValuesAreEscaped) {
  MetricRegistry registry;
  registry.counter(metric::kEventsPublished, {{"topic", "a\"b\\c\nd"}})->add();
  EXPECT_THAT(rendered(registry), testing::HasSubstr(R"({topic="a\"b\\c\nd"} 1)"));
}

TEST(Metrics, ACounterNeverDecreases) {
  Counter counter;
  counter.raise_to(7);
  counter.raise_to(5);
  EXPECT_EQ(counter.value(), 7U);
  counter.add(2);
  EXPECT_EQ(counter.value(), 9U);
}

TEST(Metrics, TheSameLabelsAreTheSameSeries) {
  MetricRegistry registry;
  const auto one = registry.gauge(metric::kHoles, {{"topic", "t"}, {"group", "g"}});
  const auto two = registry.gauge(metric::kHoles, {{"topic", "t"}, {"group", "g"}});
  EXPECT_EQ(one, two);
  one->set(2.5);
  two->add(-1);
  EXPECT_THAT(rendered(registry),
              testing::HasSubstr("ackline_holes{topic=\"t\",group=\"g\"} 1.5\n"));
}

TEST(Metrics, AHistogramCountsUpToEachBoundInclusive) {
  MetricRegistry registry;
  const auto times = registry.histogram(kTimes);
  for (const double value : {0.25, 0.5, 1.0, 9.0}) times->observe(value);
  EXPECT_EQ(rendered(registry),
            "# HELP t_seconds Times.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{le=\"0.5\"} 2\nt_seconds_bucket{le=\"2\"} 3\n"
            "t_seconds_bucket{le=\"+Inf\"} 4\nt_seconds_sum 10.75\nt_seconds_count 4\n");
}

TEST(Metrics, SeriesOfADeletedTopicGoAndTheirHoldersMayStillCount) {
  MetricRegistry registry;
  const auto kept = registry.counter(metric::kEventsPublished, {{"topic", "kept"}});
  const auto gone = registry.counter(metric::kEventsPublished, {{"topic", "gone"}});
  const auto lag = registry.gauge(metric::kGroupLag, {{"topic", "gone"}, {"group", "g"}});
  lag->set(1);
  kept->add();
  EXPECT_EQ(registry.remove({{"topic", "gone"}}), 2U);
  gone->add(5);
  EXPECT_THAT(rendered(registry), testing::Not(testing::HasSubstr("gone")));
  EXPECT_THAT(rendered(registry), testing::HasSubstr("{topic=\"kept\"} 1\n"));
  EXPECT_EQ(registry.counter(metric::kEventsPublished, {{"topic", "gone"}})->value(), 0U);
}

TEST(Metrics, RemovingAGroupLeavesTheOtherGroupsOfItsTopic) {
  MetricRegistry registry;
  registry.gauge(metric::kGroupLag, {{"topic", "t"}, {"group", "a"}})->set(1);
  registry.gauge(metric::kGroupLag, {{"topic", "t"}, {"group", "b"}})->set(2);
  registry.counter(metric::kEventsPublished, {{"topic", "t"}})->add();
  EXPECT_EQ(registry.remove({{"topic", "t"}, {"group", "a"}}), 1U);
  EXPECT_EQ(rendered(registry).find("group=\"a\""), std::string::npos);
}

TEST(Metrics, CountsFromManyThreadsAddUp) {
  MetricRegistry registry;
  const auto times = registry.histogram(kTimes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&registry, times] {
      for (int i = 0; i < 1000; ++i) {
        registry.counter(metric::kFencedWrites)->add();
        times->observe(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.counter(metric::kFencedWrites)->value(), 4000U);
  EXPECT_EQ(times->count(), 4000U);
  EXPECT_DOUBLE_EQ(times->sum(), 4000.0);
}

TEST(Metrics, EveryDeclaredMetricHasAUniqueNameAndTheRightSuffix) {
  std::set<std::string_view> names;
  for (const MetricSpec* spec : metric::all()) {
    EXPECT_TRUE(spec->name.starts_with("ackline_")) << spec->name;
    EXPECT_TRUE(names.insert(spec->name).second) << spec->name;
    EXPECT_FALSE(spec->help.empty()) << spec->name;
    EXPECT_EQ(spec->name.ends_with("_total"), spec->kind == MetricKind::kCounter) << spec->name;
    EXPECT_EQ(spec->bounds.empty(), spec->kind != MetricKind::kHistogram) << spec->name;
  }
  EXPECT_FALSE(names.empty());
}

}  // namespace
}  // namespace ackline
