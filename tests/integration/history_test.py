#!/usr/bin/env python3
"""The checker of the real-process runs finds what it is there for: each rule is broken once, by hand, and is noticed."""
import json

from lib.ackline import Failure, Answer, check, equal, main
from lib.history import History, audit


def delivery(number, offset, client_id="d1", attempt=1, lease_ms=1000, group="g", lane=None, topic="t"):
    return {"topic": topic, "group": group, "partition": 0, "offset": offset, "attempt": attempt, "deliveryId": client_id,
            "leaseMs": lease_ms, "lane": lane, "event": {"id": number}}


def history(count=3, keys=("",), **facts):
    made = History()
    made.group("t", "g", **{"max_attempts": 3, **facts})
    ids = [f"e{i}" for i in range(count)]
    made.publishing("t", ids, [keys[i % len(keys)] for i in range(count)])
    made.published("t", ids, [{"status": "accepted", "partition": 0, "offset": i} for i in range(count)])
    made.publish_ended()
    return made


def ack(made, number, offset, verb="ack"):
    word = {"ack": "acked", "reject": "rejected"}[verb]
    epochs = made.epochs()
    made.settling(verb, [("t", "g", number)])
    made.settled(verb, [delivery(number, offset)], [{"status": word}], epochs)
    made.settle_ended()


def progress(frontier):
    return {"partitions": {"0": {"frontier": frontier}}}


def noticed(made, rule):
    check(any(problem.startswith(rule) for problem in made.problems), f"rule {rule} was not noticed: {made.problems}")


class FakeServer:
    """Answers of a server at the end; whatever a test wants wrong is changed in it."""

    def __init__(self, ids, directory=None):
        self.log_items = [{"partition": 0, "offset": i, "event": {"id": number}} for i, number in enumerate(ids)]
        self.dead, self.lag_answer = [], {
            "lag": 0, "pending": 0, "caughtUp": True, "audit": {"recount": 0, "equal": True},
            "partitions": {"0": {"frontier": len(ids) - 1, "logStart": 0}}}
        self.metric = "ackline_group_stuck{group=\"g\",topic=\"t\"} 0"
        self.admin, self.log = self, self
        self.told = ""

    def read_text(self, errors=None):
        return self.told

    def lag(self, topic, group, **_):
        return self.lag_answer

    def get(self, path, **_):
        if path == "/metrics":
            return Answer(200, {}, self.metric.encode())
        body = {"/admin/topics/t": {"offsets": {"0": {"logStart": 0}}},
                "/admin/events": {"items": self.log_items, "end": True, "next": {}},
                "/admin/dlq/browse": {"items": self.dead, "next": None}}[path]
        return Answer(200, {}, json.dumps(body).encode())


def entry(number, reason="rejected", entry_id="t_DLQ:0:0"):
    return {"id": entry_id, "group": "g", "reason": reason, "event": {"id": number}}


def settled_history():
    made = history()
    for i in range(3):
        ack(made, f"e{i}", i)
    return made, FakeServer(["e0", "e1", "e2"])


def refused(made, server, what):
    try:
        audit(server, made, "test")
    except Failure as failure:
        check(what in str(failure), f"refused for another reason: {failure}")
        return
    raise Failure(f"the audit did not notice: {what}")


def test_a_history_without_a_fault_passes():
    made, server = settled_history()
    made.received("c", [delivery("e2", 2)], 0.0, 0.1)  # asked for before the ack was answered
    made.progress("t", "g", progress(2), 0)
    audit(server, made, "test")


def test_rule_9_a_lost_event_and_one_that_nobody_sent():
    made, server = settled_history()
    server.log_items.pop()
    refused(made, server, "9, 10")
    made, server = settled_history()
    server.log_items.append({"partition": 0, "offset": 3, "event": {"id": "ghost"}})
    refused(made, server, "never sent")
    made, server = settled_history()
    server.log_items.append({"partition": 0, "offset": 3, "event": {"id": "e0"}})
    refused(made, server, "twice")


def test_rule_9_an_event_that_was_never_settled():
    made = history()
    ack(made, "e0", 0)
    ack(made, "e1", 1)
    refused(made, FakeServer(["e0", "e1", "e2"]), "never settled")


def test_rule_10_one_offset_for_two_events():
    made = history()
    made.publishing("t", ["other"], [""])
    made.published("t", ["other"], [{"status": "accepted", "partition": 0, "offset": 1}])
    check(made.problems, "two events at one offset")


def test_rule_1_a_frontier_that_falls_or_passes_a_hole():
    made = history()
    for i in range(3):
        ack(made, f"e{i}", i)
    made.progress("t", "g", progress(2), 0)
    made.progress("t", "g", progress(1), 0)
    noticed(made, "1: the frontier")
    made = history()
    ack(made, "e1", 1)
    made.progress("t", "g", progress(1), 0)
    equal(len(made.groups["t", "g"].must_be_dead), 1, "a hole below the frontier")
    ack(made, "e0", 0)
    ack(made, "e2", 2)
    refused(made, FakeServer(["e0", "e1", "e2"]), "1: the frontier")


def test_rule_11_two_leases_at_once():
    made = history()
    made.received("a", [delivery("e0", 0, "d1", lease_ms=1000)], 10.0, 10.1)
    made.received("b", [delivery("e0", 0, "d2", attempt=2)], 10.5, 10.6)
    noticed(made, "11:")
    made = history()
    made.received("a", [delivery("e0", 0, "d1", lease_ms=1000)], 10.0, 10.1)
    made.received("b", [delivery("e0", 0, "d2", attempt=2)], 11.0, 11.2)
    equal(made.problems, [], "after the lease")
    made = history()
    made.received("a", [delivery("e0", 0, "d1", lease_ms=3000)], 10.0, 10.1)
    made.killed()
    made.killed_at = 10.5
    made.received("b", [delivery("e0", 0, "d2", attempt=2)], 12.6, 12.8)
    equal(made.problems, [], "a kill may cost what no look sees")
    made.received("c", [delivery("e1", 1, "d3", lease_ms=4000)], 10.0, 10.1)
    made.received("b", [delivery("e1", 1, "d4", attempt=2)], 11.0, 11.2)
    noticed(made, "11:")


def test_rule_11_an_offer_that_a_kill_took_back_is_no_lease_also_when_it_is_read_after_the_kill():
    for takes_back in (True, False):
        made = history()
        made.kill_loses_offers = takes_back
        made.killed()
        made.killed_at = 10.5
        made.received("a", [delivery("e0", 0, "d1", lease_ms=9000)], 10.0, 10.6)
        made.received("b", [delivery("e0", 0, "d2")], 11.0, 11.2)
        equal([problem[:3] for problem in made.problems], [] if takes_back else ["11:"], "problems")


def test_rule_11_and_14_an_offer_that_a_kill_took_back_may_be_read_after_the_one_in_its_place():
    for takes_back in (True, False):
        made = history()
        made.kill_loses_offers = takes_back
        made.killed()
        made.killed_at = 10.5
        made.received("b", [delivery("e0", 0, "d2", attempt=2, lease_ms=9000)], 11.0, 11.1)
        made.received("a", [delivery("e0", 0, "d1", lease_ms=9000)], 10.0, 11.2)
        equal([problem[:3] for problem in made.problems], [] if takes_back else ["14:", "11:"], "problems")
        made.received("c", [delivery("e0", 0, "d3", attempt=2)], 12.0, 12.1)
        noticed(made, "11:")


def test_rule_13_an_acked_event_that_comes_again():
    made = history()
    ack(made, "e0", 0)
    made.received("b", [delivery("e0", 0, "d2")], 1e12, 1e12 + 1)
    noticed(made, "13:")


def test_rule_14_attempts_that_fall_or_exceed_their_bound():
    made = history()
    made.received("a", [delivery("e0", 0, "d1", attempt=2)], 10.0, 10.1)
    made.received("a", [delivery("e0", 0, "d2", attempt=1)], 20.0, 20.1)
    noticed(made, "14:")
    made = history()
    made.received("a", [delivery("e0", 0, "d1", attempt=4)], 10.0, 10.1)
    noticed(made, "14:")


def test_rule_16_and_17_dead_letters_that_double_vanish_or_were_acked():
    made, server = settled_history()
    server.dead = [entry("e0")]
    refused(made, server, "17:")
    made, server = settled_history()
    server.dead = [entry("e0"), entry("e0")]
    refused(made, server, "16: the entry")
    made = history()
    ack(made, "e0", 0)
    ack(made, "e1", 1)
    ack(made, "e2", 2, "reject")
    refused(made, FakeServer(["e0", "e1", "e2"]), "no dead letter")
    made.problems.clear()
    server = FakeServer(["e0", "e1", "e2"])
    server.dead = [entry("e2"), entry("e2", entry_id="t_DLQ:0:1")]
    refused(made, server, "dead 2 times")
    server.dead = [entry("e2")]
    made.problems.clear()
    audit(server, made, "test")


def test_rule_19_an_event_that_overtakes_its_key():
    made = history(keys=("k",), ordering="key")
    made.received("a", [delivery("e0", 0)], 10.0, 10.1)
    made.received("a", [delivery("e1", 1, "d2")], 10.0, 10.2)
    equal(len(made.groups["t", "g"].must_be_dead), 1, "e1 came before e0 was over")
    for i in range(3):
        ack(made, f"e{i}", i)
    refused(made, FakeServer(["e0", "e1", "e2"]), "19:")


def test_rule_6_lag_that_does_not_add_up():
    for change in ({"lag": 1}, {"caughtUp": False}, {"audit": {"recount": 1, "equal": False}}):
        made, server = settled_history()
        server.lag_answer.update(change)
        refused(made, server, "t/g")
    made, server = settled_history()
    server.lag_answer["partitions"]["0"]["frontier"] = 1
    refused(made, server, "1: the frontier")


def test_a_group_that_is_stuck_and_a_crash_in_the_log_are_noticed():
    made, server = settled_history()
    server.metric = "ackline_group_stuck{group=\"g\",topic=\"t\"} 1"
    refused(made, server, "stuck")
    made, server = settled_history()
    server.told = "error a group is stuck: it could be offered something and is not\n"
    refused(made, server, "the server's log")


if __name__ == "__main__":
    main()
