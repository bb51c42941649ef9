#!/usr/bin/env python3
"""Parts of a data directory that are missing are never taken for new, and nothing else is given up. time box: 120 s"""
import pathlib
import shutil
import subprocess

from lib.ackline import BINARY, Server, check, doctor, equal, event, main

EVENTS = 40


def damage(found):
    return [f for f in found["findings"] if f["level"] == "damage"]


class Filled:
    """A stopped or killed server with a topic of two partitions, checkpointed, of which a group has settled some."""

    def __init__(self, kill=False, checkpoint=True, **config):
        self.server = Server(server__shards=config.pop("shards", 2), **config)
        self.data = pathlib.Path(self.server.config["data.path"])
        self.server.start()
        self.server.change("/admin/topics", {"name": "orders", "partitions": 2})
        if checkpoint:
            self.publish(EVENTS)
            self.server.subscribe("c1", "orders", group="g", ackTimeoutMs=60000)
            got = []
            while len(got) < EVENTS:
                got += self.server.poll("c1", max=EVENTS - len(got))
            self.server.settle("ack", "c1", [d["deliveryId"] for d in got])
            equal(self.server.terminate(), 0, "exit code")
            if kill:
                self.server.start()
        if kill:
            self.publish(EVENTS)
            self.server.kill()
        self.kept = self.server.directory / "kept"
        shutil.copytree(self.data, self.kept)

    def publish(self, count):
        for partition in (0, 1):
            answer = self.server.publish("orders", [event(n) for n in range(count)], partition=partition)
            equal(answer.status, 202, f"{answer}")

    def files(self):
        """Whatever is below log and journal, with its bytes."""
        return {str(p.relative_to(self.data)): p.read_bytes() for top in ("log", "journal")
                for p in sorted((self.data / top).rglob("*")) if p.is_file()}

    def restore(self, part=None):
        part = part or "."
        shutil.rmtree(self.data / part, ignore_errors=True)
        shutil.copytree(self.kept / part, self.data / part)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def check_refused(filled, what, named):
    """The start, the doctor and the repair of what was just broken; nothing below log and journal changes."""
    before = filled.files()
    code, found = doctor(filled.server)
    equal(code, 1, f"{what}: doctor: {found}")
    check(any(named in f["where"] + f["what"] and f["remedy"] for f in damage(found)), f"{what}: {damage(found)}")
    check(filled.server.start(expect_failure=True) != 0, f"{what}: the start is refused")
    told = filled.server.tail(3)
    check("corrupt" in told and named in told and "estore" in told, f"{what}: {told}")
    code, plan = doctor(filled.server, "--repair", "--confirm")
    equal(code, 1, f"{what}: repair: {plan}")
    check(any(named in w["where"] + w["why"] for w in plan["without"]), f"{what}: {plan['without']}")
    equal(sorted(filled.files().items()) == sorted(before.items()), True, f"{what}: nothing was changed or taken away")
    return plan


def check_all_there(filled, what):
    filled.server.start()
    offsets = filled.server.admin.get("/admin/topics/orders").json()["offsets"]
    for partition in ("0", "1"):
        equal((offsets[partition]["state"], offsets[partition]["highWatermark"]), ("ok", EVENTS - 1), f"{what}: {offsets}")
    equal(filled.server.lag("orders", "g")["pending"], EVENTS, f"{what}: what was settled")
    filled.server.kill()


def test_meta_that_is_missing_is_not_made_anew():
    with Filled() as filled:
        def no_records():
            for log in (filled.data / "meta").glob("*.log"):
                log.unlink()

        for what, harm in (("meta", lambda: remove(filled.data / "meta")),
                           ("CURRENT", lambda: remove(filled.data / "meta" / "CURRENT")),
                           ("all of meta's files", lambda: (remove(filled.data / "meta"), (filled.data / "meta").mkdir())),
                           ("the log of meta's store", no_records)):
            harm()
            plan = check_refused(filled, what, str(filled.data / "meta"))
            check(not any("/log/" in one for step in plan["steps"] for one in step["backedUp"]), f"{what}: {plan['steps']}")
            if what != "the log of meta's store":
                check(any("/log/" in w["where"] for w in plan["without"]), f"{what}: {plan['without']}")
            filled.restore("meta")
        check_all_there(filled, "meta put back")


def test_an_offset_store_without_its_first_file_is_damage_and_is_made_again():
    with Filled() as filled:
        remove(filled.data / "offsets" / "CURRENT")
        code, found = doctor(filled.server)
        equal((code, [f["where"] for f in damage(found)]), (1, [str(filled.data / "offsets")]), f"{found}")
        check(filled.server.start(expect_failure=True) != 0, "the start is refused")
        check("CURRENT" in filled.server.tail(3), filled.server.tail(3))
        code, plan = doctor(filled.server, "--repair", "--confirm")
        equal((code, plan["done"], len(plan["steps"])), (0, True, 1), f"{plan}")
        equal(doctor(filled.server)[0], 0, "healthy")
        check_all_there(filled, "offsets made again")


def test_a_journal_directory_that_is_missing_stops_the_start():
    with Filled() as filled:
        for what in ("journal", "journal/2-1", "journal/2-0"):
            named = what if what != "journal" else "journal/2-0"
            remove(filled.data / what)
            check_refused(filled, what, str(filled.data / named))
            equal(list(filled.data.rglob("*.stray")), [], "nothing is set aside")
            # Neither does another number of shards take what is missing for new.
            filled.server.config["server.shards"] = 1
            check(filled.server.start(expect_failure=True) != 0, f"{what}: nor with one shard")
            filled.server.config["server.shards"] = 2
            filled.restore(what)
        check_all_there(filled, "journal put back")


def newest_journal(filled):
    return max((filled.data / "journal" / "1-0").glob("journal-*"), key=lambda p: p.stat().st_mtime_ns)


def test_the_newest_journal_file_is_missed_after_a_kill():
    harms = {"deleted": lambda p: p.unlink(), "emptied": lambda p: p.write_bytes(b""),
             "zeroed": lambda p: p.write_bytes(bytes(p.stat().st_size))}
    for checkpoint in (True, False):
        with Filled(kill=True, checkpoint=checkpoint, shards=1) as filled:
            check(doctor(filled.server)[0] == 0, "healthy before")
            for what, harm in harms.items():
                harm(newest_journal(filled))
                log = {p: p.read_bytes() for p in (filled.data / "log").rglob("*") if p.is_file()}
                code, found = doctor(filled.server)
                check(code == 1 and damage(found), f"{what}: {found}")
                filled.server.start()
                offsets = filled.server.admin.get("/admin/topics/orders").json()["offsets"]
                equal([offsets[p]["state"] for p in "01"], ["quarantined"] * 2, f"{what}: {offsets}")
                answer = filled.server.publish("orders", event(1), partition=0)
                equal((answer.status, answer.json()["error"]), (503, "quarantined"), f"{what}: {answer}")
                check("journal" in answer.json()["detail"], f"{what}: {answer}")
                equal({p: p.read_bytes() for p in log if p.exists()}, log, f"{what}: files of the log stay")
                # It stays so, also when no checkpoint came in between.
                filled.server.kill()
                equal(doctor(filled.server)[0], 1, f"{what}: still damage")
                filled.server.start()
                equal(filled.server.publish("orders", event(1), partition=1).status, 503, f"{what}: still quarantined")
                filled.server.kill()
                filled.restore()
            filled.server.start()
            equal(filled.server.publish("orders", event(1), partition=1).status, 202, "with the file put back all is well")


def test_a_partition_directory_that_is_missing_is_damage():
    with Filled() as filled:
        numbers = sorted(p.name for p in (filled.data / "log").iterdir() if list(p.glob("*.log")))
        for what in (f"log/{numbers[0]}", "log"):
            remove(filled.data / what)
            code, found = doctor(filled.server)
            equal(code, 1, f"{what}: {found}")
            equal(len(damage(found)), 1 if what != "log" else len(numbers), f"{what}: {damage(found)}")
            check(str(filled.data / "log" / numbers[0]) in [f["where"] for f in damage(found)], f"{damage(found)}")
            filled.restore(what)
        equal(doctor(filled.server)[0], 0, "put back")


def test_the_doctor_knows_a_token_that_lets_nobody_in_and_what_is_no_directory():
    with Filled() as filled:
        token = filled.data / "admin.token"
        for content in (bytes(token.stat().st_size), b"", b"short\n"):
            token.write_bytes(content)
            code, found = doctor(filled.server)
            equal(code, 1, f"{content!r}: {found}")
            problem = [f for f in found["findings"] if f["level"] == "problem"]
            equal([(f["where"], bool(f["remedy"])) for f in problem], [(str(token), True)], f"{problem}")
        for path, words in ((filled.data / "gone", "no such directory"), (token, "no directory")):
            done = subprocess.run([BINARY, "doctor", "--data", str(path)], capture_output=True, text=True,
                                  cwd=filled.server.directory)
            check(done.returncode == 1 and words in done.stdout, f"{path}: {done.returncode} {done.stdout} {done.stderr}")
            check(not (filled.data / "gone").exists(), "and makes nothing")


def test_a_program_that_can_do_nothing_ends_consume_with_1():
    with Server() as server:
        server.change("/admin/topics", {"name": "orders", "partitions": 1})
        for n in range(3):
            server.publish("orders", event(n), partition=0)

        def consume(program, count):
            return subprocess.run([BINARY, "consume", "orders", "-g", "g", "--start", "earliest", "--server",
                                   f"http://{server.http_address}", "--exec", program, "--max", str(count)],
                                  capture_output=True, text=True, cwd=server.directory, timeout=30)

        done = consume("false", 3)
        check(done.returncode == 1 and "nacked 3" in done.stderr, f"{done.returncode} {done.stderr}")
        done = consume("true", 3)
        check(done.returncode == 0 and "acked 3, nacked 0" in done.stderr, f"{done.returncode} {done.stderr}")


if __name__ == "__main__":
    main()
