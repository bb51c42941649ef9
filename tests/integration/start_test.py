#!/usr/bin/env python3
"""Starts that must fail with a clear word, and stops that must be clean. time box: 180 s"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

from lib.ackline import ADDRESS, Server, check, equal, event, main, wait_for
from lib.sockets import connect


def refused(server, *words):
    code = server.start(expect_failure=True)
    equal(code, 1, "exit code")
    said = server.tail()
    for word in words:
        check(str(word) in said, f"{word!r} is not in: {said}")


def test_two_servers_on_one_data_directory_the_second_names_the_firsts_pid():
    with Server() as first:
        second = Server(data__path=first.config["data.path"])
        try:
            refused(second, first.process.pid)
            equal(first.http.get("/livez").status, 200, "the first one lives")
        finally:
            second.close()


def test_a_data_directory_of_a_newer_version_is_refused_by_name():
    server = Server()
    try:
        server.start()
        equal(server.terminate(), 0, "exit code")
        path = pathlib.Path(server.config["data.path"]) / "format"
        before = path.read_bytes()
        # As docs/formats/stores.md says: format 9 with its checksum, twice.
        path.write_bytes(2 * b"format 09000000 46e9f5d6a2e7df1b\n")
        code = server.start(expect_failure=True)
        equal(code, 1, "exit code")
        check("data format 9" in server.tail(), server.tail())
        path.write_bytes(before)
        server.start()
    finally:
        server.close()


def test_a_read_only_data_directory_is_refused():
    if os.geteuid() == 0 and not shutil.which("mount"):
        raise RuntimeError("needs mount to make a read-only directory as root")
    server = Server()
    data = pathlib.Path(server.config["data.path"])
    data.mkdir(mode=0o700)
    mounted = False
    try:
        if os.geteuid() == 0:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(data)], check=True)
            mounted = True
        else:
            data.chmod(0o500)
        refused(server, data)
    finally:
        if mounted:
            subprocess.run(["umount", str(data)], check=True)
        else:
            data.chmod(0o700)
        server.close()


def test_data_names_the_directory_to_a_server_too():
    with Server() as server:
        server.config.pop("data.path")
        data = server.directory / "elsewhere"
        server.kill()
        server.arguments = ["--data", str(data)]
        server.start()
        server.publish("t", [event(1)])
        check((data / "journal").is_dir(), f"nothing was kept in {data}")


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind((ADDRESS, 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = Server(http__port=port)
        try:
            refused(server, port, "http.port")
        finally:
            server.close()


def test_a_listener_for_others_needs_a_gate():
    server = Server(http__host="0.0.0.0")
    try:
        refused(server, "security.allowAnonymous")
    finally:
        server.close()


def test_an_unknown_key_suggests_the_nearest_one():
    server = Server(delivery__ackTimeot="3s")
    try:
        code = server.start(expect_failure=True)
        check(code in (1, 2), f"exit code {code}")
        check("delivery.ackTimeout" in server.tail(), server.tail())
    finally:
        server.close()


def test_sigterm_ends_with_0_within_20_s_and_keeps_what_is_in_flight():
    server = Server(drain__timeout="3s")
    try:
        server.start()
        server.subscribe("c1", "orders", group="g", ackTimeoutMs=60000)
        server.publish("orders", [event(i) for i in range(10)])
        got = server.poll("c1", max=5)
        equal(len(got), 5, "deliveries")
        begun = time.monotonic()
        equal(server.terminate(20), 0, "exit code")
        check(time.monotonic() - begun < 20, "the stop took too long")
        server.start()
        answer = server.settle("ack", "c1", [one["deliveryId"] for one in got])
        equal(answer.json()["acked"], 5, f"acks of before the stop count: {answer}")
        equal(server.lag("orders", "g")["pending"], 5, "pending")
    finally:
        server.close()


def test_a_drain_ends_streams_and_refuses_new_work_until_it_is_taken_back():
    with Server() as server:
        server.subscribe("c1", "orders", group="g")
        stream = connect(server.http_address, timeout=20)
        stream.sendall(f"GET /events/stream?clientId=c1 HTTP/1.1\r\nHost: {server.http_address}\r\n\r\n".encode())
        check(stream.recv(4096).startswith(b"HTTP/1.1 200"), "the stream is open")
        answer = server.change("/admin/drain", {"deadlineMs": 100})
        equal(answer.status, 200, f"drain: {answer}")
        equal(server.publish("orders", event(1)).json()["error"], "draining", "publish")
        equal(server.admin.get("/readyz").status, 503, "readyz")
        equal(server.admin.get("/livez").status, 200, "livez")
        told = b""
        while b"event: end" not in told or b"draining" not in told:
            piece = stream.recv(4096)  # within its timeout
            check(piece, f"the stream ended with {told}")
            told += piece
        stream.close()
        equal(server.change("/admin/drain", None, "DELETE").status, 200, "back to work")
        equal(server.publish("orders", event(1)).status, 202, "publish")
        equal(server.admin.get("/readyz").status, 200, "readyz")


def test_an_idle_server_uses_no_cpu():
    with Server() as server:
        server.subscribe("c1", "orders", group="g")
        server.publish("orders", event(1))
        one = server.poll("c1")
        server.settle("ack", "c1", one[0]["deliveryId"])
        time.sleep(3)  # what the settle has left to do, and the export of the frontier

        def used():
            wakes, nanoseconds = 0, 0
            for thread in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
                nanoseconds += int((thread / "schedstat").read_text().split()[0])
                status = (thread / "status").read_text()
                wakes += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)[1])
            return wakes, nanoseconds / 1e6

        # A look a second at what is due, in a few threads; a wake costs more when others have the caches. A server that
        # turns in circles does so all the time, a busy machine is to blame now and then.
        looks = []
        while not any(wakes <= 40 and milliseconds <= 40 for wakes, milliseconds in looks):
            check(len(looks) < 5, f"wake-ups and ms of CPU in 4 idle seconds each: {looks}")
            before = used()
            time.sleep(4)
            after = used()
            looks.append((after[0] - before[0], after[1] - before[1]))


def test_the_number_of_shards_can_be_changed_and_nothing_is_lost():
    server = Server(server__shards=1)
    try:
        server.start()
        server.subscribe("c1", "orders", group="g", ackTimeoutMs=60000)
        for partition in range(4):
            server.publish("orders", [event(f"{partition}-{i}") for i in range(50)], partition=partition)
        got = server.poll("c1", max=40)
        server.settle("ack", "c1", [one["deliveryId"] for one in got[::2]])
        before = server.lag("orders", "g")
        for shards in (3, 2, 1):
            server.kill()
            server.config["server.shards"] = shards
            server.start()
            after = server.lag("orders", "g")
            for partition, was in before["partitions"].items():
                for field in ("frontier", "highWatermark", "pending", "settledAhead", "inFlight"):
                    equal(after["partitions"][partition][field], was[field], f"{shards} shards, {partition}, {field}")
        rest = [one["deliveryId"] for one in got[1::2]]
        equal(server.settle("ack", "c1", rest).json()["acked"], len(rest), "acks of before the changes")
    finally:
        server.close()


def test_after_a_restart_with_several_shards_pollers_get_every_partition():
    server = Server(server__shards=3)
    try:
        server.start()
        for client in ("c1", "c2", "c3", "c4"):
            server.subscribe(client, "orders", group=client, ackTimeoutMs=60000)
        equal(server.terminate(), 0, "exit code")
        server.start()
        for partition in range(4):
            server.publish("orders", [event(f"{partition}-{i}") for i in range(25)], partition=partition)
        for client in ("c1", "c2", "c3", "c4"):
            seen = set()
            wait_for(lambda: seen.update(d["event"]["id"] for d in server.poll(client, timeout_ms=200)) or len(seen) == 100,
                     30, f"all events at {client}, {len(seen)} so far")
    finally:
        server.close()


if __name__ == "__main__":
    main()
