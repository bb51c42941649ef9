// The Prometheus text format, version 0.0.4, of a registry.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "ackline/base/metrics.h"

namespace ackline {
namespace {

void append_escaped(std::string_view text, bool quote, std::string& out) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quote) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

void append_number(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

std::string_view kind_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

// `name{label="value",…} `, with `le` last when it is given.
void append_name(const MetricSpec& spec, std::string_view suffix,
                 const std::vector<std::string>& values, std::string_view le, std::string& out) {
  out += spec.name;
  out += suffix;
  char separator = '{';
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += separator;
    out += spec.labels[i];
    out += "=\"";
    append_escaped(values[i], true, out);
    out += '"';
    separator = ',';
  }
  if (!le.empty()) {
    out += separator;
    out += "le=\"";
    out += le;
    out += '"';
    separator = ',';
  }
  if (separator == ',') out += '}';
  out += ' ';
}

void append_histogram(const MetricSpec& spec, const std::vector<std::string>& values,
                      const Histogram& histogram, std::string& out) {
  // `count` is the +Inf bucket of this pass: both are read while others count.
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
    std::string le;
    if (i < histogram.bounds().size()) {
      append_number(histogram.bounds()[i], le);
    } else {
      le = "+Inf";
    }
    total = std::max(total, histogram.count_up_to(i));
    append_name(spec, "_bucket", values, le, out);
    out += std::to_string(total);
    out += '\n';
  }
  append_name(spec, "_sum", values, {}, out);
  append_number(histogram.sum(), out);
  out += '\n';
  append_name(spec, "_count", values, {}, out);
  out += std::to_string(total);
  out += '\n';
}

}  // namespace

void MetricRegistry::render_family(const Family& family, std::string& out) {
  const MetricSpec& spec = *family.spec;
  out += "# HELP ";
  out += spec.name;
  out += ' ';
  append_escaped(spec.help, false, out);
  out += "\n# TYPE ";
  out += spec.name;
  out += ' ';
  out += kind_name(spec.kind);
  out += '\n';
  for (const auto& [values, series] : family.series) {
    if (series.histogram) {
      append_histogram(spec, values, *series.histogram, out);
      continue;
    }
    append_name(spec, {}, values, {}, out);
    if (series.counter) {
      out += std::to_string(series.counter->value());
    } else if (series.gauge) {
      append_number(series.gauge->value(), out);
    }
    out += '\n';
  }
}

void MetricRegistry::render_prometheus(std::string& out) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [name, family] : families_) {
    if (!family.series.empty()) render_family(family, out);
  }
}

}  // namespace ackline
