"""Clients and operators for the tests that end the server in the middle of its work.

Each runs in a thread of its own with a connection of its own, and goes on through the server's deaths: what is answered is
told to the history, what is not may have happened.
"""
import http.client
import json
import random
import threading
import time

from lib.ackline import Failure, Http, check, event, wait_for

REFUSED = (503, 507)


class Workers:
    """Threads that call their body until they are stopped."""

    def __init__(self, server, history):
        self.server, self.history = server, history
        self.stop, self.threads = threading.Event(), []

    def run(self, body):
        def loop():
            connection = None
            while not self.stop.is_set():
                try:
                    if connection is None or f"{connection.host}:{connection.port}" != self.server.http_address:
                        connection = Http(self.server.http_address, timeout=20)
                    body(connection)
                except (OSError, http.client.HTTPException, json.JSONDecodeError):
                    connection = None  # the server went away
                    self.stop.wait(0.01)
                except Exception as error:
                    if "urn:ackline:error:draining" in str(error):  # it is about to go away, and says so
                        connection = None
                        self.stop.wait(0.01)
                        continue
                    with self.history.lock:
                        self.history.problem(f"a client: {error!r}")
                    return

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        self.threads.append(thread)

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(60)
            check(not thread.is_alive(), "a client does not come to its end")


class Publisher:
    """Batches for one topic. `pad`: bytes of data in each event."""

    def __init__(self, name, topic, history, server, rng, keys=20, pad=0, most=20, pause=0.0):
        self.name, self.topic, self.history, self.server, self.rng = name, topic, history, server, rng
        self.keys, self.pad, self.most, self.pause, self.count = keys, pad, most, pause, 0

    def __call__(self, connection):
        if self.pause:
            time.sleep(self.pause)
        size = self.rng.randrange(1, self.most + 1)
        ids = [f"{self.name}-{self.count + i}" for i in range(size)]
        self.count += size
        keys = [f"k{self.rng.randrange(self.keys)}" for _ in ids]
        batch = [event(i, partitionkey=key, **({"data": "x" * self.pad} if self.pad else {}))
                 for i, key in zip(ids, keys)]
        self.history.publishing(self.topic, ids, keys)
        try:
            answer = self.server.publish(self.topic, batch, http=connection)
        finally:
            self.history.publish_ended()
        self.history.answered("publish", answer)
        if answer.status in REFUSED:
            time.sleep(0.02)
        elif answer.status == 202:
            self.history.published(self.topic, ids, answer.json()["results"])
        elif answer.status != 404:
            raise Failure(f"publish: {answer}")


class Consumer:
    """Polls; acks most, and nacks, rejects, extends and forgets the rest, by `odds`."""

    def __init__(self, client, history, server, rng, odds=None, most=100, honest=False):
        self.client, self.history, self.server, self.rng, self.most = client, history, server, rng, most
        self.odds = {"nack": 0.03, "reject": 0.01, "extend": 0.01, "forget": 0.01} if odds is None else odds
        self.honest = honest

    def choose(self, one):
        if self.honest:
            return "ack"
        dice = self.rng.random()
        for verb, share in self.odds.items():
            dice -= share
            if dice < 0:
                return verb
        return "ack"

    def __call__(self, connection):
        asked = time.monotonic()
        answer = connection.get("/events/poll", clientId=self.client, max=self.most, timeoutMs=250)
        if answer.status in (503, 404, 409):
            time.sleep(0.02)
            return
        if answer.status != 200:
            raise Failure(f"poll: {answer}")
        deliveries = answer.json()
        self.history.received(self.client, deliveries, asked, time.monotonic())
        chosen = {}
        for one in deliveries:
            chosen.setdefault(self.choose(one), []).append(one)
        for verb, some in chosen.items():
            if verb != "forget":
                self.settle(connection, verb, some)

    def settle(self, connection, verb, some):
        mine = [(one["topic"], one["group"], one["event"]["id"]) for one in some if one["lane"] is None]
        more = {"nack": {"delayMs": 5}, "reject": {"reason": "test"}}.get(verb, {})
        epochs = self.history.epochs()
        self.history.settling(verb, mine)
        try:
            answer = self.server.settle(verb, self.client, [one["deliveryId"] for one in some], http=connection, **more)
        finally:
            self.history.settle_ended()
        self.history.answered(verb, answer)
        if answer.status == 200:
            self.history.settled(verb, some, answer.json()["results"], epochs)
        elif answer.status not in REFUSED:
            raise Failure(f"{verb}: {answer}")


def ask_progress(server, history, topic, name):
    """One look at a group's progress; a server that is away is none."""
    group = history.groups.get((topic, name))
    if group is None:
        return None
    with history.lock:
        epoch = group.epoch
    answer = server.admin.get("/admin/lag", topic=topic, group=name)
    if answer.status != 200:
        check(answer.status in (404, 503), f"lag: {answer}")
        return None
    history.progress(topic, name, answer.json(), epoch)
    return answer.json()


def change(server, path, body, method="POST", connection=None):
    """An operator's change on a connection of its own. None: no answer came."""
    try:
        link = connection or Http(server.admin_address, timeout=20)
        return link.request(method, path, body, {"authorization": f"Bearer {server.token}",
                                                 "content-type": "application/json"})
    except (OSError, http.client.HTTPException):
        return None


def reopen(server, history, topic, name, partition, offset, reset, connection=None):
    history.reopening(topic, name, partition, offset)
    try:
        if reset:
            body = {"topic": topic, "group": name, "to": {"offsets": {str(partition): offset}}, "partitions": [partition],
                    "confirm": True}
            answer = change(server, "/admin/reset", body, connection=connection)
        else:
            body = {"topic": topic, "group": name, "from": {"offsets": {str(partition): offset}}, "partitions": [partition]}
            answer = change(server, "/admin/replay", body, connection=connection)
        check(answer is None or answer.status in (200, 400, 404, 503), f"reopen: {answer}")
        return answer
    finally:
        history.reopen_ended(topic, name)


def redrive(server, topic, name, connection=None, most=5):
    """Some of the entries that are dead now."""
    try:
        link = connection or Http(server.admin_address, timeout=20)
        page = link.get("/admin/dlq/browse", topic=topic, group=name, state="dead", limit=most)
    except (OSError, http.client.HTTPException):
        return None
    ids = [item["id"] for item in page.json()["items"]] if page.status == 200 else []
    if not ids:
        return None
    answer = change(server, "/admin/dlq/redrive", {"topic": topic, "group": name, "ids": ids}, connection=connection)
    check(answer is None or answer.status in (200, 404, 409, 503), f"redrive: {answer}")
    return answer


def heal(server, history, clients, what, seconds=180):
    """The publishers have stopped; honest clients settle everything that is left."""
    workers = Workers(server, history)
    for client in clients:
        workers.run(Consumer(client, history, server, random.Random(1), honest=True, most=500))

    def drained():
        history.check(what)
        for topic, name in list(history.groups):
            answer = ask_progress(server, history, topic, name)
            if answer is None or not answer["caughtUp"]:
                return False
        return True

    try:
        wait_for(drained, seconds, f"{what}: the backlog is drained")
    finally:
        workers.finish()
