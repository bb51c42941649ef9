#!/usr/bin/env python3
"""The bash completion, asked in a bash for every command and every option that --help knows."""
import re
import shlex
import subprocess

from lib.ackline import BINARY, check, equal, main


def ackline(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, check=True).stdout


def section(text, title):
    """The lines of one part of a help text."""
    found = re.search(rf"^{title}:\n(.*?)(?:\n\n|\Z)", text, re.S | re.M)
    return found.group(1).splitlines() if found else []


class Command:
    def __init__(self, path):
        self.path, text = path, ackline(*path, "--help")
        self.children = [line.split()[0] for line in section(text, "Subcommands") if re.match(r"  \S", line)]
        self.options, self.choices, self.valued = set(), {}, set()
        for line in section(text, "Options"):
            head = re.match(r"  (-\S+)(?: (\S.*))?", line)
            if not head:
                continue
            names = head.group(1).split(",")
            value = re.split(r"\s{2,}", head.group(2) or "")[0] if head.group(2) else ""
            takes = bool(re.match(r"[A-Z]+[ :=]|[A-Z]+$", value))
            self.options.update(names)
            for name in names:
                if takes:
                    self.valued.add(name)
                if "{" in value:
                    self.choices[name] = sorted(re.search(r"\{(.*?)\}", value).group(1).split(","))


def tree(path=()):
    command = Command(path)
    yield command
    for child in command.children:
        yield from tree((*path, child))


def completions(cases):
    """What bash offers after each list of words; the last one is what is being typed."""
    script = "set -u\n" + ackline("completion", "bash")
    for words in cases:
        quoted = " ".join(shlex.quote(word) for word in words)
        script += (f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMPREPLY=(); _ackline; "
                   "echo \"${COMPREPLY[*]-}\"\n")
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", script], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "bash")
    lines = done.stdout.split("\n")[:-1]
    equal(len(lines), len(cases), "answers")
    return [sorted(line.split()) for line in lines]


ALL = list(tree())
ROOT = ALL[0]


def test_the_help_that_the_cases_are_made_of_was_understood():
    check(len(ALL) > 25, f"only {len(ALL)} commands")
    check({"--server", "--output", "-o"} <= ROOT.options, ROOT.options)
    equal(ROOT.choices["--output"], ["json", "table"], "choices")
    check("--help" not in ROOT.valued and "--token" in ROOT.valued, ROOT.valued)


def test_every_command_is_offered_where_it_may_stand():
    groups = [command for command in ALL if command.children]
    for command, got in zip(groups, completions([["ackline", *c.path, ""] for c in groups])):
        equal(got, sorted(command.children), f"after {command.path}")
    single = [command for command in ALL if command.path]
    for command, got in zip(single, completions([["ackline", *c.path[:-1], c.path[-1][:-1]] for c in single])):
        check(command.path[-1] in got, f"{command.path} is not offered for {command.path[-1][:-1]}: {got}")


def test_every_option_is_offered_behind_its_command_and_the_common_ones_everywhere():
    for command, got in zip(ALL, completions([["ackline", *c.path, "-"] for c in ALL])):
        common = ROOT.options - {"-V", "--version"}
        missing = (command.options | common) - set(got)
        equal(missing, set(), f"behind {command.path}")
        foreign = set(got) - command.options - ROOT.options
        equal(foreign, set(), f"behind {command.path}")
    each = [(c, name) for c in ALL for name in c.options if name.startswith("--")]
    for (command, name), got in zip(each, completions([["ackline", *c.path, name[:-1]] for c, name in each])):
        check(name in got, f"{name} of {command.path} is not offered: {got}")


def test_a_choice_is_offered_behind_its_option_also_with_an_equals_sign():
    each = [(c, name, words) for c in ALL for name, words in {**ROOT.choices, **c.choices}.items()]
    check(len(each) > 60, f"only {len(each)} choices")
    for (command, name, words), got in zip(each, completions([["ackline", *c.path, n, ""] for c, n, _ in each])):
        equal(got, words, f"{name} behind {command.path}")
    for (command, name, words), got in zip(each, completions([["ackline", *c.path, n, "="] for c, n, _ in each])):
        equal(got, words, f"{name}= behind {command.path}")
    for (command, name, words), got in zip(
            each, completions([["ackline", *c.path, n, words[0][:1]] for c, n, words in each])):
        check(words[0] in got, f"{name} {words[0][:1]}: {got}")


def test_behind_an_option_with_a_free_value_nothing_is_made_up():
    each = [(c, name) for c in ALL for name in c.valued if name not in c.choices]
    for (command, name), got in zip(each, completions([["ackline", *c.path, name, ""] for c, name in each])):
        equal(got, [], f"{name} behind {command.path}")


def test_values_and_options_between_do_not_hide_the_command():
    equal(completions([["ackline", "--server", "topic", "dlq", "--output", "json", ""]])[0],
          sorted(next(c for c in ALL if c.path == ("dlq",)).children), "dlq behind options")
    equal(completions([["ackline", "topic", "create", "dlq", "--partitioner", ""]])[0], ["murmur2", "phash2"],
          "a topic that is called dlq")


def test_the_scripts_for_zsh_and_fish_name_every_command_and_option():
    for shell in ("zsh", "fish"):
        text = ackline("completion", shell)
        for command in ALL:
            for name in command.options:
                written = name if shell == "zsh" else " -l " + name[2:] if name.startswith("--") else " -s " + name[1:]
                check(written in text, f"{shell}: {name} of {command.path}")
            if command.path:
                check(" ".join(command.path) in text, f"{shell}: {command.path}")


main()
