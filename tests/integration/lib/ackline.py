"""A real Ackline server for the process tests: start, talk to it over HTTP, kill it, start it again.

Everything lives in a temporary directory that is removed at the end. Tests import this module, write plain functions named
`test_...` and end with `main()`; each function is one test. The last line printed is `N passed, N failed`.
"""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("ACKLINE", str(ROOT / "build" / "ackline"))
# Each script has a loopback address of its own. On a shared one the port of a server that was killed may be given to
# another script's server, which then takes what a client still sends to the dead one.
ADDRESS = "127.{}.{}.{}".format(1 + (os.getpid() >> 16) % 254, os.getpid() >> 8 & 255, 1 + os.getpid() % 254)


IDLE_S = 30  # of a connection that is not used again: the server closes it after 60


class Failure(AssertionError):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def equal(got, want, what=""):
    if got != want:
        raise Failure(f"{what}: got {got!r}, want {want!r}")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class Http:
    """One keep-alive connection. A request that finds the server gone raises, and the next one connects anew; so does
    one after half a minute of silence, before the server hangs up on an idle connection."""

    def __init__(self, address, timeout=30):
        self.host, port = address.rsplit(":", 1)
        self.port, self.timeout, self.connection, self.used_at = int(port), timeout, None, 0.0

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def request(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("content-type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        if time.monotonic() - self.used_at > IDLE_S:
            self.close()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
            self.connection.request(method, path, body=body, headers=headers)
            answer = self.connection.getresponse()
            result = Answer(answer.status, dict(answer.getheaders()), answer.read())
            self.used_at = time.monotonic()
            if answer.will_close:
                self.close()
            return result
        except Exception:
            self.close()
            raise

    def get(self, path, **query):
        if query:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(query)
        return self.request("GET", path)

    def post(self, path, body=None, **headers):
        return self.request("POST", path, body, headers)


class Server:
    def __init__(self, directory=None, **config):
        self.own = directory is None
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="ackline-test-"))
        self.config = {"data.path": str(self.directory / "data"), "http.host": ADDRESS, "http.port": 0,
                       "admin.host": ADDRESS, "admin.port": 0, "disk.reserve": "16MiB"}
        # A script that is run again under another configuration: "key=value,key=value".
        more = (pair.split("=", 1) for pair in os.environ.get("TEST_SERVER_CONFIG", "").split(",") if pair)
        self.config.update(more)
        self.config.update({k.replace("__", "."): v for k, v in config.items()})
        self.process = None
        self.environment = {}
        self.arguments = []  # of `serve`, besides the configuration
        self.preexec = None  # runs in the child before the server does
        self.http_address = self.admin_address = "127.0.0.1:1"
        self.log = self.directory / "server.log"
        self.ready = self.directory / "ready.json"

    # --- life ---
    def launch(self):
        """Starts the process and does not wait for it."""
        self.ready.unlink(missing_ok=True)
        command = [BINARY, "serve", "--ready-file", str(self.ready), *self.arguments]
        for key, value in self.config.items():
            command += ["-D", f"{key}={value}"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("ACKLINE_", "EVENTMESH_"))}
        environment.update(self.environment)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=environment, cwd=self.directory, preexec_fn=self.preexec)

    def is_ready(self):
        """Looks once; knows the addresses from then on."""
        if not self.ready.exists():
            return False
        told = json.loads(self.ready.read_text())
        self.http_address, self.admin_address = told["http"], told["admin"]
        self.http, self.admin = Http(told["http"]), Http(told["admin"])
        return True

    def start(self, wait=60, expect_failure=False):
        self.launch()
        end = time.monotonic() + wait
        while time.monotonic() < end:
            if self.process.poll() is not None:
                if expect_failure:
                    return self.process.returncode
                raise Failure(f"the server ended with {self.process.returncode}: {self.tail()}")
            if self.is_ready():
                return self
            time.sleep(0.005)
        raise Failure(f"the server was not ready within {wait} s: {self.tail()}")

    def tail(self, lines=15):
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def kill(self):
        check(self.process.poll() is None, f"the server had ended by itself with {self.process.returncode}: {self.tail()}")
        self.process.kill()
        self.process.wait()
        self.http.close()
        self.admin.close()

    def terminate(self, wait=60):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(wait)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"no end within {wait} s of SIGTERM: {self.tail()}") from None
        self.http.close()
        self.admin.close()
        return code

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.own:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    # --- shorthand ---
    @property
    def token(self):
        return (pathlib.Path(self.config["data.path"]) / "admin.token").read_text().strip()

    def change(self, path, body, method="POST"):
        return self.admin.request(method, path, body, {"authorization": f"Bearer {self.token}",
                                                       "content-type": "application/json"})

    def publish(self, topic, event, partition=None, http=None):
        path = f"/events/publish?topic={topic}" + (f"&partition={partition}" if partition is not None else "")
        kind = "application/cloudevents-batch+json" if isinstance(event, list) else "application/cloudevents+json"
        return (http or self.http).request("POST", path, json.dumps(event), {"content-type": kind})

    def subscribe(self, client, topic, http=None, **more):
        answer = (http or self.http).post("/events/subscribe", {"clientId": client, "topic": topic, **more})
        check(answer.status == 200, f"subscribe: {answer}")
        return answer.json()

    def client(self, name):
        """What is shown of a client, or None."""
        items = self.admin.get("/admin/clients").json()["items"]
        return next((one for one in items if one["clientId"] == name), None)

    def exported(self, topic, group, partition=0):
        """The frontier in the offset store, which follows within some seconds; None: there is none yet."""
        items = self.admin.get("/admin/offsets", topic=topic).json()["items"]
        return next((one["frontier"] for one in items if (one["group"], one["partition"]) == (group, partition)), None)

    def poll(self, client, max=100, timeout_ms=10_000, http=None):
        answer = (http or self.http).get("/events/poll", clientId=client, max=max, timeoutMs=timeout_ms)
        check(answer.status == 200, f"poll: {answer}")
        return answer.json()

    def settle(self, verb, client, ids, http=None, **more):
        what = {"deliveryId": ids} if isinstance(ids, str) else {"deliveryIds": ids}
        return (http or self.http).post(f"/events/{verb}", {"clientId": client, **what, **more})

    def lag(self, topic, group, **query):
        answer = self.admin.get("/admin/lag", topic=topic, group=group, **query)
        check(answer.status == 200, f"lag: {answer}")
        return answer.json()


def doctor(server, *words):
    """Of a stopped server's data: the exit code, and what it printed."""
    done = subprocess.run([BINARY, "doctor", "--data", server.config["data.path"], "--output", "json", *words],
                          capture_output=True, text=True, cwd=server.directory)
    check(done.stdout, f"doctor {words}: {done.returncode} {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def event(number, **more):
    return {"specversion": "1.0", "id": str(number), "source": "/test", "type": "test.event",
            "data": {"n": number}, **more}


def take(server, client, wanted, seconds=30):
    """What comes to a client until there is as much as was wanted."""
    got, end = [], time.monotonic() + seconds
    while len(got) < wanted and time.monotonic() < end:
        got += server.poll(client, timeout_ms=500)
    return got


def take_and_ack(server, client, wanted):
    """As much as was wanted, and whatever comes behind it at once; all is acked."""
    got = []
    while batch := server.poll(client, max=1000, timeout_ms=500 if len(got) >= wanted else 20_000):
        equal(server.settle("ack", client, [one["deliveryId"] for one in batch]).status, 200, "ack")
        got += batch
    return got


def redelivered(server, client, topic, group, count):
    """Acks what comes of `count` events whose leases end; offset -> attempt at its first coming.

    On a machine that stands still a lease may end before its ack; then the event comes once more.
    """
    got = {}

    def look():
        some = server.poll(client, timeout_ms=500)
        for one in some:
            got.setdefault(one["offset"], one["attempt"])
        if some:
            server.settle("ack", client, [one["deliveryId"] for one in some])
        return len(got) == count and server.lag(topic, group)["pending"] == 0

    wait_for(look, what=f"the redelivery of {count} events to {client}")
    return got


def wait_for(condition, seconds=30, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise Failure(f"{what} did not come true within {seconds} s")


@contextlib.contextmanager
def tmpfs(megabytes):
    directory = tempfile.mkdtemp(prefix="ackline-tmpfs-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", directory], check=True)
    try:
        yield pathlib.Path(directory)
    finally:
        subprocess.run(["umount", directory], check=True)
        shutil.rmtree(directory, ignore_errors=True)


def main(names=None):
    module = sys.modules["__main__"]
    wanted = sys.argv[1:]
    passed = failed = 0
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or not callable(function) or (wanted and name not in wanted):
            continue
        begun = time.monotonic()
        try:
            function()
            passed += 1
            print(f"ok   {name} ({time.monotonic() - begun:.1f} s)", flush=True)
        except Exception as error:  # every failure is one test's
            failed += 1
            print(f"FAIL {name}: {error}", flush=True)
            if not isinstance(error, Failure):
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or passed == 0 else 0)
