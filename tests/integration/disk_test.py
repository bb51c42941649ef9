#!/usr/bin/env python3
"""A full disk on a small tmpfs, a torn and a damaged journal, a damaged segment. time box: 180 s"""
import os
import pathlib
import subprocess

from lib.ackline import Server, check, doctor, equal, event, main, tmpfs, wait_for


def test_a_full_disk_refuses_publishes_keeps_acks_going_and_recovers_by_itself():
    with tmpfs(192) as directory:
        server = Server(directory=str(directory), disk__reserve="24MiB", storage__local__checkpointInterval="500ms",
                        storage__local__checkpointBytes="8MiB", storage__local__segmentBytes="4MiB")
        try:
            server.start()
            server.subscribe("c1", "orders", group="g", ackTimeoutMs=60000, maxInFlight=1000)
            accepted, answer = 0, None
            for number in range(4000):
                batch = [event(f"{number}-{i}", data="x" * 4000) for i in range(20)]
                answer = server.publish("orders", batch)
                if answer.status != 202:
                    break
                accepted += answer.json()["accepted"]
            equal(answer.status, 507, f"the disk became full: {answer}")
            equal(answer.json()["error"], "full", "the word")
            check(answer.json()["remedy"], "a remedy")
            check(server.admin.get("/readyz").status == 503, "readyz says that it is full")
            got = server.poll("c1", max=100)
            check(len(got) > 0, "deliveries go on")
            answer = server.settle("ack", "c1", [one["deliveryId"] for one in got])
            equal(answer.json()["acked"], len(got), f"acks go on: {answer}")
            # Kill it while it is full: it comes back, and with everything.
            server.kill()
            server.start()
            lag = server.lag("orders", "g")
            equal(lag["pending"], accepted - len(got), "pending after a kill with a full disk")
            # Space comes back: a purge of another file on the same disk.
            subprocess.run(["mount", "-o", "remount,size=320m", str(directory)], check=True)
            wait_for(lambda: server.publish("orders", event("after")).status == 202, 30, "publishing again")
            wait_for(lambda: server.admin.get("/readyz").status == 200, 30, "ready again")
        finally:
            server.close()


def journal_files(server):
    return sorted((pathlib.Path(server.config["data.path"]) / "journal").rglob("*.journal"),
                  key=lambda p: p.stat().st_mtime) or sorted(
        p for p in (pathlib.Path(server.config["data.path"]) / "journal").rglob("*")
        if p.is_file() and "MANIFEST" not in p.name and "checkpoint" not in p.name)


def used_end(path):
    data = path.read_bytes()
    end = len(data)
    while end > 0 and data[end - 1] == 0:
        end -= 1
    return end


def test_a_torn_journal_tail_is_cut_and_everything_before_it_is_there():
    server = Server(storage__local__checkpointInterval="1h")
    try:
        server.start()
        server.subscribe("c1", "orders", group="g")
        for number in range(50):
            equal(server.publish("orders", event(number), partition=0).status, 202, "publish")
        server.kill()
        path = max(journal_files(server), key=lambda p: (used_end(p), p.name))
        end = used_end(path)
        with open(path, "r+b") as file:
            file.seek(end)
            file.write(os.urandom(300))  # what a torn write leaves behind
        server.start()
        lag = server.lag("orders", "g")
        equal(lag["partitions"]["0"]["highWatermark"], 49, "everything accepted is there")
    finally:
        server.close()


def test_a_damaged_journal_quarantines_what_it_names_and_the_others_go_on():
    server = Server(storage__local__checkpointInterval="1h")
    try:
        server.start()
        server.change("/admin/topics", {"name": "a", "partitions": 1})
        server.change("/admin/topics", {"name": "b", "partitions": 1})
        for number in range(40):
            equal(server.publish("a", event(number, data="A" * 2000)).status, 202, "publish")
        for number in range(40):
            equal(server.publish("b", event(number, data="B" * 2000)).status, 202, "publish")
        server.kill()
        hit = False
        for path in journal_files(server):
            data = bytearray(path.read_bytes())
            at = data.find(b"A" * 2000)
            if at < 0:
                continue
            at = data.find(b"A" * 2000, at + 20000) if data.find(b"A" * 2000, at + 20000) > 0 else at
            data[at + 100] ^= 0xFF
            path.write_bytes(bytes(data))
            hit = True
            break
        check(hit, "no journal file holds the events")
        server.start()
        answer = server.publish("a", event(99))
        equal((answer.status, answer.json()["error"]), (503, "quarantined"), f"the damaged one: {answer}")
        check("doctor" in answer.json()["remedy"], f"the remedy: {answer}")
        equal(server.publish("b", event(99)).status, 202, "the other one goes on")
        told = server.admin.get("/admin/topics/a").json()["offsets"]["0"]
        equal(told, {"logStart": None, "highWatermark": None, "state": "quarantined"}, "invariant 8: unknown is null, not 0")
        server.kill()
        code, found = doctor(server)
        equal(code, 1, f"doctor finds it: {found}")
    finally:
        server.close()


def test_a_flipped_bit_in_a_sealed_segment_is_found_and_only_its_partition_stops():
    server = Server(storage__local__segmentBytes="1MiB", storage__local__checkpointInterval="300ms")
    try:
        server.start()
        server.change("/admin/topics", {"name": "a", "partitions": 2})
        for number in range(300):
            for partition in (0, 1):
                equal(server.publish("a", event(number, data="S" * 8000), partition=partition).status, 202, "publish")
        equal(server.terminate(), 0, "clean stop")
        segments = sorted((pathlib.Path(server.config["data.path"]) / "log").rglob("*.log"))
        victim = next(p for p in segments if p.stat().st_size > 900_000 and p.name.startswith("0" * 20))
        data = bytearray(victim.read_bytes())
        data[500_000] ^= 0x10
        victim.write_bytes(bytes(data))
        server.start()
        bad = good = 0
        for partition in (0, 1):
            answer = server.admin.get("/admin/events", topic="a", partition=partition, limit=1000)
            if answer.status == 200 and answer.json()["end"]:
                good += 1
            elif answer.status == 503 and answer.json()["error"] == "quarantined":
                bad += 1
        equal((bad, good), (1, 1), "one partition is quarantined, the other reads to its end")
        server.kill()
        code, found = doctor(server)
        equal(code, 1, f"doctor finds it: {found}")
        check(victim.name in str(found), f"doctor names the file: {found}")
    finally:
        server.close()


if __name__ == "__main__":
    main()
