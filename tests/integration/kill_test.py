#!/usr/bin/env python3
"""kill -9 over HTTP, again and again, with publishes, polls and settles in flight. time box: 420 s

Two lanes side by side, each with a server, clients and a record of its own that outlives the server
(tests/integration/lib/history.py). A kill comes only after 100 more accepted publishes and with a request in flight. After
every start the progress of each group is compared with the record; at the end of a round the backlog is settled, and log,
dead letters and lag are audited against it.

  one     one shard, every publish synced: rejects, redrives, a group ordered by key
  four    four shards, syncs by interval: replays, resets, a topic that is deleted and made again

--cycles N kills in all (300; 10 000 with SOAK=1), --lane NAME one lane alone, --seed N. A round is 250 kills.
"""
import argparse
import os
import random
import subprocess
import sys
import time

from lib import workload
from lib.ackline import wait_for
from lib.lane import Lane, in_background

CYCLES = 10_000 if os.environ.get("SOAK") == "1" else 300
BEFORE_KILL = 100  # accepted publishes since the last kill
ROUND = 250


class Killed(Lane):
    """Is killed again and again."""

    def cycle(self):
        wait_for(lambda: self.history.since_kill >= BEFORE_KILL or self.history.problems, 120,
                 f"{BEFORE_KILL} accepted publishes after a start")
        self.operate()
        if self.rng.random() < 0.5:
            time.sleep(self.rng.random() * 0.05)
        wait_for(lambda: self.history.in_flight > 0, 60, "a request in flight")
        self.server.kill()
        self.history.killed()
        self.server.start()
        self.look()
        self.history.check("after a start")

    def operate(self):
        """What an operator does between two kills, in part under way when the kill comes."""


class One(Killed):
    config = {"server.shards": 1}
    clients = ("c1", "c2", "k1", "k2")

    def prepare(self):
        super().prepare()
        for client in ("c1", "c2"):
            self.subscribe(client, "orders", "billing")
        for client in ("k1", "k2"):
            self.subscribe(client, "orders", "keyed", ordering="key")

    def operate(self):
        if self.rng.random() < 0.4:
            group = self.rng.choice(("billing", "keyed"))
            in_background(lambda link: workload.redrive(self.server, "orders", group, link), self)


class Four(Killed):
    partitions = 8
    config = {"server.shards": 4, "storage.local.sync": "interval"}
    clients = ("c1", "c2", "r1")

    def prepare(self):
        super().prepare()
        for client in ("c1", "c2"):
            self.subscribe(client, "orders", "billing")
        self.subscribe("r1", "orders", "again")

    def operate(self):
        dice = self.rng.random()
        if dice < 0.3:
            partition = self.rng.randrange(self.partitions)
            log = self.history.log["orders", partition]
            if log:
                back = max(0, max(log) - self.rng.randrange(60))
                reset = self.rng.random() < 0.5
                in_background(lambda link: workload.reopen(self.server, self.history, "orders", "again", partition, back,
                                                           reset, link), self)
        elif dice < 0.6:
            in_background(lambda link: self.turn_over(link, partitions=2), self)


LANES = {"one": One, "four": Four}


def run_round(kind, seed, kills):
    lane = LANES[kind](seed)
    begun = time.monotonic()
    try:
        lane.server.start()
        lane.prepare()
        lane.work()
        for _ in range(kills):
            lane.cycle()
        if lane.operators:
            lane.operators.finish()
        lane.finish()
        history = lane.history
        print(f"{kind}, seed {seed}: {history.kills} kills in {time.monotonic() - begun:.0f} s, {history.accepted} accepted,"
              f" {history.delivered} delivered, {history.acks} acked", flush=True)
    except Exception:
        print(f"{kind}, seed {seed}, after {lane.history.kills} kills; problems {lane.history.problems[:5]}\n"
              f"{lane.server.tail()}", flush=True)
        raise
    finally:
        if lane.workers:
            lane.workers.stop.set()
        lane.server.close()


def run_lane(kind, seed, kills):
    done = 0
    while done < kills:
        some = min(ROUND, kills - done)
        run_round(kind, seed + done, some)
        done += some


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cycles", type=int, default=CYCLES)
    parser.add_argument("--lane", choices=sorted(LANES))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    if arguments.lane:
        run_lane(arguments.lane, arguments.seed, arguments.cycles)
        return 0
    each = {"one": arguments.cycles // 2, "four": arguments.cycles - arguments.cycles // 2}
    lanes = {kind: subprocess.Popen([sys.executable, __file__, "--lane", kind, "--cycles", str(count), "--seed",
                                     str(arguments.seed)]) for kind, count in each.items()}
    codes = {kind: process.wait() for kind, process in lanes.items()}
    for kind, code in codes.items():
        print(f"{'ok  ' if code == 0 else 'FAIL'} lane {kind}: {each[kind]} kills -9, invariants 1, 6, 9 to 11, 13, 14, 16, "
              f"17, 19", flush=True)
    failed = sum(code != 0 for code in codes.values())
    print(f"{len(codes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
