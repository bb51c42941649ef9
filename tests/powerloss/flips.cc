#include "tests/powerloss/flips.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/logging.h"
#include "tests/powerloss/image_check.h"

namespace ackline::powerloss {
namespace {

// Between batches and behind them lie zeros: a flip in one of many says what the others would.
constexpr std::size_t kNearBytes = 64;
constexpr std::size_t kZeroStep = 509;

struct Kind {
  std::uint64_t files = 0;
  std::uint64_t flips = 0;
  std::uint64_t noticed = 0;
  std::uint64_t failed = 0;
};

std::string kind_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".log") && path.find("/log/") != std::string::npos) return "segment";
  if (path.find("/log/") != std::string::npos) return "index";
  if (name == "MANIFEST") return "manifest";
  if (name.find("checkpoint") != std::string::npos) return "checkpoint";
  if (path.find("/journal/") != std::string::npos) return "journal";
  return name;
}

class Sweep {
 public:
  explicit Sweep(std::uint64_t seed) : random_(seed) {}

  int run() {
    const auto from = std::chrono::steady_clock::now();
    // The journal counts where no checkpoint holds what it says; the others where one does.
    for (const bool journal : {true, false}) {
      fs_ = std::make_unique<io::MemoryFileSystem>();
      stores_.emplace();
      shape_.checkpoint_interval_ms = journal ? 3'600'000 : 70;
      if (!record()) return 1;
      for (const std::string& path : fs_->files()) {
        if ((kind_of(path) == "journal") == journal) sweep(path);
      }
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    std::uint64_t flips = 0;
    std::uint64_t failed = 0;
    fmt::print("{:<14}{:>7}{:>9}{:>10}{:>10}\n", "file", "files", "flips", "noticed", "harmless");
    for (const auto& [name, kind] : kinds_) {
      fmt::print("{:<14}{:>7}{:>9}{:>10}{:>10}\n", name, kind.files, kind.flips, kind.noticed,
                 kind.flips - kind.noticed - kind.failed);
      flips += kind.flips;
      failed += kind.failed;
    }
    // A sweep that meets no file of a kind proves nothing of it.
    for (const std::string_view wanted :
         {"journal", "segment", "index", "checkpoint", "manifest", "format", "salt", "epoch"}) {
      if (kinds_.contains(std::string(wanted))) continue;
      fmt::print("no {} file was there\n", wanted);
      ++failed;
    }
    fmt::print("{} flips in {:.1f} s; {} accepted events, {} settled\n{} passed, {} failed\n",
               flips, seconds, told_.accepted.size(), told_.acked.size() + told_.rejected.size(),
               flips - std::min(flips, failed), failed);
    return failed == 0 ? 0 : 1;
  }

 private:
  // A run that came to rest: the last batches hold nothing that anybody was told of.
  bool record() {
    Process process({*fs_, *stores_}, shape_, random_.next());
    if (auto done = process.boot(); !done) {
      fmt::print("the recorded run does not start: {}\n0 passed, 1 failed\n", done.error().detail);
      return false;
    }
    Recorded recorded(process, random_.next());
    recorded.start();
    process.run(200);
    recorded.stop();
    process.run(6000);
    told_ = recorded.told();
    fs_->sync_all();
    return true;
  }

  void sweep(const std::string& path) {
    const std::string content = *fs_->contents(path);
    Kind& kind = kinds_[kind_of(path)];
    ++kind.files;
    std::size_t zeros = 0;
    for (std::size_t at = 0; at < content.size(); ++at) {
      zeros = content[at] == '\0' ? zeros + 1 : 0;
      const bool padding = zeros > kNearBytes && at % kZeroStep != 0;
      if (!padding) flip(path, at, kind);
    }
  }

  void flip(const std::string& path, std::size_t at, Kind& kind) {
    const auto fs = fs_->clone();
    testing::StoreDisks stores = stores_->clone();
    const auto bit = static_cast<unsigned>(random_.below(8));
    fs->flip_bit(path, at, bit);
    bool detected = false;
    const std::string broken = check_image(
        {*fs, stores}, told_,
        {.shape = shape_, .seed = random_.next(), .may_be_damaged = true, .detected = &detected});
    ++kind.flips;
    if (!broken.empty()) {
      ++kind.failed;
      fmt::print("{} byte {} bit {}: {}\n", path, at, bit, broken);
      std::fflush(stdout);
    } else if (detected) {
      ++kind.noticed;
    }
  }

  Random random_;
  Shape shape_{.segment_bytes = 2U << 10U, .journal_file_bytes = 24U << 10U};
  std::unique_ptr<io::MemoryFileSystem> fs_;
  std::optional<testing::StoreDisks> stores_;
  Told told_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace

int run_flips(std::uint64_t seed) {
  set_log_level(LogLevel::kError);
  const LogCapture quiet;
  return Sweep(seed).run();
}

}  // namespace ackline::powerloss
