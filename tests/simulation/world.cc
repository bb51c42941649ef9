#include "tests/simulation/world.h"

#include <algorithm>

#include "ackline/base/check.h"

namespace ackline::sim {
namespace {

constexpr std::string_view kData = "/data";
constexpr std::string_view kJournals = "/data/journal/";
constexpr int kBootTries = 40;

Error disk_error(ErrorCode code, const std::string& path, std::string_view what) {
  return Error{code, path + ": " + std::string(what), {}, {}};
}

}  // namespace

World::World(WorldOptions options)
    : options_(options),
      random_(options.seed ^ 0x776f726c64U),
      page_cache_(options.seed ^ 0x70616765U),
      time_(options.seed, options.times) {}

World::~World() {
  if (node_ != nullptr) take_down(Death::kKill);
}

void World::open_hook() {
  fs_.set_fault_hook([this](io::FsOperation operation, const std::string& path) {
    auto fault = on_operation(operation, path);
    if (!fault) note(operation, path);
    return fault;
  });
  stores_on_disk_.set_fault_hook(
      [this](testing::KvOperation operation) { return on_kv_operation(operation); });
  stores_on_disk_.deliveries.set_fault_hook([this](testing::KvOperation operation) {
    auto fault = on_kv_operation(operation);
    if (operation == testing::KvOperation::kWrite && !stores_on_disk_.deliveries.unsynced()) {
      rows_dirty_since_ = time_.now();
    }
    return fault;
  });
}

std::optional<testing::KvFault> World::on_kv_operation(testing::KvOperation operation) {
  const auto error = [](ErrorCode code, std::string_view what) {
    return disk_error(code, "the store", what);
  };
  if (struck_) return testing::KvFault{error(ErrorCode::kUnavailable, "dead"), false};
  const bool write = operation == testing::KvOperation::kWrite;
  const bool changes = write || operation == testing::KvOperation::kFlush;
  if (strike_in_ && changes && --*strike_in_ == 0) {
    strike_in_.reset();
    struck_ = strike_how_;
    // It may die right before, or right after.
    return testing::KvFault{error(ErrorCode::kUnavailable, "dead"), random_.chance(1, 2)};
  }
  if (kv_poisoned_ && changes) {
    return testing::KvFault{error(ErrorCode::kPoisoned, "poisoned"), false};
  }
  if (!fault_) return std::nullopt;
  const auto fire = [&](ErrorCode code, bool applied) {
    fault_.reset();
    ++faults_fired_;
    note_trouble(time_.now());
    return testing::KvFault{error(code, "input/output error"), applied};
  };
  if (*fault_ == DiskFault::kKvRefused && write) return fire(ErrorCode::kUnavailable, false);
  if (*fault_ == DiskFault::kKvFull && write) return fire(ErrorCode::kFull, false);
  if (*fault_ == DiskFault::kKvAmbiguous && write) {
    kv_poisoned_ = true;
    return fire(ErrorCode::kAmbiguous, random_.chance(1, 2));
  }
  if (*fault_ == DiskFault::kKvReadError && !changes) {
    return fire(ErrorCode::kUnavailable, false);
  }
  return std::nullopt;
}

std::optional<io::FsFault> World::on_operation(io::FsOperation operation, const std::string& path) {
  using enum io::FsOperation;
  // A dead process does nothing more, whatever its objects still try.
  if (struck_) return io::FsFault{disk_error(ErrorCode::kUnavailable, path, "dead"), 0};
  const bool changes = operation != kRead && operation != kReadNowait && operation != kList;
  if (strike_in_ && changes && --*strike_in_ == 0) {
    strike_in_.reset();
    struck_ = strike_how_;
    // In the middle of a write as well.
    const bool torn = operation == kWrite && random_.chance(1, 2);
    return io::FsFault{disk_error(ErrorCode::kUnavailable, path, "dead"),
                       torn ? random_.below(4096) : 0};
  }
  // Not in the page cache, just now: at the next look it may be there.
  if (operation == kReadNowait && page_cache_.chance(1, 8)) {
    return io::FsFault{disk_error(ErrorCode::kTimeout, path, "not in memory"), 0};
  }
  const bool journal = path.starts_with(kJournals);
  if (!fault_) return std::nullopt;
  const auto fire = [&](ErrorCode code, std::string_view what, std::uint64_t applied) {
    fault_.reset();
    ++faults_fired_;
    note_trouble(time_.now());
    return io::FsFault{disk_error(code, path, what), applied};
  };
  switch (*fault_) {
    case DiskFault::kWriteError:
      if (operation == kWrite) return fire(ErrorCode::kUnavailable, "input/output error", 0);
      break;
    case DiskFault::kTornWrite:
      if (operation == kWrite) {
        return fire(ErrorCode::kUnavailable, "input/output error", random_.below(600));
      }
      break;
    case DiskFault::kNoSpace:
      if (operation == kWrite || operation == kResize) {
        return fire(ErrorCode::kFull, "no space left", random_.below(30));
      }
      break;
    case DiskFault::kSyncError:
      if (operation == kSync && journal) {
        poisoned_ = true;
        return fire(ErrorCode::kUnavailable, "input/output error", 0);
      }
      break;
    case DiskFault::kSyncElsewhere:
      if (operation == kSync && journal && !path.contains("/journal-") &&
          !path.ends_with("/opening.new")) {
        return fire(ErrorCode::kUnavailable, "input/output error", 0);
      }
      break;
    case DiskFault::kReadError:
      if (operation == kRead || operation == kReadNowait) {
        return fire(ErrorCode::kUnavailable, "input/output error", 0);
      }
      break;
    case DiskFault::kRenameError:
      if (operation == kRename) return fire(ErrorCode::kUnavailable, "input/output error", 0);
      break;
    case DiskFault::kRemoveError:
      if (operation == kRemove) return fire(ErrorCode::kUnavailable, "input/output error", 0);
      break;
    case DiskFault::kKvRefused:
    case DiskFault::kKvFull:
    case DiskFault::kKvAmbiguous:
    case DiskFault::kKvReadError:
      break;
  }
  return std::nullopt;
}

// Keeps the account of what of the journals a power cut would leave.
void World::note(io::FsOperation operation, const std::string& path) {
  using enum io::FsOperation;
  if (operation == kSyncDirectory) {
    for (auto& [name, file] : files_) {
      if (!name.starts_with(path) || name.contains('@')) continue;
      file.named = true;
      if (file.content_synced) file.dirty_since.reset();
    }
    return;
  }
  if (!path.starts_with(kJournals)) return;
  if (operation == kRemove) {
    files_.erase(path);
  } else if (operation == kWrite) {
    JournalFile& file = files_[path];
    if (!file.dirty_since) file.dirty_since = time_.now();
    file.content_synced = false;
  } else if (operation == kSync) {
    JournalFile& file = files_[path];
    file.content_synced = true;
    if (file.named) file.dirty_since.reset();
  }
}

Durable World::durable() const {
  Durable before{time_.now() + 1, time_.now() + 1};
  for (const auto& [name, file] : files_) {
    if (file.dirty_since) before.answers = std::min(before.answers, *file.dirty_since);
  }
  if (stores_on_disk_.deliveries.unsynced()) {
    before.answers = std::min(before.answers, rows_dirty_since_);
  }
  // What is promised (invariant 13): a sync begins within 10 ms of a write and takes as long as
  // the storage does; a round may just have begun.
  const std::int64_t served = node_ != nullptr ? time_.now() : served_until_;
  const std::int64_t slow =
      2 + 4 * options_.times.storage_max_ms + 4 * options_.times.handover_max_ms;
  const std::int64_t promised = served - (options_.sync_interval_ms + slow);
  const bool settled = calm() && last_trouble_ < promised - kCalmMs;
  if (settled) before.answers = std::max(before.answers, promised);
  if (options_.rows && options_.cache_entries > 0) {
    // Rows are written behind (decision 0013), and nobody writes any in trouble.
    const std::int64_t behind = options_.flush_ms + options_.sync_interval_ms + 2 * slow;
    before.offers = (settled ? served : std::min(served, trouble_since_)) - behind;
  }
  return before;
}

void World::arm_fault(DiskFault fault) {
  fault_ = fault;
}

void World::set_full(bool full) {
  full_ = full;
  note_trouble(time_.now());
  constexpr std::uint64_t kRoomy = std::uint64_t{1} << 62U;
  fs_.set_capacity(kRoomy);
  const std::uint64_t used = kRoomy - fs_.free_bytes(std::string(kData)).value_or(kRoomy);
  const std::uint64_t left = random_.below(64U << 10U);
  fs_.set_capacity(full ? used + left : UINT64_MAX);
  for (testing::MemoryKeyValueDisk* disk : stores_on_disk_.all()) {
    disk->set_capacity(full ? disk->used() + left / 16 : UINT64_MAX);
  }
}

void World::disarm() {
  fault_.reset();
  strike_in_.reset();
  set_full(false);
}

void World::strike_after(std::uint64_t operations, Death how) {
  strike_in_ = operations;
  strike_how_ = how;
}

bool World::boot() {
  for (int attempt = 0; attempt < kBootTries; ++attempt) {
    auto booted = boot_once();
    if (booted && !struck_) return true;
    trouble_ = booted ? "struck while booting" : booted.error().detail;
    const bool excused =
        struck_.has_value() || fault_.has_value() || full_ || last_trouble_ >= time_.now();
    const Death how = struck_.value_or(Death::kKill);
    take_down(how);
    if (!excused) return false;
    set_full(false);
    time_.skip(random_.between(10, 3000));
  }
  return false;
}

Result<void> World::boot_once() {
  ACKLINE_CHECK(node_ == nullptr);
  ++life_;
  struck_.reset();
  poisoned_ = false;
  kv_poisoned_ = false;
  open_hook();
  time_.start_process(options_.shards);
  metrics_ = std::make_unique<MetricRegistry>();
  auto data =
      state::DataDirectory::open(fs_, std::string(kData), {[this] { return random_.next(); }});
  if (!data) return fail(data);
  data_.emplace(std::move(*data));
  ids_ = std::make_unique<delivery::DeliveryIdCodec>(data_->salt(), data_->id_key());
  auto epoch = data_->next_epoch();
  if (!epoch) return fail(epoch);
  if (auto done = stores_.open(stores_on_disk_, time_.clock()); !done) return done;
  runtime::NodeOptions options = node_options();
  options.epoch = *epoch;
  std::vector<Executor*> executors;
  for (std::uint32_t i = 0; i < options_.shards; ++i) executors.push_back(&time_.executor(i));
  auto node = runtime::Node::boot(
      std::move(options), stores_.dependencies(std::move(executors), time_, fs_, *metrics_, *ids_));
  if (!node) return fail(node);
  node_ = std::move(*node);
  // All that was recovered is synced now (J10).
  std::erase_if(files_, [](const auto& one) { return one.first.contains('@'); });
  for (auto& [name, file] : files_) file = JournalFile{std::nullopt, true, true};
  node_->start([this] { started_ = true; });
  return {};
}

runtime::NodeOptions World::node_options() {
  runtime::NodeOptions options;
  options.data_path = data_->path();
  options.shard.dispatcher.reconnect_grace_ms = options_.reconnect_grace_ms;
  options.shard.partition.segment_bytes = options_.segment_bytes;
  // So little that what was appended a moment ago has to be fetched from the file.
  options.shard.partition.flush_bytes = 1024;
  options.shard.partition.tail_keep_bytes = 2048;
  options.shard.partition.fetch_bytes = 4096;
  options.shard.journal_file_bytes = options_.journal_file_bytes;
  options.shard.checkpoint_bytes = options_.checkpoint_bytes;
  options.shard.checkpoint_interval_ms = options_.checkpoint_interval_ms;
  options.shard.retention_interval_ms = options_.retention_interval_ms;
  options.shard.retention_hold = options_.retention_hold;
  options.shard.disk_reserve_bytes = 4096;
  options.shard.sync_commit = options_.sync_commit;
  options.shard.ack_sync = options_.ack_sync;
  options.shard.sync_interval_ms = options_.sync_interval_ms;
  options.shard.dispatcher.ahead_max = options_.ahead_max;
  options.shard.dispatcher.restarts_max = options_.restarts_max;
  options.shard.dispatcher.suspects_per_client = options_.suspects_per_client;
  options.shard.dispatcher.read_events = options_.read_events;
  options.shard.dispatcher.read_bytes = options_.read_bytes;
  options.shard.delivery_rows = options_.rows;
  options.shard.delivery_cache_entries = options_.cache_entries;
  options.shard.delivery_flush_ms = options_.flush_ms;
  options.instance_id = "sim";
  options.random_seed = random_.next();
  return options;
}

void World::on_shard(std::uint32_t index, Task work) {
  time_.executor(index % options_.shards).post(std::move(work));
}

void World::end(Death how) {
  ACKLINE_CHECK(node_ != nullptr);
  if (how == Death::kStop) {
    auto done = std::make_shared<bool>(false);
    node_->set_draining(true);
    node_->stop([done] { *done = true; });
    time_.run_until(time_.now() + 20'000, [&] { return *done || struck_.has_value(); });
    if (struck_) how = *struck_;
  }
  take_down(how);
}

// First the disk, so that nothing that is destroyed can write to it any more.
void World::take_down(Death how) {
  if (on_death) on_death(how, durable());
  if (node_ != nullptr) served_until_ = time_.now();
  if (poisoned_ || kv_poisoned_) last_trouble_ = std::max(last_trouble_, time_.now());
  if (how == Death::kPowerCut) {
    fs_.power_cut(random_);
    stores_on_disk_.power_cut(random_);
  } else {
    fs_.kill();
    stores_on_disk_.kill();
  }
  struck_ = how;
  time_.drop_tasks();
  node_.reset();
  started_ = false;
  time_.drop_tasks();
  stores_.close();
  ids_.reset();
  data_.reset();
  metrics_.reset();
  time_.end_process();
  strike_in_.reset();
  fs_.set_fault_hook({});
  stores_on_disk_.set_fault_hook({});
  if (how == Death::kPowerCut) files_.clear();
  // Only a start that has read it all and written it anew makes this safe: not a sync of another
  // file that gets the same name.
  std::map<std::string, JournalFile> unsafe;
  for (const auto& [name, file] : files_) {
    if (file.dirty_since) unsafe[name + "@" + std::to_string(life_)] = file;
  }
  files_ = std::move(unsafe);
  struck_.reset();
}

}  // namespace ackline::sim
