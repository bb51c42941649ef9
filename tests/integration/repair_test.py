#!/usr/bin/env python3
"""Damage, repair, start, audit: nothing is lost beyond what the repair said. time box: 180 s"""
import hashlib
import json
import pathlib
import subprocess

from lib.ackline import BINARY, Server, check, equal, event, main

EVENTS = 240


def doctor(server, *words):
    done = subprocess.run([BINARY, "doctor", "--data", server.config["data.path"], "--output", "json", *words],
                          capture_output=True, text=True, cwd=server.directory)
    check(done.stdout, f"doctor {words}: {done.returncode} {done.stderr}")
    return done.returncode, json.loads(done.stdout)


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
            while batch := server.poll("c1", max=1000, timeout_ms=1500):
                server.settle("ack", "c1", [d["deliveryId"] for d in batch])
                for d in batch:
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


main()
