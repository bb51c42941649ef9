// The events query: reads the partitions in turn and merges them by append time.
#include <fmt/format.h>

#include <algorithm>

#include "ackline/event/frame.h"
#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

constexpr std::uint64_t kScanMax = 100'000;  // events looked at by one request, over all partitions
constexpr std::uint32_t kReadEvents = 512;

// One partition's walk; on the thread of the shard that owns it.
struct Scan {
  std::uint32_t partition = 0;
  PartitionNumber number;
  Offset next;
  std::uint64_t scanned = 0;
  std::uint64_t scan_max = kScanMax;
  std::uint32_t limit = 0;
  std::uint64_t bytes_max = api::kPageBytes;
  std::uint64_t bytes = 0;  // of `items`
  [[nodiscard]] bool full() const { return items.size() == limit || bytes >= bytes_max; }
  bool end = false;
  std::vector<api::EventItem> items;
  std::optional<Error> error;
  std::optional<Error> left_out;  // quarantined
  bool from_cursor = false;
  Offset cursor;
};
using ScanPtr = std::shared_ptr<Scan>;
using ScanDone = std::move_only_function<void()>;

// What was read of it is not to be trusted either.
void leave_out(Scan& scan, const Error& why) {
  scan.left_out = why;
  scan.end = true;
  scan.items.clear();
}

// Reads on until the limit, the end or a bound. Between reads that wait for a disk the shard does
// other work.
void scan_on(Shard& shard, const ScanPtr& scan,
             const std::shared_ptr<const event::EventQuery>& query,
             const std::shared_ptr<ScanDone>& done) {
  shard.read_cold(scan->number, scan->next, [&shard, scan, query, done] {
    log::PartitionLog* log = shard.partition(scan->number);
    if (log == nullptr) {
      (*done)();
      return true;
    }
    auto batch = log->read(scan->next, {.max_events = kReadEvents, .max_bytes = 1U << 20U});
    if (!batch) {
      if (batch.error().code == ErrorCode::kTimeout) return false;
      if (log->damage()) {
        leave_out(*scan, *log->damage());
      } else {
        scan->error = batch.error();
      }
      (*done)();
      return true;
    }
    scan->end = batch->events.empty() && batch->next == scan->next;
    for (const log::StoredEvent& stored : batch->events) {
      if (scan->full()) break;
      ++scan->scanned;
      scan->next = stored.offset.next();
      auto frame = event::FrameView::open(stored.frame);
      if (!frame || !query->matches(*frame, stored.append_time)) continue;
      scan->items.push_back(
          {scan->partition, stored.offset, stored.append_time, std::string(as_text(stored.frame))});
      scan->bytes += stored.frame.size();
    }
    if (batch->events.empty()) scan->next = batch->next;
    if (scan->next > log->high_watermark()) scan->end = true;
    if (scan->end || scan->full() || scan->scanned >= scan->scan_max) {
      (*done)();
      return true;
    }
    shard.executor().post([&shard, scan, query, done] { scan_on(shard, scan, query, done); });
    return true;
  });
}

// The first `limit` items by append time; what is cut off is read again by the next request. Of a
// partition that stopped at a bound older ones may be left: the next page has them.
api::EventsAnswer merge(const std::vector<ScanPtr>& scans, std::uint32_t limit) {
  api::EventsAnswer answer;
  answer.end = true;
  for (const ScanPtr& scan : scans) {
    if (scan->left_out) {
      answer.quarantined.push_back(scan->partition);
      if (scan->from_cursor) answer.next[scan->partition] = scan->cursor;
      continue;
    }
    answer.scanned += scan->scanned;
    answer.next[scan->partition] = scan->next;
    answer.end = answer.end && scan->end;
    for (api::EventItem& item : scan->items) answer.items.push_back(std::move(item));
  }
  std::ranges::sort(answer.quarantined);
  std::ranges::sort(answer.items, [](const api::EventItem& a, const api::EventItem& b) {
    return std::tuple(a.time, a.partition, a.offset) < std::tuple(b.time, b.partition, b.offset);
  });
  // Within a partition the order is that of offsets even where the wall clock went back.
  std::map<std::uint32_t, std::vector<api::EventItem*>> places;
  for (api::EventItem& item : answer.items) places[item.partition].push_back(&item);
  for (auto& [partition, items] : places) {
    std::vector<api::EventItem> ordered;
    for (api::EventItem* item : items) ordered.push_back(std::move(*item));
    std::ranges::sort(ordered, {}, &api::EventItem::offset);
    for (std::size_t i = 0; i < items.size(); ++i) *items[i] = std::move(ordered[i]);
  }
  while (answer.items.size() > limit) {
    const api::EventItem& last = answer.items.back();
    Offset& next = answer.next[last.partition];
    next = std::min(next, last.offset);
    answer.end = false;
    answer.items.pop_back();
  }
  return answer;
}

// All partitions of the topic that this shard owns and the query means.
void scan_shard(ShardUnit& unit, const std::vector<PartitionNumber>& numbers,
                const api::EventsQuery& query, const std::shared_ptr<const event::EventQuery>& what,
                std::uint32_t partitions,
                std::move_only_function<void(std::vector<ScanPtr>)> answer) {
  struct All {
    std::vector<ScanPtr> scans;
    std::size_t left = 1;
    std::move_only_function<void(std::vector<ScanPtr>)> answer;
    void finish() {
      if (--left == 0) answer(std::move(scans));
    }
  };
  auto all = std::make_shared<All>();
  all->answer = std::move(answer);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    if (query.partition && *query.partition != i) continue;
    const log::PartitionLog* log = unit.shard->partition(numbers[i]);
    if (log == nullptr) continue;
    auto scan = std::make_shared<Scan>();
    scan->partition = i;
    scan->number = numbers[i];
    const auto cursor = query.cursor.find(i);
    scan->from_cursor = cursor != query.cursor.end();
    if (scan->from_cursor) scan->cursor = cursor->second;
    scan->next = scan->from_cursor ? scan->cursor : log->log_start();
    scan->next = std::max(scan->next, log->log_start());
    scan->limit = query.limit;
    scan->scan_max = std::max<std::uint64_t>(1, kScanMax / partitions);
    scan->bytes_max = std::max<std::uint64_t>(1, api::kPageBytes / partitions);
    all->scans.push_back(scan);
    if (log->damage()) {
      leave_out(*scan, *log->damage());
      continue;
    }
    if (scan->next > log->high_watermark()) {
      scan->end = true;
      continue;
    }
    ++all->left;
    scan_on(*unit.shard, scan, what, std::make_shared<ScanDone>([all] { all->finish(); }));
  }
  all->finish();
}

}  // namespace

void Edge::events(api::EventsQuery query, api::Done<api::EventsAnswer> done) {
  bool dead_letter = false;
  const TopicPtr topic = catalog().topic_or_source(query.topic, dead_letter);
  if (!topic) {
    auto missing = require_topic(query.topic);
    answer_later<api::EventsAnswer>(
        std::move(done), missing ? Result<api::EventsAnswer>(
                                       fail(ErrorCode::kTopicUnknown, "there is no such topic"))
                                 : Result<api::EventsAnswer>(fail(missing)));
    return;
  }
  const auto& numbers = dead_letter ? topic->dead_letters : topic->partitions;
  std::optional<std::uint32_t> outside;
  if (query.partition && *query.partition >= numbers.size()) outside = query.partition;
  for (const auto& [partition, offset] : query.cursor) {
    if (partition >= numbers.size()) outside = partition;
  }
  if (outside) {
    answer_later<api::EventsAnswer>(
        std::move(done),
        fail(ErrorCode::kBadValue, fmt::format("partition {} is out of range", *outside),
             "Name partitions that the topic has.", "partition"));
    return;
  }
  auto shared = std::make_shared<const event::EventQuery>(query.query);
  const auto wanted = query.partition ? 1U : static_cast<std::uint32_t>(numbers.size());
  gather<std::vector<ScanPtr>>(
      node_, executor(),
      [numbers, query, shared, wanted](ShardUnit& unit,
                                       std::move_only_function<void(std::vector<ScanPtr>)> answer) {
        scan_shard(unit, numbers, query, shared, wanted, std::move(answer));
      },
      [limit = query.limit,
       done = std::move(done)](std::vector<std::vector<ScanPtr>> parts) mutable {
        std::vector<ScanPtr> scans;
        for (auto& part : parts) std::ranges::move(part, std::back_inserter(scans));
        for (const ScanPtr& scan : scans) {
          if (!scan->error) continue;
          done(std::unexpected(*scan->error));
          return;
        }
        const auto left_out = [](const ScanPtr& scan) { return scan->left_out.has_value(); };
        if (!scans.empty() && std::ranges::all_of(scans, left_out)) {
          done(std::unexpected(*scans.front()->left_out));
          return;
        }
        done(merge(scans, limit));
      });
}

}  // namespace ackline::runtime
