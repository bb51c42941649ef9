#!/usr/bin/env python3
"""Millions of events through publish, deliver and ack, 1 % nacked once and 0.1 % until they are dead. time box: 300 s

Equal at the end, whatever the size: lag, its audit, dead letters, what was delivered twice. With SOAK=1 (or --events N of
10 million or more) memory, descriptors and disk are to be flat, too: the mean of the last tenth of the run beside that of
its second tenth, ± 5 %. LOAD is the load client of bench/. --csv FILE keeps the samples.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

from lib.ackline import Server, check, equal, main

ROUND = 1_000_000
FLAT = 0.05
ATTEMPTS = 3
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--events", type=int, default=100_000_000 if os.environ.get("SOAK") == "1" else 2_000_000)
OPTIONS.add_argument("--csv")
ARGUMENTS, sys.argv[1:] = OPTIONS.parse_known_args()
LOAD = os.environ.get("LOAD") or str(pathlib.Path(__file__).resolve().parents[2] / "build/bench/load")


def tree_bytes(directory):
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:  # recycled meanwhile
                pass
    return total


def sample(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
    return {"memory": resident, "descriptors": len(os.listdir(f"/proc/{server.process.pid}/fd")),
            "disk": tree_bytes(server.config["data.path"])}


class Sampler(threading.Thread):
    """Looks ten times a second; a round's sample is the mean of its looks: files come and go in large steps."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.lock, self.looks, self.ended = server, threading.Lock(), [], threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            look = sample(self.server)
            with self.lock:
                self.looks.append(look)

    def take(self):
        with self.lock:
            looks, self.looks = self.looks or [sample(self.server)], []
        return {name: statistics.fmean(look[name] for look in looks) for name in looks[0]}


def flat(samples):
    tenth = max(1, len(samples) // 10)
    report = []
    for name in ("memory", "descriptors", "disk"):
        early = statistics.fmean(one[name] for one in samples[tenth:2 * tenth])
        late = statistics.fmean(one[name] for one in samples[-tenth:])
        report.append(f"{name} {early:,.0f} -> {late:,.0f} ({late / early - 1:+.1%})")
        check(late <= early * (1 + FLAT), f"grows: {'; '.join(report)}")
    return "; ".join(report)


def test_everything_is_done_with_and_nothing_grows():
    rounds = max(1, ARGUMENTS.events // ROUND)
    with Server(disk__reserve="256MiB", storage__local__segmentBytes="8MiB") as server:
        made = server.change("/admin/topics", {"name": "soak", "partitions": 8, "retention": {"bytes": 128 << 20}})
        equal(made.status, 201, "the topic")
        for client in ("c0", "c1"):
            server.subscribe(client, "soak", group="g", ordering="none", maxAttempts=ATTEMPTS, backoffMs=[100],
                             ackTimeoutMs=60000, maxInFlight=5000)
        command = [LOAD, "cycle", "--address", server.http_address, "--topic", "soak", "--clients", "c0,c1", "--events",
                   str(ROUND), "--rounds", str(rounds), "--batch", "100", "--unanswered", "5000", "--poll-max", "500",
                   "--nack-every", "100", "--poison-every", "1000", "--attempts", str(ATTEMPTS)]
        samples, repeated = [], 0
        sampler = Sampler(server)
        sampler.start()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as load:
            for line in load.stdout:
                done = json.loads(line)
                samples.append({**sampler.take(), "rate": done["rate"]})
                repeated += done["repeated"]
                if ARGUMENTS.csv:
                    with open(ARGUMENTS.csv, "a", encoding="utf-8") as file:
                        print(*samples[-1].values(), sep=",", file=file)
                dead = server.change("/admin/dlq/purge", {"topic": "soak", "group": "g", "confirm": True}).json()
                equal(dead["purged"], ROUND // 1000, f"round {len(samples)}: dead letters")
        check(sampler.is_alive(), "the sampler ended by itself")
        sampler.ended.set()
        sampler.join()
        equal((load.returncode, len(samples)), (0, rounds), f"the load client's end; the server said: {server.tail()}")
        # Each nacked event came twice, each dead one as often as it may.
        equal(repeated, rounds * (ROUND // 100 + (ATTEMPTS - 1) * ROUND // 1000), "deliveries that were not the first")
        lag = server.lag("soak", "g", audit="true")
        check(lag["audit"]["equal"], f"the audit: {lag}")
        equal((lag["lag"], lag["pending"]), (0, 0), "lag")
        group = server.admin.get("/admin/groups/soak/g").json()
        equal((group["lag"], group["pending"], group["inFlight"], group["gone"]), (0, 0, 0, 0), "the group")
        if len(samples) >= 10:
            print(f"     {rounds} M events, {statistics.median(one['rate'] for one in samples):,.0f}/s: {flat(samples)}",
                  flush=True)
        equal(server.terminate(), 0, "exit code")


if __name__ == "__main__":
    main()
