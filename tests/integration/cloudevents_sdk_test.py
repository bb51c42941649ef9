#!/usr/bin/env python3
"""The CloudEvents SDK of PyPI, used as its users would: structured and binary in, equal events back. time box: 120 s"""
import os
import pathlib
import subprocess
import sys
from datetime import datetime, timezone

HERE = pathlib.Path(__file__).resolve()
VENV = HERE.parents[2] / "build" / "python"
SDK = "cloudevents==2.2.0"

try:
    from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
    from cloudevents.core.formats.json import JSONFormat
    from cloudevents.core.v1.event import CloudEvent
except ImportError:
    if os.environ.get("ACKLINE_SDK_VENV"):
        raise
    if not (VENV / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    subprocess.run([str(VENV / "bin" / "pip"), "-q", "--disable-pip-version-check", "install", SDK], check=True)
    os.environ["ACKLINE_SDK_VENV"] = "1"
    os.execv(str(VENV / "bin" / "python"), [str(VENV / "bin" / "python"), str(HERE), *sys.argv[1:]])

import json  # noqa: E402

from lib.ackline import Server, check, equal, main, take  # noqa: E402

TIME = datetime(2026, 11, 29, 12, 0, 0, 123000, tzinfo=timezone.utc)


def sample(number, data, **more):
    return CloudEvent({"specversion": "1.0", "id": f"sdk-{number}", "source": "/sdk/ü", "type": "sdk.event",
                       "time": TIME, "subject": "a subject, with \"quotes\" and 100 %", "partitionkey": f"k{number}",
                       **more}, data)


def back(delivery):
    body = json.dumps(delivery["event"]).encode()
    return from_http_event(HTTPMessage({"content-type": "application/cloudevents+json"}, body))


def same(got, want):
    equal(dict(got.get_attributes()), dict(want.get_attributes()), "attributes")
    equal(got.get_data(), want.get_data(), "data")


def send(server, message, topic="t"):
    answer = server.http.request("POST", f"/events/publish?topic={topic}", message.body, dict(message.headers))
    equal(answer.status, 202, f"publish: {answer}")


EVENTS = [
    sample(1, {"n": 1, "text": "ü ✓", "list": [1, 2.5, None, True]}, datacontenttype="application/json"),
    sample(2, "plain text, ü", datacontenttype="text/plain"),
    sample(3, bytes(range(256)), datacontenttype="application/octet-stream"),
    sample(4, [1, 2, 3], datacontenttype="application/json", dataschema="https://example.org/schema"),
    sample(5, None),
]


def test_events_that_the_sdk_publishes_structured_come_back_equal():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        for one in EVENTS:
            send(server, to_structured_event(one))
        got = {d["event"]["id"]: d for d in take(server, "c", len(EVENTS))}
        for one in EVENTS:
            same(back(got[one.get_id()]), one)


def test_events_that_the_sdk_publishes_binary_come_back_equal():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        sent = [one for one in EVENTS if one.get_data() is not None]
        for one in sent:
            send(server, to_binary_event(one))
        got = {d["event"]["id"]: d for d in take(server, "c", len(sent))}
        for one in sent:
            same(back(got[one.get_id()]), one)


def test_a_batch_as_an_array_of_the_sdks_events_comes_back_equal():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        batch = b"[" + b",".join(JSONFormat().write(one) for one in EVENTS) + b"]"
        answer = server.http.request("POST", "/events/publish?topic=t", batch,
                                     {"content-type": "application/cloudevents-batch+json"})
        equal((answer.status, answer.json()["accepted"]), (202, len(EVENTS)), f"batch: {answer}")
        got = {d["event"]["id"]: d for d in take(server, "c", len(EVENTS))}
        for one in EVENTS:
            same(back(got[one.get_id()]), one)


def test_every_attribute_type_survives():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        one = {"specversion": "1.0", "id": "types", "source": "/t", "type": "t", "flag": True, "count": -7,
               "text": "ü", "data": {"big": 12345678901234567890, "f": 1e300}}
        raw = json.dumps(one, ensure_ascii=False).encode()
        answer = server.http.request("POST", "/events/publish?topic=t", raw,
            {"content-type": "application/cloudevents+json"})
        equal(answer.status, 202, f"publish: {answer}")
        got = server.poll("c")[0]["event"]
        equal(got, one, "the event")
        check(got["flag"] is True and got["count"] == -7, "types of extensions")


if __name__ == "__main__":
    main()
