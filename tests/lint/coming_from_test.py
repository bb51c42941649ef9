#!/usr/bin/env python3
"""Everything that docs/coming-from.md says is here, is here."""

import json
import re

from lint_support import ROOT, Rules, files, test_names

PARTS = {"cluster", "broker logs", "gate", "A2A", "sessions", "connectors", "other channels", "dashboard"}

TEXT = (ROOT / "docs/coming-from.md").read_text()
KEYS = set(re.findall(r'\{\.name = "([\w.]+)"', (ROOT / "src/ackline/base/config_table.cc").read_text()))
METRICS = set(re.findall(r'"(ackline_\w+)"', (ROOT / "src/ackline/base/metric_names.cc").read_text()))
COMMANDS = {path for source in files("src/ackline/cli", suffixes={".cc"})
            for path in re.findall(r'\.path = "([^"]+)"', source.read_text())}
PATHS = json.loads((ROOT / "src/ackline/api/openapi.json").read_text())["paths"]
ROUTES = {f"{verb.upper()} {path}" for path, verbs in PATHS.items() for verb in verbs}
TESTS, SCRIPTS = test_names()


def wrong(token):
    """What is wrong with one name of ours; None when it is there."""
    if re.match(r"(src|tests|docs|conf|tools)/", token):
        return None if (ROOT / token).is_file() else "there is no such file"
    if re.match(r"[A-Z]+ /", token):
        return None if token in ROUTES else "the API has no such route"
    if token.startswith("ackline_"):
        return None if token in METRICS else "there is no such metric"
    if token.startswith("ackline "):
        return None if token.removeprefix("ackline ") in COMMANDS else "there is no such command"
    if token.startswith("test_"):
        return None if token in SCRIPTS else "no process test has this name"
    if re.fullmatch(r"[A-Z]\w+\.[A-Z]\w+", token):
        return None if token in TESTS else "no unit test has this name"
    if re.fullmatch(r"[a-z]\w*(\.\w+)+", token):
        return None if token in KEYS else "there is no such configuration key"
    return "neither a file, a route, a metric, a command, a test nor a key"


def tables():
    """(line number, cells) of each row behind a table's head."""
    body = False
    for number, line in enumerate(TEXT.splitlines(), 1):
        if not line.startswith("|"):
            body = False
        elif set(line) <= set("|-"):
            body = True
        elif body:
            yield number, [cell.strip() for cell in line.strip("|").split("|")]


def main():
    rules = Rules()
    shape = rules.rule("a row has three columns and says where it is, or that it is not here and with which part it comes")
    exists = rules.rule("what the second column names is there")
    parts = rules.rule("a later part is one of those that the page lists")
    remarks = rules.rule("files, tests and metrics in remarks are there, too")
    enough = rules.rule("the page has its tables")
    checked = 0
    for number, cells in tables():
        at = f"docs/coming-from.md:{number}"
        if len(cells) != 3 or not cells[0]:
            shape.append(f"{at}: {cells}")
            continue
        tokens = re.findall(r"`([^`]+)`", cells[1])
        if not tokens and not re.match(r"not here yet: |not here, and will not come: ", cells[1]):
            shape.append(f"{at}: {cells[1]!r}")
        for token in tokens:
            checked += 1
            if (problem := wrong(token)) is not None:
                exists.append(f"{at}: {token}: {problem}")
        for token in re.findall(r"`([^`]+)`", cells[2]):
            kind = re.match(r"(src|tests|docs|conf|tools)/|ackline_|test_", token) or re.fullmatch(
                r"[A-Z]\w+\.[A-Z]\w+", token)
            if kind and (problem := wrong(token)) is not None:
                remarks.append(f"{at}: {token}: {problem}")
        for cell in cells[1:]:
            for named in re.findall(r"not here yet: ([^|;.`]+)", cell):
                for part in named.split(","):
                    if part.strip() not in PARTS:
                        parts.append(f"{at}: {part.strip()!r}")
    listed = set(re.findall(r"\*\*([^*]+)\*\*", TEXT.split("## EventMesh")[0]))
    if listed != PARTS:
        parts.append(f"the page lists {sorted(listed)}, this test knows {sorted(PARTS)}")
    if checked < 150:
        enough.append(f"only {checked} names were checked")
    rules.finish()


main()
