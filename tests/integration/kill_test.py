#!/usr/bin/env python3
"""kill -9 over HTTP, again and again, with publishes, polls and acks in flight. time box: 600 s

The record of what was accepted, delivered and acked is this client's own and outlives the server. Checked over the whole
history: nothing accepted is lost (9, 10), nothing that was never sent appears, an acked event is not delivered again (13),
the frontier is contiguous and never falls (1), attempts only grow (14), lag and its audit agree at the end (6).
KILLS=n sets the number of kills (100).
"""
import os
import random
import threading
import time

from lib.ackline import Failure, Http, Server, check, equal, event, main, wait_for

KILLS = int(os.environ.get("KILLS", "100"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
PARTITIONS = 4
BEFORE_KILL = 100  # accepted publishes since the last kill


class History:
    def __init__(self):
        self.lock = threading.Lock()
        self.sent, self.accepted, self.acked = set(), {}, set()
        self.attempts, self.maybe_acked = {}, set()
        self.problems, self.delivered = [], 0
        self.since_kill = self.in_flight = 0

    def problem(self, text):
        with self.lock:
            self.problems.append(text)


class Workers:
    def __init__(self, server, history):
        self.server, self.history, self.stop = server, history, threading.Event()
        self.addresses = threading.Event()
        self.threads = []

    def connection(self):
        return Http(self.server.http_address, timeout=15)

    def run(self, body):
        def loop():
            http = None
            while not self.stop.is_set():
                try:
                    if http is None or f"{http.host}:{http.port}" != self.server.http_address:
                        http = self.connection()
                    body(http)
                except (OSError, ValueError, KeyError) as error:
                    if isinstance(error, KeyError):
                        self.history.problem(f"unexpected answer: {error!r}")
                    http = None
                    time.sleep(0.01)
                except Exception as error:  # http.client's own: the server went away in the middle
                    if isinstance(error, Failure):
                        self.history.problem(str(error))
                    http = None
                    time.sleep(0.01)

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        self.threads.append(thread)

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(20)


def publisher(name, history, server, rng):
    counter = [0]

    def body(http):
        size = rng.randrange(1, 20)
        ids = [f"{name}-{counter[0] + i}" for i in range(size)]
        counter[0] += size
        with history.lock:
            history.sent.update(ids)
            history.in_flight += 1
        try:
            batch = [event(i, partitionkey=f"k{rng.randrange(50)}") for i in ids]
            answer = server.publish("orders", batch, http=http)
        finally:
            with history.lock:
                history.in_flight -= 1
        if answer.status == 503:
            time.sleep(0.02)
            return
        if answer.status != 202:
            raise Failure(f"publish: {answer}")
        with history.lock:
            for i, result in zip(ids, answer.json()["results"]):
                if result["status"] == "accepted":
                    place = (result["partition"], result["offset"])
                    history.accepted[i] = place
                    history.since_kill += 1

    return body


def consumer(client, history, server, rng):
    def body(http):
        answer = http.get("/events/poll", clientId=client, max=50, timeoutMs=200)
        if answer.status in (503, 404, 409):
            time.sleep(0.02)
            return
        if answer.status != 200:
            raise Failure(f"poll: {answer}")
        deliveries = answer.json()
        take, back = [], []
        with history.lock:
            for one in deliveries:
                i = one["event"]["id"]
                history.delivered += 1
                if i not in history.sent:
                    history.problems.append(f"{i} was delivered but never sent")
                if i in history.acked:
                    history.problems.append(f"{i} was acked and is delivered again: {one['deliveryId']}")
                if one["attempt"] < history.attempts.get(i, 0):
                    history.problems.append(f"{i}: attempt fell to {one['attempt']}")
                history.attempts[i] = one["attempt"]
                dice = rng.random()
                if dice < 0.93:
                    take.append(one)
                elif dice < 0.97:
                    back.append(one)
        if take:
            with history.lock:
                history.maybe_acked.update(one["event"]["id"] for one in take)
                history.in_flight += 1
            try:
                answer = server.settle("ack", client, [one["deliveryId"] for one in take], http=http)
            finally:
                with history.lock:
                    history.in_flight -= 1
            if answer.status == 200:
                with history.lock:
                    for one, result in zip(take, answer.json()["results"]):
                        if result["status"] in ("acked", "already"):
                            history.acked.add(one["event"]["id"])
        if back:
            server.settle("nack", client, [one["deliveryId"] for one in back], http=http, delayMs=5)

    return body


def frontiers(server):
    return {p: v["frontier"] for p, v in server.lag("orders", "billing")["partitions"].items()}


def cycle(server, history, workers, rng, last):
    wait_for(lambda: history.since_kill >= BEFORE_KILL and history.in_flight > 0, 60,
             f"{BEFORE_KILL} accepted publishes after a restart")
    if rng.random() < 0.5:
        time.sleep(rng.random() * 0.05)
    try:
        seen = frontiers(server)
        for partition, frontier in last.items():
            check(seen[partition] >= frontier, f"the frontier of {partition} fell: {last} {seen}")
        last.update(seen)
    except OSError:
        pass
    server.kill()
    with history.lock:
        history.since_kill = 0
    server.start()
    seen = frontiers(server)
    for partition, frontier in last.items():
        check(seen[partition] >= frontier, f"the frontier of {partition} fell over a kill: {last} {seen}")
    last.update(seen)


def dead_letters(server):
    found, after = {}, None
    while True:
        query = {"topic": "orders", "limit": 1000, **({"after": after} if after else {})}
        page = server.admin.get("/admin/dlq/browse", **query).json()
        for item in page["items"]:
            check(item["event"]["id"] not in found, f"{item['event']['id']} is dead-lettered twice")
            found[item["event"]["id"]] = item["reason"]
        after = page["next"]
        if after is None:
            return found


def settle_all(server, history):
    def done():
        lag = server.lag("orders", "billing")
        return lag if lag["caughtUp"] else None

    return wait_for(done, 90, "caught up after the last kill")


def run_kills(kills, **config):
    rng = random.Random(SEED)
    print(f"seed {SEED}, {kills} kills", flush=True)
    history = History()
    server = Server(storage__local__checkpointInterval="700ms", **config)
    try:
        server.start()
        server.change("/admin/topics", {"name": "orders", "partitions": PARTITIONS})
        for client in ("c1", "c2"):
            server.subscribe(client, "orders", group="billing", ackTimeoutMs=800, maxAttempts=1000,
                             backoffMs=[20])
        workers = Workers(server, history)
        for name in ("a", "b"):
            workers.run(publisher(name, history, server, random.Random(rng.random())))
        for client in ("c1", "c2"):
            workers.run(consumer(client, history, server, random.Random(rng.random())))
        last = {}
        for _ in range(kills):
            cycle(server, history, workers, rng, last)
            check(not history.problems, f"seed {SEED}: {history.problems[:5]}")
        # The publishers stop, the consumers go on until everything is settled.
        stop = threading.Event()
        workers.stop.set()
        for thread in workers.threads:
            thread.join(20)
        again = Workers(server, history)
        for client in ("c1", "c2"):
            again.run(consumer(client, history, server, random.Random(rng.random())))
        settle_all(server, history)
        again.finish()
        del stop
        check(not history.problems, f"seed {SEED}: {history.problems[:5]}")
        audit = server.lag("orders", "billing", audit="true")
        equal((audit["lag"], audit["audit"]), (0, {"recount": 0, "equal": True}), "lag at the end")
        # An offer whose poll was cut off lives until its lease ends; one that lived through 20 kills is a dead letter.
        dead = dead_letters(server)
        check(set(dead.values()) <= {"max_restarts"}, f"seed {SEED}: dead letters {set(dead.values())}")
        check(not set(dead) & history.acked, f"seed {SEED}: acked and dead-lettered: {set(dead) & history.acked}")
        lost = set(history.accepted) - history.acked - history.maybe_acked - set(dead)
        check(not lost, f"seed {SEED}: {len(lost)} accepted events were never delivered: {sorted(lost)[:5]}")
        places = list(history.accepted.values())
        equal(len(set(places)), len(places), "two accepted events have one offset")
        print(f"{len(history.accepted)} accepted, {history.delivered} delivered, {len(history.acked)} acked, "
              f"{len(dead)} dead after 20 restarts", flush=True)
    finally:
        server.close()


def test_invariants_1_9_10_13_kill_minus_9_loses_nothing_that_was_accepted():
    run_kills(KILLS)


if __name__ == "__main__":
    main()
