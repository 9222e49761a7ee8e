"""Bytes that are no request, or a strange one, sent to a real process."""

import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cli.running import Running, ask, running
from support.patience import PATIENCE

HOST = b"Host: localhost\r\nConnection: close\r\n"


def get(path: bytes, headers: bytes = b"", version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET %b %b\r\n%b%b\r\n" % (path, version, HOST, headers)


def post(headers: bytes, body: bytes) -> bytes:
    return b"POST /jobs HTTP/1.1\r\n%b%b\r\n%b" % (HOST, headers, body)


JOB = b'{"url": "http://example.com/"}'
JSON = b"Content-Type: application/json\r\nContent-Length: 30\r\n"
CHUNKED = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"

REFUSED: dict[str, tuple[bytes, int]] = {
    "no HTTP": (b"\x00\x01\x02\xff" * 100, 400),
    "TLS": (bytes.fromhex("16030100c8010000c40303") + bytes(190), 400),
    "HTTP/0.9": (get(b"/health", version=b"HTTP/0.9"), 505),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "HTTP/3.7": (get(b"/health", version=b"HTTP/3.7"), 400),
    "a method that is none": (b"BREW /pot HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a tunnel": (b"CONNECT example.com:443 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a header of a mebibyte": (get(b"/health", b"X-A: " + b"a" * 2**20 + b"\r\n"), 431),
    "a header without an end": (b"GET /health HTTP/1.1\r\nX-A: " + b"a" * 2**20, 431),
    "10,000 headers": (get(b"/health", b"".join(b"X-%d: 1\r\n" % n for n in range(10_000))), 431),
    "a path of a mebibyte": (get(b"/" + b"a" * 2**20), 431),
    "trailers without an end": (post(CHUNKED, b"0\r\nX-A: " + b"a" * 2**20), 431),
    "102 requests at once": (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 102, 400),
    "NUL in the path": (get(b"/jobs/a\0b"), 400),
    "NUL in a header": (get(b"/health", b"X-A: a\0b\r\n"), 400),
    "%00 in the path": (get(b"/jobs/a%00b"), 404),
    "%00 in the query": (get(b"/jobs?q=a%00b"), 422),
    "%-nonsense in the path": (get(b"/jobs/%zz%%%1"), 404),
    "%-encoded bytes that are no UTF-8": (get(b"/jobs/%ff%fe%ed%a0%80"), 404),
    "bytes that are no UTF-8 in the path": (get(b"/jobs/\xff\xfe"), 400),
    "bytes that are no UTF-8 in the query": (get(b"/jobs?q=\xff\xfe"), 400),
    "letters beyond ASCII in the path": (get("/jobs/é🎩".encode()), 400),
    "a relative path": (get(b"jobs"), 400),
    "no path": (get(b"http://x"), 400),
    "an address that is none": (get(b"http://["), 400),
    "a host that is none": (get(b"/health", b"Host: [::\xff@/\r\n"), 403),
    "two lengths": (post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello"), 400),
    "a negative length": (post(b"Content-Length: -5\r\n", b"hello"), 400),
    "a length beyond numbers": (post(b"Content-Length: " + b"9" * 30 + b"\r\n", b"hello"), 400),
    "a length and chunks": (post(CHUNKED + b"Content-Length: 5\r\n", b"0\r\n\r\n"), 400),
    "a chunk of no length": (post(CHUNKED, b"zz\r\n\r\n"), 400),
    "a second chunk of no length": (post(CHUNKED, b"2\r\n{}\r\nzz\r\n"), 400),
    "a key beyond ASCII": (post(b"Idempotency-Key: \xff\xc3\xa9\r\n" + JSON, JOB), 422),
    "a content type beyond ASCII": (
        post(b"Content-Type: \xff\r\nContent-Length: 30\r\n", JOB),
        422,
    ),
}
ANSWERED = {
    "%-nonsense in the query": get(b"/docs?%&&&==%zz&=;limit=%31&q=%ff%fe%ed%a0%80"),
    "HTTP/1.0": get(b"/health", version=b"HTTP/1.0"),
    "an absolute path": get(b"http://elsewhere/health"),
    "a fragment": get(b"/health#fragment"),
    "an upgrade nobody offers": get(b"/health", b"Upgrade: h2c\r\nConnection: upgrade\r\n"),
    "addresses of proxies that are none": get(b"/health", b"X-Forwarded-For: \xff,,::\r\n"),
}


@pytest.fixture(scope="module")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("api")
    shutil.copy(sqlite_template, folder / "curtsy.db")
    with running(folder, "api") as server:
        assert ask("GET", f"{server.url}/health").status == 200
        yield server
        assert ask("GET", f"{server.url}/jobs").json["total"] == 0
        assert server.stop() == 0
    events = [json.loads(line)["event"] for line in server.log.read_text().splitlines()]
    assert [event for event in events if not event.startswith("clock_")] == [
        "api_started", "stopping", "api_stopped",
    ]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_problem_document(api: Running, name: str) -> None:
    sent, status = REFUSED[name]
    head, _, body = said_to(api, sent).partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["status"] == status


@pytest.mark.parametrize("name", ANSWERED)
def test_it_is_answered_all_the_same(api: Running, name: str) -> None:
    assert said_to(api, ANSWERED[name]).startswith(b"HTTP/1.1 200 ")


def test_requests_sent_ahead_are_answered_in_their_order(api: Running) -> None:
    paths = [b"/health", b"/nowhere", b"/jobs/job_1", b"/docs", b"/jobs?limit=0"] * 20
    ahead = b"".join(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in paths)
    said = said_to(api, ahead + get(b"/health"))
    statuses = [int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", said)]
    assert statuses == [200, 404, 404, 200, 422] * 20 + [200]


def said_to(api: Running, sent: bytes) -> bytes:
    """All that is said until the connection is closed."""
    host, _, port = api.url.removeprefix("http://").rpartition(":")
    got = b""
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
        with suppress(ConnectionError):
            client.sendall(sent)
        with suppress(ConnectionError):
            while more := client.recv(65_536):
                got += more
    return got
