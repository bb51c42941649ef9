"""P3: publish, acked after the sync, against JetStream lazy and `sync_interval: always`; and the second half of P2."""
import contextlib
import shutil
import statistics

from bench.runner import peers, rivals
from bench.runner.stats import Row

PARTITIONS = (4, 64, 1000)


class Lane:
    """Rounds of one thing that is measured, with the server's CPU per event."""

    def __init__(self):
        self.rates, self.cpu_us = [], []

    def add(self, pid, events, work, counts):
        before = peers.cpu_seconds(pid)
        rate = work()
        if counts:
            self.rates.append(rate)
            self.cpu_us.append((peers.cpu_seconds(pid) - before) * 1e6 / events)

    @property
    def cpu(self):
        return statistics.median(self.cpu_us) if self.cpu_us else None


def ours(server, events, **more):
    return lambda: peers.load("publish", address=server.http_address, events=events, **more)["rate"]


def make_topics(server):
    for partitions in PARTITIONS:
        answer = server.change("/admin/topics", {"name": f"p{partitions}", "partitions": partitions})
        if answer.status != 201:
            raise RuntimeError(f"topic: {answer}")


@contextlib.contextmanager
def directories(*names, memory=()):
    made = [peers.scratch(name, name in memory) for name in names]
    try:
        yield made
    finally:
        for directory in made:
            shutil.rmtree(directory, ignore_errors=True)


def p3(options):
    with directories("p3", "lazy", "always") as (home, lazy_home, always_home), contextlib.ExitStack() as stack:
        server = peers.server(home)
        stack.callback(server.close)
        make_topics(server)
        lazy = rivals.JetStream(lazy_home, False)
        stack.callback(lazy.close)
        always = rivals.JetStream(always_home, True)
        stack.callback(always.close)
        return throughput(options, server, lazy, always) + latency(options, server, home)


def throughput(options, server, lazy, always):
    events, few = options.scale(60_000), options.scale(1_500)
    single = {n: Lane() for n in PARTITIONS}
    batched, lazy_lane, always_lane = Lane(), Lane(), Lane()
    for pair in range(options.pairs + 1):
        counts = pair > 0  # the first is the warm-up
        for n, lane in single.items():
            lane.add(server.process.pid, events, ours(server, events, topic=f"p{n}"), counts)
        batched.add(server.process.pid, events,
                    ours(server, events, topic="p4", batch=100, connections=5), counts)
        lazy_lane.add(lazy.pid, events, lambda: lazy.publish(events), counts)
        always_lane.add(always.pid, few, lambda: always.publish(few), counts)
    rows = []
    for n, lane in single.items():
        rows.append(Row("P3", f"publish acked after the sync, {n} partitions, one event a request", "/s", lane.rates,
                        "JetStream lazy", lazy_lane.rates, floor=0.7, target=2, judged="ratio", cpu_us=lane.cpu,
                        peer_cpu_us=lazy_lane.cpu))
    for n, lane in single.items():
        rows.append(Row("P3", f"the same, {n} partitions, at equal durability", "/s", lane.rates, "JetStream always",
                        always_lane.rates, judged="ratio", cpu_us=lane.cpu, peer_cpu_us=always_lane.cpu))
    rows.append(Row("P3", "batches of 100, 4 partitions, shown apart", "/s", batched.rates, "JetStream lazy",
                    lazy_lane.rates, judged="ratio", cpu_us=batched.cpu, peer_cpu_us=lazy_lane.cpu))
    return rows


def latency(options, server, home):
    rate = 20_000 if not options.quick else 2_000
    ours_p99, bare_p99, cpu = [], [], []
    # Until its first files come back from a checkpoint the journal makes new ones beside the load.
    peers.load("publish", address=server.http_address, topic="p4", events=options.scale(600_000), batch=100, connections=5)
    for pair in range(options.pairs + 1):
        before = peers.cpu_seconds(server.process.pid)
        mine = peers.load("publish", address=server.http_address, topic="p4", events=rate, rate=rate)
        used = peers.cpu_seconds(server.process.pid) - before
        bare = peers.program("p3_append", "--file", home / "append", "--rate", rate, "--seconds", 1)[0]
        if pair > 0:
            ours_p99.append(mine["p99_us"])
            bare_p99.append(bare["p99_us"])
            cpu.append(used * 1e6 / rate)
    return [Row("P3", f"p99 of publish at {rate:,}/s, open loop", "µs", ours_p99, "append + fdatasync loop", bare_p99,
                target=3, judged="ratio", smaller_is_better=True, cpu_us=statistics.median(cpu))]


def p2_end_to_end(options):
    """The same server with everything on the disk and with everything in memory; synced within 10 ms, and by default."""
    rows = []
    for sync, claim in (("interval", "end to end over HTTP, disk against memory, synced ≤ 10 ms"),
                        ("commit", "the same, each publish synced before its answer (default)")):
        with directories("disk", "memory", memory=("memory",)) as homes, contextlib.ExitStack() as stack:
            disk, memory = cycles(options, homes, sync, stack)
        rows.append(Row("P2", claim, "/s", disk.rates, "all in memory", memory.rates, floor=0.9, target=0.95,
                        judged="ratio", cpu_us=disk.cpu, peer_cpu_us=memory.cpu))
    with directories("cached", "through", "memory", memory=("memory",)) as homes, contextlib.ExitStack() as stack:
        rocksdb = {"delivery.store": "rocksdb"}
        cached, through, memory = cycles(options, homes, "interval", stack,
                                         (rocksdb, {**rocksdb, "delivery.cache.entries": 0}, {}))
    for claim, lane in (("cached", cached), ("written through", through)):
        rows.append(Row("P2", f"end to end over HTTP, synced ≤ 10 ms, deliveries in RocksDB, {claim}", "/s", lane.rates,
                        "all in memory", memory.rates, floor=0.9, judged="ratio", cpu_us=lane.cpu,
                        peer_cpu_us=memory.cpu))
    return rows


def cycles(options, homes, sync, stack, configs=None):
    """Publish, poll and ack against a server on each directory in turn."""
    servers, lanes, events = [], [Lane() for _ in homes], options.scale(40_000)
    for home, config in zip(homes, configs or [{}] * len(homes)):
        server = peers.server(home, storage__local__sync=sync, **config)
        stack.callback(server.close)
        servers.append(server)
        for client in ("a", "b"):
            server.subscribe(client, "cycle", group="g", start="latest", maxInFlight=1000)
    for pair in range(options.pairs + 1):
        for server, lane in zip(servers, lanes):
            lane.add(server.process.pid, events, lambda s=server: peers.load(
                "cycle", address=s.http_address, topic="cycle", clients="a,b", events=events)["rate"], pair > 0)
    return lanes
