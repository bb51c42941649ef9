#include "ackline/cli/load/cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ackline::cli::load {
namespace {

constexpr double kLongestSleep = 1;  // seconds

class Round final : public Account {
 public:
  Round(Loop& loop, Target& target, const CyclePlan& plan)
      : loop_(loop), target_(target), plan_(plan) {
    plan_.batch = std::max<std::size_t>(1, plan_.batch);
    const std::uint64_t batches = std::max<std::uint64_t>(1, plan_.events / plan_.batch);
    plan_.events = batches * plan_.batch;
    if (plan_.consumes) seen_.resize(plan_.events);
    meant_.resize(plan_.publishes ? plan_.events : 0);
    report_.publish_us.reserve(plan_.publishes ? batches : 0);
    report_.end_to_end_us.reserve(plan_.publishes && plan_.consumes ? plan_.events : 0);
  }

  Result<CycleReport> run(double limit_s) {
    target_.begin(*this);
    begin_ = seconds_now();
    if (!plan_.publishes) sent_ = confirmed_ = plan_.events;
    while (!done() && !loop_.failed()) {
      const double now = seconds_now();
      if (now - begin_ > limit_s) {
        return fail(ErrorCode::kTimeout,
                    fmt::format("after {:.0f} s {} of {} events were confirmed, {} delivered, {} "
                                "acked",
                                limit_s, confirmed_, plan_.events, delivered_, acked_));
      }
      publish(now);
      target_.flush();
      if (!done()) loop_.wait(std::min({next_publish(), target_.next_due(), now + kLongestSleep}));
    }
    if (loop_.failed()) return std::unexpected(loop_.error());
    report_.seconds = seconds_now() - begin_;
    report_.events = plan_.events;
    std::ranges::sort(report_.publish_us);
    std::ranges::sort(report_.end_to_end_us);
    return std::move(report_);
  }

  void confirmed(std::uint64_t first, std::uint64_t count) override {
    confirmed_ += count;
    if (first < meant_.size()) report_.publish_us.push_back((seconds_now() - meant_[first]) * 1e6);
  }
  void delivered(std::uint64_t number) override {
    if (number >= plan_.events) return loop_.fail(fmt::format("event {} is of no round", number));
    if (seen_[number] >= plan_.copies) {
      ++report_.repeated;
      return;
    }
    ++seen_[number];
    if (number < meant_.size()) {
      report_.end_to_end_us.push_back((seconds_now() - meant_[number]) * 1e6);
    }
    if (++delivered_ == plan_.events * plan_.copies) target_.all_delivered();
  }
  void acked(std::uint64_t count) override { acked_ += count; }

 private:
  [[nodiscard]] bool done() const {
    const std::uint64_t deliveries = plan_.events * plan_.copies;
    return confirmed_ >= plan_.events &&
           (!plan_.consumes || (delivered_ >= deliveries && acked_ >= deliveries));
  }
  void publish(double now) {
    if (plan_.rate > 0) {
      while (sent_ < plan_.events && next_publish() <= now) send(next_publish());
      return;
    }
    while (sent_ < plan_.events &&
           (sent_ == confirmed_ || sent_ - confirmed_ + plan_.batch <= plan_.unanswered)) {
      send(now);
    }
  }
  void send(double meant) {
    std::fill_n(meant_.begin() + static_cast<std::ptrdiff_t>(sent_), plan_.batch, meant);
    target_.publish(sent_, plan_.batch);
    sent_ += plan_.batch;
  }
  // The last event of a batch is the one that it waited for.
  [[nodiscard]] double next_publish() const {
    if (plan_.rate <= 0 || sent_ >= plan_.events) return begin_ + 1e9;
    return begin_ + static_cast<double>(sent_ + plan_.batch) / plan_.rate;
  }

  Loop& loop_;
  Target& target_;
  CyclePlan plan_;
  CycleReport report_;
  double begin_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t confirmed_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t acked_ = 0;
  std::vector<std::uint32_t> seen_;  // how often each was delivered
  std::vector<double> meant_;        // when each event was, or was meant to be, published
};

}  // namespace

Result<CycleReport> run_cycle(Loop& loop, Target& target, CyclePlan plan, double limit_s) {
  if (loop.failed()) return std::unexpected(loop.error());
  return Round(loop, target, plan).run(limit_s);
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(q * last))];
}

}  // namespace ackline::cli::load
