"""Finds the functions of a C++ file and their lengths, by its braces. No parser: enough for files in our format."""

import re

STRINGS = re.compile(
    r'R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', re.S)
DIGIT_GROUP = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
CONTROL = re.compile(r"^(if|for|while|switch|catch|else|do|try)\b")


def blanked(text):
    """The text without comments, literals and directives; every line break stays where it is."""
    def blank(match):
        return "\n" * match.group(0).count("\n")

    return STRINGS.sub(blank, PREPROCESSOR.sub(blank, DIGIT_GROUP.sub("", text)))


def kind_of(head, parent):
    """What the brace behind `head` opens, inside `parent`."""
    if parent not in ("top", "container"):
        return "inner"
    head = head.strip()
    bare = re.sub(r"<[^<>]*>", "", head)
    if CONTAINER.search(bare) and "(" not in bare.split(" final")[0].split(":")[0].replace("alignas(", ""):
        return "container"
    if head.endswith("=") or "(" not in head or CONTROL.match(head):
        return "inner"
    return "function"


def functions(text):
    """(first line, number of lines) of each function."""
    found, stack, head_start, line = [], [], 0, 1
    text = blanked(text)
    lines_before = [0]
    for char in text:
        lines_before.append(lines_before[-1] + (char == "\n"))
    for at, char in enumerate(text):
        if char == "{":
            head = text[head_start:at]
            parent = stack[-1][0] if stack else "top"
            first = head_start + len(head) - len(head.lstrip())
            stack.append((kind_of(head, parent), lines_before[first] + 1))
            head_start = at + 1
        elif char == "}":
            if stack:
                kind, first = stack.pop()
                if kind == "function":
                    found.append((first, lines_before[at] + 1 - first + 1))
            head_start = at + 1
        elif char == ";":
            head_start = at + 1
    return found
