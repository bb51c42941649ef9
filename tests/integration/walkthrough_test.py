#!/usr/bin/env python3
"""The walk-through of README.md, as it stands there, in a shell, with curl and jq. time box: 60 s"""
import re
import subprocess

from lib.ackline import ROOT, Server, check, equal, main


def script():
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"<!-- walk-through -->\s*```sh\n(.*?)```", text, re.S)
    equal(len(blocks), 1, "README.md has one marked walk-through")
    return blocks[0]


def test_the_walk_through_of_the_readme_says_what_it_promises():
    with Server() as server:
        commands = script().replace("H=127.0.0.1:10105", f"H={server.http_address}")
        commands = commands.replace("A=127.0.0.1:10106", f"A={server.admin_address}")
        commands = commands.replace("ackline-data/", server.config["data.path"] + "/")
        marked = "".join(f"echo '#### {n}'; {line}\n" if line and not line.startswith((" ", "#")) else line + "\n"
                         for n, line in enumerate(commands.splitlines()))
        run = subprocess.run(["bash", "-eu", "-c", marked], capture_output=True, text=True, cwd=server.directory)
        equal(run.returncode, 0, f"exit code; {run.stdout} {run.stderr}")
        out = run.stdout
        check('"frontier":0' in out and '"lag":4' in out and '"pending":1' in out, f"the hole: {out}")
        check("is blocked at offset 1" in out, f"the sentence: {out}")
        check('"status":"rejected"' in out, f"the reject: {out}")
        check(re.search(r"^4$", out, re.M), f"the frontier walked to 4 in one step: {out}")
        check('"reason":"rejected"' in out and '"lastError":"bad price"' in out, f"the dead letter: {out}")
        check('"laneId":"r-' in out and '"started":1' in out, f"the redrive: {out}")
        check('"events":3' in out and '"dryRun":true' in out, f"the dry run: {out}")


if __name__ == "__main__":
    main()
