"""Our server and the programs of bench/, each on a directory of its own, and what they take of the machine. The servers that
it is compared with: rivals.py."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration" / "lib"))
import ackline  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("BUILD_ROOT", ROOT / "build")).resolve()
ackline.BINARY = os.environ.get("ACKLINE", str(BUILD / "ackline"))
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
