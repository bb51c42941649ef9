"""The history of a server as its clients saw it, over all its processes, and the promises that it must keep.

Written from the semantics alone: nothing here knows how the server works. Clients tell each call when they make it and when
it was answered; what was asked and never answered may have happened. A death is a kill -9: what was answered stays.

  9, 10  nothing accepted is lost or given another place; nothing is there that was never sent
  1      the frontier never passes an event that nobody can have settled, and never falls within a generation
  11     an event is not offered to another client while a lease on it lives
  13     after an ack was answered the event does not come again
  14     attempts stay within the bound and never fall
  16, 17 a rejected event is one dead letter, once; an event is not both acked and dead
  19     with ordering by key the events of a key come one by one, in their order
  6, 8   lag is what a recount gives, and nothing is left once everything was settled
"""
import collections
import threading
import time

from lib.ackline import check, equal

PAUSE_S = 0.3  # a pause that no look sees (0.25 s), and what a client needs to note the time


class Event:
    __slots__ = ("topic", "key", "place")

    def __init__(self, topic, key):
        self.topic, self.key, self.place = topic, key, None


class Seen:
    """One event for one group."""
    __slots__ = ("attempt", "acked", "ack_asked", "rejected", "reject_asked", "loose", "offer", "client", "lease_end",
                 "asked", "got")

    def __init__(self):
        self.attempt = 0
        self.acked = self.rejected = None            # when the answer came
        self.ack_asked = self.reject_asked = False
        self.loose = False                           # a replay or reset may have opened it again
        self.offer = self.client = None
        self.lease_end = self.asked = self.got = 0.0  # of the offer that was read last

    @property
    def perhaps_over(self):
        return self.ack_asked or self.reject_asked or self.loose


class Group:
    def __init__(self, topic, name, ordering="none", max_attempts=6):
        self.topic, self.name, self.ordering, self.max_attempts = topic, name, ordering, max_attempts
        self.seen = collections.defaultdict(Seen)
        self.frontier, self.looked_to = {}, {}
        self.reset_to = {}         # partition -> the highest offset that it was perhaps reset to
        self.reopens = 0           # under way, or of unknown outcome until the next look
        self.epoch = 0             # of reopens: frontiers of different ones are not compared
        self.reopened_at = 0.0     # when the last one came to its end
        self.must_be_dead = {}     # passed by the frontier, or by a younger event of its key, without a settle


class History:
    def __init__(self):
        self.lock = threading.Lock()
        self.events, self.log = {}, collections.defaultdict(dict)
        self.keys = collections.defaultdict(list)    # (topic, partition, key) -> offsets, ascending
        self.groups = {}
        self.problems = []
        self.early = collections.defaultdict(set)  # (topic, group) -> what came before the group was known here
        # A store that writes first offers behind forgets the newest of them with the process: such
        # an event may come again at once, to another client.
        self.kill_loses_offers = False
        self.accepted = self.delivered = self.acks = self.since_kill = self.in_flight = 0
        self.kills, self.killed_at = 0, -1.0
        self.answers = collections.Counter()         # what was asked, status, word -> how often
        self.gone = {}                               # ids of deleted topics -> when the deletion was answered

    def problem(self, text):
        self.problems.append(text)

    def answered(self, what, answer):
        word = "" if answer.status < 300 else answer.json().get("error", "")
        self.answers[what, answer.status, word] += 1

    def group(self, topic, name, **facts):
        with self.lock:
            group = self.groups.setdefault((topic, name), Group(topic, name, **facts))
            for number in self.early.pop((topic, name), ()):
                group.seen[number].loose = True  # what became of it then was not noted
            return group

    # --- publishing
    def publishing(self, topic, ids, keys):
        with self.lock:
            self.in_flight += 1
            for number, key in zip(ids, keys):
                self.events[number] = Event(topic, key)

    def publish_ended(self):
        with self.lock:
            self.in_flight -= 1

    def published(self, topic, ids, results):
        with self.lock:
            for number, result in zip(ids, results):
                if result["status"] != "accepted":
                    continue
                self.accepted += 1
                self.since_kill += 1
                self.bind(number, topic, result["partition"], result["offset"], "publish")

    def bind(self, number, topic, partition, offset, how):
        event = self.events.get(number)
        if event is None:
            self.problem(f"{how}: {topic}/{partition}/{offset} holds {number}, which was never sent")
            return
        if event.place is None:
            event.place = (topic, partition, offset)
            for group in self.groups.values():
                # Its publish was not answered, and nobody had it when a reset may have gone over it.
                if group.topic == topic and offset < group.reset_to.get(partition, 0):
                    group.seen[number].loose = True
            other = self.log[topic, partition].setdefault(offset, number)
            if other != number:
                self.problem(f"{how}: {topic}/{partition}/{offset} was given to {other} and to {number}")
            if event.key:
                offsets = self.keys[topic, partition, event.key]
                offsets.append(offset)
                if len(offsets) > 1 and offsets[-2] > offset:
                    offsets.sort()
        elif event.place != (topic, partition, offset):
            self.problem(f"{how}: {number} is at {topic}/{partition}/{offset}, it was at {event.place}")

    # --- deliveries
    def received(self, client, deliveries, asked_at, got_at):
        with self.lock:
            for one in deliveries:
                self.received_one(client, one, asked_at, got_at)

    def received_one(self, client, one, asked_at, got_at):
        number, topic = one["event"]["id"], one["topic"]
        self.delivered += 1
        gone_at = self.gone.get(number)
        if gone_at is not None:
            if asked_at > gone_at:
                self.problem(f"{number} of a deleted topic was delivered to {client}")
            return
        self.bind(number, topic, one["partition"], one["offset"], "delivery")
        group = self.groups.get((topic, one["group"]))
        if group is None:
            self.early[topic, one["group"]].add(number)  # subscribed, and the answer has not come back
        if group is None or one["lane"] is not None:
            return
        seen = group.seen[number]
        if self.kill_loses_offers and asked_at <= self.killed_at < seen.asked:
            return  # an offer that the kill took back, read after the one that came in its place
        story = f"{number} ({topic}/{one['partition']}/{one['offset']}, {client}, {one['deliveryId']})"
        if seen.acked is not None and asked_at > seen.acked:
            self.problem(f"13: {story} was acked and is delivered again")
        if one["attempt"] > group.max_attempts:
            self.problem(f"14: {story} has attempt {one['attempt']} of {group.max_attempts}")
        # Of the generation before or of the new one: nobody can tell.
        unsure = group.reopens > 0 or asked_at <= group.reopened_at
        if unsure:
            seen.attempt, seen.lease_end = 0, 0.0
        if one["attempt"] < seen.attempt and asked_at <= seen.got:
            return  # an older offer, whose answer was read late: another one has overtaken it
        if one["attempt"] < seen.attempt:
            self.problem(f"14: {story} fell from attempt {seen.attempt} to {one['attempt']}")
        # A lease of before a kill may end early by a pause that no look saw (invariant 15, decision 0008).
        lease_end = seen.lease_end - (PAUSE_S if seen.asked <= self.killed_at else 0.0)
        newer = one["attempt"] > seen.attempt or asked_at > seen.got
        if newer and seen.offer not in (None, one["deliveryId"]) and seen.client != client and got_at < lease_end:
            self.problem(f"11: {story} while {seen.client} holds {seen.offer} for {lease_end - got_at:.3f} s more")
        if group.ordering == "key" and self.events.get(number) is not None:
            self.check_order(group, number, one, story)
        seen.offer, seen.client, seen.got = one["deliveryId"], client, got_at
        if not unsure:
            seen.attempt = one["attempt"]
            # The offer was made after the poll was asked for. An answer may be read after the kill that took it back.
            taken_back = self.kill_loses_offers and asked_at <= self.killed_at
            seen.lease_end, seen.asked = 0.0 if taken_back else asked_at + one["leaseMs"] / 1000.0, asked_at

    def check_order(self, group, number, one, story):
        key = self.events[number].key
        if not key or group.seen[number].attempt or group.seen[number].loose:
            return
        log = self.log[group.topic, one["partition"]]
        for offset in reversed(self.keys[group.topic, one["partition"], key]):
            if offset >= one["offset"]:
                continue
            before = log[offset]
            if not group.seen[before].perhaps_over:
                group.must_be_dead.setdefault(before, f"19: {story} came before {before} was over")
            break

    # --- settles
    def settling(self, verb, topic_group_ids):
        with self.lock:
            self.in_flight += 1
            for topic, group_name, number in topic_group_ids:
                group = self.groups.get((topic, group_name))
                if group is None:
                    continue
                seen = group.seen[number]
                seen.lease_end = 0.0
                if verb == "ack":
                    seen.ack_asked = True
                elif verb == "reject":
                    seen.reject_asked = True

    def settle_ended(self):
        with self.lock:
            self.in_flight -= 1

    def settled(self, verb, deliveries, results, epochs):
        now = time.monotonic()
        with self.lock:
            for one, result in zip(deliveries, results):
                group = self.groups.get((one["topic"], one["group"]))
                if group is None or one["lane"] is not None or result["status"] == "error":
                    continue
                # What a replay may have opened meanwhile is not certain.
                if group.reopens or epochs.get((one["topic"], one["group"])) != group.epoch:
                    continue
                seen = group.seen[one["event"]["id"]]
                if verb == "ack" and result["status"] == "acked":
                    seen.acked = seen.acked or now
                    self.acks += 1
                elif verb == "reject" and result["status"] == "rejected":
                    seen.rejected = seen.rejected or now

    def epochs(self):
        with self.lock:
            return {key: group.epoch for key, group in self.groups.items()}

    # --- replay and reset
    def reopening(self, topic, name, partition, offset):
        """Everything from `offset` on may come again, and attempts begin anew; what lies below may be skipped."""
        with self.lock:
            group = self.groups[topic, name]
            group.reopens += 1
            group.epoch += 1
            group.frontier.pop(partition, None)
            group.looked_to.pop(partition, None)
            group.reset_to[partition] = max(offset, group.reset_to.get(partition, 0))
            for number in self.log[topic, partition].values():
                seen = group.seen[number]
                seen.loose, seen.acked, seen.rejected, seen.attempt, seen.lease_end = True, None, None, 0, 0.0

    def reopen_ended(self, topic, name):
        with self.lock:
            group = self.groups[topic, name]
            group.reopens -= 1
            group.epoch += 1
            group.reopened_at = time.monotonic()

    # --- topics that go
    def topic_leaving(self, topic):
        with self.lock:
            for key in [key for key in self.groups if key[0] == topic]:
                del self.groups[key]

    def topic_gone(self, topic):
        now = time.monotonic()
        with self.lock:
            for number, event in list(self.events.items()):
                if event.topic == topic and number not in self.gone:
                    self.gone[number] = now
                    del self.events[number]
            for key in [key for key in self.log if key[0] == topic]:
                del self.log[key]

    # --- progress
    def progress(self, topic, name, answer, epoch):
        """`epoch`: of the group when the question was asked."""
        with self.lock:
            group = self.groups.get((topic, name))
            if group is None or group.epoch != epoch or group.reopens:
                return
            for text, part in answer["partitions"].items():
                partition, frontier = int(text), part["frontier"]
                if frontier is None:
                    self.problem(f"8: {topic}/{partition} has no frontier: {part}")
                    continue
                before = group.frontier.get(partition, -1)
                if frontier < before:
                    self.problem(f"1: the frontier of {topic}/{partition} fell from {before} to {frontier}")
                group.frontier[partition] = max(before, frontier)
                self.check_frontier(group, partition, frontier)

    def check_frontier(self, group, partition, frontier):
        log = self.log[group.topic, partition]
        for offset in range(group.looked_to.get(partition, 0), frontier + 1):
            number = log.get(offset)
            if number is not None and not group.seen[number].perhaps_over:
                group.must_be_dead.setdefault(
                    number, f"1: the frontier of {group.topic}/{partition} is {frontier}, nobody settled {offset}")
        group.looked_to[partition] = max(group.looked_to.get(partition, 0), frontier + 1)

    def killed(self):
        with self.lock:
            self.kills += 1
            self.killed_at = time.monotonic()
            self.since_kill = 0
            if self.kill_loses_offers:
                for group in self.groups.values():
                    for seen in group.seen.values():
                        seen.lease_end = 0.0

    def check(self, what):
        with self.lock:
            check(not self.problems, f"{what}: {len(self.problems)} problems, {self.problems[:4]}")


# --- the end: everything is settled, and the server is asked for everything it has

def whole_log(server, topic):
    found, cursor = {}, None
    while True:
        query = {"topic": topic, "limit": 1000}
        if cursor:
            query["cursor"] = cursor
        page = server.admin.get("/admin/events", **query)
        check(page.status == 200, f"events: {page}")
        page = page.json()
        for item in page["items"]:
            found[item["partition"], item["offset"]] = item["event"]["id"]
        if page["end"]:
            return found
        cursor = str(page["next"]).replace("'", '"')


def dead_letters(server, topic):
    """(group, event id) -> entries; every entry id and key is there once."""
    found, after, ids = collections.defaultdict(list), None, set()
    while True:
        page = server.admin.get("/admin/dlq/browse", topic=topic, limit=1000, **({"after": after} if after else {}))
        check(page.status == 200, f"browse: {page}")
        page = page.json()
        for item in page["items"]:
            check(item["id"] not in ids, f"16: the entry {item['id']} is listed twice")
            ids.add(item["id"])
            found[item["group"], item["event"]["id"]].append(item)
        after = page["next"]
        if after is None:
            return found


def audit(server, history, what):
    """After healing: no client works any more, everything was settled."""
    history.check(what)
    for topic in sorted({group.topic for group in history.groups.values()}):
        audit_topic(server, history, topic, what)
    check_quiet(server, what)


def audit_topic(server, history, topic, what):
    log = whole_log(server, topic)
    starts = {int(p): v["logStart"] for p, v in server.admin.get(f"/admin/topics/{topic}").json()["offsets"].items()}
    ids = collections.Counter(log.values())
    doubled = [number for number, count in ids.items() if count > 1]
    check(not doubled, f"{what}: {len(doubled)} events are in {topic} twice: {doubled[:3]}")
    for (partition, offset), number in log.items():
        history.bind(number, topic, partition, offset, "log")
    history.check(what)
    lost = [number for number, event in history.events.items()
            if event.place and event.place[0] == topic and event.place[2] >= starts[event.place[1]]
            and log.get(event.place[1:]) != number]
    check(not lost, f"{what}: 9, 10: {len(lost)} accepted events of {topic} are lost: "
                    f"{[(n, history.events[n].place) for n in lost[:3]]}")
    dead = dead_letters(server, topic)
    for (group_topic, name), group in history.groups.items():
        if group_topic == topic:
            audit_group(server, history, group, log, dead, what)


def audit_group(server, history, group, log, dead, what):
    name = group.name
    mine = {number: entries for (of, number), entries in dead.items() if of == name}
    for number, entries in mine.items():
        seen = group.seen[number]
        if len(entries) > 1 and not seen.loose:
            history.problem(f"16: {number} is dead {len(entries)} times: {[e['id'] for e in entries]}")
        if seen.acked and not seen.loose:
            history.problem(f"17: {number} was acked and is dead: {entries[0]['reason']}")
        if entries[0]["reason"] == "rejected" and not seen.reject_asked and not seen.loose:
            history.problem(f"16: {number} is dead as rejected, nobody rejected it")
    never = 0
    for number in log.values():
        seen = group.seen[number]
        if seen.rejected and number not in mine and not seen.loose:
            history.problem(f"16: {number} was rejected and is no dead letter")
        if not seen.perhaps_over and number not in mine:
            never += 1
            history.problem(f"9: {number} was never settled by {name} and is no dead letter")
    for number, why in group.must_be_dead.items():
        if number not in mine and not group.seen[number].loose:
            history.problem(why)
    history.check(what)
    audit_lag(server, group, log, what)


def audit_lag(server, group, log, what):
    lag = server.lag(group.topic, group.name, audit="true")
    equal((lag["lag"], lag["pending"], lag["caughtUp"]), (0, 0, True), f"{what}: {group.topic}/{group.name} at the end")
    equal(lag["audit"], {"recount": 0, "equal": True}, f"{what}: 6: the audit of {group.topic}/{group.name}")
    ends = collections.defaultdict(lambda: -1)
    for partition, offset in log:
        ends[partition] = max(ends[partition], offset)
    for text, part in lag["partitions"].items():
        if part["logStart"] <= ends[int(text)]:
            equal(part["frontier"], ends[int(text)], f"{what}: 1: the frontier of {group.topic}/{text}")


def metrics(server, name):
    """Label text -> value of one metric."""
    answer = server.admin.get("/metrics")
    check(answer.status == 200, f"metrics: {answer}")
    found = {}
    for line in answer.body.decode().splitlines():
        if line.startswith(name + "{") or line.startswith(name + " "):
            labels, value = line.rsplit(" ", 1)
            found[labels] = float(value)
    return found


def check_quiet(server, what):
    """Nobody was left waiting without a reason, in this process or in any before it."""
    stuck = {labels: value for labels, value in metrics(server, "ackline_group_stuck").items() if value}
    check(not stuck, f"{what}: stuck: {stuck}")
    text = server.log.read_text(errors="replace")
    told = [line for line in text.splitlines() if "a group is stuck" in line or "check failed" in line]
    check(not told, f"{what}: the server's log says {told[:3]}")
