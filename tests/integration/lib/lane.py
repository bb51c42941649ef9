"""A server with its clients, its operator and the record of both, for the tests that break it at work."""
import os
import random
import time

from lib import workload
from lib.ackline import Http, Server
from lib.history import History, audit

WRITES_BEHIND = os.environ.get("TEST_WRITES_BEHIND") == "1"  # first offers, behind their delivery
CALM = 2000  # publishers wait while so much is not settled


class Lane:
    """A server with its clients for one round."""
    partitions, config, clients = 4, {}, ()

    def __init__(self, seed):
        self.rng, self.history = random.Random(seed), History()
        self.history.kill_loses_offers = WRITES_BEHIND
        self.server = Server(disk__reserve="8MiB", storage__local__checkpointInterval="700ms", **self.config)
        self.workers = self.operators = None
        self.incarnation = 0  # of the topic that comes and goes

    def prepare(self):
        self.server.change("/admin/topics", {"name": "orders", "partitions": self.partitions})

    def work(self):
        self.workers = workload.Workers(self.server, self.history)
        for name in ("a", "b"):
            publisher = workload.Publisher(name, "orders", self.history, self.server, self.child(), pause=0.003)
            self.workers.run(self.calm(publisher))
        for client in self.clients:
            self.workers.run(workload.Consumer(client, self.history, self.server, self.child()))

    def calm(self, publisher):
        def body(connection):
            groups = max(1, len(self.history.groups))
            if self.history.accepted - self.history.acks / groups > CALM:
                time.sleep(0.05)
            publisher(connection)
        return body

    def child(self):
        return random.Random(self.rng.random())

    def subscribe(self, client, topic, group, **more):
        more = {"ackTimeoutMs": 2500, "backoffMs": [20], "maxAttempts": 50, **more}
        # An operator's thread does this, too, while another one kills the server and closes its connections.
        http = Http(self.server.http_address, timeout=20)
        try:
            self.server.subscribe(client, topic, http, group=group, **more)
        finally:
            http.close()
        self.history.group(topic, group, ordering=more.get("ordering", "none"), max_attempts=more["maxAttempts"])

    def look(self):
        for topic, group in list(self.history.groups):
            workload.ask_progress(self.server, self.history, topic, group)

    def finish(self):
        self.workers.finish()
        workload.heal(self.server, self.history, self.clients, "at the end")
        audit(self.server, self.history, "at the end")

    def turn_over(self, link, partitions=1, pad=0):
        """The topic `temp` goes with all it has, and comes again as another one."""
        there = link.get("/admin/topics/temp")
        if there.status == 200:
            self.history.topic_leaving("temp")
            answer = workload.change(self.server, "/admin/topics/temp?confirm=true&force=true", None, "DELETE", link)
            if answer is None or answer.status not in (200, 404):
                return
        self.history.topic_gone("temp")
        wanted = {"name": "temp", "partitions": partitions}
        if workload.change(self.server, "/admin/topics", wanted, connection=link) is None:
            return
        self.incarnation += 1
        http = Http(self.server.http_address, timeout=20)
        publisher = workload.Publisher(f"temp{self.incarnation}", "temp", self.history, self.server, self.child(),
                                       pad=pad)
        publisher(http)
        self.subscribe("c1", "temp", "brief")
        publisher(http)


def in_background(what, lane):
    """One operator at a time; its server may die under it."""
    workers = workload.Workers(lane.server, lane.history)

    def once(_):
        workers.stop.set()
        what(Http(lane.server.admin_address, timeout=20))

    if lane.operators:
        lane.operators.finish()
    workers.run(once)
    lane.operators = workers
