#!/usr/bin/env python3
"""The house rules that a compiler does not know: lengths, headings, words."""

import re

from cpp_functions import functions
from lint_support import ROOT, SRC, Rules, cpp, files, name_of

LINE_MAX = 100        # columns of C++
SCRIPT_LINE_MAX = 125
FUNCTION_MAX = 70     # lines
FILE_MAX = 400        # lines, in src

# Written apart, so that this file does not trip over itself.
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root)/\w|" + re.escape("../" "shared"))
TEXT = {".h", ".cc", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".yaml", ".yml", ".properties", ".mod", ""}

# Pattern, where it is looked for (below src/ackline), where it is allowed, and the rule.
WORDS = [
    (re.compile(r"\busing\s+namespace\s+std\b"), (), "no using namespace std"),
    (re.compile(r"\bstd::(cout|cerr|clog)\b|(?<![\w:.])f?printf\s*\("), ("cli/", "base/check.cc"),
     "only cli prints"),
    (re.compile(r"\bsleep_(for|until)\b|(?<![\w.:])u?sleep\s*\("), ("io/",), "nobody sleeps"),
    (re.compile(r"(?<![\w:.])s?rand\s*\(|\brandom_device\b|\bmt19937"), ("base/random.cc",),
     "randomness is injected"),
    (re.compile(r"\b(system_clock|steady_clock|high_resolution_clock)::"),
     ("base/clock.cc", "base/stopwatch.cc", "io/", "runtime/", "cli/"), "clocks are injected"),
    (re.compile(r"\bstd::(format|print|println)\b"), (), "fmt, as libstdc++ 12 has no format or print"),
    (re.compile(r"\bthrow\b"), (), "errors are values"),
]


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def check_cpp(rules):
    long_line = rules.rule(f"C++ lines have at most {LINE_MAX} columns")
    long_function = rules.rule(f"functions of src have at most {FUNCTION_MAX} lines")
    long_file = rules.rule(f"files of src have at most {FILE_MAX} lines")
    pragma = rules.rule("headers have #pragma once")
    heading = rules.rule("headers open with a comment: what for, whose, which thread, how it fails")
    for path in cpp("src", "tests", "bench"):
        text = path.read_text()
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                long_line.append(f"{name_of(path)}:{number} has {len(line)}")
        if path.suffix == ".h":
            if "#pragma once" not in text:
                pragma.append(name_of(path))
            if not text.startswith("//"):
                heading.append(name_of(path))
        if path.is_relative_to(SRC):
            if len(lines) > FILE_MAX:
                long_file.append(f"{name_of(path)} has {len(lines)}")
            for first, length in functions(text):
                if length > FUNCTION_MAX:
                    long_function.append(f"{name_of(path)}:{first} has {length}")


def check_words(rules):
    for pattern, allowed, text in WORDS:
        violations = rules.rule(text)
        for path in cpp("src"):
            inner = path.relative_to(SRC).as_posix()
            if any(inner.startswith(place) for place in allowed):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if pattern.search(without_comments(line)):
                    violations.append(f"{name_of(path)}:{number}: {line.strip()}")
    sleeping = rules.rule("unit tests do not sleep")
    for path in cpp("tests/unit"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\bsleep_(for|until)\b", without_comments(line)):
                sleeping.append(f"{name_of(path)}:{number}")


def check_text(rules):
    unfinished = rules.rule("nothing is left for later in the text of a file")
    machine = rules.rule("no file names a place of one machine")
    long_line = rules.rule(f"scripts have lines of at most {SCRIPT_LINE_MAX} columns")
    for path in files():
        if path.suffix not in TEXT or path.name == "LICENSE" or path.is_relative_to(ROOT / "tests/golden"):
            continue
        if path.is_relative_to(ROOT / "tests/fuzz/corpus"):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        script = path.suffix in {".py", ".sh", ".cmake"} or text.startswith("#!")
        for number, line in enumerate(text.splitlines(), 1):
            if UNFINISHED.search(line):
                unfinished.append(f"{name_of(path)}:{number}: {line.strip()[:80]}")
            if MACHINE_PATH.search(line):
                machine.append(f"{name_of(path)}:{number}: {line.strip()[:80]}")
            if script and len(line) > SCRIPT_LINE_MAX:
                long_line.append(f"{name_of(path)}:{number} has {len(line)}")


def check_tests_mirror_src(rules):
    mirror = rules.rule("tests/unit mirrors src/ackline")
    for folder in sorted((ROOT / "tests/unit").iterdir()):
        if folder.is_dir() and not (SRC / folder.name).is_dir():
            mirror.append(name_of(folder))
    untested = rules.rule("every folder of src with sources has unit tests")
    for folder in sorted(SRC.iterdir()):
        if folder.is_dir() and any(folder.rglob("*.cc")):
            if not any((ROOT / "tests/unit" / folder.name).rglob("*_test.cc")):
                untested.append(name_of(folder))


def main():
    rules = Rules()
    check_cpp(rules)
    check_words(rules)
    check_text(rules)
    check_tests_mirror_src(rules)
    rules.finish()


main()
