"""P9: shards, partitions, and consumers that only wait."""
import contextlib
import json
import statistics
import subprocess
import time

from bench.runner import cycling, peers
from bench.runner.in_process import rounds
from bench.runner.publishing import directories
from bench.runner.stats import Row

IDLE = 10_000
FEWER = 1_000
EVENTS = 40_000


def p9_in_process(options):
    lanes = rounds(peers.program("p9_scaling", "--pairs", options.pairs, "--events", options.scale(400_000)))
    cpu = {name: statistics.median(lane["cpu_us"]) for name, lane in lanes.items()}

    def row(claim, name, other, other_name, floor, target):
        return Row("P9", claim, "/s", lanes[name]["rates"], other_name, lanes[other]["rates"], floor=floor, target=target,
                   judged="ratio", cpu_us=cpu[name], peer_cpu_us=cpu[other])

    return [row("in process, 2 shards", "2 shards", "1 shard", "1 shard", 1.6, 1.8),
            row("in process, 1 000 partitions", "1000 partitions", "1 shard", "16 partitions", 0.8, 0.9),
            row("the same in key order", "keys, 1000 partitions", "keys, 16 partitions", "16 partitions", 0.8, 0.9),
            row("the same in key order, credit in bytes used up", "bytes, 1000 partitions", "bytes, 16 partitions",
                "16 partitions", None, 0.9)]


def p9_network(options):
    """CPU per event over the network: two shards against one, and 1 000 partitions against 16."""
    cpu, rates = {}, {}
    with directories("one", "two") as homes, contextlib.ExitStack() as stack:
        servers = []
        for home, shards in zip(homes, (1, 2)):
            server = peers.server(home, server__shards=shards)
            stack.callback(server.close)
            for partitions, client in ((16, "c"), (1000, "w")):
                cycling.topic_for_cycles(server, f"p{partitions}", partitions, client)
            servers.append((shards, server))
        for pair in range(options.pairs + 1):
            for shards, server in servers:
                for partitions, client in ((16, "c"), (1000, "w")):
                    seen, used = cycling.our_round(server, "messages", options.scale(EVENTS), topic=f"p{partitions}",
                                                   clients=client)
                    if pair > 0:
                        key = (shards, partitions)
                        cpu.setdefault(key, []).append(used * 1e6 / seen["events"])
                        rates.setdefault(key, []).append(seen["rate"])
    made = []
    for claim, mine, theirs, name in (
            ("over the network, 2 shards", (2, 16), (1, 16), "1 shard"),
            ("over the network, 2 shards, 1 000 partitions", (2, 1000), (2, 16), "16 partitions")):
        made.append(Row("P9", f"{claim}, CPU per event", "µs", cpu[mine], name, cpu[theirs], judged="ratio",
                        floor=1.2 if "1 000" in claim else None, target=1.1 if "1 000" in claim else None,
                        smaller_is_better=True))
        made.append(Row("P9", f"{claim}, rate (the client shares the two cores)", "/s", rates[mine], name, rates[theirs],
                        judged="ratio"))
    return made


@contextlib.contextmanager
def waiting(server, prefix, count, deliver):
    """So many subscribed clients that wait, each on a connection of its own, in a process of theirs."""
    body = {"clientId": "%s", "topic": "quiet", "group": "g", "start": "latest"}
    peers.load("subscribe", **{"address": server.http_address, "clients-named": prefix, "count": count,
                               "body": json.dumps(body)})
    command = [peers.BUILD / "bench" / "load", "idle", "--address", server.http_address, "--clients-named", prefix,
               "--count", count, "--deliver", deliver]
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if json.loads(process.stdout.readline() or "{}").get("waiting") != count:
            raise RuntimeError(f"{count} idle clients by {deliver} could not wait")
        yield
    finally:
        process.stdin.close()
        process.wait(30)


def p9_idle(options):
    """What one consumer costs that only waits: memory, CPU of the server while nothing happens, and what it adds to the
    cost of an event that is for others."""
    made, seconds = [], 5 if not options.quick else 1
    few, many = (FEWER, IDLE) if not options.quick else (100, 1000)
    for deliver in ("poll", "stream"):
        with directories(f"idle{deliver}") as (home,), contextlib.ExitStack() as stack:
            server = peers.server(home)
            stack.callback(server.close)
            cycling.topic_for_cycles(server)
            cycling.make_topic(server, "quiet", 4)
            pid = server.process.pid
            memory, idle_cpu, busy = {}, {}, {0: [], few: [], many: []}
            base = peers.rss_bytes(pid)
            for pair in range(4 if not options.quick else 2):
                seen, used = cycling.our_round(server, "messages", options.scale(EVENTS))
                if pair > 0:
                    busy[0].append(used * 1e6 / seen["events"])
            base = max(base, peers.rss_bytes(pid))
            for count in (few, many):
                with waiting(server, f"i{count}", count, deliver):
                    time.sleep(0.5)
                    memory[count] = (peers.rss_bytes(pid) - base) / count
                    before = peers.cpu_seconds(pid)
                    time.sleep(seconds)
                    idle_cpu[count] = (peers.cpu_seconds(pid) - before) * 1e6 / seconds / count
                    for pair in range(4 if not options.quick else 2):
                        seen, used = cycling.our_round(server, "messages", options.scale(EVENTS))
                        if pair > 0:
                            busy[count].append(used * 1e6 / seen["events"])
                time.sleep(0.5)
        words = "poll" if deliver == "poll" else "event stream"
        made += [
            Row("P9", f"{many:,} idle consumers by {words}, memory of one", "B", [memory[many]], f"{few:,} idle",
                [memory[few]], target=1.1, judged="ratio", smaller_is_better=True),
            Row("P9", f"{many:,} idle consumers by {words}, CPU of one in a second", "µs", [idle_cpu[many]],
                f"{few:,} idle", [idle_cpu[few]], note=f"{idle_cpu[many] * many / 1e4:.2f} % of a core for all of them"),
            Row("P9", f"CPU per event for others beside {many:,} idle consumers by {words}", "µs", busy[many], "none idle",
                busy[0], target=1.1, judged="ratio", smaller_is_better=True)]
    return made
