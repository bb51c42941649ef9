// Cuts the power at every file and store operation of recorded runs, and recovers each image.
//
//   power_loss --images N [--start SEED] [--verbose]
//   power_loss --flips [--start SEED]           flips each byte of a run's files instead (flips.cc)
//
// A run is the product's own node with its journal, log, checkpoints and meta on disks in memory,
// under clients. Before each operation on a disk the disks are copied; of what was not synced each
// copy keeps what a seeded coin says, by sector and by directory entry, so that writes are lost,
// torn and reordered. Each copy is started again and held to what clients had been told by then.
// The last line is `P passed, F failed`.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ackline/base/logging.h"
#include "tests/powerloss/flips.h"
#include "tests/powerloss/image_check.h"

namespace ackline::powerloss {
namespace {

constexpr std::int64_t kRunMs = 900;
constexpr std::uint64_t kImagesOfARun = 2'500;

struct Totals {
  std::uint64_t images = 0;
  std::uint64_t failed = 0;
  std::uint64_t runs = 0;
  std::uint64_t operations = 0;
  std::uint64_t drained = 0;
  std::uint64_t died_again = 0;
  std::uint64_t accepted = 0;
  std::uint64_t settled = 0;
  std::map<std::string_view, std::uint64_t> before;  // images by the operation that was cut off
};

std::string_view name_of(io::FsOperation operation) {
  using enum io::FsOperation;
  switch (operation) {
    case kWrite:
      return "write";
    case kSync:
      return "sync";
    case kResize:
      return "resize";
    case kRename:
      return "rename";
    case kRemove:
      return "remove";
    case kSyncDirectory:
      return "directory sync";
    case kOpen:
      return "open";
    default:
      return "other";
  }
}

class Run {
 public:
  Run(std::uint64_t seed, std::uint64_t images, Totals& totals)
      : seed_(seed), random_(seed), left_(images), totals_(totals) {
    shape_.shards = seed % 3 == 0 ? 2 : 1;
    shape_.ack_sync = seed % 4 != 1;
    shape_.rows = seed % 5 == 2;
    shape_.segment_bytes = random_.chance(1, 2) ? 4U << 10U : 16U << 10U;
    shape_.journal_file_bytes = random_.chance(1, 2) ? 32U << 10U : 128U << 10U;
  }

  void run() {
    ++totals_.runs;
    Process process({fs_, stores_}, shape_, random_.next());
    Recorded recorded(process, random_.next());
    recorded_ = &recorded;
    fs_.set_fault_hook([this](io::FsOperation operation, const std::string&) {
      const bool changes = operation != io::FsOperation::kRead &&
                           operation != io::FsOperation::kReadNowait &&
                           operation != io::FsOperation::kList;
      if (changes) look(name_of(operation));
      return std::optional<io::FsFault>();
    });
    stores_.set_fault_hook([this](testing::KvOperation operation) {
      if (operation == testing::KvOperation::kWrite) look("store write");
      return std::optional<testing::KvFault>();
    });
    if (auto done = process.boot(); !done) {
      fmt::print("seed {}: the recorded run does not start: {}\n", seed_, done.error().detail);
      ++totals_.failed;
      return;
    }
    recorded.start();
    while (left_ > 0 && process.time().now() < 60'000) process.run(kRunMs);
    totals_.accepted += recorded.told().accepted.size();
    totals_.settled += recorded.told().acked.size() + recorded.told().rejected.size();
  }

 private:
  // The power goes before this operation.
  void look(std::string_view operation) {
    ++totals_.operations;
    if (left_ == 0 || !random_.chance(2, 3)) return;
    --left_;
    const auto fs = fs_.clone();
    testing::StoreDisks stores = stores_.clone();
    ImageOptions options{.shape = shape_,
                         .seed = random_.next(),
                         .settles_are_synced = shape_.ack_sync,
                         .die_again = random_.chance(1, 8),
                         .drain = random_.chance(1, 16)};
    totals_.drained += options.drain ? 1 : 0;
    totals_.died_again += options.die_again ? 1 : 0;
    ++totals_.before[operation];
    ++totals_.images;
    const std::string broken = check_image({*fs, stores}, recorded_->told(), options);
    if (broken.empty()) return;
    ++totals_.failed;
    fmt::print("run {}, image {}, before a {}: {}\n", seed_, totals_.images, operation, broken);
    std::fflush(stdout);
  }

  std::uint64_t seed_;
  Random random_;
  std::uint64_t left_;
  Totals& totals_;
  Shape shape_;
  io::MemoryFileSystem fs_;
  testing::StoreDisks stores_;
  Recorded* recorded_ = nullptr;
};

int run(std::uint64_t images, std::uint64_t start, bool verbose) {
  set_log_level(verbose ? LogLevel::kInfo : LogLevel::kError);
  const auto from = std::chrono::steady_clock::now();
  Totals totals;
  for (std::uint64_t seed = start; totals.images < images && totals.failed < 20; ++seed) {
    const auto quiet = verbose ? nullptr : std::make_unique<LogCapture>();
    Run(seed, std::min(kImagesOfARun, images - totals.images), totals).run();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  fmt::print("{} images of {} runs from seed {} in {:.1f} s ({:.2f} ms an image)\n", totals.images,
             totals.runs, start, seconds,
             1000.0 * seconds / static_cast<double>(std::max<std::uint64_t>(totals.images, 1)));
  fmt::print("  {} operations, {} events accepted, {} settled; {} images drained, {} cut again\n",
             totals.operations, totals.accepted, totals.settled, totals.drained, totals.died_again);
  for (const auto& [operation, count] : totals.before) {
    fmt::print("  before a {}: {}\n", operation, count);
  }
  fmt::print("{} passed, {} failed\n", totals.images - std::min(totals.images, totals.failed),
             totals.failed);
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ackline::powerloss

int main(int count, char** words) {
  std::uint64_t images = 5'000;
  std::uint64_t start = 1;
  bool verbose = false;
  bool flips = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--verbose") {
      verbose = true;
    } else if (word == "--flips") {
      flips = true;
    } else if (word == "--images" && i + 1 < count) {
      images = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--start" && i + 1 < count) {
      start = std::strtoull(words[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "usage: power_loss [--images N] [--start SEED] [--verbose]\n");
      return 2;
    }
  }
  if (flips) return ackline::powerloss::run_flips(start);
  return ackline::powerloss::run(images, start, verbose);
}
