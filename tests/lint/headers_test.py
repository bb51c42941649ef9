#!/usr/bin/env python3
"""Every header of src/ackline compiles alone: whoever includes it needs nothing before it.

Results are kept in build/lint-headers/ by a hash of the header, everything of ours that it includes and the command
line, so that a second run only compiles what changed.
"""

import concurrent.futures
import hashlib
import os
import re
import subprocess

from lint_support import ROOT, Rules, files, name_of

CACHE = ROOT / "build/lint-headers"
FLAGS = ["clang++-19", "-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
         "-Werror", f"-I{ROOT / 'src'}", "-x", "c++", "-"]
OURS = re.compile(r'^\s*#\s*include\s+"(ackline/[^"]+)"', re.M)


def closure(header, seen):
    """The header and every file of ours below it."""
    if header not in seen and header.is_file():
        seen.add(header)
        for target in OURS.findall(header.read_text()):
            closure(ROOT / "src" / target, seen)
    return seen


def check(header):
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted(closure(header, set())):
        digest.update(path.read_bytes())
    stamp = CACHE / digest.hexdigest()
    if stamp.exists():
        return None
    name = header.relative_to(ROOT / "src").as_posix()
    result = subprocess.run(FLAGS, input=f'#include "{name}"\n', text=True, capture_output=True, check=False)
    if result.returncode == 0:
        stamp.touch()
        return None
    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr[:200])
    return f"{name_of(header)}: {first}"


def main():
    CACHE.mkdir(parents=True, exist_ok=True)
    headers = files("src", suffixes={".h"})
    rules = Rules()
    violations = rules.rule(f"each of the {len(headers)} headers compiles alone")
    if not headers:
        violations.append("there are no headers")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        violations.extend(filter(None, pool.map(check, headers)))
    rules.finish()


main()
