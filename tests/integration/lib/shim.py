"""Faults for a real server from outside: file operations that fail, a wall clock that jumps (tests/support/shim)."""
import errno
import mmap
import struct
import subprocess

from lib.ackline import ROOT, Server, check

RULE = struct.Struct("<16s104siiii")
HEAD = struct.Struct("<qq")
RULES = 8


class Shim:
    """Built into the server's own directory; in force from its next start."""

    def __init__(self, server: Server):
        library, self.path = server.directory / "fault_shim.so", server.directory / "fault_shim.control"
        run = subprocess.run(["clang++-19", "-std=c++23", "-O1", "-shared", "-fPIC", "-o", str(library),
                              str(ROOT / "tests/support/shim/fault_shim.cc"), "-ldl"], capture_output=True, text=True)
        check(run.returncode == 0, f"the shim does not build: {run.stderr}")
        self.path.write_bytes(bytes(HEAD.size + RULES * RULE.size))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.count = 0
        server.environment = {"LD_PRELOAD": str(library), "FAULT_SHIM_FILE": str(self.path)}

    def fail(self, operation, path, error, skip=0, times=1 << 30):
        """Operations: write sync allocate truncate rename unlink mkdir read create. `path`: a part of it."""
        check(self.count < RULES, "too many rules")
        number = getattr(errno, error)
        RULE.pack_into(self.map, HEAD.size + self.count * RULE.size, operation.encode(), path.encode(), number, skip, times,
                       0)
        self.count += 1
        struct.pack_into("<q", self.map, 8, self.count)

    def hits(self):
        return sum(RULE.unpack_from(self.map, HEAD.size + i * RULE.size)[5] for i in range(self.count))

    def clear(self):
        struct.pack_into("<q", self.map, 8, 0)
        self.count = 0

    def set_clock(self, seconds):
        struct.pack_into("<q", self.map, 0, seconds * 1000)

    def close(self):
        self.map.close()
