#!/usr/bin/env python3
"""Event streams (SSE) and long polls as their clients see them. time box: 120 s"""
import json
import socket
import threading
import time

from lib.ackline import Http, Server, check, equal, event, main, wait_for


class Stream:
    """Reads one event stream; `items` grows in the background."""

    def __init__(self, server, client, **headers):
        host, port = server.http_address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        more = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        self.socket.sendall(f"GET /events/stream?clientId={client} HTTP/1.1\r\nHost: {server.http_address}\r\n"
                            f"{more}\r\n".encode())
        self.items, self.ends, self.text, self.head, self.raw = [], [], "", "", ""
        self.closed = False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        data = b""
        try:
            while chunk := self.socket.recv(65536):
                data += chunk
                self.parse(data.decode(errors="replace"))
        except OSError:
            pass
        self.closed = True

    def parse(self, text):
        self.raw = text
        self.head, _, body = text.partition("\r\n\r\n")
        if "chunked" in self.head.lower():
            body = unchunk(body)
        self.text = body
        items, ends = [], []
        for block in body.split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
            if fields.get("event") == "end":
                ends.append(json.loads(fields["data"]))
            elif "id" in fields:
                items.append((fields["id"], json.loads(fields["data"])))
        self.items, self.ends = items, ends

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def unchunk(body):
    out = ""
    while body:
        size, _, rest = body.partition("\r\n")
        if not size or not _:
            break
        count = int(size, 16)
        out += rest[:count]
        body = rest[count + 2:]
    return out


def test_a_stream_delivers_with_ids_and_acks_count():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        stream = Stream(server, "c")
        wait_for(lambda: "retry: 2000" in stream.text, 30, "the first line")
        server.publish("t", [event(i) for i in range(10)], partition=0)
        wait_for(lambda: len(stream.items) == 10, 30, "ten deliveries")
        check("text/event-stream" in stream.head, stream.head)
        for name, data in stream.items:
            equal(name, data["deliveryId"], "the id line is the deliveryId")
        equal([d["event"]["id"] for _, d in stream.items], [str(i) for i in range(10)], "in order")
        equal(server.settle("ack", "c", [n for n, _ in stream.items]).json()["acked"], 10, "acks")
        equal(server.lag("t", "g")["lag"], 0, "lag")
        stream.close()


def test_a_reconnect_sends_again_what_is_held_with_the_same_id_and_attempt():
    with Server(delivery__reconnectGrace="60s") as server:
        server.subscribe("c", "t", group="g", ackTimeoutMs=60000)
        first = Stream(server, "c")
        server.publish("t", [event(i) for i in range(3)], partition=0)
        wait_for(lambda: len(first.items) == 3, 30, "three deliveries")
        server.settle("ack", "c", first.items[1][0])
        first.close()
        again = Stream(server, "c", **{"Last-Event-ID": first.items[2][0]})
        wait_for(lambda: len(again.items) == 2, 30, "what is still held")
        equal([d["deliveryId"] for _, d in again.items], [first.items[0][0], first.items[2][0]], "the same ids")
        check(all(d["resent"] and d["attempt"] == 1 for _, d in again.items), f"{again.items}")
        again.close()


def test_a_client_that_does_not_come_back_loses_its_leases_after_the_grace():
    with Server(delivery__reconnectGrace="300ms") as server:
        server.subscribe("c", "t", group="g", ackTimeoutMs=60000, backoffMs=[10])
        server.subscribe("d", "t", group="g")
        stream = Stream(server, "c")
        server.publish("t", event(1), partition=0)
        wait_for(lambda: stream.items, 30, "a delivery")
        stream.close()
        got = wait_for(lambda: server.poll("d", timeout_ms=1000), 30, "the other client gets it")
        equal((got[0]["event"]["id"], got[0]["attempt"]), ("1", 2), "the second attempt")
        equal(server.settle("ack", "c", stream.items[0][0]).status, 409, "the lost id")


def test_a_second_stream_replaces_the_first_and_a_poll_beside_one_is_refused():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        first = Stream(server, "c")
        wait_for(lambda: "retry" in first.text, 30, "open")
        answer = server.http.get("/events/poll", clientId="c", timeoutMs=0)
        equal((answer.status, answer.json()["error"]), (409, "stream_open"), "a poll")
        second = Stream(server, "c")
        wait_for(lambda: first.ends == [{"error": "replaced"}], 30, "the last word")
        wait_for(lambda: first.raw.endswith("0\r\n\r\n"), 30, "the end of its body")
        server.publish("t", event(1), partition=0)
        wait_for(lambda: len(second.items) == 1, 30, "the new one delivers")
        server.http.post("/events/unsubscribe", {"clientId": "c", "topic": "t"})
        wait_for(lambda: second.ends == [{"error": "unsubscribed"}], 30, "unsubscribed")


def test_a_drain_ends_streams_with_a_word():
    with Server(drain__timeout="2s") as server:
        server.subscribe("c", "t", group="g")
        stream = Stream(server, "c")
        wait_for(lambda: "retry" in stream.text, 30, "open")
        server.process.terminate()
        wait_for(lambda: stream.ends == [{"error": "draining"}], 30, "draining")
        equal(server.process.wait(20), 0, "exit code")


def test_a_topic_that_is_deleted_ends_its_streams():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        stream = Stream(server, "c")
        wait_for(lambda: "retry" in stream.text, 30, "open")
        equal(server.change("/admin/topics/t?confirm=true&force=true", None, "DELETE").status, 200, "delete")
        wait_for(lambda: stream.ends == [{"error": "topic_deleted"}], 30, "the word")


def test_a_long_poll_is_woken_by_a_publish_and_empty_at_its_end():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        begun = time.monotonic()
        equal(server.poll("c", timeout_ms=300), [], "empty at the end")
        check(0.25 < time.monotonic() - begun < 10, "after its time")
        got = []
        other = Http(server.http_address, timeout=90)
        waiter = threading.Thread(target=lambda: got.extend(server.poll("c", timeout_ms=60_000, http=other)))
        waiter.start()
        wait_for(lambda: server.client("c")["channel"] == "poll", what="the poll")
        server.publish("t", event(1))
        waiter.join(20)
        check(len(got) == 1 and not waiter.is_alive(), "woken, long before its 60 s are over")


def test_a_poller_that_went_away_gives_its_attempts_back_by_lease_expiry_only():
    lease = 3
    with Server() as server:
        server.subscribe("gone", "t", group="g", ackTimeoutMs=lease * 1000)
        server.publish("t", event(1), partition=0)
        leaves = Http(server.http_address)
        begun = time.monotonic()
        first = server.poll("gone", http=leaves)
        leaves.close()
        equal([d["attempt"] for d in first], [1], "the delivery that it goes away with")
        server.subscribe("other", "t", group="g", ackTimeoutMs=60000)
        equal(server.poll("other", timeout_ms=1000), [], "nobody gets it while its lease lasts")
        second = server.poll("other", timeout_ms=20_000)
        waited = time.monotonic() - begun
        equal([(d["event"]["id"], d["attempt"]) for d in second], [("1", 2)], "it comes when the lease has ended")
        check(waited >= lease * 0.95, f"after {waited:.1f} s of a lease of {lease} s")
        check(second[0]["deliveryId"] != first[0]["deliveryId"], "as a new offer")


def test_a_poll_whose_connection_is_gone_is_given_nothing():
    with Server() as server:
        server.subscribe("c", "t", group="g", ackTimeoutMs=60000)
        host, port = server.http_address.rsplit(":", 1)
        gone = socket.create_connection((host, int(port)))
        gone.sendall(f"GET /events/poll?clientId=c&timeoutMs=30000 HTTP/1.1\r\nHost: {server.http_address}\r\n\r\n".encode())
        wait_for(lambda: server.client("c")["channel"] == "poll", what="the poll")
        gone.close()
        wait_for(lambda: server.client("c")["channel"] == "none", what="the end of the poll")
        server.publish("t", event(1), partition=0)
        got = server.poll("c")
        equal([(d["event"]["id"], d["attempt"]) for d in got], [("1", 1)], "nothing was given to the dead connection")


if __name__ == "__main__":
    main()
