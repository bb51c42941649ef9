#!/usr/bin/env python3
"""The process dies at each failpoint of src/ackline/io/failpoint.h, again and again. time box: 600 s

Clients and an operator keep everything going at once: publishes, polls, acks, rejects, redrives, replays, resets, purges,
topics that come and go. The server is started with one failpoint armed at a chosen visit and must die there; the next start
is compared with the clients' record, and at the end of each lane the backlog is settled and everything is audited
(tests/integration/lib/history.py). Every point that the header declares is killed at KILLS times (5; 25 with SOAK=1), at
different visits; a point that is not reached fails the test. The points are shared among two lanes; a third keeps deliveries
as rows (`delivery.store: rocksdb`) and dies at the steps of their commits and moves and of a changed number of shards. A
table ends the run.

--only NAME one point (with --rows where deliveries are rows), --seed N, --kills N.
"""
import argparse
import contextlib
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import time

from lib import workload
from lib.ackline import ROOT, Failure, Http, check, wait_for
from lib.lane import Lane

KILLS = 25 if os.environ.get("SOAK") == "1" else 5
REACH_S = 90  # within which a point must be reached

# How the driver brings a process to a point, and from which visits it chooses.
STARTS = ("journal.start.", "boot.")
LAYOUT = ("layout.",)
ROWS = ("rows.",)
MOVES = ("rows.cleared", "rows.taken-over", "rows.started", "rows.in-meta")
STOPS = ("stop.",)
RARE = ("change.", "lane.", "reopened", "log-start.", "audit.", "partition.", "segment.remove.", "segment.seal.",
        "index.", "segment.made", "offsets.", "journal.roll.", "journal.spare.", "journal.remove.", "replace.")
OFTEN, SOME, SELDOM = 40, 8, 3


def points():
    text = (ROOT / "src/ackline/io/failpoint.h").read_text()
    block = re.search(r"kFailpointNames = \{(.*?)\};", text, re.S)[1]
    return re.findall(r'"([^"]+)"', block)


def points_of(lane):
    """Of the third lane: those of rows, and a changed number of shards once more."""
    if lane == 2:
        return [name for name in points() if name.startswith(ROWS + LAYOUT)]
    return [name for name in points() if not name.startswith(ROWS)][lane::2]


class Points(Lane):
    """Everything at once on two shards with small files."""
    partitions = 2
    config = {"server.shards": 2, "storage.local.checkpointInterval": "200ms", "storage.local.segmentBytes": "64KiB",
              "drain.timeout": "1s", "delivery.stuckAfter": "2s"}
    clients = ("c1", "c2", "r1")

    up = False  # somebody may ask the server

    def prepare(self):
        super().prepare()
        self.server.change("/admin/topics", {"name": "rejects", "partitions": 1})
        for client in ("c1", "c2"):
            self.subscribe(client, "orders", "billing", ordering="key")
        self.subscribe("r1", "orders", "again")
        # Not in the record: what it rejects is purged.
        self.server.subscribe("x1", "rejects", group="none", ackTimeoutMs=1000, backoffMs=[5])

    def work(self):
        self.workers = workload.Workers(self.server, self.history)
        for name in ("a", "b"):
            publisher = workload.Publisher(name, "orders", self.history, self.server, self.child(), pad=2000, pause=0.002)
            self.workers.run(self.calm(publisher))
        self.workers.run(workload.Publisher("x", "rejects", self.history, self.server, self.child(), most=3, pause=0.02))
        for client in self.clients:
            self.workers.run(workload.Consumer(client, self.history, self.server, self.child(), odds={
                "nack": 0.02, "reject": 0.03, "extend": 0.01, "forget": 0.01}))
        self.workers.run(workload.Consumer("x1", self.history, self.server, self.child(), odds={"reject": 1.1}))
        self.workers.run(self.operator)

    def operator(self, _):
        if self.history.problems or not self.up:
            time.sleep(0.02)
            return
        link = Http(self.server.admin_address, timeout=20)
        dice = self.rng.randrange(5)
        if dice == 0:
            self.turn_over(link, pad=500)
        elif dice == 1:
            workload.redrive(self.server, "orders", "billing", link)
        elif dice == 2:
            partition = self.rng.randrange(self.partitions)
            log = self.history.log["orders", partition]
            if log:
                workload.reopen(self.server, self.history, "orders", "again", partition, max(0, max(log) - 20),
                                self.rng.random() < 0.5, link)
        elif dice == 3:
            workload.change(self.server, "/admin/dlq/purge", {"topic": "rejects", "confirm": True}, connection=link)
        time.sleep(0.03)

    # --- one process that is to die
    def start_armed(self, point, visit):
        self.server.environment = {"ACKLINE_FAILPOINTS": f"{point}:{visit}=kill"}
        self.server.launch()
        self.server.environment = {}

    def wait_for_death(self, point, visit):
        end, looked, stopped = time.monotonic() + REACH_S, False, False
        while time.monotonic() < end:
            code = self.server.process.poll()
            if code is not None:
                check(code == -signal.SIGKILL, f"{point}: the server ended with {code}: {self.server.tail()}")
                check(f"failpoint {point} visit {visit}: killed" in self.server.tail(3),
                      f"{point}: it died elsewhere: {self.server.tail()}")
                self.up = False
                self.history.killed()
                return looked
            if not looked and self.server.is_ready():
                self.up = looked = True
                self.look_if_alive()
            if looked and not stopped and point.startswith(STOPS) and self.history.since_kill >= 50:
                self.server.process.send_signal(signal.SIGTERM)
                stopped = True
            self.history.check(f"on the way to {point}")
            time.sleep(0.002)
        raise Failure(f"{point} was not visited {visit} times within {REACH_S} s: {self.server.tail(30)}")

    def look_if_alive(self):
        with contextlib.suppress(OSError, http.client.HTTPException):  # it may die under the question
            self.look()
        self.history.check("after a start")

    def start_plain(self):
        self.server.start()
        self.up = True
        self.look()
        self.history.check("after a start")

    def kill_at(self, point, visit):
        # Rows are all made anew when the number of shards changes.
        if point.startswith(LAYOUT) or point in MOVES:
            self.server.config["server.shards"] = 5 - self.server.config["server.shards"]
        if point == "boot.clean-mark.gone":
            self.start_plain()
            self.up = False
            check(self.server.terminate() == 0, f"a clean stop: {self.server.tail()}")
        self.start_armed(point, visit)
        if not self.wait_for_death(point, visit):
            # It died before it could be asked anything: look at what it left.
            self.start_plain()
            self.up = False
            self.server.kill()
            self.history.killed()


class RowPoints(Points):
    """The same, with deliveries as rows."""
    config = {**Points.config, "delivery.store": "rocksdb"}

    def __init__(self, seed):
        super().__init__(seed)
        self.history.kill_loses_offers = True


def visits_of(point, kills, rng):
    """Different ones, as far as a process gets to them."""
    if point in ("boot.meta.loaded", "boot.clean-mark.gone", "boot.checkpoints.read", "boot.replayed", "layout.recorded",
                 "layout.in-meta", "rows.cleared", "rows.in-meta", "stop.marked"):
        return [1] * kills
    most = (2 if point.startswith(STARTS + LAYOUT + STOPS + MOVES) else SELDOM if point.startswith(RARE)
            else SOME if point.startswith(("checkpoint.", "cut.", "turn.dead-letter.")) else OFTEN)
    return [1 + (i if i < most and most <= SELDOM else rng.randrange(most)) for i in range(kills)]


def run_lane(names, seed, kills, rows):
    lane = RowPoints(seed) if rows else Points(seed)
    table = []
    lane.up = False
    try:
        lane.server.start()
        lane.prepare()
        lane.work()
        wait_for(lambda: lane.history.accepted > 300, 120, "the workload has begun")
        lane.server.kill()
        for name in names:
            visits = visits_of(name, kills, lane.rng)
            begun = time.monotonic()
            for visit in visits:
                lane.kill_at(name, visit)
            table.append((name, visits))
            print(f"point {name} kills {len(visits)} visits {sum(visits)} seconds {time.monotonic() - begun:.1f}",
                  flush=True)
        lane.start_plain()
        lane.up = False
        time.sleep(0.5)  # the operator's last change comes to its end
        lane.finish()
        history = lane.history
        print(f"lane of {len(names)} points: {history.kills} kills, {history.accepted} accepted, {history.delivered} "
              f"delivered, {history.acks} acked", flush=True)
    except Exception:
        print(f"seed {seed}, after {lane.history.kills} kills; problems {lane.history.problems[:5]}\n{lane.server.tail()}",
              flush=True)
        raise
    finally:
        if lane.workers:
            lane.workers.stop.set()
        lane.server.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--only", action="append")
    parser.add_argument("--lane", type=int)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    if arguments.lane is not None or arguments.only:
        run_lane(arguments.only or points_of(arguments.lane), arguments.seed, arguments.kills,
                 arguments.rows or arguments.lane == 2)
        return 0
    command = [sys.executable, __file__, "--kills", str(arguments.kills), "--seed", str(arguments.seed), "--lane"]
    lanes = [subprocess.Popen([*command, str(lane)], stdout=subprocess.PIPE, text=True) for lane in range(3)]
    outputs = [lane.communicate()[0] for lane in lanes]
    failed = sum(lane.returncode != 0 for lane in lanes)
    print(f"seed {arguments.seed}")
    passed = total = 0
    for number, text in enumerate(outputs):
        print("\n".join(line for line in text.splitlines() if not line.startswith("point ")), flush=True)
        reached = {m[1]: (int(m[2]), int(m[3])) for m in
                   re.finditer(r"^point (\S+) kills (\d+) visits (\d+)", text, re.M)}
        print(f"{'failpoint, deliveries as rows' if number == 2 else 'failpoint':<34}{'kills':>7}{'visits':>8}")
        for name in points_of(number):
            kills, visits = reached.get(name, (0, 0))
            total += kills
            passed += kills >= arguments.kills
            failed += kills < arguments.kills
            print(f"{name:<34}{kills:>7}{visits:>8}{'' if kills >= arguments.kills else '  NOT REACHED'}")
    print(f"{len(points())} points, {total} kills", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
