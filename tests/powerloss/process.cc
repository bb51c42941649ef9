#include "tests/powerloss/process.h"

namespace ackline::powerloss {

Process::Process(Disks disks, Shape shape, std::uint64_t seed)
    : disks_(disks), shape_(shape), random_(seed), time_(seed, {0, 2}) {}

// First the disks, so that nothing that is destroyed can write to them.
Process::~Process() {
  disks_.fs.set_fault_hook({});
  disks_.stores.set_fault_hook({});
  disks_.fs.kill();
  disks_.stores.kill();
  time_.drop_tasks();
  node_.reset();
  time_.drop_tasks();
}

Result<void> Process::boot() {
  time_.start_process(shape_.shards);
  metrics_ = std::make_unique<MetricRegistry>();
  auto data = state::DataDirectory::open(disks_.fs, "/data", {[this] { return random_.next(); }});
  if (!data) return fail(data);
  data_.emplace(std::move(*data));
  ids_ = std::make_unique<delivery::DeliveryIdCodec>(data_->salt(), data_->id_key());
  auto epoch = data_->next_epoch();
  if (!epoch) return fail(epoch);
  if (auto done = stores_.open(disks_.stores, time_.clock()); !done) return done;
  runtime::NodeOptions options;
  options.data_path = data_->path();
  options.epoch = *epoch;
  options.default_partitions = 2;
  options.default_policy.backoff_ms = {20};
  options.ack_timeout_ms = 400;
  options.shard.ack_sync = shape_.ack_sync;
  options.shard.partition.segment_bytes = shape_.segment_bytes;
  options.shard.partition.flush_bytes = 2048;
  options.shard.partition.tail_keep_bytes = 2048;
  options.shard.journal_file_bytes = shape_.journal_file_bytes;
  options.shard.checkpoint_interval_ms = shape_.checkpoint_interval_ms;
  options.shard.disk_reserve_bytes = 4096;
  options.shard.delivery_rows = shape_.rows;
  options.instance_id = "images";
  options.random_seed = random_.next();
  std::vector<Executor*> executors;
  for (std::uint32_t i = 0; i < shape_.shards; ++i) executors.push_back(&time_.executor(i));
  auto node = runtime::Node::boot(
      std::move(options),
      stores_.dependencies(std::move(executors), time_, disks_.fs, *metrics_, *ids_));
  if (!node) return fail(node);
  node_ = std::move(*node);
  node_->start();
  return {};
}

void Process::run(std::int64_t ms) {
  time_.run_until(time_.now() + ms, [] { return false; });
}

}  // namespace ackline::powerloss
