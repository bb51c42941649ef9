"""What the lint scripts share: the files of the tree, and a table of rules that ends in `N passed, N failed`."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SRC = ROOT / "src/ackline"
OUTSIDE = {"build", ".git", "ackline-data", "node_modules", "__pycache__", ".cache", "third_party"}


def files(*tops, suffixes=None):
    """Files below the given folders (of the whole tree without any), in a stable order."""
    found = []
    for top in tops or (".",):
        for folder, names, leaves in os.walk(ROOT / top):
            names[:] = sorted(n for n in names if n not in OUTSIDE)
            for leaf in sorted(leaves):
                path = pathlib.Path(folder) / leaf
                if suffixes is None or path.suffix in suffixes:
                    found.append(path)
    return found


def cpp(*tops):
    return files(*tops, suffixes={".h", ".cc"})


def name_of(path):
    return str(path.relative_to(ROOT))


def test_names():
    """Names of all unit tests (`Suite.Name`) and of all process tests (`test_name`)."""
    units = {f"{suite}.{name}" for source in cpp("tests")
             for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(), re.M)}
    scripts = {name for source in files("tests/integration", suffixes={".py"})
               for name in re.findall(r"^def (test_\w+)\(", source.read_text(), re.M)}
    return units, scripts


class Rules:
    """Collects violations by rule."""

    def __init__(self):
        self.rules = {}

    def rule(self, text):
        return self.rules.setdefault(text, [])

    def finish(self):
        failed = 0
        for text, violations in self.rules.items():
            failed += bool(violations)
            print(f"{'FAIL' if violations else 'ok  '} {text}")
            for violation in violations[:50]:
                print(f"       {violation}")
            if len(violations) > 50:
                print(f"       … and {len(violations) - 50} more")
        print(f"{len(self.rules) - failed} passed, {failed} failed")
        sys.exit(1 if failed else 0)
