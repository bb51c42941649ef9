#!/usr/bin/env python3
"""docs/track-record.md: each bug has its six parts, a commit to see it at, and tests that are there."""

import re
import subprocess

from lint_support import ROOT, Rules, test_names

TEXT = (ROOT / "docs/track-record.md").read_text()
PARTS = ["Symptom", "Cause", "Found by", "Reproduce", "Fix", "Test"]
ENTRIES_AT_LEAST = 122


def entries():
    """(number, its parts by name) of each entry."""
    for text in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        pieces = re.split(r"^- \*\*([\w ]+)\*\*:?", text, flags=re.M)
        yield int(re.match(r"(\d+)\. ", text)[1]), dict(zip(pieces[1::2], pieces[2::2]))


def known_commits():
    """Of this clone; None when it has only the newest ones."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout

    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        return None
    return git("rev-list", "--all").split()


def missing_tests(text, units, scripts):
    for token in re.findall(r"`([^`]+)`", text):
        if re.fullmatch(r"[A-Z]\w+\.[A-Z]\w+", token) and token not in units:
            yield token
        elif re.fullmatch(r"test_\w+", token) and token not in scripts:
            yield token
        elif re.match(r"tests/[\w/]+", token) and not (ROOT / token.split()[0]).exists():
            yield token


def main():
    rules = Rules()
    counted = rules.rule("entries are numbered from 1 on, without gaps, and none is lost")
    shaped = rules.rule("an entry has symptom, cause, how it was found, how to see it, fix and test")
    at_commit = rules.rule("what reproduces a bug names a commit, and the commit is there")
    tested = rules.rule("a test that is named is there")
    units, scripts = test_names()
    commits = known_commits()
    numbers = []
    for number, parts in entries():
        numbers.append(number)
        if list(parts) != PARTS:
            shaped.append(f"{number}: {list(parts)}")
            continue
        without_seeds = re.sub(r"--start \d+", "", parts["Reproduce"])
        named = re.findall(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b", without_seeds)
        if not named:
            at_commit.append(f"{number}: none is named")
        at_commit += [f"{number}: there is no {one}" for one in named
                      if commits is not None and not any(commit.startswith(one) for commit in commits)]
        tested += [f"{number}: {token}" for token in missing_tests(parts["Test"], units, scripts)]
    if numbers != list(range(1, len(numbers) + 1)) or len(numbers) < ENTRIES_AT_LEAST:
        counted.append(f"{numbers}")
    rules.finish()


main()
