// The façade: turns the caller's clock into the one inside, and calls the inside.
#include "ackline/delivery/dispatcher.h"

#include <utility>

#include "ackline/delivery/impl.h"

namespace ackline::delivery {

Dispatcher::Dispatcher(Options options, DispatcherPort& port, Random random)
    : impl_(std::make_unique<Impl>(options, port, random)) {}
Dispatcher::~Dispatcher() = default;

void Dispatcher::add_partition(PartitionSpec partition) {
  impl_->add_partition(std::move(partition));
}
void Dispatcher::remove_partition(PartitionNumber partition) {
  impl_->remove_partition(partition);
}
void Dispatcher::add_group(GroupSpec group) {
  impl_->add_group(std::move(group));
}
void Dispatcher::update_group(ProgressNumber group, GroupPolicy policy) {
  impl_->update_group(group, std::move(policy));
}
void Dispatcher::remove_group(ProgressNumber group) {
  impl_->remove_group(group);
}
void Dispatcher::open_progress(ProgressKey key, Offset start) {
  impl_->open_progress(key, start);
}

Result<void> Dispatcher::restore(PartitionNumber partition, ByteView section) {
  return impl_->restore(partition, section);
}
void Dispatcher::snapshot(PartitionNumber partition, MonoMs now, std::string& out) const {
  impl_->enter(now);
  impl_->snapshot(partition, out);
}
void Dispatcher::capture(const TouchedRows& touched, MonoMs now,
                         std::vector<state::DeliveryChange>& out) const {
  impl_->enter(now);
  for (const auto& [key, rows] : touched.all()) {
    impl_->capture(key, rows, out);
  }
}
void Dispatcher::capture_all(MonoMs now, std::vector<state::DeliveryChange>& out) const {
  impl_->enter(now);
  for (const auto& [key, progress] : impl_->progress_) {
    impl_->capture_progress(*progress, impl_->all_of(*progress), out);
  }
}
MonoMs Dispatcher::time(MonoMs now) const {
  impl_->enter(now);
  return impl_->clock_;
}
bool Dispatcher::has_progress(ProgressKey key) const {
  return impl_->find(key) != nullptr;
}
Result<void> Dispatcher::apply(state::RecordType type, PartitionNumber partition, ByteView body) {
  return impl_->apply(type, partition, body);
}
void Dispatcher::begin_journal(std::uint32_t journal, const std::optional<Origin>& origin) {
  impl_->begin_journal(journal, origin);
}
void Dispatcher::end_replay() {
  impl_->end_replay();
}
void Dispatcher::note_exported(ProgressKey key, Generation generation, Offset frontier) {
  impl_->note_exported(key, generation, frontier);
}
void Dispatcher::note_clean_starts(std::vector<Epoch> epochs) {
  impl_->clean_starts_ = std::move(epochs);
}
void Dispatcher::distrust(PartitionNumber partition) {
  impl_->distrust(partition);
}
void Dispatcher::resume(MonoMs now, WallMs wall, bool clean) {
  impl_->resume(now, wall, clean);
}

void Dispatcher::add_client(ClientSpec client, MonoMs now) {
  impl_->enter(now);
  impl_->add_client(std::move(client));
}
void Dispatcher::remove_client(ClientNumber client, MonoMs now) {
  impl_->enter(now);
  impl_->remove_client(client);
}
void Dispatcher::set_window(ClientNumber client, std::uint32_t events, std::uint64_t bytes) {
  impl_->set_window(client, events, bytes);
}
void Dispatcher::set_demand(ClientNumber client, std::uint32_t events) {
  impl_->set_demand(client, events);
}
std::uint32_t Dispatcher::demand(ClientNumber client) const {
  const Client* found = impl_->find_client(client);
  return found == nullptr ? 0 : found->demand;
}
void Dispatcher::give_back_demand(ClientNumber client) {
  const std::uint32_t now = demand(client);
  if (now != kUnlimited) impl_->set_demand(client, now + 1);
}
void Dispatcher::connected(ClientNumber client, MonoMs now) {
  impl_->enter(now);
  impl_->connected(client);
}
void Dispatcher::disconnected(ClientNumber client, MonoMs now) {
  impl_->enter(now);
  impl_->disconnected(client);
}
void Dispatcher::withdraw(const DeliveryId& id, MonoMs now) {
  impl_->enter(now);
  impl_->withdraw(id);
}

void Dispatcher::on_available(PartitionNumber partition, Offset end) {
  impl_->on_available(partition, end);
}
void Dispatcher::on_read(ProgressKey key, Offset from, Result<log::ReadBatch> batch, MonoMs now) {
  impl_->enter(now);
  impl_->on_read(key, from, std::move(batch));
}
bool Dispatcher::pump(MonoMs now, WallMs wall, std::uint32_t budget) {
  impl_->enter(now);
  return impl_->pump(wall, budget);
}
Result<SettleAnswer> Dispatcher::settle(const SettleRequest& request, MonoMs now) {
  impl_->enter(now);
  return impl_->settle(request);
}
void Dispatcher::dead_lettered(const DeadLetterRequest& request, Result<Offset> dlq_offset,
                               MonoMs now) {
  impl_->enter(now);
  impl_->dead_lettered(request, dlq_offset);
}
std::optional<MonoMs> Dispatcher::next_due() const {
  return impl_->next_due();
}
void Dispatcher::tick(MonoMs now) {
  impl_->enter(now);
  impl_->tick();
}
void Dispatcher::stand_still(MonoMs since) {
  impl_->stand_still(since);
}
void Dispatcher::go_on(MonoMs now) {
  impl_->go_on(now);
}
std::int64_t Dispatcher::leave(const DeliveryId& id, bool resent, MonoMs now) {
  impl_->enter(now);
  return impl_->leave(id, resent);
}
void Dispatcher::set_draining(bool draining, MonoMs now) {
  impl_->enter(now);
  impl_->set_draining(draining);
}
void Dispatcher::set_paused(bool paused) {
  impl_->paused_ = paused;
}

void Dispatcher::on_log_start(PartitionNumber partition, Offset log_start) {
  impl_->on_log_start(partition, log_start);
}
std::optional<Offset> Dispatcher::held_from(PartitionNumber partition) const {
  return impl_->held_from(partition);
}
Result<ReopenReport> Dispatcher::replay(ProgressKey key, Offset from, bool dry_run, MonoMs now) {
  impl_->enter(now);
  return impl_->replay(key, from, dry_run);
}
Result<ReopenReport> Dispatcher::reset(ProgressKey key, Offset to, bool dry_run, MonoMs now) {
  impl_->enter(now);
  return impl_->reset(key, to, dry_run);
}
Result<LanePartReport> Dispatcher::start_lane(LanePart part, MonoMs now) {
  impl_->enter(now);
  return impl_->start_lane(std::move(part));
}
std::vector<Offset> Dispatcher::replayable(ProgressKey key, std::span<const Offset> sources) const {
  return impl_->replayable(key, sources);
}
void Dispatcher::end_lane(ProgressNumber lane, MonoMs now) {
  impl_->enter(now);
  impl_->end_lane(lane);
}
void Dispatcher::end_unknown_lanes(const std::function<bool(ProgressNumber)>& known, MonoMs now) {
  impl_->enter(now);
  impl_->end_unknown_lanes(known);
}
std::vector<ProgressKey> Dispatcher::reduce_lane(ProgressNumber lane) {
  return impl_->reduce_lane(lane);
}
std::uint64_t Dispatcher::purge_dead(ProgressKey key, std::span<const Offset> dlq_offsets) {
  return impl_->purge_dead(key, dlq_offsets);
}

std::optional<ProgressReport> Dispatcher::progress(ProgressKey key) const {
  return impl_->progress(key);
}
HolePage Dispatcher::holes(ProgressKey key, Offset from, std::uint32_t limit) const {
  return impl_->holes(key, from, limit);
}
BlockerReport Dispatcher::blocker(ProgressKey key, MonoMs now) const {
  impl_->enter(now);
  BlockerReport report = impl_->blocker(key);
  for (const StuckReport& one : impl_->stuck()) {
    if (one.key == key) report.stuck_ms = one.for_ms;
  }
  return report;
}
std::vector<DeadEntry> Dispatcher::dead_entries(ProgressKey key, Offset from,
                                                std::uint32_t limit) const {
  return impl_->dead_entries(key, from, limit);
}
void Dispatcher::for_each_dead(
    ProgressKey key, const std::function<void(Offset dlq, EntryState state)>& visit) const {
  impl_->for_each_dead(key, visit);
}
std::optional<DeadEntry> Dispatcher::dead_entry_at(ProgressKey key, Offset dlq_offset) const {
  return impl_->dead_entry_at(key, dlq_offset);
}

std::optional<DeadEntry> Dispatcher::dead_entry(ProgressKey key, Offset source_offset) const {
  return impl_->dead_entry(key, source_offset);
}
LaneReport Dispatcher::lane(ProgressNumber lane) const {
  return impl_->lane(lane);
}
std::vector<ClientReport> Dispatcher::clients() const {
  return impl_->clients();
}
std::vector<ProgressKey> Dispatcher::keys() const {
  return impl_->keys();
}
void Dispatcher::for_each_delivery(ProgressKey key,
                                   const std::function<void(const DeliveryReport&)>& visit) const {
  impl_->for_each_delivery(key, visit);
}
std::size_t Dispatcher::memory_bytes() const {
  return impl_->memory_bytes();
}
std::vector<StuckReport> Dispatcher::look_for_stuck(MonoMs now, std::int64_t after_ms) {
  impl_->enter(now);
  return impl_->look_for_stuck(after_ms);
}
std::vector<StuckReport> Dispatcher::stuck() const {
  return impl_->stuck();
}

}  // namespace ackline::delivery
