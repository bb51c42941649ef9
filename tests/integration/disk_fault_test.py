#!/usr/bin/env python3
"""What a failing disk does to a server at work: one row for each operation and kind of file. time box: 300 s

Clients go on while an operation fails with EIO or ENOSPC (tests/support/shim); then the fault ends. A row says what
publishes, settles and a new topic were answered, and how the server came back: by itself, or by a restart where it had said
that it needs one (`poisoned`, `quarantined`). Nothing accepted is lost in any row: the clients' record is compared after
each, and audited at the end (tests/integration/lib/history.py). The same on a file system without a byte left (tmpfs).
"""
import collections
import contextlib
import random
import time

from lib import workload
from lib.ackline import Server, check, equal, event, main, tmpfs, wait_for
from lib.history import audit
from lib.lane import Lane
from lib.shim import Shim

# Operation, part of the path, error, how often (None: as long as it lasts), and how it may come back.
WAIT_S = 60  # for what comes within a second where nobody else wants the machine
SAID_S = 8   # for work to go on although the server had said that it does not
WHY = ("takes no more until a restart", "takes nothing more until a restart", "quarantin", "poison",
       "A sync of the log's files failed")
SELF, RESTART, EITHER = "by itself", "by a restart", "either"
ROWS = [
    ("write", "/journal/", "EIO", None, SELF),
    ("write", "/journal/", "ENOSPC", None, SELF),
    ("write", "/journal/", "EIO", 1, SELF),
    ("allocate", "/journal/", "ENOSPC", None, SELF),
    ("create", "/journal/", "ENOSPC", None, SELF),
    ("create", "/journal/", "EIO", None, SELF),
    ("sync", "/journal/", "EIO", 1, EITHER),
    ("unlink", "/journal/", "EIO", None, SELF),
    ("write", "/log/", "EIO", None, SELF),
    ("write", "/log/", "ENOSPC", None, SELF),
    ("allocate", "/log/", "ENOSPC", None, SELF),
    ("create", "/log/", "ENOSPC", None, SELF),
    ("truncate", "/log/", "EIO", None, SELF),
    ("mkdir", "/log/", "ENOSPC", None, SELF),
    ("sync", "/log/", "EIO", 1, EITHER),
    ("write", "/checkpoint", "EIO", None, SELF),
    ("write", "/checkpoint", "ENOSPC", None, SELF),
    ("create", "/checkpoint", "ENOSPC", None, SELF),
    ("sync", "/checkpoint", "EIO", 1, SELF),
    ("write", "/MANIFEST", "ENOSPC", None, SELF),
    ("sync", "/MANIFEST", "EIO", 1, SELF),
    ("rename", "/MANIFEST", "EIO", None, SELF),
    ("write", "/meta/", "EIO", None, EITHER),
    ("write", "/meta/", "ENOSPC", None, EITHER),
    ("sync", "/meta/", "EIO", None, EITHER),
    ("write", "/offsets/", "EIO", None, EITHER),
    ("write", "/offsets/", "ENOSPC", None, EITHER),
    ("write", "/audit.log", "EIO", None, SELF),
    ("sync", "/audit.log", "EIO", None, SELF),
    ("write", "/audit.log", "ENOSPC", None, SELF),
]


class Faults(Lane):
    """One server; topics come and go, so that meta, the audit log and new directories are written, too."""
    partitions = 2
    config = {"server.shards": 1, "storage.local.checkpointInterval": "150ms", "storage.local.segmentBytes": "64KiB",
              "drain.timeout": "1s"}
    clients = ("c1", "c2")

    def prepare(self):
        super().prepare()
        for client in self.clients:
            self.subscribe(client, "orders", "billing")
        self.topics = 0

    def work(self):
        self.workers = workload.Workers(self.server, self.history)
        publisher = workload.Publisher("a", "orders", self.history, self.server, self.child(), pad=8000, pause=0.005)
        self.workers.run(self.calm(publisher))
        for client in self.clients:
            self.workers.run(workload.Consumer(client, self.history, self.server, self.child()))
        self.workers.run(self.make_topic)

    def make_topic(self, _):
        time.sleep(0.1)
        self.topics += 1
        answer = workload.change(self.server, "/admin/topics", {"name": f"made{self.topics}", "partitions": 1})
        if answer is not None:
            self.history.answers["topic", answer.status, answer.json().get("error", "")] += 1
            self.server.publish(f"made{self.topics}", event("x"), http=_)

    def moves(self, since):
        return self.history.accepted > since[0] and self.history.acks > since[1]

    def row(self, shim, operation, path, error, times, back):
        self.history.answers = collections.Counter()
        self.log_from = self.server.log.stat().st_size
        shim.fail(operation, path, error, times=times or 1 << 30)
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and shim.hits() == 0:
            time.sleep(0.02)
        time.sleep(0.3 if times else 1.0)
        hits = shim.hits()
        answers = sorted(f"{what} {status} {word}".strip() for (what, status, word) in list(self.history.answers)
                         if status != 200)
        shim.clear()
        check(hits > 0, f"{operation} {path}: nothing met the fault")
        since = (self.history.accepted, self.history.acks)
        # Frontiers are not exported any more after a fault there; nothing else depends on them.
        how = SELF if path != "/offsets/" and self.goes_on(since, back) else RESTART
        if how == RESTART:
            check(self.said_why(), f"{operation} {path} {error}: it does not go on and does not say why: "
                                   f"{self.server.tail()}")
            self.server.kill()
            self.history.killed()
            self.server.start()
            wait_for(lambda: self.moves(since), WAIT_S, "work after a restart")
        self.look()
        self.history.check(f"{operation} {path} {error}")
        check(back in (how, EITHER), f"{operation} {path} {error}: it came back {how}, not {back}: {answers}")
        print(f"{operation:<9}{path:<14}{error:<7}{'once' if times else 'lasting':<8}{hits:>7}  {how:<13}"
              f"{'; '.join(answers)}", flush=True)

    def said_why(self):
        """Whether the log says, since the row began, that something needs a restart."""
        with open(self.server.log, "rb") as log:
            log.seek(self.log_from)
            told = log.read().decode(errors="replace")
        return any(word in told for word in WHY)

    def goes_on(self, since, back):
        begun = time.monotonic()
        while time.monotonic() < begun + WAIT_S:
            if self.moves(since) and self.whole():
                return True
            if back != SELF and time.monotonic() > begun + SAID_S and self.said_why():
                return False
            time.sleep(0.02)
        return False

    def whole(self):
        """Ready, every partition is known, and changes of meta work: a topic made for it."""
        if self.server.admin.get("/readyz").status != 200:
            return False
        topics = self.server.admin.get("/admin/topics", limit=1000).json()["items"]
        if any(one["state"] != "ok" for topic in topics for one in topic["offsets"].values()):
            return False
        before, end = self.history.answers["topic", 201, ""], time.monotonic() + 5
        while time.monotonic() < end:
            if self.history.answers["topic", 201, ""] > before:
                return True
            time.sleep(0.02)
        return False


def test_every_failing_operation_is_answered_and_survived():
    lane = Faults(random.randrange(1 << 30))
    shim = Shim(lane.server)
    try:
        lane.server.start()
        lane.prepare()
        lane.work()
        wait_for(lambda: lane.history.accepted > 200, 30, "the workload has begun")
        print(f"{'fails':<9}{'file':<14}{'with':<7}{'':<8}{'times':>7}  {'comes back':<13}answers that were not 2xx")
        for row in ROWS:
            lane.row(shim, *row)
        lane.workers.finish()
        workload.heal(lane.server, lane.history, lane.clients, "after all faults")
        audit(lane.server, lane.history, "after all faults")
        print(f"{len(ROWS)} rows, {lane.history.accepted} accepted, {lane.history.acks} acked", flush=True)
    finally:
        if lane.workers:
            lane.workers.stop.set()
        lane.server.close()
        shim.close()


def test_a_file_system_without_a_byte_left_loses_nothing_and_comes_back():
    with tmpfs(256) as directory:
        lane = Faults(random.randrange(1 << 30))
        lane.server.close()
        lane.server = Server(directory=str(directory), disk__reserve="8MiB", **lane.config)
        balloon = directory / "balloon"
        try:
            lane.server.start()
            lane.prepare()
            lane.work()
            wait_for(lambda: lane.history.accepted > 200, 30, "the workload has begun")
            for killed in (False, True, False, True):
                lane.history.answers = collections.Counter()
                with contextlib.suppress(OSError), open(balloon, "wb", buffering=0) as file:
                    while True:
                        file.write(bytes(65536))
                # The server looks at the disk when a part of its reserve was used, or a write fails.
                wait_for(lambda: any(a[0] == "publish" and a[1] in (503, 507) for a in list(lane.history.answers)),
                         WAIT_S,
                         "publishes are refused")
                time.sleep(0.5)
                refused = {(status, word) for (what, status, word) in list(lane.history.answers) if what == "publish"}
                if killed:
                    lane.server.kill()
                    lane.history.killed()
                balloon.unlink()
                if killed:
                    lane.server.start()
                since = (lane.history.accepted, lane.history.acks)
                wait_for(lambda: lane.moves(since) and lane.whole(), WAIT_S, "work goes on when there is space")
                lane.look()
                lane.history.check("with space again")
                print(f"tmpfs full{', killed' if killed else ''}: publishes got {sorted(refused)}", flush=True)
            lane.workers.finish()
            workload.heal(lane.server, lane.history, lane.clients, "at the end")
            audit(lane.server, lane.history, "at the end")
        finally:
            if lane.workers:
                lane.workers.stop.set()
            lane.server.close()


def test_a_start_that_finds_no_space_says_so_and_changes_nothing():
    server = Server(disk__reserve="8MiB")
    shim = Shim(server)
    try:
        server.start()
        server.subscribe("c1", "orders", group="g")
        equal(server.publish("orders", [event(i) for i in range(20)], partition=0).status, 202, "publish")
        server.kill()
        for operation, path in (("write", "/epoch"), ("rename", "/epoch"), ("sync", "/epoch"), ("allocate", "/journal/"),
                                ("write", "/journal/"), ("sync", "/journal/"), ("rename", "/journal/")):
            shim.fail(operation, path, "ENOSPC" if operation != "sync" else "EIO")
            code = server.start(expect_failure=True)
            equal(code, 1, f"{operation} {path}: the exit code of a start that cannot go on")
            check(shim.hits() > 0, f"{operation} {path}: nothing met the fault")
            shim.clear()
        server.start()
        equal(server.lag("orders", "g")["pending"], 20, "everything is there")
    finally:
        server.close()
        shim.close()


if __name__ == "__main__":
    main()
