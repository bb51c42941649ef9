#include "ackline/base/metrics.h"

#include <algorithm>

#include "ackline/base/check.h"

namespace ackline {

void Counter::raise_to(std::uint64_t total) {
  std::uint64_t seen = value_.load(std::memory_order_relaxed);
  while (seen < total && !value_.compare_exchange_weak(seen, total, std::memory_order_relaxed)) {
  }
}

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()),
      buckets_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds.size() + 1)) {
  ACKLINE_CHECK(std::ranges::is_sorted(bounds_));
}

void Histogram::observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  const auto bucket = static_cast<std::size_t>(bound - bounds_.begin());
  buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const {
  return count_up_to(bounds_.size());
}

std::uint64_t Histogram::count_up_to(std::size_t i) const {
  ACKLINE_CHECK(i <= bounds_.size());
  std::uint64_t total = 0;
  for (std::size_t bucket = 0; bucket <= i; ++bucket) {
    total += buckets_[bucket].load(std::memory_order_relaxed);
  }
  return total;
}

MetricRegistry::Series& MetricRegistry::series(const MetricSpec& spec, MetricKind kind,
                                               MetricLabels labels) {
  ACKLINE_CHECK(spec.kind == kind);
  ACKLINE_CHECK(labels.size() == spec.labels.size());
  std::vector<std::string> values;
  values.reserve(labels.size());
  for (const auto& [name, value] : labels) {
    ACKLINE_CHECK(name == spec.labels[values.size()]);
    values.emplace_back(value);
  }
  Family& family = families_[spec.name];
  family.spec = &spec;
  Series& found = family.series[values];
  found.values = std::move(values);
  return found;
}

std::shared_ptr<Counter> MetricRegistry::counter(const MetricSpec& spec, MetricLabels labels) {
  const std::scoped_lock lock(mutex_);
  Series& found = series(spec, MetricKind::kCounter, labels);
  if (!found.counter) found.counter = std::make_shared<Counter>();
  return found.counter;
}

std::shared_ptr<Gauge> MetricRegistry::gauge(const MetricSpec& spec, MetricLabels labels) {
  const std::scoped_lock lock(mutex_);
  Series& found = series(spec, MetricKind::kGauge, labels);
  if (!found.gauge) found.gauge = std::make_shared<Gauge>();
  return found.gauge;
}

std::shared_ptr<Histogram> MetricRegistry::histogram(const MetricSpec& spec, MetricLabels labels) {
  const std::scoped_lock lock(mutex_);
  Series& found = series(spec, MetricKind::kHistogram, labels);
  if (!found.histogram) found.histogram = std::make_shared<Histogram>(spec.bounds);
  return found.histogram;
}

std::size_t MetricRegistry::remove(MetricLabels labels) {
  const auto carries_all = [labels](const MetricSpec& spec, const Series& series) {
    return std::ranges::all_of(labels, [&](const auto& wanted) {
      for (std::size_t i = 0; i < spec.labels.size(); ++i) {
        if (spec.labels[i] == wanted.first) return series.values[i] == wanted.second;
      }
      return false;
    });
  };
  const std::scoped_lock lock(mutex_);
  std::size_t removed = 0;
  for (auto& [name, family] : families_) {
    const MetricSpec& spec = *family.spec;
    removed += std::erase_if(family.series,
                             [&](const auto& entry) { return carries_all(spec, entry.second); });
  }
  return removed;
}

void MetricRegistry::remove(const MetricSpec& spec, MetricLabels labels) {
  std::vector<std::string> values;
  for (const auto& [name, value] : labels) values.emplace_back(value);
  const std::scoped_lock lock(mutex_);
  const auto family = families_.find(spec.name);
  if (family != families_.end()) family->second.series.erase(values);
}

}  // namespace ackline
