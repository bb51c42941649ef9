#!/usr/bin/env python3
"""A server that stands still, and a wall clock that jumps by a day. time box: 180 s

Leases and waits run on the data directory's own time (docs/decisions/0008): neither a pause nor a jump ends one. What is of
the calendar, retention by age and events that expire, follows the wall clock.
"""
import os
import signal
import time

from lib.ackline import Server, check, equal, event, main, wait_for
from lib.history import check_quiet
from lib.shim import Shim

DAY = 86_400
PAUSE_S = 30
LEASE_MS = 10_000
RETRY_MS = 6000


def held(server, client, count):
    got = server.poll(client, max=count)
    equal(len(got), count, "leases")
    return got


def test_invariant_14_a_pause_of_30_seconds_ends_no_lease_and_costs_no_attempt():
    with Server(delivery__stuckAfter="5s") as server:
        for client in ("a", "b"):
            server.subscribe(client, "t", group="g", ackTimeoutMs=LEASE_MS, backoffMs=[100], maxAttempts=3)
        server.publish("t", [event(i) for i in range(20)], partition=0)
        mine = held(server, "a", 10)
        waiting = held(server, "a", 1)
        equal(server.settle("nack", "a", waiting[0]["deliveryId"], delayMs=RETRY_MS).status, 200, "nack")
        os.kill(server.process.pid, signal.SIGSTOP)
        time.sleep(PAUSE_S)
        os.kill(server.process.pid, signal.SIGCONT)
        back = time.monotonic()
        others = server.poll("b", max=100)
        held_ids = {one["event"]["id"] for one in mine}
        again = [one["event"]["id"] for one in others if one["event"]["id"] in held_ids]
        equal(again, [], "nobody else gets what is leased")
        check(waiting[0]["event"]["id"] not in {one["event"]["id"] for one in others}, "the retry waits as long as it did")
        equal({one["attempt"] for one in others}, {1}, "the others' attempts")
        answer = server.settle("ack", "a", [one["deliveryId"] for one in mine[:5]]).json()
        equal((answer["acked"], answer["failed"]), (5, 0), f"acks after the pause: {answer}")
        server.settle("ack", "b", [one["deliveryId"] for one in others])
        # The leases that nobody settles end when their own time is over, with one attempt used.
        late = []
        wait_for(lambda: late.extend(server.poll("b", max=100, timeout_ms=500)) or
                 {one["event"]["id"] for one in mine[5:]} <= {one["event"]["id"] for one in late}, 40, "the leases end")
        check(time.monotonic() - back >= 2.0, "they had time left")
        equal({one["attempt"] for one in late}, {2}, "attempts: a lease that ended, a nack")
        server.settle("ack", "b", [one["deliveryId"] for one in late])
        wait_for(lambda: server.lag("t", "g")["caughtUp"], what="everything is settled")
        check_quiet(server, "after a pause")


def with_jump(seconds):
    """A server whose wall clock jumps while leases and a retry run. Returns what the calendar made of the rest."""
    # client.ttl is of the calendar, too: nobody is to be unsubscribed here.
    server = Server(delivery__stuckAfter="5s", client__ttl="7d")
    shim = Shim(server)
    try:
        server.start()
        server.change("/admin/topics", {"name": "t", "partitions": 1})
        server.change("/admin/topics", {"name": "old", "partitions": 1, "retention": {"ageMs": 3_600_000}})
        for client in ("a", "b"):
            server.subscribe(client, "t", group="g", ackTimeoutMs=LEASE_MS, backoffMs=[100], maxAttempts=3)
        server.publish("t", [event(i) for i in range(5)])
        mine = held(server, "a", 5)
        nacked = time.monotonic()
        equal(server.settle("nack", "a", mine[0]["deliveryId"], delayMs=RETRY_MS).status, 200, "nack")
        server.publish("old", [event(f"old{i}") for i in range(5)])
        server.publish("t", event("mortal", emttl=60_000))
        shim.set_clock(seconds)
        others = server.poll("b", max=100, timeout_ms=1500)
        ids = [one["event"]["id"] for one in others]
        check(not {str(i) for i in range(5)} & set(ids), f"neither a lease nor a retry ends by the jump: {ids}")
        answer = server.settle("ack", "a", [one["deliveryId"] for one in mine[1:]]).json()
        equal((answer["acked"], answer["failed"]), (4, 0), f"acks after the jump: {answer}")
        server.settle("ack", "b", [one["deliveryId"] for one in others]) if others else None
        retry = wait_for(lambda: server.poll("b", timeout_ms=500), what="the retry")
        equal([(one["event"]["id"], one["attempt"]) for one in retry], [("0", 2)], "the retry")
        waited = time.monotonic() - nacked
        check(waited >= RETRY_MS / 1000 - 0.5, f"the retry came after {waited:.1f} s")
        server.settle("ack", "b", [one["deliveryId"] for one in retry])
        wait_for(lambda: server.lag("t", "g")["caughtUp"], what="everything is settled")
        answer = server.publish("t", event("after"))
        equal(answer.status, 202, f"publish after the jump: {answer}")
        equal([one["event"]["id"] for one in server.poll("b")], ["after"], "deliveries after the jump")
        # Over a kill the leases of "after" go on as well.
        server.kill()
        server.start()
        equal(server.poll("a", timeout_ms=1000), [], "its lease is b's, also after a kill")
        wait_for(lambda: server.poll("b", timeout_ms=500), 40, "it ends by its own time")
        first = time.monotonic()
        # Retention looks every 10 s.
        while time.monotonic() - first < (60 if seconds > 0 else 14):
            start = server.admin.get("/admin/topics/old").json()["offsets"]["0"]["logStart"]
            if start == 5:
                break
            time.sleep(0.25)
        check_quiet(server, "after a jump")
        return "mortal" in ids, start
    finally:
        server.close()
        shim.close()


def test_a_wall_clock_that_jumps_a_day_ahead_moves_no_lease_and_no_retry():
    mortal_came, log_start = with_jump(DAY)
    check(not mortal_came, "an event of 60 s is over a day later (invariant 22)")
    equal(log_start, 5, "retention by age takes what is a day old now")


def test_a_wall_clock_that_jumps_a_day_back_moves_no_lease_and_no_retry():
    mortal_came, log_start = with_jump(-DAY)
    check(mortal_came, "an event of 60 s is young as long as the clock says so")
    equal(log_start, 0, "retention by age keeps what the clock calls young")


if __name__ == "__main__":
    main()
