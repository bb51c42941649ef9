// When the disk fails, the process pauses or dies.
#include <fmt/format.h>

#include "tests/simulation/client_channel.h"

namespace ackline::sim {

void Simulation::start_faults() {
  const Ms from = world_->time().now();
  const auto at = [&] { return from + random_.between(4000, active_ms_ - 3000); };
  // At least one crash and one disk fault in every seed.
  const std::int64_t deaths = random_.between(1, 4);
  for (std::int64_t i = 0; i < deaths; ++i) {
    const bool crash = i == 0 || !random_.chance(1, 5);
    const Death how = !crash                 ? Death::kStop
                      : random_.chance(1, 2) ? Death::kPowerCut
                                             : Death::kKill;
    const std::uint64_t operations = random_.chance(1, 2) ? random_.below(40) + 1 : 0;
    world_->time().outside(at(), [this, how, operations] {
      if (!world_->running() || healing_) return;
      if (how != Death::kStop && operations > 0) {
        world_->strike_after(operations, how);
      } else {
        death_wanted_ = how;
      }
    });
  }
  const std::int64_t faults = random_.between(1, 4);
  for (std::int64_t i = 0; i < faults; ++i) {
    world_->time().outside(at(), [this] {
      if (!healing_) fault();
    });
  }
}

void Simulation::restart_soon(Death how, Ms after) {
  world_->time().outside(world_->time().now() + after, [this, how, life = world_->life()] {
    if (world_->running() && world_->life() == life) death_wanted_ = how;
  });
}

void Simulation::hit_disk(DiskFault fault) {
  note(fmt::format("DISK FAULT {}", static_cast<int>(fault)));
  world_->arm_fault(fault);
  // A store that is poisoned wants a restart.
  if (fault == DiskFault::kKvAmbiguous) {
    restart_soon(more_.chance(1, 2) ? Death::kKill : Death::kPowerCut, more_.between(100, 3000));
  }
}

void Simulation::fault() {
  if (!world_->alive()) {
    // As soon as there is somebody to hit.
    world_->time().outside(world_->time().now() + 500, [this] {
      if (!healing_) fault();
    });
    return;
  }
  testing::SimScheduler& time = world_->time();
  const Ms now = time.now();
  Ms until = now;
  if (more_.chance(2, 5)) {
    static constexpr DiskFault kKinds[] = {
        DiskFault::kSyncElsewhere, DiskFault::kReadError,   DiskFault::kRenameError,
        DiskFault::kRemoveError,   DiskFault::kKvRefused,   DiskFault::kKvFull,
        DiskFault::kKvAmbiguous,   DiskFault::kKvReadError,
    };
    return hit_disk(kKinds[more_.below(std::size(kKinds))]);
  }
  const std::uint64_t what = random_.below(9);
  note(fmt::format("FAULT {}", what));
  switch (what) {
    case 0:
      world_->arm_fault(DiskFault::kWriteError);
      break;
    case 1:
      world_->arm_fault(DiskFault::kTornWrite);
      break;
    case 2:
      world_->arm_fault(DiskFault::kNoSpace);
      break;
    case 3:
    case 4:
      world_->arm_fault(DiskFault::kSyncError);
      restart_soon(random_.chance(1, 2) ? Death::kKill : Death::kPowerCut,
                   random_.between(100, 3000));
      break;
    case 5:
      ++result_.disk_faults;
      until = now + random_.between(100, 4000);
      world_->note_trouble(until);
      time.stall_storage(until);
      break;
    case 6:
    case 7:
      ++result_.disk_faults;
      world_->set_full(true);
      time.outside(now + random_.between(300, 4000), [this] { world_->set_full(false); });
      break;
    default:
      ++result_.disk_faults;  // a machine that stands still writes nothing either
      until = now + random_.between(100, 7000);
      world_->note_trouble(until);
      checker_->paused(until);
      time.pause_process(until);
      if (random_.chance(1, 2)) time.jump_wall(random_.between(-20'000, 20'000));
      break;
  }
}

}  // namespace ackline::sim
