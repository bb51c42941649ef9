#!/usr/bin/env python3
"""Replay by filter: a lane over chosen events, over HTTP, over kill -9, and under reset and delete. time box: 180 s"""
import json
import subprocess
import time

from lib.ackline import BINARY, Server, check, equal, event, main, take, wait_for

PAID = {"exact": {"type": "paid"}}


def fill(server, count=40, topic="orders"):
    """Every fourth event is `paid`; all are acked by the group `billing`."""
    for n in range(count):
        server.publish(topic, event(n, type="paid" if n % 4 == 0 else "made"))
    server.subscribe("c1", topic, group="billing", ackTimeoutMs=60000, maxAttempts=2, backoffMs=[0])
    done = 0
    while done < count:
        got = server.poll("c1")
        check(got, f"only {done} of {count} were delivered")
        server.settle("ack", "c1", [d["deliveryId"] for d in got])
        done += len(got)


def replay(server, **more):
    body = {"topic": "orders", "group": "billing", **more}
    return server.change("/admin/replay", body)


def progress(server):
    lag = server.lag("orders", "billing", audit="true")
    check(lag["audit"]["equal"], f"the audit: {lag}")
    return {p: (one["frontier"], one["lag"], one["pending"]) for p, one in lag["partitions"].items()}


def lane(server, lane_id):
    return server.admin.get(f"/admin/lanes/{lane_id}").json()


def test_the_chosen_events_come_again_and_no_frontier_moves():
    with Server() as server:
        fill(server)
        before = progress(server)
        dry = replay(server, filter=PAID, dryRun=True).json()
        equal((dry["events"], dry["laneId"], dry["auditId"]), (10, None, None), "dry run")
        equal(server.poll("c1", timeout_ms=200), [], "a dry run delivers nothing")
        started = replay(server, filter=PAID).json()
        equal(started["events"], 10, "events")
        check(started["auditId"], started)
        for one in started["partitions"].values():
            equal(one["frontierBefore"], one["frontierAfter"], "the frontier")
        got = take(server, "c1", 10)
        equal(sorted(int(d["event"]["id"]) for d in got), list(range(0, 40, 4)), "events")
        for d in got:
            equal(d["lane"], {"laneId": started["laneId"], "kind": "replay", "entry": None}, "lane")
            equal((d["attempt"], d["event"]["type"]), (1, "paid"), "attempt from 1")
        equal(progress(server), before, "progress while it runs")
        again = replay(server, filter=PAID).json()
        equal((again["events"], again["laneId"], again["leftOut"]), (0, None, 10), "what is under way is not taken twice")
        server.settle("ack", "c1", [d["deliveryId"] for d in got])
        wait_for(lambda: lane(server, started["laneId"])["state"] == "done", what="the lane's end")
        state = lane(server, started["laneId"])
        equal((state["kind"], state["started"], state["resolved"], state["filter"]),
              ("replay", 10, 10, PAID), "the lane")
        equal(progress(server), before, "progress afterwards")
        equal(replay(server, filter=PAID, dryRun=True).json()["events"], 10, "it can be asked again")


def test_ranges_partitions_and_what_is_not_settled():
    with Server() as server:
        for n in range(12):
            server.publish("orders", event(n), partition=1)
        server.subscribe("c1", "orders", group="billing", ackTimeoutMs=60000)
        got = take(server, "c1", 12)
        server.settle("ack", "c1", [d["deliveryId"] for d in got if d["offset"] != 5])
        answer = replay(server, **{"from": {"offset": 3}, "until": {"offset": 8}, "partitions": [1]}).json()
        equal(answer["partitions"], {"1": {"frontierBefore": 4, "frontierAfter": 4, "events": 4, "first": 3, "last": 7}},
              "3, 4, 6 and 7: 5 is still in flight")
        equal(sorted(d["offset"] for d in take(server, "c1", 4)), [3, 4, 6, 7], "delivered")
        bad = replay(server, filter=PAID, partitions=[99])
        equal((bad.status, bad.json()["error"]), (400, "bad_value"), "a partition that is not there")


def test_a_kill_in_the_middle_neither_loses_nor_moves_anything():
    with Server() as server:
        fill(server, 400)
        before = progress(server)
        started = replay(server, filter=PAID).json()
        equal(started["events"], 100, "events")
        acked = set()
        for life in range(3):
            got = server.poll("c1", max=15)
            check(got, f"life {life}: nothing came")
            server.settle("ack", "c1", [d["deliveryId"] for d in got])
            acked.update(int(d["event"]["id"]) for d in got)
            held = server.poll("c1", max=5)
            server.kill()
            server.start()
            # What was held when it was killed is still this client's, with the same ids.
            for answer in server.settle("ack", "c1", [d["deliveryId"] for d in held]).json().get("results", []):
                equal(answer["status"], "acked", "an id over the kill")
            acked.update(int(d["event"]["id"]) for d in held)
            equal(lane(server, started["laneId"])["resolved"], len(acked), f"life {life}: resolved")
        while len(acked) < 100:
            got = server.poll("c1")
            check(got, f"stuck at {len(acked)}: {lane(server, started['laneId'])}")
            for d in got:
                check(int(d["event"]["id"]) not in acked, f"{d['event']['id']} came again")
            server.settle("ack", "c1", [d["deliveryId"] for d in got])
            acked.update(int(d["event"]["id"]) for d in got)
        equal(acked, set(range(0, 400, 4)), "all of them, and no others")
        wait_for(lambda: lane(server, started["laneId"])["state"] == "done", what="the lane's end")
        equal(progress(server), before, "progress")


def test_a_replay_that_fails_makes_a_dead_letter_that_can_be_redriven():
    with Server() as server:
        fill(server, 8)
        before = progress(server)
        started = replay(server, filter=PAID).json()
        first, second = take(server, "c1", 2)
        server.settle("reject", "c1", [first["deliveryId"]], reason="no good")
        server.settle("nack", "c1", [second["deliveryId"]], delayMs=0)
        second = take(server, "c1", 1)[0]
        server.settle("nack", "c1", [second["deliveryId"]], delayMs=0)
        wait_for(lambda: lane(server, started["laneId"])["state"] == "done", what="the lane's end")
        equal(lane(server, started["laneId"])["deadAgain"], 2, "dead again")
        server.kill()
        server.start()
        dead = server.admin.get("/admin/dlq/browse", topic="orders").json()["items"]
        equal(sorted((d["reason"], d["group"], d["state"]) for d in dead),
              [("max_attempts", "billing", "dead"), ("rejected", "billing", "dead")], "dead letters")
        equal(progress(server), before, "they were terminal and stay so")
        redriven = server.change("/admin/dlq/redrive", {"topic": "orders", "group": "billing"}).json()
        equal(redriven["started"], 2, "redrive")
        got = take(server, "c1", 2)
        equal({d["lane"]["kind"] for d in got}, {"redrive"}, "kind")
        server.settle("ack", "c1", [d["deliveryId"] for d in got])


def test_a_reset_over_it_a_delete_of_it_and_of_its_group_end_it():
    with Server() as server:
        fill(server)
        started = replay(server, filter=PAID).json()
        held = take(server, "c1", 10)
        server.change("/admin/reset", {"topic": "orders", "group": "billing", "to": "earliest", "confirm": True})
        answer = server.settle("ack", "c1", held[0]["deliveryId"])
        equal((answer.status, answer.json()["error"]), (409, "stale"), "an id of a lane that a reset ended")
        wait_for(lambda: lane(server, started["laneId"])["state"] == "done", what="the lane's end")
        got = take(server, "c1", 40)
        equal(len({d["event"]["id"] for d in got}), 40, "all are open again")
        server.settle("ack", "c1", [d["deliveryId"] for d in got])

        started = replay(server, filter=PAID, ratePerSecond=1).json()
        equal(server.change(f"/admin/lanes/{started['laneId']}?confirm=true", "", "DELETE").status, 200, "delete")
        equal(server.admin.get(f"/admin/lanes/{started['laneId']}").status, 404, "it is gone")
        server.kill()
        server.start()
        equal(replay(server, filter=PAID, dryRun=True).json()["events"], 10, "nothing of it is under way")

        started = replay(server, filter=PAID).json()
        equal(server.change("/admin/groups/orders/billing?confirm=true&force=true", "", "DELETE").status, 200, "group")
        equal(server.admin.get(f"/admin/lanes/{started['laneId']}").status, 404, "the lane went along")


def test_the_rate_is_that_of_the_lane_over_all_partitions():
    with Server() as server:
        fill(server, 160)
        begun = time.monotonic()
        started = replay(server, filter=PAID, ratePerSecond=20).json()
        equal(started["events"], 40, "events")
        got = take(server, "c1", 40)
        seconds = time.monotonic() - begun
        equal(len(got), 40, "delivered")
        # Four partitions begin with one token each; the other 36 need 1.8 s at 20 a second.
        check(seconds > 1.6, f"40 events at 20 a second took {seconds:.2f} s")
        server.settle("ack", "c1", [d["deliveryId"] for d in got])


def test_the_command_line_replays_by_filter_and_watches_the_lane():
    with Server() as server:
        fill(server)
        common = ["--server", f"http://{server.http_address}", "--admin", f"http://{server.admin_address}",
                  "--data", server.config["data.path"], "--output", "json"]

        def ackline(*words):
            done = subprocess.run([BINARY, *words, *common], capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), " ".join(words))
            return json.loads(done.stdout)

        dry = ackline("replay", "-t", "orders", "-g", "billing", "--filter", json.dumps(PAID), "--dry-run")
        equal(dry["events"], 10, "dry run")
        lane_id = ackline("replay", "-t", "orders", "-g", "billing", "--filter", json.dumps(PAID))["laneId"]
        equal(ackline("lane", "show", lane_id)["started"], 10, "lane show")
        equal([one["laneId"] for one in ackline("lane", "list", "-t", "orders")["items"]], [lane_id], "lane list")
        ackline("lane", "end", lane_id, "--confirm")
        equal(ackline("lane", "list")["items"], [], "lane end")


main()
