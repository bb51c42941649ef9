// Metrics: counters, gauges and histograms for Prometheus, on atomics of our own.
//
// A registry belongs to one runtime, so that tests and an embedding program may have several. What
// exists is declared in `metric_names.h`; a series is a declared metric with values for its labels.
// Code on a hot path asks once for its series and keeps it: counting is then one relaxed atomic
// add.
//
// A series is shared by the registry and by those who count in it: removing the series of a deleted
// topic must not pull memory from under a shard that is about to count once more. Removed and asked
// for again it starts at zero, which Prometheus takes for a restart.
//
// Any thread. Asking with other labels than declared is a programming error.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ackline {

// Only grows.
class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  // Follows a total that is counted elsewhere; a lower one than before is ignored.
  void raise_to(std::uint64_t total);
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double delta) { value_.fetch_add(delta, std::memory_order_relaxed); }
  [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Counts by upper bounds given once, ascending; +Inf is added.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds);
  void observe(double value);
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] double sum() const { return sum_.load(std::memory_order_relaxed); }
  // Observations at or below bounds()[i]; i == bounds().size() is all of them.
  [[nodiscard]] std::uint64_t count_up_to(std::size_t i) const;
  [[nodiscard]] std::span<const double> bounds() const { return bounds_; }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> buckets_;
  std::atomic<double> sum_{0};
};

enum class MetricKind : std::uint8_t { kCounter, kGauge, kHistogram };

// The declaration of a metric. Static storage.
struct MetricSpec {
  std::string_view name;
  MetricKind kind;
  std::string_view help;
  std::span<const std::string_view> labels;
  std::span<const double> bounds;  // of a histogram
};

using MetricLabels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class MetricRegistry {
 public:
  MetricRegistry() = default;
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // The series of `spec` with these labels, in the order declared; made on first use.
  [[nodiscard]] std::shared_ptr<Counter> counter(const MetricSpec& spec, MetricLabels labels = {});
  [[nodiscard]] std::shared_ptr<Gauge> gauge(const MetricSpec& spec, MetricLabels labels = {});
  [[nodiscard]] std::shared_ptr<Histogram> histogram(const MetricSpec& spec,
                                                     MetricLabels labels = {});
  // Drops every series, of any metric, that carries all of `labels`. Returns how many went.
  std::size_t remove(MetricLabels labels);
  // Drops one series, if it is there: what is not known is not shown.
  void remove(const MetricSpec& spec, MetricLabels labels = {});

  // Appends everything in the text format 0.0.4, metrics and series in the order of their names.
  void render_prometheus(std::string& out) const;

 private:
  struct Series {
    std::vector<std::string> values;  // of spec.labels, in order
    std::shared_ptr<Counter> counter;
    std::shared_ptr<Gauge> gauge;
    std::shared_ptr<Histogram> histogram;
  };
  struct Family {
    const MetricSpec* spec = nullptr;
    std::map<std::vector<std::string>, Series> series;
  };
  Series& series(const MetricSpec& spec, MetricKind kind, MetricLabels labels);
  static void render_family(const Family& family, std::string& out);

  mutable std::mutex mutex_;
  std::map<std::string_view, Family> families_;
};

}  // namespace ackline
