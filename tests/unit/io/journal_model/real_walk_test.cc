// The histories of the model, at random, over the real journal and checkpoint on a file system in
// memory, judged by the same observer.
#include <gtest/gtest.h>

#include <optional>

#include "ackline/base/check.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/fs/memory_file_system.h"
#include "ackline/io/journal/journal.h"
#include "tests/support/manual_executor.h"
#include "tests/unit/io/journal_model/observer.h"

namespace ackline::io::model {
namespace {

constexpr PartitionNumber kPartition{1};
constexpr PartitionNumber kLetters{2};
constexpr std::uint8_t kBoot = 250;
constexpr int kFaults = 6;

// How often the walks went through what they are there for.
struct Counts {
  int kills = 0;
  int power_cuts = 0;
  int checkpoints = 0;
  int failed_writes = 0;
  int failed_syncs = 0;
  int refused = 0;
  int dead_letters = 0;
};

class Walk {
 public:
  Walk(std::uint64_t seed, Counts& counts) : random_(seed), counts_(counts) {}

  void run() {
    for (int life = 0; life < 3 && failure_.empty(); ++life) {
      start();
      const auto steps = random_.between(3, 40);
      for (std::int64_t i = 0; i < steps && failure_.empty(); ++i) step();
      if (failure_.empty() && life < 2) crash();
    }
    die();
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  void judge() {
    if (failure_.empty()) failure_ = observer_.broken(partition_, letters_);
  }

  void start() {
    partition_ = {};
    letters_ = {};
    auto checkpoint = read_checkpoint(fs_, "/s/journal", 1);
    if (!checkpoint) return fail_with(checkpoint.error());
    RecoverOptions options;
    Lsn partition_lsn{0};
    Lsn letters_lsn{0};
    if (*checkpoint) {
      options.lowest_needed = (*checkpoint)->info.journal_lowest;
      options.synced_at_least = (*checkpoint)->info.journal_synced;
      for (const CheckpointSection& section : (*checkpoint)->sections) {
        if (section.partition == kPartition) {
          ACKLINE_CHECK(section.body.size() == sizeof partition_);
          std::copy_n(section.body.data(), sizeof partition_, reinterpret_cast<char*>(&partition_));
          partition_lsn = section.applied;
        } else {
          std::copy_n(section.body.data(), sizeof letters_, reinterpret_cast<char*>(&letters_));
          letters_lsn = section.applied;
        }
      }
    }
    auto recovered =
        recover_journal(fs_, "/s/journal", options, nullptr,
                        [&](Lsn lsn, const JournalRecord& record) -> Result<void> {
                          if (record.type == kBoot) return {};
                          if (lsn <= (record.partition == kLetters ? letters_lsn : partition_lsn))
                            return {};
                          apply(decode(record));
                          return {};
                        });
    if (!recovered) return fail_with(recovered.error());
    if (!recovered->damage.empty()) failure_ = recovered->damage[0].detail;
    auto opened = Journal::open({.fs = fs_,
                                 .directory = "/s/journal",
                                 .shard = ShardIndex{0},
                                 .executor = executor_,
                                 .storage = storage_,
                                 .new_journal_id = 5,
                                 .file_bytes = 24 * 1024,
                                 .first_file_bytes = 12 * 1024},
                                *recovered, {kBoot, PartitionNumber{0}, {}});
    if (!opened) return fail_with(opened.error());
    journal_ = std::move(*opened);
    journal_->on_synced([this](Lsn lsn) { synced(lsn); });
    ++epoch_;
    offers_ = 0;
    readable_ = partition_.count;
    delivered_ = partition_.live;
    waiting_.clear();
    observer_.restarted(partition_, power_);
    judge();
  }

  void fail_with(const Error& error) { failure_ = error.detail; }

  static Record decode(const JournalRecord& record) {
    return {static_cast<Kind>(record.type), std::to_integer<std::uint8_t>(record.body[0]),
            std::to_integer<std::uint8_t>(record.body[1])};
  }

  void apply(const Record& r) {
    if (r.kind == Kind::kDeadLetter) {
      letters_.apply(r);
    } else if (r.kind == Kind::kPublish && ((refused_ >> r.value) & 1U) != 0) {
      failure_ = "a refused publish is back";
    } else if (!partition_.apply(r)) {
      failure_ = "a record does not follow what was read before it";
    }
  }

  // One batch; false when it could not be written: nothing has happened then.
  bool write(std::initializer_list<Record> records) {
    for (const Record& r : records) {
      const std::array<std::byte, 2> body{std::byte{r.offset}, std::byte{r.value}};
      journal_->append(static_cast<std::uint8_t>(r.kind),
                       r.kind == Kind::kDeadLetter ? kLetters : kPartition, body);
    }
    const auto lsn = journal_->commit();
    if (!lsn) {
      // Not told to be gone: the model allows both.
      if (!journal_->discard_open()) return false;
      ++counts_.refused;
      for (const Record& r : records) {
        if (r.kind == Kind::kPublish) refused_ |= 1U << r.value;
      }
      return false;
    }
    for (const Record& r : records) {
      apply(r);
      waiting_.emplace_back(*lsn, r);
    }
    return true;
  }

  void synced(Lsn lsn) {
    for (; !waiting_.empty() && waiting_.front().first <= lsn; waiting_.pop_front()) {
      const Record r = waiting_.front().second;
      if (r.kind == Kind::kPublish) {
        observer_.accepted |= 1U << r.value;
        readable_ = static_cast<std::uint8_t>(r.offset + 1);
      }
      if (r.kind == Kind::kSettle) observer_.visible |= bit(r.offset);
      const bool current = r.kind == Kind::kOffer && partition_.id[r.offset] == r.value &&
                           (partition_.live & bit(r.offset)) != 0;
      if (current && (delivered_ & bit(r.offset)) == 0) deliver(r.offset, r.value);
    }
    judge();
  }

  void deliver(std::uint8_t o, std::uint8_t id) {
    observer_.deliver(partition_, o, id, held_[o]);
    held_[o] = id;
    delivered_ |= bit(o);
  }

  static std::uint8_t bit(std::uint8_t o) { return static_cast<std::uint8_t>(1U << o); }

  void step() {
    const auto o = static_cast<std::uint8_t>(random_.below(kOffsets));
    switch (random_.below(14)) {
      case 0:
      case 1:
        if (partition_.count < kOffsets && published_ < 30) {
          write({{Kind::kPublish, partition_.count, ++published_}});
        }
        break;
      case 2:
      case 3:
        offer(o);
        break;
      case 4:
        if (held(o)) write({{Kind::kEnd, o, 0}});
        break;
      case 5:
        if (held(o) && write({{Kind::kSettle, o, 0}})) observer_.answered |= bit(o);
        break;
      case 6:
        if (o < partition_.count && partition_.id[o] != 0 &&
            ((partition_.live | partition_.settled) & bit(o)) == 0) {
          counts_.dead_letters += write({{Kind::kDeadLetter, o, 0}, {Kind::kDead, o, 0}}) ? 1 : 0;
        }
        break;
      case 7:
        journal_->want_sync();
        break;
      case 8:
        storage_.run_one();
        break;
      case 9:
        executor_.run_one();
        break;
      case 10:
        executor_.fire(random_.between(0, 11));
        break;
      case 11:
        fs_.write_back(random_);
        break;
      case 12:
        checkpoint();
        break;
      default:
        fault();
    }
    judge();
  }

  [[nodiscard]] bool held(std::uint8_t o) const {
    return (partition_.live & delivered_ & bit(o)) != 0;
  }

  void offer(std::uint8_t o) {
    if (o >= readable_ || ((partition_.live | partition_.settled) & bit(o)) != 0) return;
    if (offers_ == 7) return;
    const bool first = partition_.id[o] == 0;
    const auto id = static_cast<std::uint8_t>(epoch_ * 8 + offers_ + 1);
    delivered_ &= static_cast<std::uint8_t>(~bit(o));
    if (!write({{Kind::kOffer, o, id}})) return;
    ++offers_;
    if (first) deliver(o, id);
  }

  // One step of a checkpoint that rolls by partition.
  void checkpoint() {
    if (!writer_) {
      applied_all_ = journal_->written();
      auto made = CheckpointWriter::begin(fs_, "/s/journal", {});
      if (!made) return fail_with(made.error());
      writer_ = std::move(*made);
      section(kLetters, letters_);
      stage_ = 1;
    } else if (stage_ == 1) {
      section(kPartition, partition_);
      auto info = writer_->finish(applied_all_);
      if (!info) return fail_with(info.error());
      lowest_ = info->journal_lowest;
      stage_ = 2;
    } else if (writer_->publish(journal_->synced())) {
      journal_->recycle_below(lowest_);
      writer_.reset();
      ++counts_.checkpoints;
    } else {
      journal_->want_sync();
    }
  }

  template <class T>
  void section(PartitionNumber number, const T& state) {
    const std::string body(reinterpret_cast<const char*>(&state), sizeof state);
    const auto done = writer_->add(number, journal_->written(), as_bytes(body));
    if (!done) fail_with(done.error());
  }

  // The next sync fails once, or the next write and some of those that follow.
  void fault() {
    if (!random_.chance(1, 2) || writer_) return;
    const auto hit = random_.chance(1, 2) ? FsOperation::kWrite : FsOperation::kSync;
    const std::uint64_t part = random_.below(300);
    fs_.set_fault_hook([this, hit, part](FsOperation operation,
                                         const std::string& path) -> std::optional<FsFault> {
      if (operation != hit || !path.starts_with("/s/journal") || faults_ == 0) return std::nullopt;
      const bool checkpoint = path.contains("/checkpoint-") || path.contains("/MANIFEST");
      if (checkpoint) return std::nullopt;
      // Not the file that is only being prepared.
      if (hit == FsOperation::kSync && journal_ && journal_->synced() == journal_->written()) {
        return std::nullopt;
      }
      --faults_;
      if (hit == FsOperation::kWrite && faults_ < kFaults - 1 && random_.chance(1, 2)) {
        return std::nullopt;
      }
      ++(hit == FsOperation::kWrite ? counts_.failed_writes : counts_.failed_syncs);
      return FsFault{{ErrorCode::kUnavailable, "Input/output error", "", ""}, part};
    });
    faults_ = hit == FsOperation::kWrite ? kFaults : 1;
  }

  void crash() {
    power_ = random_.chance(1, 2);
    die();
    if (power_) {
      fs_.power_cut(random_);
      ++counts_.power_cuts;
    } else {
      fs_.kill();
      ++counts_.kills;
    }
  }

  // A dead process does nothing more, not even in its destructors.
  void die() {
    fs_.set_fault_hook([](FsOperation, const std::string&) -> std::optional<FsFault> {
      return FsFault{{ErrorCode::kUnavailable, "dead", "", ""}, 0};
    });
    executor_.forget();
    storage_.forget();
    writer_.reset();
    journal_.reset();
    fs_.set_fault_hook(nullptr);
  }

  Random random_;
  Counts& counts_;
  MemoryFileSystem fs_;
  ackline::testing::ManualExecutor executor_;
  ackline::testing::ManualStorage storage_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<CheckpointWriter> writer_;
  Lsn applied_all_;
  Lsn lowest_;
  int stage_ = 0;
  PartitionState partition_;
  DeadLetters letters_;
  Observer observer_;
  std::array<std::uint8_t, kOffsets> held_{};   // the id a client has of the offset
  std::deque<std::pair<Lsn, Record>> waiting_;  // for the sync of their batch
  std::uint8_t readable_ = 0;
  std::uint8_t delivered_ = 0;
  std::uint8_t epoch_ = 0;
  std::uint8_t offers_ = 0;
  std::uint8_t published_ = 0;
  bool power_ = false;
  int faults_ = 0;             // that the hook may still raise
  std::uint32_t refused_ = 0;  // events whose publish was told to be gone
  std::string failure_;
};

TEST(JournalRealWalk, Invariants9To17HoldOverTheRealFilesInThreeThousandSeeds) {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Walk walk(seed, counts);
    walk.run();
    ASSERT_EQ(walk.failure(), "") << "seed " << seed;
  }
  EXPECT_GT(counts.kills, 1000);
  EXPECT_GT(counts.power_cuts, 1000);
  EXPECT_GT(counts.checkpoints, 200);
  EXPECT_GT(counts.failed_writes, 100);
  EXPECT_GT(counts.failed_syncs, 300);
  EXPECT_GT(counts.refused, 100);
  EXPECT_GT(counts.dead_letters, 100);
}

}  // namespace
}  // namespace ackline::io::model
