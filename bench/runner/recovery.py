"""P7 and P8: the memory of a million deliveries in flight, and kill -9 with them and many more stored events."""
import contextlib
import json
import os
import pathlib
import time

from bench.runner import peers, rivals
from bench.runner.publishing import directories
from bench.runner.stats import Row

CLIENTS = 10
LEASE_MS = 3_600_000


def hold(server, home, events):
    """Subscribes clients that take everything and settle nothing; how much the server grew by, in bytes."""
    names = [f"c{i}" for i in range(CLIENTS)]
    for name in names:
        server.subscribe(name, "held", group="g", maxInFlight=events // CLIENTS, maxInFlightBytes=1 << 33,
                         ackTimeoutMs=LEASE_MS, maxLeaseMs=2 * LEASE_MS)
    time.sleep(2)  # what publishing left behind is written and given back
    before = peers.rss_bytes(server.process.pid)
    peers.load("hold", address=server.http_address, clients=",".join(names), events=events // CLIENTS,
               samples=home / "samples", every=max(1, events // 1000))
    time.sleep(2)
    return peers.rss_bytes(server.process.pid) - before


def warm(server, events):
    """Fills what the server keeps whether or not anything is in flight: its read cache, its buffers."""
    peers.load("publish", address=server.http_address, topic="warm", events=events, batch=100, connections=5)
    for name in ("w1", "w2"):
        server.subscribe(name, "warm", group="w", start="earliest", maxInFlight=10_000)
    peers.load("cycle", address=server.http_address, topic="warm", events=events, clients="w1,w2")


def in_flight(server):
    answer = server.admin.get("/admin/groups/held/g")
    if answer.status != 200:
        raise RuntimeError(f"group: {answer}")
    return answer.json()["inFlight"]


def blockers(server):
    """The first delivery of each partition, with its attempt and what is left of its lease."""
    explained = server.admin.get("/admin/explain", topic="held", group="g").json()
    return {n: part["blocker"] for n, part in explained["partitions"].items()}


def second_attempts(server):
    """Has the first delivery of each partition offered a second time, so that there is an attempt to remember."""
    for blocker in blockers(server).values():
        answer = server.settle("nack", blocker["clientId"], blocker["deliveryId"], delayMs=0)
        if answer.status != 200:
            raise RuntimeError(f"nack: {answer}")
    deadline = time.monotonic() + 20
    while any(b["state"] != "leased" or b["attempt"] < 2 for b in blockers(server).values()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no second attempt: {blockers(server)}")
        for number in range(CLIENTS):
            server.poll(f"c{number}", max=10, timeout_ms=50)


def same_after(before, after, alive_ms):
    """Attempts, ids and lease times of before the kill hold after it; what is wrong, or nothing."""
    for partition, old in before.items():
        new = after[partition]
        for what in ("offset", "deliveryId", "attempt", "clientId"):
            if old[what] != new[what]:
                return f"partition {partition}: {what} was {old[what]}, is {new[what]}"
        lost_ms = old["leaseLeftMs"] - new["leaseLeftMs"]
        if not -1500 <= lost_ms <= alive_ms + 1500:
            return f"partition {partition}: the lease lost {lost_ms} ms in {alive_ms:.0f} ms of life"
    return ""


def ack_samples(server, home):
    """Ids of before the kills, acked by their holders: how many count, of how many."""
    owners = {}
    held = {b["deliveryId"] for b in blockers(server).values()}
    ids = [json.loads(line + "}")["deliveryId"] for line in (home / "samples").read_text().splitlines()]
    # The samples do not say whose they are: clients held one after another, in equal shares.
    for at, one in enumerate(ids):
        owners.setdefault(f"c{at * CLIENTS // len(ids)}", []).append(one)
    acked = sum(server.settle("ack", name, some).json()["acked"] for name, some in owners.items())
    return acked, len(ids), len(held)


def restart(server):
    """Seconds from the start of the process to its ready-file, after kill -9."""
    server.kill()
    begin = time.monotonic()
    server.start(wait=120)
    return time.monotonic() - begin


def p7_p8(options):
    held, stored = options.scale(1_000_000), options.scale(options.stored)
    with directories("p7", "p7nats") as (home, nats_home), contextlib.ExitStack() as stack:
        server = peers.server(home)
        stack.callback(server.close)
        nats = rivals.JetStream(nats_home, False)
        stack.callback(nats.close)
        warm(server, options.scale(150_000))
        peers.load("publish", address=server.http_address, topic="held", events=held, batch=100, connections=5)
        grown = hold(server, home, held)
        if in_flight(server) != held:
            raise RuntimeError(f"{in_flight(server)} are in flight, not {held}")
        nats_grown, nats_held = hold_nats(nats, held)
        rows = [Row("P7", f"memory of {held:,} in flight, RSS of the server", "MB", [grown / 1e6], "JetStream",
                    [nats_grown / 1e6], floor=100, target=64, smaller_is_better=True,
                    note=f"{grown / held:.0f} bytes each (JetStream {nats_grown / nats_held:.0f}), its read cache full "
                         "before; measured once a run")]
        return rows + p8(options, server, home, nats, held, stored)


def hold_nats(nats, events):
    for _ in range(4):  # in parts: one call of its tool has a time limit here
        nats.publish(events // 4)
    time.sleep(2)
    before = peers.rss_bytes(nats.pid)
    held = nats.hold(events // 4 * 4)
    time.sleep(2)
    return peers.rss_bytes(nats.pid) - before, held


def p8(options, server, home, nats, held, stored):
    second_attempts(server)  # before there is anything new that could be offered instead
    for _ in range(max(0, stored - held) // 1_000_000 or 1):
        peers.load("publish", address=server.http_address, topic="held",
                   events=min(1_000_000, max(100, stored - held)), batch=100, connections=5)
    ours, theirs, wrong = [], [], ""
    for _ in range(options.restarts):
        before, since = blockers(server), time.monotonic()
        ours.append(restart(server))
        theirs.append(nats.kill_and_start())
        after = blockers(server)
        wrong = wrong or same_after(before, after, (time.monotonic() - since) * 1e3)
        if in_flight(server) != held or nats.in_flight() == 0:
            wrong = wrong or f"{in_flight(server)} of {held} are in flight after a restart"
    acked, of, partitions = ack_samples(server, home)
    # The nacked ones have a new id each, so that a sample of one of them does not count.
    if not of - partitions <= acked <= of:
        wrong = wrong or f"{acked} of {of} sampled acks counted"
    bytes_on_disk = sum(p.stat().st_size for p in pathlib.Path(home).rglob("*") if p.is_file())
    kept = f"WRONG: {wrong}" if wrong else "attempts, ids and lease times as before"
    note = (f"{stored:,} events stored ({bytes_on_disk / 1e9:.1f} GB with the journal), {held:,} in flight; JetStream has "
            f"{held:,} stored and in flight. {kept}; {acked} of {of} sampled acks counted. "
            f"Each restart: {', '.join(f'{seconds:.2f}' for seconds in ours)} s.")
    if wrong:
        print(f"P8: {wrong}", flush=True)
    return [Row("P8", "kill -9 to ready", "s", ours, "JetStream", theirs, floor=1, target=None, judged="ratio",
                smaller_is_better=True, note=note),
            Row("P8", "the same, by itself", "s", ours, floor=None, target=0.5, smaller_is_better=True,
                note=f"load of the machine {os.getloadavg()[0]:.1f}")]
