// Random histories with kill -9 and power cuts against a simple model, and every crash point of one
// history: what the journal has synced is there afterwards, what was not is gone or whole, and no
// offset is given to another event once somebody saw it.
#include "ackline/base/random.h"
#include "ackline/log/local/doctor.h"
#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

class PartitionCrashTest : public LogTest {
 protected:
  void SetUp() override {
    options_.segment_bytes = 6000;
    options_.flush_bytes = 2000;
    options_.tail_keep_bytes = 3000;
    options_.fetch_bytes = 1500;
    cache_ = std::make_unique<ReadCache>(8000);
  }

  void reset() {
    log_ = nullptr;
    fs_ = std::make_unique<io::MemoryFileSystem>();
    cache_ = std::make_unique<ReadCache>(8000);
    journal_.clear();
    model_.clear();
    section_.reset();
    durable_section_.reset();
    applied_ = 0;
    synced_ = 0;
    log_start_ = Offset(0);
    ASSERT_NO_FATAL_FAILURE(open());
    ASSERT_TRUE(log_->finish_replay());
  }

  // The process or the machine dies. Of the journal a prefix survives that has all synced records.
  void crash(Random& random, bool power) {
    if (power) {
      fs_->power_cut(random);
      journal_.resize(synced_ + random.below(journal_.size() - synced_ + 1));
    } else {
      fs_->kill();
    }
    ASSERT_TRUE(reopen());
    synced_ = journal_.size();
    const Offset end = log_->next_offset();
    ASSERT_GE(end, seen_end_);
    model_.erase(model_.lower_bound(end), model_.end());
    ASSERT_EQ(model_.empty() ? Offset(0) : std::prev(model_.end())->first.next(), end);
    seen_end_ = end;
    ASSERT_GE(log_->log_start(), log_start_);
    log_start_ = log_->log_start();
    ASSERT_NO_FATAL_FAILURE(expect_model(Offset(0)));
  }

  void write_some(Random& random) {
    std::vector<std::string> frames(1 + random.below(8));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      frames[i] = frame_of(log_->next_offset().value() + static_cast<std::int64_t>(i),
                           random.chance(1, 40) ? 5000 : random.below(300));
    }
    now_ += static_cast<std::int64_t>(random.below(100)) - 20;
    append(frames, WallMs(now_));
  }

  void take_back(Random& random) {
    // The journal refuses the newest records.
    while (journal_.size() > synced_ && random.chance(1, 2)) {
      const auto* body = std::get_if<std::string>(&journal_.back());
      if (body == nullptr) return;
      const Offset base = LocalPartition::describe_publish(as_bytes(*body))->base;
      if (base < log_->synced_end()) return;
      log_->rollback(base);
      model_.erase(model_.lower_bound(base), model_.end());
      journal_.pop_back();
    }
  }

  void retention(Random& random) {
    log_->truncate_before(Offset(static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(log_->synced_end().value()) + 1))));
    journal_.emplace_back(log_->log_start());
    if (random.chance(1, 2)) return;
    sync_all();
    ASSERT_TRUE(log_->remove_truncated(log_->log_start()));
  }

  void sync_all() {
    sync_journal();
    seen_end_ = log_->synced_end();
    log_start_ = log_->log_start();
  }

  // As the shard: files, then the journal, then the manifest; it may die in between.
  void take_checkpoint(Random& random) {
    Result<PartitionCheckpoint> prepared = log_->prepare_checkpoint();
    ASSERT_TRUE(prepared);
    const std::size_t applied = journal_.size();
    for (const auto& one : prepared->files) {
      if (random.chance(1, 20)) return;
      ASSERT_TRUE(one->sync());
    }
    for (const auto& one : prepared->directories) ASSERT_TRUE(fs_->sync_directory(one));
    if (random.chance(1, 4)) write_some(random);
    log_->checkpoint_synced();
    if (random.chance(1, 10)) return;
    sync_all();
    section_ = prepared->section;
    applied_ = applied;
  }

  void step(Random& random) {
    const std::uint64_t choice = random.below(100);
    if (choice < 45) {
      write_some(random);
    } else if (choice < 60) {
      sync_all();
    } else if (choice < 70) {
      ASSERT_TRUE(log_->flush_tail());
    } else if (choice < 75) {
      take_back(random);
    } else if (choice < 80) {
      fs_->write_back(random);
    } else if (choice < 84) {
      log_->release_memory();
    } else if (choice < 90) {
      ASSERT_NO_FATAL_FAILURE(take_checkpoint(random));
    } else if (choice < 93) {
      ASSERT_NO_FATAL_FAILURE(retention(random));
    } else if (choice < 97) {
      ASSERT_NO_FATAL_FAILURE(expect_model(Offset(0)));
    } else {
      ASSERT_NO_FATAL_FAILURE(crash(random, random.chance(1, 2)));
    }
  }

  std::optional<std::string> durable_section_;
  Offset seen_end_{0};   // no offset below it may come to be another event
  Offset log_start_{0};  // journaled and synced
  std::int64_t now_ = 100000;
};

TEST_F(PartitionCrashTest, Invariant10RandomHistoriesLoseNothingThatWasSynced) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    seen_end_ = Offset(0);
    ASSERT_NO_FATAL_FAILURE(reset());
    for (int i = 0; i < 150; ++i) ASSERT_NO_FATAL_FAILURE(step(random));
    sync_all();
    ASSERT_NO_FATAL_FAILURE(crash(random, true));
    checkpoint();
    const Result<PartitionReport> report = examine_partition(*fs_, directory(), kNumber, *section_);
    ASSERT_TRUE(report);
    ASSERT_FALSE(report->damaged()) << report->problems[0].file << report->problems[0].what;
  }
}

TEST_F(PartitionCrashTest, EveryOperationOfAHistoryMayBeTheLast) {
  // The history is run again and again, each time dying one file operation later.
  for (const bool power : {false, true}) {
    for (int limit = 0;; ++limit) {
      SCOPED_TRACE(limit);
      Random random(99);
      seen_end_ = Offset(0);
      ASSERT_NO_FATAL_FAILURE(reset());
      int operations = 0;
      bool dead = false;
      fs_->set_fault_hook([&](io::FsOperation, const std::string&) -> std::optional<io::FsFault> {
        if (operations++ < limit) return std::nullopt;
        dead = true;
        return io::FsFault{Error{ErrorCode::kUnavailable, "dead", {}, {}}, random.below(700)};
      });
      for (int round = 0; round < 6 && !dead; ++round) {
        for (int i = 0; i < 12; ++i) write_some(random);
        if (round % 2 == 0) sync_all();
        if (!log_->flush_tail()) break;
        for (int i = 0; i < 4; ++i) write_some(random);
        if (round == 3) {
          log_->truncate_before(Offset(60));
          journal_.emplace_back(log_->log_start());
          sync_all();
          if (!log_->remove_truncated(log_->log_start())) break;
        }
        Result<PartitionCheckpoint> prepared = log_->prepare_checkpoint();
        if (!prepared) break;
        const std::size_t applied = journal_.size();
        bool synced = true;
        for (const auto& one : prepared->files) synced = synced && one->sync();
        for (const auto& one : prepared->directories) {
          synced = synced && fs_->sync_directory(one);
        }
        if (!synced) break;
        log_->checkpoint_synced();
        sync_all();
        section_ = prepared->section;
        applied_ = applied;
      }
      fs_->set_fault_hook(nullptr);
      ASSERT_NO_FATAL_FAILURE(crash(random, power));
      for (int i = 0; i < 5; ++i) write_some(random);
      sync_all();
      ASSERT_NO_FATAL_FAILURE(expect_model(Offset(0)));
      if (!dead) break;
      ASSERT_LT(limit, 2000);
    }
  }
}

}  // namespace
}  // namespace ackline::log
