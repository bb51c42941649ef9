"""P4, P5 and P6: publish, deliver and ack over the network at once, against each rival in the same run."""
import contextlib
import statistics
import subprocess

from bench.runner import peers, rivals
from bench.runner.publishing import directories
from bench.runner.stats import Row

WINDOW = 500  # events published and not answered, and deliveries that are not acked
# Name → (words of the claim, options of ours, batch and acks at once of the rival).
MODES = {
    "single": ("one event a request, one ack a request", {"ack-max": 1}, 1, 1),
    "messages": ("one event a request, acks ≤ 100 a request", {"ack-max": 100}, 1, 100),
    "batches": ("≤ 100 events a request, acks ≤ 100 a request",
                {"batch": 100, "connections": 5, "ack-max": 100}, 100, 100),
}
EVENTS = 40_000


class Lane:
    def __init__(self):
        self.rates, self.cpu_us = [], []

    def add(self, rate, cpu_seconds, events):
        self.rates.append(rate)
        self.cpu_us.append(cpu_seconds * 1e6 / events)


def make_topic(server, name, partitions):
    answer = server.change("/admin/topics", {"name": name, "partitions": partitions})
    if answer.status != 201:
        raise RuntimeError(f"topic: {answer}")


def topic_for_cycles(server, name="cycle", partitions=4, client="c"):
    make_topic(server, name, partitions)
    server.subscribe(client, name, group="g", start="latest", maxInFlight=WINDOW)


def our_round(server, mode, events, **more):
    """One round of ours: what the client saw, and the CPU that the server used."""
    options = {"topic": "cycle", "clients": "c", "deliver": "stream", "unanswered": WINDOW, **MODES[mode][1], **more}
    before = peers.cpu_seconds(server.process.pid)
    seen = peers.load("cycle", address=server.http_address, events=events, **options)
    if seen["repeated"]:
        raise RuntimeError(f"{seen['repeated']} events were delivered again")
    return seen, peers.cpu_seconds(server.process.pid) - before


def rival_round(rival, client, events, rate=0):
    before = rival.cpu_seconds()
    seen = client.round(events, rate)
    return seen, rival.cpu_seconds() - before


def pairs_of(options, kind, durable, modes):
    """A B A B with one rival: for each mode both lanes."""
    lanes = {mode: (Lane(), Lane()) for mode in modes}
    with directories("p4", kind.script.removesuffix(".sh")) as (ours_home, home), contextlib.ExitStack() as stack:
        server = peers.server(ours_home)
        stack.callback(server.close)
        topic_for_cycles(server)
        rival = kind(home, durable)
        stack.callback(rival.close)
        clients = {mode: rival.client(f"q{mode}", *MODES[mode][2:]) for mode in modes}
        events = {mode: options.scale(rival.events(MODES[mode][2])) for mode in modes}
        rivals.settle()
        for mode, client in clients.items():
            for _ in range(rival.warm_up if not options.quick else 1):
                client.round(events[mode])
        for pair in range(options.pairs + 1):
            for mode, (mine, theirs) in lanes.items():
                seen, cpu = our_round(server, mode, options.scale(EVENTS))
                other, other_cpu = rival_round(rival, clients[mode], events[mode])
                if pair > 0:  # the first is the warm-up
                    mine.add(seen["rate"], cpu, seen["events"])
                    theirs.add(other["rate"], other_cpu, other["events"])
    return lanes


def rows_of(kind, durable, lanes):
    name, rows = rivals.variant_name(kind, durable), []
    judged = not durable and kind in (rivals.JetStream, rivals.Kafka)
    floor = 1 if judged and kind is rivals.JetStream else None
    for mode, (mine, theirs) in lanes.items():
        rows.append(Row("P4", f"publish → deliver → ack, {MODES[mode][0]}", "/s", mine.rates, name, theirs.rates,
                        floor=floor, target=2 if judged else None, judged="ratio",
                        cpu_us=statistics.median(mine.cpu_us), peer_cpu_us=statistics.median(theirs.cpu_us)))
    for mode, (mine, theirs) in lanes.items():
        rows.append(Row("P5", f"server CPU of that cycle, {MODES[mode][0]}", "µs", mine.cpu_us, name, theirs.cpu_us,
                        floor=floor, target=0.5 if floor else None, judged="ratio", smaller_is_better=True))
    return rows


def against(name):
    """The workload P4 and P5 beside one rival, unless --peers leaves it out."""
    def workload(options):
        rows, failed = [], []
        kind, variants = rivals.ALL[name]
        modes = ("single", "messages", "batches") if kind is rivals.JetStream else ("single", "batches")
        for durable in variants if name in options.peers else ():
            try:
                rows += rows_of(kind, durable, pairs_of(options, kind, durable, modes))
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                failed.append(f"{rivals.variant_name(kind, durable)}: {error}")
                print(f"P4: {failed[-1]}", flush=True)
        # Kept apart from the rows that could be measured: those are worth having.
        options.failures += [f"P4, P5: {text}" for text in failed]
        rows.sort(key=lambda row: row.row)
        return rows
    workload.__name__ = f"p4_p5_{name}"
    return workload


P4_P5 = [against(name) for name in rivals.ALL]


FAST = "synced before it is delivered"


def p6(options):
    """End to end at a fixed rate: from the moment an event was meant to be sent until its delivery is read. Ours as it is by
    default, where an event is synced before it is delivered, and with `storage.local.sync: interval`, which syncs within
    10 ms; JetStream as it is by default syncs within two minutes."""
    rows = []
    with directories("p6", "p6interval", "p6nats") as (home, late_home, nats_home), contextlib.ExitStack() as stack:
        servers = {}
        for words, where, more in ((FAST, home, {}),
                                   ("synced ≤ 10 ms", late_home, {"storage__local__sync": "interval"})):
            servers[words] = peers.server(where, **more)
            stack.callback(servers[words].close)
            topic_for_cycles(servers[words])
            our_round(servers[words], "batches", options.scale(600_000))  # until its journal files come back
        nats = rivals.JetStream(nats_home, False)
        stack.callback(nats.close)
        client = nats.client("latency", 1, 1)
        for rate in (5_000, 20_000):
            events = rate * 2 if not options.quick else rate // 5
            lanes = {words: ([], []) for words in servers}  # what the client saw, and the server's CPU in µs
            theirs = ([], [])
            for pair in range(options.pairs + 1):
                for words, server in servers.items():
                    note_round(lanes[words], our_round(server, "messages", events, rate=rate), events, pair > 0)
                note_round(theirs, rival_round(nats, client, events, rate), events, pair > 0)
            for words, lane in lanes.items():
                rows += latency_rows(rate, words, lane, theirs, words == FAST)
    return rows


def note_round(lane, measured, events, counts):
    if counts:  # the first is the warm-up
        lane[0].append(measured[0])
        lane[1].append(measured[1] * 1e6 / events)


def latency_rows(rate, words, mine, theirs, judged):
    """Floor and target are of the default; the other is shown beside it."""
    made, limits_of_tail = [], {"floor": 1, "target": 0.5} if judged else {}
    for key, name, limits in (("e2e_p50_us", "p50", {}), ("e2e_p99_us", "p99", limits_of_tail),
                              ("e2e_p999_us", "p99.9", limits_of_tail)):
        made.append(Row("P6", f"end to end at {rate:,}/s, open loop, {words}, {name}", "µs", [one[key] for one in mine[0]],
                        "JetStream lazy", [one[key] for one in theirs[0]], judged="ratio", smaller_is_better=True,
                        cpu_us=statistics.median(mine[1]), peer_cpu_us=statistics.median(theirs[1]), **limits))
    return made
