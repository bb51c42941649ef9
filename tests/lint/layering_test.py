#!/usr/bin/env python3
"""Holds the includes of src/ackline to the layers that its CMakeLists.txt declares."""

import re

from lint_support import ROOT, SRC, Rules, cpp, name_of

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
DECLARATION = re.compile(r"ackline_library\((\w+)([^)]*)\)")

# What implements a seam. Its own folder names it; else only the two that put the product together.
CONCRETE = [
    "io/fs/posix", "io/fs/memory", "io/fs/faulty", "io/kv/rocks", "io/kv/memory", "io/net/",
    "log/local/", "log/sqlite/", "log/postgres/", "log/kafka/", "log/rocketmq/",
    "meta/local/", "meta/etcd/", "meta/nacos/", "state/backend/",
]
COMPOSING = {"runtime", "cli"}
# The HTTP server and client own sockets; the store factory is the one place that turns options into stores.
COMPOSING_FILES = re.compile(r"^(http/(server|client)\w*\.(h|cc)|state/store_factory\.(h|cc))$")
# Headers that only sources of their own folder include.
PRIVATE_HEADER = re.compile(r"_impl\.h$")

# Headers that cost seconds in every file that sees them: sources only.
HEAVY = re.compile(r"^(boost/(asio|beast|json|url)|rocksdb/|simdjson|spdlog/|yaml-cpp/|CLI/|openssl/)")

# Time, threads, randomness and system calls: behind the seams of base and io, so that the simulation can run the
# rest. Tools of one thread's memory (<atomic>, <mutex> in metrics) are no such thing. The watch hub of the local meta
# store lets a watch's destructor wait for its own callback.
MACHINE = re.compile(r"^(thread|random|fstream|filesystem|unistd\.h|fcntl\.h|poll\.h|sys/.*|netinet/.*|arpa/.*"
                     r"|condition_variable|future|ctime|time\.h|chrono)$")
MACHINE_ALLOWED = {"io", "runtime", "cli"}
MACHINE_ALLOWED_FILES = {"base/clock.cc", "base/stopwatch.cc", "base/random.cc", "base/logging.cc",
                         "meta/local/watch_hub.h", "meta/local/watch_hub.cc"}


def declared_layers():
    """folder → the folders it may include, from DEPENDS and what those depend on."""
    text = re.sub(r"#.*", "", (SRC / "CMakeLists.txt").read_text())
    allowed = {}
    for folder, rest in DECLARATION.findall(text):
        depends = re.search(r"DEPENDS\s+(.*?)(?=\bLINK\b|$)", rest, re.S)
        allowed[folder] = {folder}
        for name in (depends[1].split() if depends else []):
            allowed[folder] |= allowed[name]  # a KeyError here is a layer that stands below its user
    return allowed


def main():
    rules = Rules()
    layers = rules.rule("a folder includes itself and the layers it declares")
    places = rules.rule("every folder of src/ackline is a declared layer")
    exists = rules.rule("includes of our own files are absolute and exist")
    concrete = rules.rule("only runtime and cli name a concrete backend")
    heavy = rules.rule("heavy headers stay out of our headers")
    machine = rules.rule("time, threads and system calls stay behind the seams")
    allowed = declared_layers()

    for path in cpp("src"):
        inner = path.relative_to(SRC).as_posix()
        folder = inner.split("/")[0]
        if folder not in allowed:
            places.append(name_of(path))
            continue
        for quote, target in INCLUDE.findall(path.read_text()):
            where = f"{name_of(path)} includes {target}"
            if not target.startswith("ackline/"):
                if quote == '"':
                    exists.append(where)
                if path.suffix == ".h" and HEAVY.match(target) and not PRIVATE_HEADER.search(inner):
                    heavy.append(where)
                allowed_here = folder in MACHINE_ALLOWED or inner in MACHINE_ALLOWED_FILES
                if MACHINE.match(target) and not allowed_here and not COMPOSING_FILES.match(inner):
                    machine.append(where)
                continue
            wanted = target.removeprefix("ackline/")
            if PRIVATE_HEADER.search(wanted) and wanted.split("/")[0] != folder:
                layers.append(where)
            if not (SRC / wanted).is_file():
                exists.append(where)
            if wanted.split("/")[0] not in allowed[folder]:
                layers.append(where)
            if any(wanted.startswith(c) for c in CONCRETE):
                composes = folder in COMPOSING or COMPOSING_FILES.match(inner)
                if not composes and folder != wanted.split("/")[0]:
                    concrete.append(where)

    for path in cpp("tests", "bench"):
        for _, target in INCLUDE.findall(path.read_text()):
            if target.startswith("ackline/") and not (ROOT / "src" / target).is_file():
                exists.append(f"{name_of(path)} includes {target}")
    rules.finish()


main()
