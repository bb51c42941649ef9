#!/usr/bin/env python3
"""Damage, repair, start, audit: nothing is lost beyond what the repair said. time box: 300 s"""
import hashlib
import pathlib
import shutil
import subprocess

from lib.ackline import BINARY, Server, check, doctor, equal, event, main, take, take_and_ack, wait_for

EVENTS = 240


def fill(server):
    """Segments in both partitions; the group has settled every third event."""
    pad = "x" * 1500
    for first in range(0, EVENTS, 60):
        for partition in (0, 1):
            server.publish("orders", [event(n, data=pad) for n in range(first, first + 60)], partition=partition)
    server.subscribe("c1", "orders", group="g", ackTimeoutMs=60000)
    seen = 0
    while seen < 2 * EVENTS:
        got = server.poll("c1", max=1000)
        check(got, f"only {seen} were delivered")
        server.settle("ack", "c1", [d["deliveryId"] for d in got if d["offset"] % 3 == 0])
        seen += len(got)


def partition_directory(server, which):
    logs = sorted({p.parent for p in pathlib.Path(server.config["data.path"], "log").glob("*/*.log")})
    return [d for d in logs if len(list(d.glob("*.log"))) > 1][which]


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def fingerprint(server):
    """Of everything that is not a small store's own (opening one replays its log)."""
    data = pathlib.Path(server.config["data.path"])
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for top in ("log", "journal")
            for p in sorted((data / top).rglob("*")) if p.is_file()}


def test_what_a_repair_gives_up_is_told_and_nothing_else_is_lost():
    for which in ("middle", "newest", "missing"):
        server = Server(storage__local__segmentBytes="64KiB", topic__partitions=2)
        try:
            server.start()
            fill(server)
            equal(server.terminate(), 0, "exit code")
            segments = sorted(partition_directory(server, 0).glob("*.log"))
            check(len(segments) > 3, f"{len(segments)} segments")
            if which == "missing":
                segments[1].unlink()
            else:
                flip(segments[1 if which == "middle" else -1], 6000)
            equal(doctor(server)[0], 1, "the doctor sees it")

            before = fingerprint(server)
            code, plan = doctor(server, "--repair", "--dry-run")
            equal((code, plan["done"], fingerprint(server)), (0, False, before), "a dry run changes nothing")
            lost = sum(step["lost"] for step in plan["steps"])
            check(0 < lost <= EVENTS, f"{which}: {plan}")
            equal(doctor_without_confirm(server), 2, "it asks first")
            equal(fingerprint(server), before, "and changes nothing before it is answered")

            code, done = doctor(server, "--repair", "--confirm", "--backup", str(server.directory / "kept"))
            equal((code, done["done"]), (0, True), f"{which}: {done}")
            check((server.directory / "kept" / "repair.txt").exists(), "the list of what was done")
            if which != "missing":
                check(any(p.name.endswith(".log") for p in (server.directory / "kept").iterdir()), "the copies")
            code, after = doctor(server)
            equal(code, 0, f"{which}: healthy again: {after}")

            server.start()
            offsets = server.admin.get("/admin/topics/orders").json()["offsets"]
            hurt = next(p for p in offsets if offsets[p]["logStart"] > 0)
            equal(offsets[hurt], {"logStart": lost, "highWatermark": EVENTS - 1, "state": "ok"}, f"{which}: the log")
            lag = server.lag("orders", "g", audit="true")
            check(lag["audit"]["equal"], f"{which}: the audit: {lag}")
            gone = server.admin.get("/admin/groups/orders/g").json()["gone"]
            equal(gone, sum(1 for n in range(lost) if n % 3), f"{which}: gone is what was not settled of what is lost")
            # The rest is what the client still held, and no more.
            server.change("/admin/reset", {"topic": "orders", "group": "g", "to": "earliest", "confirm": True})
            got = {}
            for d in take_and_ack(server, "c1", 2 * EVENTS - lost):
                got.setdefault(str(d["partition"]), set()).add(d["offset"])
            equal(got[hurt], set(range(lost, EVENTS)) or got[hurt], f"{which}: the hurt partition") if lost < EVENTS else \
                check(hurt not in got, f"{which}: {got}")
            other = "1" if hurt == "0" else "0"
            equal(got[other], set(range(EVENTS)), f"{which}: the other one lost nothing")
            equal(server.publish("orders", event(1), partition=int(hurt)).json()["offset"], EVENTS, "the next offset")
            equal(server.terminate(), 0, "exit code")
            equal(doctor(server)[0], 0, f"{which}: still healthy")
        finally:
            server.close()


def doctor_without_confirm(server):
    return subprocess.run([BINARY, "doctor", "--data", server.config["data.path"], "--repair"], capture_output=True,
                          stdin=subprocess.DEVNULL, cwd=server.directory).returncode


def test_a_running_server_is_not_repaired():
    with Server() as server:
        done = subprocess.run([BINARY, "doctor", "--data", server.config["data.path"], "--repair", "--confirm"],
                              capture_output=True, text=True, cwd=server.directory)
        check(done.returncode != 0 and str(server.process.pid) in done.stderr, f"{done.returncode} {done.stderr}")


def test_damage_without_a_repair_gets_a_sentence_and_exit_code_1():
    server = Server()
    try:
        server.start()
        for n in range(50):
            server.publish("orders", event(n), partition=0)
        server.kill()
        journal = max(pathlib.Path(server.config["data.path"], "journal").glob("*/*"), key=lambda p: p.stat().st_size)
        data = journal.read_bytes()
        flip(journal, data.rindex(b'test.event') // 2)
        code, plan = doctor(server, "--repair", "--confirm")
        equal((code, plan["steps"]), (1, []), f"{plan}")
        check("backup" in plan["without"][0]["why"], f"{plan}")
    finally:
        server.close()


# --- the delivery store of rows

ROWS = {"delivery.store": "rocksdb", "drain.timeout": "1s"}


def fill_rows(server):
    """Forty events in each of two partitions: settled up to a hole, past it, dead, redriven well, in flight, not offered."""
    server.change("/admin/topics", {"name": "orders", "partitions": 2})
    for partition in (0, 1):
        server.publish("orders", [event(f"{partition}-{n}") for n in range(30)], partition=partition)
    server.subscribe("c1", "orders", group="g", ackTimeoutMs=60000)
    got = {}
    while len(got) < 60:
        batch = server.poll("c1", max=1000)
        check(batch, f"only {len(got)} were delivered")
        got.update({(d["partition"], d["offset"]): d["deliveryId"] for d in batch})
    for partition in (0, 1):
        equal(server.settle("reject", "c1", [got[partition, n] for n in (5, 20, 21)], reason="no").status, 200, "reject")
        acked = [got[partition, n] for n in range(30) if n < 10 and n != 5 or 22 <= n < 25]
        equal(server.settle("ack", "c1", acked).status, 200, "ack")
    wait_for(lambda: server.admin.get("/admin/dlq/browse", topic="orders").json()["total"] == 6, 30, "six dead letters")
    redriven = server.change("/admin/dlq/redrive", {"topic": "orders", "group": "g", "max": 1}).json()
    equal(redriven["started"], 1, "a redrive")
    again = server.poll("c1", max=10, timeout_ms=20000)
    equal(len(again), 1, "deliveries of the redrive")
    equal(server.settle("ack", "c1", [d["deliveryId"] for d in again]).status, 200, "ack of the redrive")
    for partition in (0, 1):
        server.publish("orders", [event(f"{partition}-{n}") for n in range(30, 40)], partition=partition)
    wait_for(lambda: [r["frontier"] for r in server.admin.get("/admin/offsets", topic="orders").json()["items"]] == [9, 9],
             what="the frontiers are exported")


def compact(server):
    """Through the store's log into tables: a start writes them."""
    server.start()
    equal(server.terminate(), 0, "exit code")


def damage_flip(store):
    tables = sorted(store.glob("*.sst"), key=lambda p: p.stat().st_size)
    check(tables, f"there is no table in {list(store.iterdir())}")
    flip(tables[-1], 30)


def damage_manifest(store):
    for one in store.glob("MANIFEST-*"):
        one.unlink()


def damage_table_gone(store):
    for one in store.glob("*.sst"):
        one.unlink()


def damage_directory(store):
    shutil.rmtree(store)


def rows_are_rebuilt(damage, stop, shards=1):
    server = Server(**ROWS, **{"server.shards": shards})
    store = pathlib.Path(server.config["data.path"], "deliveries")
    try:
        server.start()
        fill_rows(server)
        equal(doctor_of_stopped(server, stop)[0], 0, "healthy before")
        compact(server)
        code, found = doctor(server)
        equal(code, 0, f"healthy before: {found}")
        said = [f["what"] for f in found["findings"] if f["where"] == str(store)]
        check("orders/g: 30 in flight, 10 settled past the frontier, 6 dead letters, on 2 partitions" in said,
              f"the rows are counted: {said}")

        damage(store)
        server.start(expect_failure=True)
        text = server.tail(30)
        check("doctor --repair" in text, f"{damage.__name__}: it says what to do: {text}")
        code, found = doctor(server)
        damaged = [f for f in found["findings"] if f["level"] == "damage"]
        equal((code, [f["where"] for f in damaged]), (1, [str(store)]), f"{damage.__name__}: {damaged}")
        check("doctor --repair" in damaged[0]["remedy"], f"{damaged}")

        code, plan = doctor(server, "--repair", "--dry-run")
        equal((code, plan["done"], [s["where"] for s in plan["steps"]]), (0, False, [str(store)]), f"{plan}")
        check("6 dead letters stay dead" in plan["steps"][0]["what"], f"{plan}")
        code, done = doctor(server, "--repair", "--confirm", "--backup", str(server.directory / "kept"))
        equal((code, done["done"]), (0, True), f"{done}")
        if damage is not damage_directory:
            check((server.directory / "kept" / "deliveries" / "CURRENT").exists(), "the damaged one is kept")
        equal(doctor(server)[0], 0, f"{damage.__name__}: healthy again")

        server.start()
        lag = server.lag("orders", "g", audit="true")
        check(lag["audit"]["equal"], f"the audit: {lag}")
        equal({p: lag["partitions"][p]["frontier"] for p in ("0", "1")}, {"0": 9, "1": 9}, "the frontiers")
        page = server.admin.get("/admin/dlq/browse", topic="orders").json()
        dead = sorted((one["origin"]["partition"], one["origin"]["offset"]) for one in page["items"])
        equal(dead, [(p, n) for p in (0, 1) for n in (5, 20, 21)], "each dead letter once")
        equal({one["state"] for one in page["items"]}, {"dead"}, "what was redriven is dead again, as told")
        got = take_and_ack(server, "c1", 2 * 28)
        equal({d["attempt"] for d in got}, {1}, "first attempts")
        equal(sorted((d["partition"], d["offset"]) for d in got),
              [(p, n) for p in (0, 1) for n in range(10, 40) if n not in (20, 21)],
              "all that was not settled up to the frontier, and no dead one")
        equal(server.change("/admin/dlq/redrive", {"topic": "orders", "group": "g"}).json()["started"], 6, "redrive")
        equal(len(take(server, "c1", 6)), 6, "the redriven ones")
        server.kill()
        server.start()
        lag = server.lag("orders", "g", audit="true")
        check(lag["audit"]["equal"] and lag["pending"] == 0, f"after a kill: {lag}")
        equal(server.terminate(), 0, "exit code")
        equal(doctor(server)[0], 0, "still healthy")
    finally:
        server.close()


def positions(server):
    lag = server.lag("orders", "g")
    return {p: {what: part[what] for what in ("frontier", "pending", "settledAhead", "inFlight", "highWatermark")}
            for p, part in lag["partitions"].items()}


def doctor_of_stopped(server, stop):
    getattr(server, stop)()
    return doctor(server)


def test_a_flipped_bit_in_the_delivery_store_is_found_and_the_store_is_made_again():
    rows_are_rebuilt(damage_flip, "terminate")


def test_a_delivery_store_without_its_manifest_is_made_again_after_a_kill():
    rows_are_rebuilt(damage_manifest, "kill", shards=3)


def test_a_delivery_store_without_a_table_is_made_again():
    rows_are_rebuilt(damage_table_gone, "kill")


def test_a_delivery_store_that_is_gone_is_made_again():
    rows_are_rebuilt(damage_directory, "terminate", shards=2)


def test_a_delivery_store_that_is_not_used_any_more_is_taken_away_when_it_is_damaged():
    with Server(**ROWS) as server:
        fill_rows(server)
        equal(server.terminate(), 0, "exit code")
        server.config = {key: value for key, value in server.config.items() if key != "delivery.store"}
        server.start()
        before = positions(server)
        equal(server.terminate(), 0, "exit code")
        damage_manifest(pathlib.Path(server.config["data.path"], "deliveries"))
        equal(doctor(server)[0], 1, "the doctor sees it")
        code, done = doctor(server, "--repair", "--confirm")
        equal((code, done["steps"][0]["lost"]), (0, 0), f"{done}")
        server.start()
        equal(positions(server), before, "nothing was lost")


main()
