#!/usr/bin/env python3
"""Deliveries as rows of RocksDB (`delivery.store: rocksdb`): restarts, kills, and the way there and back. time box: 300 s

What holds for the journal holds here: the restart cases of upstream_test.py and kills with the history checker are run
again with the other store. Then the store is changed between starts, with deliveries in flight, and so are the shards.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from lib.ackline import Server, check, equal, event, main, redelivered, wait_for

HERE = pathlib.Path(__file__).resolve().parent
ROWS = {"delivery.store": "rocksdb"}


def run_again(script, *arguments, more="", behind=False):
    """A script of this directory, with servers that keep rows."""
    result = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False,
                            env={**os.environ, "TEST_SERVER_CONFIG": "delivery.store=rocksdb" + more,
                                 "TEST_WRITES_BEHIND": "1" if behind else "0"})
    said = f"{result.stdout[-3000:]}\n{result.stderr[-2000:]}"
    check(result.returncode == 0, f"{script}: exit code {result.returncode}\n{said}")
    return result.stdout


RESTARTS = [name for name in (HERE / "upstream_test.py").read_text().replace("(", " ").split() if name.startswith("test_")]
AT_ONCE = "test_upstream_5379_what_was_in_flight_is_delivered_again_with_its_attempt_never_acked_by_recovery"


def test_upstreams_restart_cases_hold_with_rows_too():
    # All but the one that kills right after an offer: with a cache that offer is forgotten.
    check(AT_ONCE in RESTARTS, f"{AT_ONCE} is not among {RESTARTS}")
    text = run_again("upstream_test.py", *(name for name in RESTARTS if name != AT_ONCE))
    equal(text.splitlines()[-1], f"{len(RESTARTS) - 1} passed, 0 failed", text)


def test_upstreams_restart_cases_hold_when_nothing_is_cached():
    text = run_again("upstream_test.py", more=",delivery.cache.entries=0")
    equal(text.splitlines()[-1], f"{len(RESTARTS)} passed, 0 failed", text)


def test_what_was_in_flight_for_longer_than_a_flush_comes_back_with_id_and_attempt():
    with Server(**ROWS) as server:
        # One group's leases last through the kill and the start, the other's end.
        server.subscribe("long", "t", group="long", ackTimeoutMs=600_000)
        server.subscribe("short", "t", group="short", ackTimeoutMs=6000, backoffMs=[50])
        server.publish("t", [event(i) for i in range(5)], partition=0)
        first = {client: server.poll(client, max=5) for client in ("long", "short")}
        for client, got in first.items():
            equal([one["attempt"] for one in got], [1] * 5, f"attempts at {client}")
        time.sleep(3)  # a flush comes after 100 ms
        server.kill()
        server.start()
        equal(held(server, group="long"), 5, "in flight after the restart")
        equal(redelivered(server, "short", "t", "short", 5), {n: 2 for n in range(5)}, "attempts")
        answer = server.settle("ack", "long", [one["deliveryId"] for one in first["long"]])
        equal(answer.json()["acked"], 5, f"the ids of before the kill: {answer}")


def test_kills_at_any_moment_lose_no_event_and_no_answered_ack():
    text = run_again("kill_test.py", "--lane", "one", "--cycles", "25", "--seed", "7", behind=True)
    check("25 kills" in text, text)


def test_kills_over_four_shards_with_resets_and_deleted_topics():
    text = run_again("kill_test.py", "--lane", "four", "--cycles", "20", "--seed", "8", behind=True)
    check("20 kills" in text, text)


def test_kills_with_a_cache_of_ten_rows():
    text = run_again("kill_test.py", "--lane", "one", "--cycles", "10", "--seed", "9", behind=True,
                     more=",delivery.cache.entries=10")
    check("10 kills" in text, text)


def test_kills_without_a_cache_lose_no_offer_either():
    text = run_again("kill_test.py", "--lane", "one", "--cycles", "25", "--seed", "10", more=",delivery.cache.entries=0")
    check("25 kills" in text, text)


def held(server, topic="t", group="g"):
    return server.lag(topic, group)["partitions"]["0"]["inFlight"]


def fill(server):
    """Eight events: 0 to 2 acked, 5 rejected, 6 acked past a hole; 3, 4, 7 leased."""
    server.subscribe("c", "t", group="g", ackTimeoutMs=60_000)
    server.publish("t", [event(i) for i in range(8)], partition=0)
    ids = {}
    wait_for(lambda: ids.update({one["offset"]: one["deliveryId"] for one in server.poll("c", timeout_ms=200)})
             or len(ids) == 8, what="eight deliveries")
    equal(server.settle("ack", "c", [ids[0], ids[1], ids[2], ids[6]]).status, 200, "ack")
    equal(server.settle("reject", "c", ids[5], reason="no").status, 200, "reject")
    return ids


def look(server, ids, attempt):
    lag = server.lag("t", "g")["partitions"]["0"]
    equal((lag["frontier"], lag["inFlight"]), (2, 3), "frontier and in flight")
    page = server.admin.get("/admin/dlq/browse", topic="t").json()
    equal((page["total"], page["items"][0]["event"]["id"]), (1, "5"), "the dead letter")
    # The ids of before still settle: what is in flight stays in flight.
    answer = server.settle("extend", "c", ids[7], extendMs=60_000)
    equal(answer.status, 200, f"an id of attempt {attempt}: {answer}")


def finish(server, ids):
    equal(server.settle("ack", "c", [ids[3], ids[4], ids[7]]).status, 200, "ack")
    server.publish("t", [event(i) for i in (8, 9)], partition=0)
    got = []
    wait_for(lambda: got.extend(server.poll("c", timeout_ms=200)) or len(got) == 2, what="two more")
    equal(sorted(one["offset"] for one in got), [8, 9], "the rest")
    server.settle("ack", "c", [one["deliveryId"] for one in got])
    lag = server.lag("t", "g")
    equal((lag["lag"], lag["pending"]), (0, 0), "all done")


def change_store(first, then, stop):
    with Server(**first) as server:
        ids = fill(server)
        for config in (then, first, then):
            getattr(server, stop)()
            server.config = {**{key: value for key, value in server.config.items() if key not in ROWS}, **config}
            server.start()
            look(server, ids, 1)
        finish(server, ids)
        server.kill()
        server.start()
        equal(server.lag("t", "g")["pending"], 0, "pending after a kill")


def test_a_change_of_the_store_and_back_keeps_what_is_in_flight():
    change_store({}, ROWS, "terminate")


def test_a_change_of_the_store_after_a_kill_keeps_it_too():
    change_store(ROWS, {}, "kill")


def test_the_number_of_shards_may_change_with_rows_and_change_back():
    with Server(**ROWS, **{"server.shards": 3}) as server:
        ids = fill(server)
        for shards in (1, 4, 4, 3, 1, 3):
            server.kill()
            server.config = {**server.config, "server.shards": shards}
            server.start()
            look(server, ids, 1)
        finish(server, ids)


def test_store_and_number_of_shards_may_change_at_once():
    with Server(**{"server.shards": 3}) as server:
        ids = fill(server)
        for shards, config in ((1, ROWS), (2, {}), (3, ROWS)):
            server.kill()
            server.config = {**{key: value for key, value in server.config.items() if key not in ROWS}, **config,
                             "server.shards": shards}
            server.start()
            look(server, ids, 1)
        finish(server, ids)


def test_invariant_15_a_wait_goes_on_with_the_time_it_had_left():
    with Server(**ROWS) as server:
        server.subscribe("c", "t", group="g", backoffMs=[9000], ackTimeoutMs=60_000)
        server.publish("t", event("x"), partition=0)
        one = server.poll("c")[0]
        equal(server.settle("nack", "c", one["deliveryId"], delayMs=8000).status, 200, "nack")
        server.kill()
        server.start()
        equal(server.poll("c", timeout_ms=500), [], "not yet")
        got = server.poll("c", timeout_ms=30_000)
        equal([(one["attempt"], one["event"]["id"]) for one in got], [(2, "x")], "then again")


def test_a_data_directory_whose_rows_are_gone_is_refused_with_what_to_do():
    with Server(**ROWS) as server:
        fill(server)
        server.terminate()
        shutil.rmtree(server.directory / "data" / "deliveries")
        server.start(expect_failure=True)
        text = server.tail(30)
        check("delivery store" in text and "backup" in text, text)


def test_a_log_start_that_moved_is_known_after_a_kill():
    # In the journal, or the start misses the file that went and quarantines the partition.
    with Server(**ROWS, **{"drain.timeout": "100ms"}) as server:
        ids = fill(server)
        equal(server.terminate(), 0, "a stop, with a checkpoint that has the dead letter's segment")
        server.start()
        segments = lambda: list((server.directory / "data" / "log").glob("2/*.log"))
        check(segments(), "the segment of the dead letters")
        equal(server.change("/admin/dlq/purge", {"topic": "t", "confirm": True}).json()["purged"], 1, "purged")
        wait_for(lambda: not segments(), what="the segment is removed")
        server.kill()
        server.start()
        check("quarantin" not in server.tail(20), server.tail(20))
        equal(server.settle("reject", "c", ids[7], reason="no").status, 200, "reject")
        page = server.admin.get("/admin/dlq/browse", topic="t").json()
        equal([one["origin"]["offset"] for one in page["items"]], [7], "the new dead letter")


def test_rows_of_a_deleted_topic_do_not_come_back():
    with Server(**ROWS) as server:
        fill(server)
        answer = server.change("/admin/topics/t?confirm=true&force=true", None, "DELETE")
        equal(answer.status, 200, f"delete: {answer}")
        server.kill()
        server.start()
        server.subscribe("c", "t", group="g")
        server.publish("t", event("new"), partition=0)
        wait_for(lambda: [one["event"]["id"] for one in server.poll("c", timeout_ms=500)] == ["new"], what="the event")
        equal(held(server), 1, "in flight")


if __name__ == "__main__":
    sys.exit(main())
