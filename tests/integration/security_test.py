#!/usr/bin/env python3
"""What a stranger can do to a server: hold thousands of half-open requests, send bodies that are too large or too deep,
smuggle requests, point a name at the loopback, post across sites, use up descriptors, topics and groups, and write into
the log. All on the loopback, bounded.

time box: 300 s
"""
import contextlib
import json
import re
import resource
import select
import subprocess
import threading
import time
import urllib.parse

from lib.ackline import BINARY, Http, Server, check, equal, event, main, wait_for
from lib.sockets import connect, raw, statuses

SLOW_SOCKETS = 5000
P99_FLOOR_MS = 50


def resident_mib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1024


def p99_ms(servers, requests=400):
    """Of a good client's publishes, each waited for; servers are asked in turn: the machine is the same to all."""
    links, times = [Http(server.http_address) for server in servers], [[] for _ in servers]
    body = json.dumps(event("good"))
    for _ in range(requests):
        for http, mine in zip(links, times):
            begun = time.perf_counter()
            answer = http.request("POST", "/events/publish?topic=good&partition=0", body,
                                  {"content-type": "application/cloudevents+json"})
            mine.append((time.perf_counter() - begun) * 1000)
            equal(answer.status, 202, "a good client's publish")
    for http in links:
        http.close()
    return [sorted(mine)[int(len(mine) * 0.99)] for mine in times]


class Slowloris:
    """`count` sockets, each of which sends a byte of its header now and then; who is cut off comes again."""

    def __init__(self, address, count):
        self.address, self.count, self.sockets = address, count, []
        self.sent = self.cut = self.refused = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def open_one(self):
        try:
            plain = connect(self.address)
            plain.setblocking(False)
            plain.send(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            return plain
        except OSError:
            self.refused += 1
            return None

    def run(self):
        while not self.over.is_set():
            for at in range(self.count):
                if self.over.is_set():
                    break
                if at >= len(self.sockets):
                    self.sockets.append(None)
                if self.sockets[at] is None:
                    self.sockets[at] = self.open_one()
                    continue
                try:
                    self.sockets[at].send(b"a")
                    self.sent += 1
                except OSError:
                    self.cut += 1
                    self.sockets[at].close()
                    self.sockets[at] = None
                if at % 50 == 0:
                    time.sleep(0.02)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for plain in self.sockets:
            if plain:
                plain.close()


def test_slowloris_thousands_of_slow_headers_slow_nobody():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, SLOW_SOCKETS + 500) if hard != resource.RLIM_INFINITY else SLOW_SOCKETS + 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    count = min(SLOW_SOCKETS, wanted - 300)
    # The other one is left alone, on the same machine at the same time.
    with Server() as server, Server() as other:
        p99_ms([other, server], 100)
        with Slowloris(server.http_address, count) as attack:
            wait_for(lambda: len(attack.sockets) >= count, 120, "the sockets")
            check(attack.refused == 0, f"{attack.refused} connections were refused")
            rounds = [p99_ms([other, server]) for _ in range(5)]
            wait_for(lambda: attack.cut >= count // 10, 120, "the first that are cut off")
            rss = resident_mib(server)
        # What an attack costs is in every round; a machine that is busy elsewhere hits one or the other. Below the
        # floor both are its noise.
        quiet, attacked = min(rounds, key=lambda each: each[1] / max(each[0], P99_FLOOR_MS / 2))
        print(f"     {count} sockets (the machine allows {hard} descriptors), {attack.sent} bytes, {attack.cut} cut off; "
              f"p99 {quiet:.2f} ms beside it, {attacked:.2f} ms under it; {rss:.0f} MiB")
        check(attacked <= max(2 * quiet, P99_FLOOR_MS), f"p99 in pairs, beside the attack and under it: {rounds}")
        check(rss < 300, f"{rss} MiB for {count} sockets")
        wait_for(lambda: server.http.get("/livez").status == 200, what="the server")


def body_routes(server):
    """(connection, headers, method, path) of every route that takes a body."""
    document = server.admin.get("/openapi.json").json()
    admin = {"authorization": f"Bearer {server.token}"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                on_admin = path.startswith("/admin")
                plain = re.sub(r"\{[^}]+\}", "x", path)
                if path.startswith("/events/publish"):
                    plain += "?topic=t"
                yield (server.admin if on_admin else server.http, admin if on_admin else {}, method.upper(), plain)


def test_oversized_and_deeply_nested_bodies_on_every_route():
    with Server() as server:
        routes = list(body_routes(server))
        check(len(routes) >= 12, f"only {len(routes)} routes take a body")
        kinds = {"arrays": "[" * 200_000 + "]" * 200_000, "objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
                 "unclosed": "[" * 1_000_000,
                 "a field": '{"clientId":"c","topic":"t","group":"g","filter":' + '{"not":' * 50_000 + "{}" + "}" * 50_001,
                 "data": '{"specversion":"1.0","id":"1","source":"/","type":"t","data":' + "[" * 3000 + "]" * 3000 + "}",
                 "a long text": json.dumps({"clientId": "x" * 3_000_000}), "many members":
                 "{" + ",".join(f'"k{n}":1' for n in range(200_000)) + "}"}
        before = resident_mib(server)
        for http, headers, method, path in routes:
            for what, body in kinds.items():
                for kind in ("application/json", "application/cloudevents+json", "application/cloudevents-batch+json"):
                    if kind != "application/json" and "publish" not in path:
                        continue
                    answer = http.request(method, path, body, {**headers, "content-type": kind})
                    check(400 <= answer.status < 500, f"{method} {path}, {what}: {answer}")
                    check("error" in answer.json(), f"{method} {path}, {what}: no problem: {answer}")
            claim = (f"{method} {path} HTTP/1.1\r\nHost: {http.host}:{http.port}\r\ncontent-type: application/json\r\n"
                     + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "content-length: 99999999999\r\n\r\n")
            equal(statuses(raw(f"{http.host}:{http.port}", claim.encode())), [413], f"{method} {path}: a claim of 99 GB")
        growth = resident_mib(server) - before
        check(growth < 200, f"memory grew by {growth:.0f} MiB")
        equal(server.publish("t", event(1)).status, 202, "after all of it")


def test_requests_that_two_readers_would_read_differently_are_refused():
    with Server() as server:
        for address in (server.http_address, server.admin_address):
            host = f"Host: {address}\r\n".encode()
            post = b"POST /events/publish?topic=t HTTP/1.1\r\n" + host
            hidden = b"GET /livez HTTP/1.1\r\n" + host + b"\r\n"
            cases = {
                "length and chunks": post + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "chunks and length": post + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
                "two lengths": post + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
                "the same length twice": post + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
                "a list of lengths": post + b"Content-Length: 4, 4\r\n\r\nabcd",
                "a signed length": post + b"Content-Length: +4\r\n\r\nabcd",
                "a hexadecimal length": post + b"Content-Length: 0x4\r\n\r\nabcd",
                "a length beyond 64 bits": post + b"Content-Length: 18446744073709551620\r\n\r\nabcd",
                "an unknown coding": post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
                "chunked not last": post + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                "chunked twice": post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "a folded coding": post + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
                "a folded field": b"GET /livez HTTP/1.1\r\n" + host + b"X-A: b\r\n  c\r\n\r\n",
                "bare line feeds": b"GET /livez HTTP/1.1\n" + host.replace(b"\r", b"") + b"\n",
                "a bare line feed in a field": b"GET /livez HTTP/1.1\r\n" + host + b"X-A: b\nX-C: d\r\n\r\n",
                "a bare carriage return": b"GET /livez HTTP/1.1\r\n" + host + b"X-A: b\rX-C: d\r\n\r\n",
                "a NUL in a value": b"GET /livez HTTP/1.1\r\n" + host + b"X-A: b\0c\r\n\r\n",
                "a NUL in a name": b"GET /livez HTTP/1.1\r\n" + host + b"X\0A: b\r\n\r\n",
                "a NUL in the target": b"GET /livez\0 HTTP/1.1\r\n" + host + b"\r\n",
                "a blank before the colon": b"GET /livez HTTP/1.1\r\n" + host + b"Content-Length : 4\r\n\r\nabcd",
                "a field without a name": b"GET /livez HTTP/1.1\r\n" + host + b": b\r\n\r\n",
                "a field without a colon": b"GET /livez HTTP/1.1\r\n" + host + b"XA\r\n\r\n",
                "two Hosts": b"GET /livez HTTP/1.1\r\n" + host + b"Host: evil.example\r\n\r\n",
                "a blank in the target": b"GET /livez x HTTP/1.1\r\n" + host + b"\r\n",
                "a chunk with a signed size": post + b"Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n",
                "a chunk with a huge size": post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\na",
                "a chunk that ends early": post + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
                "a version of its own": b"GET /livez HTTP/1.9\r\n" + host + b"\r\n",
            }
            for what, data in cases.items():
                got = statuses(raw(address, data + hidden))
                check(len(got) == 1 and 400 <= got[0] < 600 and got[0] != 500,
                      f"{what}: answered {got}; what follows must not be read as a request")
            many = b"GET /livez HTTP/1.1\r\n" + host + b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n"
            equal(statuses(raw(address, many)), [431], "5000 fields")
            equal(statuses(raw(address, hidden.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))), [200], "goes on")


def test_a_name_that_points_at_the_loopback_reaches_neither_port():
    with Server() as server:
        for address in (server.http_address, server.admin_address):
            port = address.rsplit(":", 1)[1]
            for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}",
                         f"localhost.evil.example:{port}", f"evil.example@127.0.0.1:{port}", "",
                         f"[::1].evil.example:{port}", f"127.0.0.1:{port}:80", f"0x7f000001:{port}"):
                for path in ("/livez", "/readyz", "/openapi.json", "/metrics", "/admin/topics", "/"):
                    data = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
                    got = statuses(raw(address, data))
                    check(len(got) == 1 and got[0] in (400, 403), f"Host {host!r} on {address}{path}: {got}")
            evil = f"GET http://evil.example/livez HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode()
            equal(statuses(raw(address, evil)), [403], "the host of an absolute target counts")
            for host in (address, f"localhost:{port}"):
                data = f"GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
                equal(statuses(raw(address, data)), [200], f"Host {host}")


def test_a_page_of_another_site_changes_nothing():
    with Server() as server:
        server.publish("t", event(1))
        body = json.dumps({"name": "made-by-a-page"})
        json_kind = {"content-type": "application/json"}
        token = {"authorization": f"Bearer {server.token}"}
        refused = {
            "a foreign Origin": {**json_kind, **token, "origin": "https://evil.example"},
            "Origin null": {**json_kind, **token, "origin": "null"},
            "an Origin of another port": {**json_kind, **token, "origin": "http://127.0.0.1:1"},
            "a cross-site fetch": {**json_kind, **token, "sec-fetch-site": "cross-site"},
            "a same-site fetch of another origin": {**json_kind, **token, "sec-fetch-site": "same-site"},
            "no token": json_kind,
            "a token in the query": json_kind,
            "a form": {**token, "content-type": "application/x-www-form-urlencoded"},
            "a multipart form": {**token, "content-type": "multipart/form-data; boundary=x"},
            "a text form": {**token, "content-type": "text/plain"},
            "no type": token,
        }
        for what, headers in refused.items():
            path = "/admin/topics" + (f"?token={server.token}" if "query" in what else "")
            answer = server.admin.request("POST", path, body, headers)
            check(answer.status in (400, 401, 403, 415), f"{what}: {answer}")
        # What a page may send to the traffic port without being asked first: neither reaches a handler.
        for headers in ({**json_kind, "origin": "https://evil.example"}, {**json_kind, "sec-fetch-site": "cross-site"}):
            answer = server.http.request("POST", "/events/publish?topic=t", json.dumps(event(2)), headers)
            equal(answer.status, 403, f"publish with {headers}")
        # An image of another site would poll, and take deliveries.
        server.subscribe("c1", "t", group="g")
        image = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
        equal(server.http.request("GET", "/events/poll?clientId=c1&timeoutMs=0", headers=image).status, 403, "an image")
        equal(server.lag("t", "g")["partitions"]["0"]["inFlight"] + server.lag("t", "g")["pending"], 1, "nothing is held")
        link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        equal(server.admin.request("GET", "/", headers=link).status, 200, "a link to the page")
        names = [one["name"] for one in server.admin.get("/admin/topics").json()["items"]]
        check("made-by-a-page" not in names, f"a page made a topic: {names}")
        for headers in ({**json_kind, **token}, {**json_kind, **token, "origin": f"http://{server.admin_address}",
                                                 "sec-fetch-site": "same-origin"}):
            name = f"made-{len(headers)}"
            answer = server.admin.request("POST", "/admin/topics", json.dumps({"name": name}), headers)
            equal(answer.status, 201, f"our own: {answer}")


def closed_at_once(plain):
    """Whether the peer has hung up on us without a word."""
    readable, _, _ = select.select([plain], [], [], 0)
    if not readable:
        return False
    try:
        return plain.recv(1) == b""
    except OSError:
        return True


def test_when_descriptors_run_out_old_connections_and_files_live():
    limit = 200
    server = Server(storage__local__segmentBytes="1MiB", disk__reserve="8MiB", server__shards=2, topic__partitions=2)
    server.preexec = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    flood = []
    with server:
        server.subscribe("c1", "t", group="g")
        stream = connect(server.http_address)
        stream.sendall(b"GET /events/stream?clientId=c1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        check(b"200" in stream.recv(4096), "the stream opens")
        equal(server.admin.get("/livez").status, 200, "the admin connection")
        for _ in range(2 * limit):
            with contextlib.suppress(OSError):
                flood.append(connect(server.http_address))
        wait_for(lambda: sum(map(closed_at_once, flood)) > limit // 2, what="the refusals")
        # Files of the log are opened now: new topics, segments and journal files.
        for number in range(12):
            big = [event(f"{number}-{at}", data="x" * 100_000) for at in range(10)]
            equal(server.publish("t", big, partition=0).status, 202, "publish on an old connection")
            if number < 4:
                equal(server.publish(f"new-{number}", event(1)).status, 202, "a new topic on an old connection")
        check(server.lag("t", "g", audit="true")["audit"]["equal"], "the audit reads the files")
        got = b""
        while got.count(b"deliveryId") < 100:
            got += stream.recv(1 << 20)
        equal(server.admin.get("/readyz").status, 200, "readyz")
        for plain in flood:
            plain.close()
        flood.clear()
        wait_for(lambda: raw(server.http_address, b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"),
                 what="a new connection")
        text = server.log.read_text()
        equal(len(re.findall("connections are refused", text)), 1, f"one line a time: {server.tail()}")
        equal(len(re.findall("connections are taken again", text)), 1, f"one line a time: {server.tail()}")
        stream.close()
        check(not re.findall(r"(?m)^\S+ ERROR", text), f"nothing failed: {server.tail()}")


def test_one_client_cannot_make_topics_groups_and_subscriptions_without_end():
    most = 400
    with Server(limits__topics=most, limits__groups=most, limits__clients=2 * most, topic__partitions=1) as server:
        before = resident_mib(server)

        def refusals(tries, ask):
            refused = []
            for number in range(tries):
                answer = ask(number)
                if answer.status >= 400:
                    refused.append(answer)
            return refused

        def refused_by(refused, key, what):
            check(refused, f"{what}: none was refused")
            for answer in refused:
                equal((answer.status, answer.json()["error"]), (429, "rate_limited"), what)
                check(key in answer.json()["remedy"], f"{what}: {answer}")

        topics = refusals(most + 300, lambda n: server.publish(f"t{n}", event(n)))
        equal(len(topics), 300, "topics refused")
        refused_by(topics, "limits.topics", "topics")
        groups = refusals(most + 300, lambda n: server.http.post("/events/subscribe", {
            "clientId": "greedy", "topic": f"t{n % most}", "group": f"g{n}"} if n < most else {
            "clientId": f"greedy{n}", "topic": "t0", "group": f"g{n}"}))
        equal(len(groups), 300, "groups refused")
        refused_by(groups, "limits.groups", "groups")
        clients = refusals(most + 300, lambda n: server.http.post("/events/subscribe", {
            "clientId": f"client{n}", "topic": "t0", "group": "g0"}))
        equal(len(clients), 300, "clients refused")
        refused_by(clients, "limits.clients", "clients")
        growth = resident_mib(server) - before
        print(f"     {most} topics, groups and clients: {growth:.0f} MiB")
        check(growth < 150, f"memory grew by {growth:.0f} MiB")
        equal(server.publish("t1", event("after")).status, 202, "what is there goes on")


# A line of the log and of the audit file, as they may look.
LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARN|ERROR) [ -~]*$")


def test_nothing_that_a_client_sends_writes_a_line_of_its_own():
    evil = "x\r\n2026-01-01T00:00:00.000Z ERROR forged line=1\n\x1b[31mred\x1b]0;title\x07\x9b31m\u2028\u202e\0\x7f"
    with Server(log__level="debug", client__ttl="5s") as server:
        quoted = urllib.parse.quote(evil)
        server.http.request("POST", f"/events/publish?topic={quoted}", json.dumps(event(1)),
                            {"content-type": "application/cloudevents+json"})
        for path in (f"/events/poll?clientId={quoted}", f"/{quoted}", f"/events/stream?clientId={quoted}"):
            server.http.get(path)
        for path in (f"/admin/topics/{quoted}", f"/admin/lag?topic={quoted}&group={quoted}", f"/admin/lanes/{quoted}"):
            server.admin.get(path)
            server.change(path.split("?")[0], {}, "DELETE")
        for body in ({"clientId": evil, "topic": "t"}, {"clientId": "c", "topic": evil},
                     {"clientId": "c", "topic": "t", "group": evil}, {evil: evil}):
            server.http.post("/events/subscribe", body)
        equal(server.publish("t", event(evil.replace("\0", ""), subject=evil.replace("\0", "")), partition=0).status in
              (202, 400), True, "an id with controls")
        equal(server.publish("t", event("fine"), partition=0).status, 202, "publish")
        server.subscribe("c1", "t", group="g", maxAttempts=1)
        for one in server.poll("c1"):
            equal(server.settle("nack", "c1", one["deliveryId"], reason=evil.replace("\0", "")).status, 200, "nack")
        wait_for(lambda: server.admin.get("/admin/dlq/browse", topic="t").json()["items"], what="the dead letter")
        server.settle("ack", "c1", evil)
        server.change("/admin/topics", {"name": evil})
        server.change("/admin/groups/t/g", {"ordering": evil}, "PATCH")
        server.change("/admin/client/reject", {"clientId": evil})
        host = f"Host: {server.http_address}\r\n".encode()
        for line in (b"GET /livez\x1b[31m HTTP/1.1\r\n" + host, b"GET /livez HTTP/1.1\r\nX-A: \x1b[31m\r\n" + host,
                     b"GET /livez HTTP/1.1\r\nHost: \x1b[31mevil\r\n", b"G\x1bET / HTTP/1.1\r\n" + host):
            raw(server.http_address, line + b"\r\n", wait=0.5)
        for arguments in (["dlq", "list", "-t", "t"], ["query", "-t", "t"], ["group", "list"],
                          ["explain", "-t", "t", "-g", "g"]):
            shown = subprocess.run(
                [BINARY, *arguments, "--server", f"http://{server.http_address}", "--admin",
                 f"http://{server.admin_address}"], capture_output=True, text=True, check=False, timeout=30)
            for text in (shown.stdout, shown.stderr):
                check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", text), f"{arguments}: {text!r}")
                check(not re.search(r"(?m)^2026-01-01T", text), f"{arguments} shows a line of its own: {text!r}")
        audit = server.directory / "data" / "audit.log"
        wait_for(lambda: "client.expired" in audit.read_text(errors="replace"), what="the end of the client")
        lines = server.log.read_text(errors="surrogateescape").split("\n")
        check(len(lines) > 3, "the log says nothing")
        begun = next(at for at, line in enumerate(lines) if LOG_LINE.match(line))
        for line in lines[begun:]:
            plain = not line or LOG_LINE.match(line) or line.startswith(("ackline ", "  ", "no security"))
            check(plain and not line.startswith("2026-01-01T"), f"a line that is not ours: {line!r}")
        for line in audit.read_text(errors="surrogateescape").splitlines():
            json.loads(line)
            check(not re.search(r"[\x00-\x1f\x7f]", line), f"controls in the audit log: {line!r}")


if __name__ == "__main__":
    main()
