// A partition on a file system in memory, with a journal double: bodies of publish records and log
// starts in order, of which a prefix is synced. Beside it a model: the frames that were appended.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ackline/io/fs/memory_file_system.h"
#include "ackline/log/local/partition.h"

namespace ackline::log {

inline std::string frame_of(std::int64_t n, std::size_t bytes = 100) {
  std::string out = "event-" + std::to_string(n) + "-";
  while (out.size() < bytes) out.push_back(static_cast<char>('a' + (n + std::ssize(out)) % 26));
  out.resize(bytes);
  return out;
}

class LogTest : public ::testing::Test {
 protected:
  static constexpr PartitionNumber kNumber{7};

  using Record = std::variant<std::string, Offset>;  // publish body or log start

  static std::string directory() { return "/data/log/7"; }
  static std::string file(std::string_view name) { return directory() + "/" + std::string(name); }

  void open(std::optional<std::string> section = std::nullopt) {
    auto opened = LocalPartition::open(*fs_, directory(), kNumber, section, *cache_, options_);
    ASSERT_TRUE(opened) << opened.error().detail;
    log_ = *std::move(opened);
  }

  // Appends one batch and journals it; not synced.
  Offset append(const std::vector<std::string>& frames, WallMs time = WallMs(1000)) {
    std::vector<ByteView> views(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) views[i] = as_bytes(frames[i]);
    std::string body;
    const Result<Offset> base = log_->append(views, time, body);
    EXPECT_TRUE(base) << base.error().detail;
    if (!base) return Offset(-1);
    journal_.emplace_back(std::move(body));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      model_[base->plus(static_cast<std::int64_t>(i))] = {frames[i], time};
    }
    return *base;
  }

  void sync_journal() {
    synced_ = journal_.size();
    log_->on_synced(log_->next_offset());
  }

  // `count` events of `bytes` bytes, `batch` to a batch, synced.
  void fill(int count, std::size_t bytes = 100, int batch = 10, WallMs time = WallMs(1000)) {
    for (int done = 0; done < count; done += batch) {
      std::vector<std::string> frames;
      for (int i = 0; i < batch && done + i < count; ++i) {
        frames.push_back(frame_of(log_->next_offset().value() + i, bytes));
      }
      append(frames, time);
    }
    sync_journal();
  }

  // Prepares a checkpoint and syncs what it names, as the shard does.
  void checkpoint() {
    Result<PartitionCheckpoint> prepared = log_->prepare_checkpoint();
    ASSERT_TRUE(prepared) << prepared.error().detail;
    for (const auto& one : prepared->files) ASSERT_TRUE(one->sync());
    for (const auto& one : prepared->directories) ASSERT_TRUE(fs_->sync_directory(one));
    log_->checkpoint_synced();
    sync_journal();
    section_ = prepared->section;
    applied_ = journal_.size();
  }

  // A new object from the newest checkpoint and the journal's records past it.
  Result<void> reopen() {
    log_ = nullptr;
    cache_ = std::make_unique<ReadCache>();
    open(section_);
    for (std::size_t i = applied_; i < journal_.size(); ++i) {
      if (const auto* body = std::get_if<std::string>(&journal_[i])) {
        if (Result<void> done = log_->replay_publish(as_bytes(*body)); !done) return done;
      } else {
        log_->replay_log_start(std::get<Offset>(journal_[i]));
      }
    }
    if (Result<void> done = log_->finish_replay(); !done) return done;
    log_->on_synced(log_->next_offset());
    return {};
  }

  // A read that runs its jobs at once.
  Result<ReadBatch> read(Offset from, ReadLimits limits = {}) {
    for (int tries = 0; tries < 10; ++tries) {
      Result<ReadBatch> batch = log_->read(from, limits);
      if (batch || batch.error().code != ErrorCode::kTimeout) return batch;
      std::unique_ptr<ReadJob> job = log_->read_job(from);
      job->run();
      ++jobs_;
      if (Result<void> taken = log_->absorb(std::move(job)); !taken) return fail(taken);
    }
    return fail(ErrorCode::kTimeout, "ten jobs did not bring it");
  }

  Result<Offset> at_time(WallMs time) {
    for (int tries = 0; tries < 100; ++tries) {
      Result<Offset> found = log_->offset_at_time(time);
      if (found || found.error().code != ErrorCode::kTimeout) return found;
      std::unique_ptr<ReadJob> job = log_->time_job(time);
      job->run();
      if (Result<void> taken = log_->absorb(std::move(job)); !taken) return fail(taken);
    }
    return fail(ErrorCode::kTimeout, "a hundred jobs did not bring it");
  }

  // Everything readable from `from` on equals the model.
  void expect_model(Offset from, ReadLimits limits = {}) {
    Offset at = std::max(from, log_->log_start());
    while (at < log_->synced_end()) {
      const Result<ReadBatch> batch = read(at, limits);
      ASSERT_TRUE(batch) << batch.error().detail;
      ASSERT_FALSE(batch->events.empty()) << "nothing at " << at.value();
      for (const StoredEvent& event : batch->events) {
        ASSERT_EQ(event.offset, at);
        ASSERT_TRUE(model_.contains(at)) << at.value();
        ASSERT_EQ(as_text(event.frame), model_[at].frame) << at.value();
        ASSERT_EQ(event.append_time, model_[at].time) << at.value();
        ++at;
      }
      ASSERT_EQ(batch->next, at);
    }
  }

  // The page cache is empty: reads that may not wait fail.
  void make_cold() {
    fs_->set_fault_hook(
        [](io::FsOperation operation, const std::string&) -> std::optional<io::FsFault> {
          if (operation != io::FsOperation::kReadNowait) return std::nullopt;
          return io::FsFault{Error{ErrorCode::kTimeout, "cold", {}, {}}};
        });
  }

  struct Modelled {
    std::string frame;
    WallMs time;
  };

  std::unique_ptr<io::MemoryFileSystem> fs_ = std::make_unique<io::MemoryFileSystem>();
  std::unique_ptr<ReadCache> cache_ = std::make_unique<ReadCache>();
  PartitionOptions options_;
  std::unique_ptr<LocalPartition> log_;
  std::vector<Record> journal_;
  std::size_t synced_ = 0;   // records of journal_ that a power cut leaves
  std::size_t applied_ = 0;  // records of journal_ that the checkpoint has
  std::optional<std::string> section_;
  std::map<Offset, Modelled> model_;
  int jobs_ = 0;
};

}  // namespace ackline::log
