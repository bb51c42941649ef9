"""Cost curves: throughput and CPU per delivery while one thing grows, drawn as SVG. A curve that bends where the design says
O(1) is a row that misses its target."""
import contextlib
import json
import statistics

from bench.runner import cycling, peers, svg
from bench.runner.in_process import rounds
from bench.runner.publishing import directories
from bench.runner.stats import Row

ROUNDS = 5


class Curve:
    """`limit`: how much more a delivery may cost at the end than at the start; None: it may grow, as with its size."""

    def __init__(self, name, title, x_label, limit):
        self.name, self.title, self.x_label, self.limit = name, title, x_label, limit
        self.points = []  # (x, rates, CPU in µs), in the order of x

    def add(self, x, rates, cpu_us):
        self.points.append((x, rates, cpu_us))

    def rows(self):
        (first, first_rates, first_cpu), (last, last_rates, last_cpu) = self.points[0], self.points[-1]
        at = f"at {svg.short(last)}"
        cpu = Row("curve", f"{self.title}: CPU per delivery {at}", "µs", last_cpu, f"at {svg.short(first)}", first_cpu,
                  target=self.limit, judged="ratio", smaller_is_better=True, note=self.bend() or "")
        rate = Row("curve", f"{self.title}: throughput {at}", "/s", last_rates, f"at {svg.short(first)}", first_rates,
                   judged="ratio")
        return [rate, cpu]

    def bend(self):
        """Where the cost leaves the limit beyond the noise of both ends: even its lowest round costs more there than the
        highest round of the start allows. None while it does not."""
        if self.limit is None:
            return None
        start = max(self.points[0][2])
        for x, _, cpu in self.points[1:]:
            if min(cpu) > start * self.limit:
                return (f"BENDS at {svg.short(x)}: {statistics.median(cpu):.3g} µs against "
                        f"{statistics.median(self.points[0][2]):.3g} µs")
        return None

    def draw(self, directory):
        def points(which):
            return [(x, "0" if x == 0 else svg.short(x), min(values[which]), statistics.median(values[which]),
                     max(values[which])) for x, *values in self.points]
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.name}.svg"
        path.write_text(svg.chart([(f"{self.title}: deliveries a second", self.x_label, points(0)),
                                   (f"{self.title}: server CPU, µs a delivery", self.x_label, points(1))]))
        return path


def in_process(options, of, title, x_label, sizes, limit):
    made = Curve(of, title, x_label, limit)
    lanes = rounds(peers.program("curve", "--of", of, "--points", ",".join(map(str, sizes)), "--rounds", ROUNDS, "--events",
                                 options.scale(300_000)))
    for size in sizes:
        made.add(size, lanes[str(size)]["rates"], lanes[str(size)]["cpu_us"])
    return made


def hole(options):
    sizes = (0, 10_000, 100_000, 1_000_000, 10_000_000) if not options.quick else (0, 1_000, 10_000)
    return in_process(options, "hole", "age of a hole", "events settled behind it (in process)", sizes, 1.25)


def in_flight(options):
    sizes = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000) if not options.quick else (1, 100, 10_000)
    # From a few: below that a turn has next to nothing to do, and costs the more for each.
    return in_process(options, "inflight", "in flight", "deliveries in flight (in process)", sizes, 1.5)


def measure(curve, points, options):
    """Rounds of all points in turns; `points`: x → function that does a round and gives (deliveries, rate, CPU)."""
    seen = {x: ([], []) for x in points}
    for turn in range((ROUNDS if not options.quick else 2) + 1):
        for x, work in points.items():
            deliveries, rate, used = work()
            if turn > 0:
                seen[x][0].append(rate)
                seen[x][1].append(used * 1e6 / deliveries)
    for x, (rates, cpu) in seen.items():
        curve.add(x, rates, cpu)
    return curve


def cycle_work(server, events, copies=1, mode="messages", **more):
    def work():
        seen, used = cycling.our_round(server, mode, events, copies=copies, **more)
        return seen["events"] * copies, seen["rate"] * copies, used
    return work


def subscribe_many(server, topic, prefix, count, groups=1):
    body = {"clientId": "%s", "topic": topic, "group": "%g", "start": "latest", "maxInFlight": cycling.WINDOW}
    peers.load("subscribe", **{"address": server.http_address, "clients-named": prefix, "count": count, "groups": groups,
                               "body": json.dumps(body)})


@contextlib.contextmanager
def running_server(**config):
    with directories("curve") as (home,):
        server = peers.server(home, **config)
        try:
            yield server
        finally:
            server.close()


def partitions(options):
    curve = Curve("partitions", "partitions", "partitions of the topic", 1.25)
    sizes = (1, 4, 16, 64, 256, 1_000) if not options.quick else (1, 16, 64)
    with running_server() as server:
        for size in sizes:
            cycling.topic_for_cycles(server, f"p{size}", size, f"c{size}")
        return measure(curve, {size: cycle_work(server, options.scale(30_000), topic=f"p{size}", clients=f"c{size}")
                               for size in sizes}, options)


def groups(options):
    """Every group takes every event: the cost is that of a delivery."""
    curve = Curve("groups", "groups", "groups that take every event", 1.25)
    sizes = (1, 4, 16, 64, 256, 1_000) if not options.quick else (1, 4, 16)
    points = {}
    with running_server() as server:
        for size in sizes:
            cycling.make_topic(server, f"g{size}", 4)
            subscribe_many(server, f"g{size}", f"g{size}x", size, groups=size)
            # One ack a request: else what a group gets at once would decide the cost, and not how many groups there are.
            events = max(50, options.scale(40_000) // size)
            points[size] = cycle_work(server, events, copies=size, mode="single", topic=f"g{size}",
                                      **{"clients": "", "clients-named": f"g{size}x", "count": size})
        return measure(curve, points, options)


def clients(options):
    """All clients of one group, each with an open stream; the window of publishing stays the same."""
    curve = Curve("clients", "clients", "clients of the group, each on a stream", 1.5)
    sizes = (1, 10, 100, 1_000, 10_000) if not options.quick else (1, 10, 100)
    points = {}
    with running_server() as server:
        for size in sizes:
            cycling.make_topic(server, f"c{size}", 4)
            subscribe_many(server, f"c{size}", f"c{size}x", size)
            points[size] = cycle_work(server, options.scale(30_000), mode="single", topic=f"c{size}",
                                      **{"clients": "", "clients-named": f"c{size}x", "count": size})
        return measure(curve, points, options)


def event_size(options):
    curve = Curve("event-size", "event size", "bytes of data of an event", None)
    sizes = (64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_000_000) if not options.quick else (64, 1_024, 65_536)
    with running_server() as server:
        cycling.topic_for_cycles(server)
        points = {size: cycle_work(server, max(64, min(options.scale(30_000), 96_000_000 // size)), size=size,
                                   **({"unanswered": 64} if size > 60_000 else {})) for size in sizes}
        return measure(curve, points, options)


def drawn(make):
    """The workload that measures a curve, draws it and gives its rows."""
    def workload(options):
        curve = make(options)
        curve.draw(options.svg)
        if curve.bend():
            print(f"curve {curve.name}: {curve.bend()}", flush=True)
        return curve.rows()
    workload.__name__ = f"curve_{make.__name__}"
    return workload


ALL = [drawn(make) for make in (partitions, groups, clients, event_size, hole, in_flight)]
