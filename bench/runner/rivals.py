"""What Ackline is compared with over the network: each server in a directory of its own, its client as a process that runs
rounds. A rival that cannot be had here raises with the reason: its rows fail, they are never left out in silence."""
import json
import os
import pathlib
import re
import select
import subprocess
import time
import urllib.error
import urllib.request

from bench.runner import peers

SERVICES = peers.ROOT / "tests" / "services"
JAVA = peers.ROOT / "bench" / "peers" / "java"
START_LIMIT = 400  # seconds; the first start may fetch or build the program


class Client:
    """A load client that runs rounds: a line `EVENTS RATE` to it, a line of JSON from it."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "ab") as errors:
            self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=errors, text=True, bufsize=1)

    def round(self, events, rate=0):
        try:
            self.process.stdin.write(f"{events} {rate}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it says why in its log
        ready, _, _ = select.select([self.process.stdout], [], [], peers.LIMIT)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.close()
            said = self.log.read_text(errors="replace")
            short = said if len(said) < 800 else f"{said[:400]} … {said[-400:]}"
            raise RuntimeError(f"its client: {short or 'no answer'}")
        return json.loads(line)

    def close(self):
        self.process.kill()
        self.process.wait()


class Rival:
    """One server. `durable`: with the settings that sync before a publish is answered."""
    script, name = "", ""
    default, equal = "default", "synced"  # what the two variants are called; equal None: the default syncs already
    warm_up = 1                           # rounds that are not counted

    def __init__(self, directory, durable):
        self.directory, self.durable = directory, durable
        self.clients = []
        try:
            self.call("up", directory, "0", log=directory / "up.log", env=self.environment())
            self.find()
            self.pids = [int(pid) for pid in re.findall(r"pid=(\d+)", self.call("status", directory))]
        except BaseException:
            self.close()  # whatever of it runs
            raise

    def find(self):
        self.address = self.call("endpoint", self.directory).split()[-1].removeprefix("nats://")

    def environment(self):
        return {}

    @classmethod
    def call(cls, *arguments, log=None, env=None):
        command = [str(SERVICES / cls.script), *(str(a) for a in arguments)]
        environment = {**os.environ, **(env or {})}
        if log is None:
            return peers.run(command, env=environment)
        # The server outlives the script: its output must not be a pipe.
        with open(log, "wb") as out:
            done = subprocess.run(command, stdout=out, stderr=out, env=environment, timeout=START_LIMIT, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{cls.name} cannot be had here: {log.read_text(errors='replace').strip()[-400:]}")
        return ""

    def settings(self, text, variable):
        """Settings that the script appends to its own."""
        path = self.directory.with_name(self.directory.name + ".settings")
        path.write_text(text)
        return {variable: str(path)}

    def client(self, name, batch, ack_max):
        """A client on a queue of its own; `name` is new each time."""
        self.prepare(name)
        made = Client(self.command(name, batch, ack_max), self.directory / f"{name}.client.log")
        self.clients.append(made)
        return made

    def command(self, name, batch, ack_max):
        return [peers.BUILD / "bench" / "peer", self.script.removesuffix(".sh"), "--address", self.address, "--name", name,
                "--batch", batch, "--ack-max", ack_max]

    def prepare(self, name):
        pass

    def events(self, batch):
        """Of a round: about a second of it."""
        raise NotImplementedError

    def cpu_seconds(self):
        return sum(peers.tree_cpu_seconds(pid) for pid in self.pids)

    def close(self):
        for client in self.clients:
            client.close()
        subprocess.run([str(SERVICES / self.script), "purge", str(self.directory)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60, check=False)
        self.directory.with_name(self.directory.name + ".settings").unlink(missing_ok=True)


class JetStream(Rival):
    script, name, default, equal = "nats.sh", "JetStream", "lazy", "always"
    process = None  # since `kill_and_start`

    def environment(self):
        if not self.durable:
            return {}
        return self.settings(f'jetstream {{ store_dir: "{self.directory}/data", max_memory_store: 268435456, '
                             'max_file_store: 8589934592, sync_interval: always }\n', "NATS_CONFIG")

    def prepare(self, name):
        self.call("cli", self.directory, "stream", "add", name, "--subjects", name, "--defaults")
        self.call("cli", self.directory, "consumer", "add", name, "bench", "--pull", "--ack=explicit", "--max-pending=500",
                  "--deliver=all", "--replay=instant", "--defaults")

    def events(self, batch):
        return 1_500 if self.durable else 40_000

    # What follows is of the rows that measure the server itself, with its own tool as the client.

    @property
    def pid(self):
        return self.pids[0]

    def publish(self, events, size=256):
        """Messages per second, as its own tool counts them: asynchronous, at most 500 unanswered."""
        out = self.call("cli", self.directory, "bench", "js", "pub", "async", "benchjs", "--create", "--maxbytes", "4GB",
                        "--msgs", events, "--size", size, "--batch", "500", "--no-progress")
        return float(re.search(r"stats: ([\d,]+) msgs/sec", out).group(1).replace(",", ""))

    def hold(self, events):
        """A consumer that has fetched `events` and acknowledges none."""
        self.call("cli", self.directory, "consumer", "add", "benchstream", "held", "--pull", "--ack=explicit",
                  "--max-pending=4000000", "--wait=1h", "--deliver=all", "--replay=instant", "--defaults")
        self.call("cli", self.directory, "bench", "js", "fetch", "--stream", "benchstream", "--consumer", "held", "--acks",
                  "none", "--msgs", events, "--no-progress")
        return self.in_flight()

    def in_flight(self):
        out = self.call("cli", self.directory, "consumer", "info", "benchstream", "held", "--json")
        return json.loads(out)["num_ack_pending"]

    def kill_and_start(self):
        """kill -9, then the same command line again; seconds until it says that it is healthy."""
        command = pathlib.Path(f"/proc/{self.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        os.kill(self.pid, 9)
        if self.process:
            self.process.wait()
        while pathlib.Path(f"/proc/{self.pid}").exists():
            time.sleep(0.01)
        begin = time.monotonic()
        with open(self.directory / "again.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.pids = [self.process.pid]
        host, port = self.address.rsplit(":", 1)
        url = f"http://{host}:{int(port) + 1}/healthz?js-enabled=true"
        while time.monotonic() < begin + 60:
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    if b'"ok"' in answer.read():
                        return time.monotonic() - begin
            except (urllib.error.URLError, OSError):
                time.sleep(0.005)
        raise RuntimeError("NATS did not come back")

    def close(self):
        if self.process:  # the script knows only of the one that it started
            self.process.kill()
            self.process.wait()
        super().close()


class Java(Rival):
    """A rival whose client runs in a virtual machine, which is slow until it is warm."""
    warm_up, main = 5, ""

    def command(self, name, batch, ack_max):
        jars = self.call("jars").strip()
        classes = peers.BUILD / "bench" / "java" / self.main
        sources = [JAVA / "Rounds.java", JAVA / f"{self.main}.java"]
        made = classes / f"{self.main}.class"
        if not made.exists() or made.stat().st_mtime < max(source.stat().st_mtime for source in sources):
            classes.mkdir(parents=True, exist_ok=True)
            peers.run(["javac", "-d", classes, "-cp", f"{jars}/*", *sources])
        return ["java", "-Xms128m", "-Xmx256m", "-XX:+UseSerialGC", f"-Duser.home={self.directory}/log", "-cp",
                f"{classes}:{jars}/*", self.main, "--address", self.address, "--name", name, "--batch", batch]


class Kafka(Java):
    script, name, equal, main = "kafka.sh", "Kafka share group", "flush.interval.messages=1", "KafkaPeer"

    def environment(self):
        return self.settings("log.flush.interval.messages=1\n", "KAFKA_CONFIG") if self.durable else {}

    def events(self, batch):
        return (10_000 if batch > 1 else 1_500) if self.durable else (40_000 if batch > 1 else 8_000)


class RocketMQ(Java):
    script, name, default, equal, main = "rocketmq.sh", "RocketMQ POP", "ASYNC_FLUSH", "SYNC_FLUSH", "RocketPeer"

    def find(self):
        words = self.call("endpoint", self.directory).split()
        self.address, self.broker = words[1], words[3]

    def environment(self):
        return self.settings("flushDiskType=SYNC_FLUSH\n", "ROCKETMQ_CONFIG") if self.durable else {}

    def prepare(self, name):
        for what in (["updateTopic", "-t", name, "-r", "4", "-w", "4"], ["updateSubGroup", "-g", f"{name}-group"],
                     ["setConsumeMode", "-t", name, "-g", f"{name}-group", "-m", "POP", "-q", "4"]):
            out = self.call("admin", self.directory, what[0], "-b", self.broker, *what[1:])
            if "success" not in out:
                raise RuntimeError(f"{what[0]}: {out[-400:]}")

    def events(self, batch):
        return (10_000 if batch > 1 else 3_000) if self.durable else (30_000 if batch > 1 else 10_000)


class Postgres(Rival):
    script, name, default, equal = "postgres.sh", "PostgreSQL", "synchronous_commit=off", None

    def environment(self):
        return {} if self.durable else self.settings("synchronous_commit = off\n", "POSTGRES_CONFIG")

    def prepare(self, name):
        self.call("cli", self.directory, "-c", f"CREATE TABLE {name} (id bigserial PRIMARY KEY, n bigint, d text)")

    def events(self, batch):
        return 20_000 if batch > 1 else (2_000 if self.durable else 8_000)


class Redis(Rival):
    script, name, default, equal = "redis.sh", "Redis stream", "everysec", "always"

    def environment(self):
        return {"REDIS_FSYNC": "always" if self.durable else "everysec"}

    def prepare(self, name):
        self.call("cli", self.directory, "XGROUP", "CREATE", name, "bench", "0", "MKSTREAM")

    def events(self, batch):
        return 60_000


class RabbitMQ(Rival):
    script, name, equal = "rabbitmq.sh", "RabbitMQ quorum queue", None

    def events(self, batch):
        return 15_000


# Each with the variants to run: False by its own default or a faster setting, True synced before the answer.
ALL = {"nats": (JetStream, (False, True)), "kafka": (Kafka, (False, True)), "rocketmq": (RocketMQ, (False, True)),
       "postgres": (Postgres, (True, False)), "redis": (Redis, (False, True)), "rabbitmq": (RabbitMQ, (True,))}


def variant_name(kind, durable):
    if kind is Postgres:
        return "PostgreSQL, default (synced)" if durable else f"PostgreSQL, {kind.default}"
    if kind is RabbitMQ:
        return "RabbitMQ quorum queue, default (synced)"
    return f"{kind.name}, {kind.equal if durable else kind.default}"


def settle(seconds=1.0):
    """A moment for a server to end what its start began."""
    time.sleep(seconds)
