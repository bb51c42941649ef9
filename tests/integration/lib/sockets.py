"""Plain sockets, for what no HTTP client would send."""
import contextlib
import re
import socket
import time


def connect(address, timeout=10):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=timeout)


def raw(address, data, wait=15.0, answers=None):
    """Everything the server says to `data`, one piece or a list of them, before it hangs up or `wait` is over. With
    `answers`: until so many have come whole."""
    got = b""
    with connect(address, wait) as plain:
        with contextlib.suppress(OSError):
            for piece in [data] if isinstance(data, bytes) else data:
                plain.sendall(piece)
        end = time.monotonic() + wait
        while time.monotonic() < end and (answers is None or whole_answers(got) < answers):
            plain.settimeout(max(0.01, end - time.monotonic()))
            try:
                piece = plain.recv(65536)
            except OSError:
                break
            if not piece:
                break
            got += piece
    return got


def whole_answers(got):
    """How many answers with a content-length are there from head to end."""
    count = 0
    while b"\r\n\r\n" in got:
        head, got = got.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        size = int(length[1]) if length else 0
        if len(got) < size:
            break
        got, count = got[size:], count + 1
    return count


def statuses(got):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]
