#!/usr/bin/env python3
"""What went wrong upstream, as its users saw it, against a real server. time box: 180 s"""
import pathlib

from lib.ackline import Server, check, equal, event, main, redelivered, wait_for


def test_upstream_5289_a_slow_groups_replay_never_drags_a_fast_groups_progress_down():
    with Server() as server:
        server.subscribe("fast", "t", group="fast")
        server.subscribe("slow", "t", group="slow")
        server.publish("t", [event(i) for i in range(100)], partition=0)
        got = server.poll("fast", max=100)
        server.settle("ack", "fast", [one["deliveryId"] for one in got])
        slow = server.poll("slow", max=10)
        server.settle("ack", "slow", [one["deliveryId"] for one in slow])
        answer = server.change("/admin/replay", {"topic": "t", "group": "slow", "from": {"offset": 3}, "partitions": [0]})
        equal(answer.status, 200, f"replay: {answer}")
        equal(server.lag("t", "slow")["partitions"]["0"]["frontier"], 2, "the slow group's frontier")
        equal(server.lag("t", "fast")["partitions"]["0"]["frontier"], 99, "the fast group's frontier")
        wait_for(lambda: server.exported("t", "fast") == 99 and server.exported("t", "slow") == 2, what="the exports")
        server.kill()
        server.start()
        equal(server.lag("t", "fast")["partitions"]["0"]["frontier"], 99, "after a kill")
        equal(server.lag("t", "slow")["partitions"]["0"]["frontier"], 2, "after a kill")
        equal(server.poll("fast", timeout_ms=200), [], "nothing comes again to the fast group")
        equal(server.exported("t", "fast"), 99, "the exported frontier")


def test_upstream_5290_a_delivery_is_not_retired_before_its_ack_is_durable():
    with Server() as server:
        server.subscribe("c", "t", group="g", ackTimeoutMs=60000)
        server.publish("t", [event(i) for i in range(20)], partition=0)
        got = server.poll("c", max=20)
        acked = [one["deliveryId"] for one in got[:10]]
        equal(server.settle("ack", "c", acked).json()["acked"], 10, "acks")
        server.kill()
        server.start()
        lag = server.lag("t", "g")["partitions"]["0"]
        equal((lag["frontier"], lag["inFlight"]), (9, 10), "ten are settled, ten are in flight")


def test_upstream_5291_an_ack_of_before_never_counts_for_another_delivery():
    with Server() as server:
        server.subscribe("c", "t", group="g", ackTimeoutMs=300, backoffMs=[10])
        server.publish("t", event("a"), partition=0)
        first = server.poll("c")[0]
        server.subscribe("c", "t", group="g", ackTimeoutMs=60000)  # the second lease is not to end
        second = wait_for(lambda: server.poll("c", timeout_ms=500), what="the second attempt")[0]
        check(first["deliveryId"] != second["deliveryId"], "a fresh id for each offer")
        answer = server.settle("ack", "c", first["deliveryId"])
        equal((answer.status, answer.json()["error"]), (409, "stale"), f"the old id: {answer}")
        equal(server.settle("ack", "c", second["deliveryId"]).status, 200, "the new id")
        server.kill()
        server.start()
        server.publish("t", event("b"), partition=0)
        third = server.poll("c")[0]
        for old in (first, second):
            check(old["deliveryId"] != third["deliveryId"], "no id is given twice")
            server.settle("ack", "c", old["deliveryId"])
        equal(server.lag("t", "g")["pending"], 1, "old ids settle nothing new")


def test_upstream_5292_the_dead_letter_is_durable_before_the_delivery_is_retired():
    with Server() as server:
        server.subscribe("c", "t", group="g", maxAttempts=1)
        server.publish("t", event("poison"), partition=0)
        one = server.poll("c")[0]
        equal(server.settle("reject", "c", one["deliveryId"], reason="no").status, 200, "reject")
        server.kill()
        server.start()
        page = server.admin.get("/admin/dlq/browse", topic="t").json()
        equal((page["total"], page["items"][0]["event"]["id"]), (1, "poison"), "the dead letter")
        equal(page["items"][0]["lastError"], "no", "its error")
        equal(server.lag("t", "g")["pending"], 0, "nothing is pending")


def test_upstream_5294_two_broadcast_clients_at_10_and_5_after_a_restart_the_second_gets_6_to_10():
    with Server() as server:
        for client in ("b1", "b2"):
            server.subscribe(client, "t", mode="BROADCASTING", start="earliest")
        server.publish("t", [event(i) for i in range(1, 11)], partition=0)
        got = server.poll("b1", max=10)
        server.settle("ack", "b1", [one["deliveryId"] for one in got])
        got = server.poll("b2", max=5)
        equal([one["event"]["id"] for one in got], ["1", "2", "3", "4", "5"], "the second client's first five")
        server.settle("ack", "b2", [one["deliveryId"] for one in got])
        server.kill()
        server.start()
        equal(server.poll("b1", timeout_ms=200), [], "the first client has them all")
        got = server.poll("b2", max=10)
        equal([one["event"]["id"] for one in got], ["6", "7", "8", "9", "10"], "the second gets 6 to 10")


def test_upstream_5379_what_was_in_flight_is_delivered_again_with_its_attempt_never_acked_by_recovery():
    with Server() as server:
        # One group's leases last through the kill and the start, the other's end.
        server.subscribe("long", "t", group="long", ackTimeoutMs=600_000)
        server.subscribe("short", "t", group="short", ackTimeoutMs=1500, backoffMs=[50])
        server.publish("t", [event(i) for i in range(5)], partition=0)
        first = {client: server.poll(client, max=5) for client in ("long", "short")}
        for client, got in first.items():
            equal([one["attempt"] for one in got], [1] * 5, f"attempts at {client}")
        server.kill()
        server.start()
        equal(server.lag("t", "long")["partitions"]["0"]["inFlight"], 5, "in flight after the restart")
        equal(server.lag("t", "short")["pending"], 5, "pending after the restart")
        equal(redelivered(server, "short", "t", "short", 5), {n: 2 for n in range(5)}, "attempts")
        answer = server.settle("ack", "long", [one["deliveryId"] for one in first["long"]])
        equal(answer.json()["acked"], 5, f"the ids of before the kill: {answer}")
        equal(server.lag("t", "long")["pending"], 0, "pending")


def test_a_topic_deleted_and_made_again_under_a_live_group_begins_anew():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        server.publish("t", [event(i) for i in range(5)], partition=0)
        old = server.poll("c", max=5)
        answer = server.change("/admin/topics/t?confirm=true", None, "DELETE")
        equal((answer.status, answer.json()["error"]), (409, "in_use"), f"without force: {answer}")
        equal(server.change("/admin/topics/t?confirm=true&force=true", None, "DELETE").status, 200, "with force")
        answer = server.settle("ack", "c", old[0]["deliveryId"])
        equal((answer.status, answer.json()["error"]), (409, "stale"), f"an old id: {answer}")
        equal(server.http.get("/events/poll", clientId="c", timeoutMs=0).json()["error"], "client_unknown", "poll")
        server.subscribe("c", "t", group="g")
        server.publish("t", event("new"), partition=0)
        got = server.poll("c")
        equal([(one["event"]["id"], one["offset"], one["attempt"]) for one in got], [("new", 0, 1)], "only the new event")
        server.kill()
        server.start()
        equal(server.lag("t", "g")["partitions"]["0"]["highWatermark"], 0, "the old incarnation is gone")


def test_dead_letters_of_two_generations_are_two_entries():
    with Server() as server:
        server.subscribe("c", "t", group="g", maxAttempts=1)
        server.publish("t", event("poison"), partition=0)
        for _ in range(2):
            one = server.poll("c")[0]
            equal(server.settle("reject", "c", one["deliveryId"], reason="no").status, 200, "reject")
            answer = server.change("/admin/replay", {"topic": "t", "group": "g", "from": "earliest"})
            equal(answer.status, 200, f"replay: {answer}")
        one = server.poll("c")[0]
        equal(server.settle("ack", "c", one["deliveryId"]).status, 200, "ack")
        page = server.admin.get("/admin/dlq/browse", topic="t").json()
        ids = [item["id"] for item in page["items"]]
        equal((page["total"], ids), (2, ["t_DLQ:0:0", "t_DLQ:0:1"]), "both entries")
        answer = server.change("/admin/dlq/redrive", {"topic": "t", "group": "g", "ids": [ids[0]]})
        equal(answer.json()["started"], 1, f"the older one can be redriven: {answer}")
        one = server.poll("c")[0]
        equal((one["event"]["id"], one["lane"]["entry"]), ("poison", ids[0]), "its delivery")
        equal(server.settle("ack", "c", one["deliveryId"]).status, 200, "ack")
        server.kill()
        server.start()
        states = {i["id"]: i["state"] for i in server.admin.get("/admin/dlq/browse", topic="t").json()["items"]}
        equal(states, {ids[0]: "resolved", ids[1]: "dead"}, "each has a state of its own")
        equal(server.change("/admin/dlq/purge", {"topic": "t", "confirm": True}).json()["purged"], 2, "both go")
        equal(server.admin.get("/admin/groups/t/g").json()["deadLetters"], 0, "none is left")


def test_nobody_joins_another_clients_broadcast_group():
    with Server() as server:
        server.subscribe("b1", "t", mode="BROADCASTING")
        answer = server.http.post("/events/subscribe", {"clientId": "z", "topic": "t", "group": "b1"})
        equal((answer.status, answer.json()["error"]), (400, "bad_value"), f"{answer}")
        server.subscribe("c", "t", group="g")
        answer = server.change("/admin/groups/t/g", {"mode": "BROADCASTING"}, "PATCH")
        equal((answer.status, answer.json()["error"]), (400, "bad_value"), f"{answer}")


if __name__ == "__main__":
    main()
