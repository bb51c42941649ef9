"""The processes that are measured: our server and NATS, each on a directory of its own on loopback."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration" / "lib"))
import ackline  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("BUILD_ROOT", ROOT / "build")).resolve()
ackline.BINARY = os.environ.get("ACKLINE", str(BUILD / "ackline"))
NATS = ROOT / "tests" / "services" / "nats.sh"
LIMIT = 240  # seconds, for any one program that is waited for


def run(command, **more):
    """The standard output of a program, which may not take longer than LIMIT."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=LIMIT, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
    return done.stdout


def program(name, *arguments):
    """One of the programs of bench/; each line that it prints is JSON."""
    return [json.loads(line) for line in run([BUILD / "bench" / name, *arguments]).splitlines()]


def load(verb, **options):
    arguments = [part for key, value in options.items() for part in (f"--{key}", value)]
    return program("load", verb, *arguments)[0]


def cpu_seconds(pid):
    """CPU time that a process has used: its own clock, in nanoseconds."""
    return time.clock_gettime((~pid << 3) | 2)


def tree_cpu_seconds(pid):
    """The same of a process and all that descend from it and live."""
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents.setdefault(int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
        except (OSError, IndexError):
            continue  # it has just ended
    total, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        todo += parents.get(one, [])
        try:
            total += cpu_seconds(one)
        except OSError:
            continue
    return total


def rss_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


def scratch(prefix, memory=False):
    """A new directory: on the disk of TMPDIR, or in memory."""
    return pathlib.Path(tempfile.mkdtemp(prefix=f"ackline-bench-{prefix}-", dir="/dev/shm" if memory else None))


def server(directory, **config):
    # The tests' own default is for small disks: journal files would be an eighth of it.
    made = ackline.Server(directory=directory, **{"disk.reserve": "256MiB", **config})
    made.start()
    return made


class Nats:
    def __init__(self, directory, always=False):
        self.directory, self.process = directory, None
        environment = dict(os.environ)
        if always:
            config = directory / "always.conf"
            config.write_text(f'jetstream {{ store_dir: "{directory}/data", max_memory_store: 268435456, '
                              'max_file_store: 8589934592, sync_interval: always }\n')
            environment["NATS_CONFIG"] = str(config)
        # Its output must not be a pipe: the server outlives the script.
        with open(directory / "up.log", "wb") as log:
            subprocess.run([NATS, "up", directory, "0"], stdout=log, stderr=log, env=environment, timeout=LIMIT, check=True)
        self.pid = int(re.search(r"pid=(\d+)", run([NATS, "status", directory])).group(1))
        self.port = int((directory / "ports").read_text().split()[0])

    def cli(self, *arguments):
        return run([NATS, "cli", self.directory, *arguments])

    def publish(self, events, size=256):
        """Messages per second, as its own tool counts them: asynchronous, at most 500 unanswered."""
        out = self.cli("bench", "js", "pub", "async", "benchjs", "--create", "--maxbytes", "4GB", "--msgs", events,
                       "--size", size, "--batch", "500", "--no-progress")
        return float(re.search(r"stats: ([\d,]+) msgs/sec", out).group(1).replace(",", ""))

    def hold(self, events):
        """A consumer that has fetched `events` and acknowledges none."""
        self.cli("consumer", "add", "benchstream", "held", "--pull", "--ack=explicit", "--max-pending=4000000",
                 "--wait=1h", "--deliver=all", "--replay=instant", "--defaults")
        self.cli("bench", "js", "fetch", "--stream", "benchstream", "--consumer", "held", "--acks", "none", "--msgs",
                 events, "--no-progress")
        return self.in_flight()

    def in_flight(self):
        return json.loads(self.cli("consumer", "info", "benchstream", "held", "--json"))["num_ack_pending"]

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
        self.pid = self.process.pid
        url = f"http://127.0.0.1:{self.port + 1}/healthz?js-enabled=true"
        while time.monotonic() < begin + 60:
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    if b'"ok"' in answer.read():
                        return time.monotonic() - begin
            except (urllib.error.URLError, OSError):
                time.sleep(0.005)
        raise RuntimeError("NATS did not come back")

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        subprocess.run([NATS, "purge", self.directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
                       check=False)
