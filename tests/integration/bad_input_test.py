#!/usr/bin/env python3
"""Bad input over real sockets: each gets its word, and the server goes on. time box: 180 s"""
import json

from lib.ackline import Server, check, equal, event, main
from lib.sockets import raw, statuses


def word(answer):
    return answer.status, answer.json()["error"]


def status(server, data):
    """Of the first answer to bytes that are sent as they are, in one piece or in several."""
    got = statuses(raw(server.http_address, data, answers=1))
    return got[0] if got else None


def test_unknown_topic_group_and_client():
    with Server() as server:
        equal(word(server.admin.get("/admin/lag", topic="none", group="g")), (404, "topic_unknown"), "topic")
        server.publish("t", event(1))
        equal(word(server.admin.get("/admin/lag", topic="t", group="none")), (404, "group_unknown"), "group")
        equal(word(server.http.get("/events/poll", clientId="nobody")), (404, "client_unknown"), "client")
        equal(word(server.http.get("/events/stream", clientId="nobody")), (404, "client_unknown"), "stream")
        equal(word(server.change("/admin/topics/none?confirm=true", None, "DELETE")), (404, "topic_unknown"), "delete")


def test_names_that_no_topic_group_or_client_may_have():
    with Server() as server:
        for name in ("a%23b", "a%2Fb", "a%40b", "a%20b", "x" * 124, ".", "..", "orders_DLQ", "%C3%BC", ""):
            answer = server.http.request("POST", f"/events/publish?topic={name}", json.dumps(event(1)),
                                         {"content-type": "application/cloudevents+json"})
            check(answer.status == 400 and answer.json()["error"] in ("bad_name", "missing_field"), f"{name}: {answer}")
            check(answer.json()["remedy"], f"{name} has a remedy")
        equal(server.publish("x" * 123, event(1)).status, 202, "123 characters are fine")
        for client in ("a#b", "a/b", "a@b", "a b", "x" * 128):
            answer = server.http.post("/events/subscribe", {"clientId": client, "topic": "t"})
            equal(word(answer), (400, "bad_name"), client)
            answer = server.http.post("/events/subscribe", {"clientId": "c", "topic": "t", "group": client})
            equal(word(answer), (400, "bad_name"), client)
        equal(word(server.http.post("/events/subscribe", {"clientId": "c", "topic": "t_DLQ"})), (400, "bad_name"), "DLQ")


def test_events_that_are_no_events():
    with Server() as server:
        whole = event(1)
        for missing in ("id", "source", "type", "specversion"):
            broken = {k: v for k, v in whole.items() if k != missing}
            equal(word(server.publish("t", broken)), (400, "missing_attribute"), missing)
        for key, value in (("time", "yesterday"), ("id", ""), ("specversion", "0.3"), ("Upper", "x"), ("ext", {"a": 1}),
                           ("ext", 1 << 40), ("source", "")):
            answer = server.publish("t", {**whole, key: value})
            check(answer.status == 400 and answer.json()["error"] in ("bad_attribute", "missing_attribute"),
                f"{key}: {answer}")
        head = {"content-type": "application/cloudevents+json"}
        equal(word(server.http.request("POST", "/events/publish?topic=t", b'{"specversion":"1.0","id":"\xff"}', head)),
              (400, "bad_utf8"), "invalid UTF-8")
        doubled = '{"specversion":"1.0","id":"1","id":"2","source":"/t","type":"t"}'
        equal(word(server.http.request("POST", "/events/publish?topic=t", doubled, head)), (400, "duplicate_key"), "twice")
        for body in ("", "[1", "null", "{", "nonsense", "\x00"):
            equal(word(server.http.request("POST", "/events/publish?topic=t", body, head)), (400, "bad_json"), repr(body))
        deep = "[" * 100000
        check(server.http.request("POST", "/events/publish?topic=t", deep, head).status == 400, "deep nesting")
        equal(word(server.http.request("POST", "/events/publish?topic=t", "x", {"content-type": "text/csv"})),
              (415, "media_type"), "a media type that means nothing here")
        equal(word(server.publish("t", event(1, data="x" * (1 << 20)))), (413, "too_large"), "over 1 MiB")
        equal(server.publish("t", whole).status, 202, "and a good one")


def test_one_bad_event_among_good_ones_spoils_only_itself():
    with Server() as server:
        bad = {k: v for k, v in event(2).items() if k != "source"}
        answer = server.publish("t", [event(1), bad, event(3)], partition=0)
        equal(answer.status, 202, f"batch: {answer}")
        told = answer.json()
        equal((told["status"], told["accepted"], told["rejected"]), ("partial", 2, 1), "the whole")
        equal([r["status"] for r in told["results"]], ["accepted", "rejected", "accepted"], "each")
        equal((told["results"][1]["error"], told["results"][1]["attribute"]), ("missing_attribute", "source"),
            "which and why")
        answer = server.publish("t", [bad])
        told = answer.json()
        equal((answer.status, told["error"], told["accepted"], told["rejected"]), (400, "missing_attribute", 0, 1),
            "all bad")
        equal(word(server.publish("t", [])), (400, "bad_value"), "an empty batch")
        equal(word(server.publish("t", [event(i) for i in range(1001)])), (413, "too_large"), "1001 events")


def test_acks_of_stale_foreign_repeated_and_garbage_ids():
    with Server() as server:
        server.subscribe("c1", "t", group="g", ackTimeoutMs=60000)
        server.subscribe("c2", "t", group="g")
        server.publish("t", [event(i) for i in range(3)], partition=0)
        one, two, three = server.poll("c1", max=3)
        equal(word(server.settle("ack", "c2", one["deliveryId"])), (403, "not_owner"), "another client's")
        equal(word(server.settle("ack", "stranger", one["deliveryId"])), (403, "not_owner"), "an unknown client")
        equal(server.settle("ack", "c1", one["deliveryId"]).json()["status"], "acked", "the holder's")
        equal(server.settle("ack", "c1", one["deliveryId"]).json()["status"], "already", "again")
        equal(word(server.settle("nack", "c1", one["deliveryId"])), (409, "settled"), "a nack after it")
        for garbage in ("", "x", "1-2-3", "🦆", "a" * 5000, one["deliveryId"][:-1], one["deliveryId"] + "0",
                        one["deliveryId"].upper(), "9" + one["deliveryId"][1:]):
            answer = server.settle("ack", "c1", garbage)
            check(answer.status in (400, 404), f"{garbage[:30]!r}: {answer}")
        answer = server.settle("ack", "c1", [two["deliveryId"], "garbage", two["deliveryId"]])
        equal(answer.status, 200, "many")
        equal([r["status"] for r in answer.json()["results"]], ["acked", "error", "already"], "each")
        equal(server.settle("nack", "c1", three["deliveryId"], delayMs=50).json()["status"], "nacked", "nack")
        equal(server.settle("nack", "c1", three["deliveryId"]).json()["status"], "already", "nack again")
        equal(word(server.settle("extend", "c1", three["deliveryId"])), (409, "stale"), "extend a nacked one")


def test_numbers_that_are_negative_too_large_or_none():
    with Server() as server:
        server.subscribe("c", "t", group="g")
        for body in ({"maxAttempts": -3}, {"maxAttempts": 1001}, {"maxAttempts": 1 << 70}, {"maxInFlight": 0},
                     {"ackTimeoutMs": -1}, {"backoffMs": []}, {"backoffMs": [-1]}, {"partitions": [99]},
                     {"maxAttempts": "6"}, {"maxAttempts": 1.5}):
            answer = server.http.post("/events/subscribe", {"clientId": "d", "topic": "t", "group": "h", **body})
            equal(word(answer), (400, "bad_value"), str(body))
        for query in ("max=-1", "max=0", "max=1001", "max=99999999999999999999", "max=x", "timeoutMs=-5", "timeoutMs=60001"):
            equal(word(server.http.get(f"/events/poll?clientId=c&{query}")), (400, "bad_value"), query)
        equal(word(server.http.get("/events/poll?clientId=c&maks=3")), (400, "unknown_field"), "a misspelt parameter")
        answer = server.http.get("/events/poll?clientId=c&maks=3")
        check("max" in answer.json()["detail"] + answer.json()["remedy"], f"the nearest name: {answer}")
        equal(word(server.http.get("/events/poll")), (400, "missing_field"), "no clientId")
        equal(word(server.change("/admin/reset", {"topic": "t", "group": "g", "to": {"offset": -1}, "confirm": True})),
              (400, "bad_value"), "a negative offset")
        equal(word(server.change("/admin/reset", {"topic": "t", "group": "g", "to": {"offset": 1 << 62}, "confirm": True})),
              (400, "bad_value"), "an offset beyond the end")
        equal(word(server.change("/admin/reset", {"topic": "t", "group": "g", "to": "earliest"})), (400,
            "confirm_required"), "no confirm")


def test_requests_that_smuggle_or_break_the_protocol():
    with Server() as server:
        host = f"Host: {server.http_address}\r\n".encode()
        post = b"POST /events/publish?topic=t HTTP/1.1\r\n" + host
        both = post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        equal(status(server, both), 400, "CL and TE")
        equal(status(server, post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde"), 400, "two lengths")
        equal(status(server, post + b"Content-Length: -1\r\n\r\n"), 400, "a negative length")
        equal(status(server, post + b"Content-Length: 2147483648\r\n\r\n"), 413, "a claim of 2 GiB")
        equal(status(server, b"NONSENSE\r\n\r\n"), 400, "no request line")
        equal(status(server, b"GET /livez HTTP/1.1\r\n\r\n"), 400, "no Host")
        equal(status(server, b"GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403, "another Host")
        equal(status(server, b"GET /livez HTTP/1.1\r\n" + host + b"X: " + b"a" * 40000 + b"\r\n\r\n"), 431,
              "long headers")
        chunked = (b"POST /events/publish?topic=t&partition=0 HTTP/1.1\r\n" + host +
                   b"Content-Type: application/cloudevents+json\r\nTransfer-Encoding: chunked\r\n\r\n")
        body = json.dumps(event("chunked")).encode()
        half = len(body) // 2
        pieces = [chunked, b"%x\r\n" % half + body[:half] + b"\r\n", b"%x\r\n" % (len(body) - half) + body[half:] +
            b"\r\n0\r\n\r\n"]
        equal(status(server, b"".join(pieces)), 202, "a chunked body")
        closing = b"GET /livez HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n"
        equal(status(server, [bytes([byte]) for byte in closing]), 200, "byte by byte")
        many = (b"GET /livez HTTP/1.1\r\n" + host + b"\r\n") * 20 + closing
        equal(statuses(raw(server.http_address, many)), [200] * 21, "pipelined")
        for cut in (10, 40, 70):
            raw(server.http_address, chunked[:cut], wait=0.3)
        equal(server.http.get("/livez").status, 200, "the server goes on")


def test_cross_site_requests_and_admin_without_token():
    with Server() as server:
        for listener in (server.http, server.admin):
            answer = listener.request("GET", "/livez", headers={"origin": "https://evil.example"})
            equal(word(answer), (403, "forbidden"), "a foreign Origin")
        server.publish("t", event(1))
        answer = server.admin.request("POST", "/admin/topics", json.dumps({"name": "x"}),
            {"content-type": "application/json"})
        equal(word(answer), (401, "unauthorized"), "no token")
        answer = server.admin.request("POST", "/admin/topics", json.dumps({"name": "x"}),
                                      {"content-type": "application/json", "authorization": "Bearer wrong"})
        check(answer.status in (401, 403), f"a wrong token: {answer}")
        answer = server.admin.request("POST", "/admin/topics", "name=x",
            {"content-type": "application/x-www-form-urlencoded",
                                                                          "authorization": f"Bearer {server.token}"})
        equal(word(answer), (415, "media_type"), "a form")
        equal(server.admin.get("/admin/topics").status, 200, "reading needs none")
        equal(server.http.get("/admin/topics").status in (404, 501), True, "admin is not on the traffic port")
        equal(word(server.http.request("DELETE", "/events/publish?topic=t")), (405, "method_not_allowed"), "method")


def test_policy_belongs_to_the_group():
    with Server() as server:
        server.subscribe("c1", "t", group="g", ordering="key")
        server.poll("c1", timeout_ms=0)
        answer = server.http.post("/events/subscribe", {"clientId": "c2", "topic": "t", "group": "g", "ordering": "none"})
        equal(word(answer), (409, "group_conflict"), f"another ordering: {answer}")
        equal(answer.json()["conflicts"], [{"key": "ordering", "have": "key", "want": "none"}], "both values")
        answer = server.http.post("/events/subscribe", {"clientId": "c1", "topic": "t", "group": "h"})
        equal(word(answer), (409, "already_subscribed"), "another group")
        for body in ({"mode": "A2A_DISPATCH"}, {"webhook": "http://127.0.0.1:1/"}, {"filter": {"sql": "type = 'x'"}}):
            equal(server.http.post("/events/subscribe", {"clientId": "c3", "topic": "t", **body}).status, 501, str(body))


if __name__ == "__main__":
    main()
