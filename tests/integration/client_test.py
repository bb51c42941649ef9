#!/usr/bin/env python3
"""What clients and operators meet at the edges: their address, settles that race, slow readers, one instance alone
(invariant 29), and the commands `publish` and `query` on unusual input.
"""
import json
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

from lib.ackline import BINARY, Server, check, equal, event, main, wait_for


def connect(address, receive_bytes=None):
    host, port = address.rsplit(":", 1)
    plain = socket.socket()
    if receive_bytes:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    plain.settimeout(20)
    plain.connect((host, int(port)))
    return plain


def request(method, path, body=""):
    return (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n{body}").encode()


def answers(plain, count):
    """The next `count` answers of a connection, as (status, document)."""
    reader, got = plain.makefile("rb"), []
    for _ in range(count):
        status = int(reader.readline().split()[1])
        length = 0
        while (line := reader.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        got.append((status, json.loads(reader.read(length))))
    return got


def address_of(plain):
    host, port = plain.getsockname()
    return f"{host}:{port}"


def cli(server, *arguments, **more):
    command = [BINARY, *arguments]
    if server:
        command += ["--server", f"http://{server.http_address}", "--admin", f"http://{server.admin_address}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


def test_a_client_is_shown_with_the_address_it_comes_from():
    with Server() as server:
        server.subscribe("c1", "t")
        equal(server.client("c1")["remote"], address_of(server.http.connection.sock), "after subscribe")
        polling = connect(server.http_address)
        polling.sendall(request("GET", "/events/poll?clientId=c1&timeoutMs=10000"))
        wait_for(lambda: server.client("c1")["channel"] == "poll", what="the poll")
        equal(server.client("c1")["remote"], address_of(polling), "of the poll")
        polling.close()
        streaming = connect(server.http_address)
        streaming.sendall(request("GET", "/events/stream?clientId=c1"))
        wait_for(lambda: server.client("c1")["channel"] == "sse", what="the stream")
        server.settle("ack", "c1", "nonsense")  # by another connection: the channel is where it is
        equal(server.client("c1")["remote"], address_of(streaming), "of the stream")
        streaming.close()


def test_settles_that_race_a_reject_are_answered_by_its_outcome():
    with Server() as server:
        server.publish("t", event(1), partition=0)
        server.subscribe("c1", "t", group="g")
        got = server.poll("c1")[0]["deliveryId"]
        body = json.dumps({"clientId": "c1", "deliveryId": got})
        plain = connect(server.http_address)
        verbs = ["reject", "ack", "reject", "nack", "extend"]
        plain.sendall(b"".join(request("POST", f"/events/{verb}", body) for verb in verbs))
        shown = [(status, told.get("status") if status == 200 else told["error"])
                 for status, told in answers(plain, len(verbs))]
        equal(shown, [(200, "rejected"), (409, "settled"), (200, "already"), (409, "settled"), (409, "settled")],
              "answers")
        plain.close()


def test_a_peer_that_does_not_read_is_cut_and_an_idle_or_steady_one_is_not():
    with Server() as server:
        for name in ("stuck", "idle", "steady"):
            server.subscribe(name, name, group=name, maxInFlightBytes=64 << 20)
        big = "x" * 900_000
        sockets = {name: connect(server.http_address, receive_bytes=32 << 10) for name in ("stuck", "idle", "steady")}
        for name, plain in sockets.items():
            plain.sendall(request("GET", f"/events/stream?clientId={name}"))
            wait_for(lambda name=name: server.client(name)["connected"], what=f"the stream of {name}")
        over = threading.Event()

        def read_steadily():
            while not over.is_set() and sockets["steady"].recv(4096):
                time.sleep(0.05)  # some 80 KiB/s: slow, but above the limit

        reader = threading.Thread(target=read_steadily)
        reader.start()
        begun = time.monotonic()  # no window has begun: there was nothing to read yet
        try:
            for number in range(10):
                for topic in ("stuck", "steady"):
                    equal(server.publish(topic, event(number, data=big)).status, 202, "publish")
            wait_for(lambda: not server.client("stuck")["connected"], 60, "the end of the stuck stream")
            check(time.monotonic() - begun > 8, "it was cut before its window of 10 s")
            time.sleep(max(0.0, 25 - (time.monotonic() - begun)))
            for name in ("idle", "steady"):
                check(server.client(name)["connected"], f"the stream of {name} was cut")
        finally:
            over.set()
            reader.join()
            for plain in sockets.values():
                plain.close()


def test_invariant_29_an_instance_alone_says_its_topology_and_refuses_what_it_has_not():
    with Server() as server:
        check("delivery topology=LOCAL_STICKY_PULL" in server.log.read_text(), "the start line")
    with Server(delivery__topology="") as server:
        check("delivery topology=LOCAL_STICKY_PULL" in server.log.read_text(), "blank is the default")
    for value in ("PARTITION_OWNED_PULL", "STICKY"):
        refused = Server(delivery__topology=value)
        check(refused.start(expect_failure=True) != 0, f"{value} was taken")
        for part in ("delivery.topology", value, "LOCAL_STICKY_PULL"):
            check(part in refused.tail(), f"{part} is not named: {refused.tail()}")
        refused.close()


def test_invariant_29_two_instances_on_two_data_directories_know_nothing_of_each_other():
    with Server() as one, Server() as other:
        for server, events in ((one, 5), (other, 3)):
            server.subscribe("c1", "t", group="g")
            for number in range(events):
                equal(server.publish("t", event(f"{server.http_address}-{number}"), partition=0).status, 202, "publish")
        for server, events in ((one, 5), (other, 3)):
            got = []
            while len(got) < events:
                got += server.poll("c1")
            equal(len(got), events, "deliveries")
            check(all(one_of["event"]["id"].startswith(server.http_address) for one_of in got), "foreign events")
            foreign = other if server is one else one
            refused = foreign.settle("ack", "c1", got[0]["deliveryId"])
            equal(refused.json()["error"], "delivery_unknown", "an id of the other instance")
        equal(one.lag("t", "g")["pending"], 5, "of one")
        equal(other.lag("t", "g")["pending"], 3, "of the other")


def test_publish_of_a_directory_is_a_usage_error():
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        done = cli(server, "publish", "t", folder)
        equal(done.returncode, 2, done.stderr)
        check(folder in done.stderr, done.stderr)
        empty = pathlib.Path(folder) / "empty"
        empty.touch()
        equal(cli(server, "publish", "t", str(empty)).returncode, 0, "an empty file")
        lines = pathlib.Path(folder) / "lines"
        lines.write_text('{"n":1}\n{"n":2}\n')
        check("published 2 events" in cli(server, "publish", "t", str(lines)).stdout, "two lines")


def test_publish_of_a_value_with_a_count_makes_so_many_events():
    with Server() as server:
        done = cli(server, "publish", "t", "--value", '{"n":1}', "--count", "3")
        equal(done.returncode, 0, done.stderr)
        items = server.admin.get("/admin/events", topic="t").json()["items"]
        equal([one["event"]["data"] for one in items], [{"n": 1}] * 3, "data")
        equal(len({one["event"]["id"] for one in items}), 3, "ids")
        whole = json.dumps(event(1))
        equal(cli(server, "publish", "t", "--value", whole, "--count", "2").returncode, 2, "a whole event twice")
        equal(cli(server, "publish", "t", "--value", whole).returncode, 0, "a whole event once")


def test_query_and_dlq_list_read_data_as_deep_as_the_server_takes_it():
    with Server() as server:
        deep = json.dumps(event(1)).replace('{"n": 1}', "[" * 505 + "]" * 505)
        answer = server.http.request("POST", "/events/publish?topic=t&partition=0", deep,
                                     {"content-type": "application/cloudevents+json"})
        equal(answer.status, 202, answer.body)
        server.subscribe("c1", "t", group="g")
        equal(server.settle("reject", "c1", server.poll("c1")[0]["deliveryId"]).status, 200, "reject")
        for arguments in (("query", "-t", "t", "-o", "json"), ("query", "-t", "t"), ("dlq", "list", "-t", "t"),
                          ("dlq", "list", "-t", "t", "-o", "json")):
            done = cli(server, *arguments)
            equal(done.returncode, 0, f"{arguments}: {done.stderr}")


def test_a_first_start_is_a_clean_one_and_a_start_after_a_kill_is_not():
    server = Server().start()
    check("clean=true" in server.log.read_text(), server.tail())
    server.kill()
    server.log.unlink()
    server.start()
    check("clean=false" in server.log.read_text(), server.tail())
    server.terminate()
    server.log.unlink()
    server.start()
    check("clean=true" in server.log.read_text(), server.tail())
    server.close()


if __name__ == "__main__":
    main()
