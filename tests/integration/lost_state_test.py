#!/usr/bin/env python3
"""Starts that find less than there was: no manifest, an older delivery store, no files of a partition."""
import pathlib
import shutil
import subprocess

from lib.ackline import BINARY, Server, check, equal, event, main, wait_for


def data(server, *parts):
    return pathlib.Path(server.config["data.path"]).joinpath(*parts)


def test_a_lost_manifest_is_refused_and_the_checkpoint_stays():
    server = Server(topic__partitions=1)
    try:
        for start in range(2):  # the journal of the second start does not have everything any more
            server.start()
            server.publish("orders", [event(start * 10 + n) for n in range(10)])
            equal(server.terminate(), 0, "exit code")
        shard = data(server, "journal", "1-0")
        shard.joinpath("MANIFEST").unlink()
        before = sorted(p.name for p in shard.iterdir())
        check(any(name.startswith("checkpoint-") for name in before), before)
        check(server.start(expect_failure=True) != 0, "it started")
        check("MANIFEST is missing" in server.tail(), server.tail())
        equal(sorted(p.name for p in shard.iterdir()), before, "files")
        doctor = subprocess.run([BINARY, "doctor", "--data", str(data(server))], capture_output=True, text=True)
        check("MANIFEST is missing" in doctor.stdout, doctor.stdout)
        check("no checkpoint yet" not in doctor.stdout, doctor.stdout)
    finally:
        server.close()


def test_progress_of_an_older_delivery_store_goes_on_from_what_was_exported():
    server = Server(topic__partitions=1, delivery__store="rocksdb", storage__local__checkpointInterval="1h")
    try:
        server.start()
        server.subscribe("c", "orders", group="g")
        server.publish("orders", [event(n) for n in range(60)])
        server.settle("ack", "c", [d["deliveryId"] for d in server.poll("c", max=10)])
        server.lag("orders", "g")
        server.kill()
        shutil.copytree(data(server, "deliveries"), server.directory / "old")
        server.start()
        done = server.poll("c", max=30)
        server.settle("ack", "c", [d["deliveryId"] for d in done])
        frontier = server.lag("orders", "g")["partitions"]["0"]["frontier"]
        equal(frontier, 39, "frontier")
        wait_for(lambda: server.exported("orders", "g") == frontier, what="the export")
        server.kill()
        shutil.rmtree(data(server, "deliveries"))
        shutil.copytree(server.directory / "old", data(server, "deliveries"))
        server.start()
        equal(server.lag("orders", "g")["partitions"]["0"]["frontier"], frontier, "frontier of the start")
        again = [d["offset"] for d in server.poll("c", max=100)]
        check(again and min(again) > frontier, f"delivered again: {again}")
        check("progress of a group was lost" in server.log.read_text(), "nothing is said of it")
    finally:
        server.close()


def test_what_is_not_known_of_a_partition_is_null_everywhere():
    server = Server(topic__partitions=2)
    try:
        server.start()
        server.subscribe("c", "orders", group="g")
        for partition in (0, 1):
            server.publish("orders", [event(n) for n in range(5)], partition=partition)
        server.settle("reject", "c", [d["deliveryId"] for d in server.poll("c", max=10)][:9])
        equal(server.terminate(), 0, "exit code")
        logs = [(int(p.parent.name), p) for p in data(server, "log").glob("*/*.log") if b"dlqreason" not in p.read_bytes()]
        equal(len(logs), 2, "segments of events")
        max(logs)[1].unlink()
        server.start()
        states = server.admin.get("/admin/topics/orders").json()["offsets"]
        equal([states[p]["state"] for p in "01"], ["ok", "quarantined"], "states")
        equal(states["1"]["highWatermark"], None, "high watermark")
        lag = server.lag("orders", "g", audit="true")
        equal((lag["lag"], lag["audit"]), (None, {"recount": None, "equal": None}), "lag")
        group = server.admin.get("/admin/groups/orders/g").json()
        for name in ("lag", "pending", "inFlight", "waiting", "deadLetters", "gone"):
            equal(group[name], None, name)
        equal(group["generations"], {"0": 1, "1": None}, "generations")
        explain = server.admin.get("/admin/explain", topic="orders", group="g").json()
        equal([explain["partitions"]["1"][n] for n in ("frontier", "lag", "settledBehind", "blocker")],
              [None] * 4, "explain")
        equal(explain["sentence"].count("quarantined"), 1, explain["sentence"])
        for path, more, items in (("/admin/events", {"topic": "orders"}, 5),
                                  ("/admin/holes", {"topic": "orders", "group": "g"}, None),
                                  ("/admin/dlq/browse", {"topic": "orders"}, None)):
            answer = server.admin.get(path, **more)
            equal((answer.status, answer.json()["quarantined"]), (200, [1]), path)
            equal(answer.json().get("total"), None, f"total of {path}")
            if items is not None:
                equal(len(answer.json()["items"]), items, f"items of {path}")
            if "dlq" not in path:
                named = server.admin.get(path, partition=1, **more)
                equal((named.status, named.json()["error"]), (503, "quarantined"), path)
        metrics = server.admin.get("/metrics").body
        text = metrics.decode() if isinstance(metrics, bytes) else metrics
        for name in ("ackline_group_lag_events{", "ackline_group_oldest_pending_seconds{"):
            check(name not in text, f"{name} is shown")
    finally:
        server.close()


main()
