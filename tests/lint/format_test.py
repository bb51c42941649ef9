#!/usr/bin/env python3
"""Every C++ file is as clang-format-19 writes it; `make fmt` makes it so."""

import subprocess

from lint_support import Rules, cpp, name_of


def main():
    sources = cpp("src", "tests", "bench")
    rules = Rules()
    violations = rules.rule(f"each of {len(sources)} files is formatted (make fmt)")
    if not sources:
        violations.append("there are no sources")
    for path in sources:
        result = subprocess.run(["clang-format-19", "--dry-run", "-Werror", path], capture_output=True, check=False)
        if result.returncode != 0:
            violations.append(name_of(path))
    rules.finish()


main()
