"""P1 and the first half of P2: programs of their own, without a server."""
import shutil
import statistics

from bench.runner import peers
from bench.runner.stats import Row


def rounds(lines):
    return {line["name"]: line for line in lines}


def p1(options):
    lanes = rounds(peers.program("p1_dispatcher", "--pairs", options.pairs, "--events", options.scale(180_000)))
    rows = []
    for name, claim, floor, target in (
            ("bare", "deliver + lease + ack in process, bare", 5e6, 15e6),
            ("keys", "the same with key order, credit, explain", 2e6, 5e6)):
        rows.append(Row("P1", claim, "/s", lanes[name]["rates"], floor=floor, target=target,
                        cpu_us=statistics.median(lanes[name]["cpu_us"])))
    for name, claim in (("bare", "bare, one stuck hole and 1 M settled above"), ("keys", "keys, the same hole")):
        hole = lanes[f"{name} behind a hole"]
        rows.append(Row("P1", claim, "/s", hole["rates"], "without the hole", lanes[name]["rates"], target=0.9,
                        judged="ratio", cpu_us=statistics.median(hole["cpu_us"]),
                        peer_cpu_us=statistics.median(lanes[name]["cpu_us"])))
    return rows


def p2_alone(options):
    directory = peers.scratch("p2")
    try:
        lanes = rounds(peers.program("p2_journal", "--dir", directory, "--pairs", options.pairs, "--events",
                                     options.scale(600_000)))
        kept = rounds(peers.program("p2_rows", "--dir", directory, "--pairs", options.pairs, "--events",
                                    options.scale(100_000)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    ours, bare, rocks = (lanes[n] for n in ("journal on disk", "records thrown away", "RocksDB put and delete"))
    cpu = statistics.median(ours["cpu_us"])
    return [Row("P2", "P1 bare with the journal, synced ≤ 10 ms, alone", "/s", ours["rates"], "RocksDB put+delete",
                rocks["rates"], floor=1e6, target=3e6, cpu_us=cpu, peer_cpu_us=statistics.median(rocks["cpu_us"])),
            Row("P2", "what the journal costs alone", "/s", ours["rates"], "records thrown away", bare["rates"],
                judged="ratio", cpu_us=cpu, peer_cpu_us=statistics.median(bare["cpu_us"]))] + [
            Row("P2", f"deliver + ack alone, deliveries in {name}, each ack written", "/s", kept[name]["rates"],
                "records thrown away", kept["memory"]["rates"], judged="ratio",
                cpu_us=statistics.median(kept[name]["cpu_us"]), peer_cpu_us=statistics.median(kept["memory"]["cpu_us"]))
            for name in ("RocksDB, cached", "RocksDB, written through")]
