"""What care costs a request: each part alone, beside a whole request to a site on loopback."""

import time
from collections.abc import Callable
from typing import Any

import uvloop
from httptools import HttpResponseParser

from bench.children import contestant
from bench.setting_up import LOOPBACK
from curtsy.demo.process import PracticeProcess
from curtsy.fetch import Fetcher, Limits, Request
from curtsy.fetch.guard import refusal
from curtsy.fetch.resolver import permitted
from curtsy.fetch.response_parser import Caps, ResponseParser
from curtsy.model.outcome import Failed
from curtsy.politeness.robots import robots_of
from curtsy.worker.robots_cache import path_of

ADDRESS = "93.184.216.34"
PATH = "https://news.example/2026/11/16/economy/a-story-with-a-name?page=2"
RULES = "User-agent: *\n" + "".join(
    f"Disallow: /private/{n}/\nDisallow: /*/print-{n}$\n" for n in range(50)
)
HEAD = (
    b"HTTP/1.1 200 OK\r\nDate: Mon, 16 Nov 2026 05:00:00 GMT\r\nServer: nginx\r\n"
    b'Content-Type: text/html; charset=utf-8\r\nETag: "5f3e-1"\r\nCache-Control: max-age=60\r\n'
    b"Vary: Accept-Encoding\r\nX-Frame-Options: DENY\r\nStrict-Transport-Security: max-age=63072000"
    b"\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 20000\r\n\r\n"
)
ANSWER = HEAD + b"x" * 20_000
CAPS = Caps(Limits().header_bytes, Limits().wire_bytes)


class Bare:
    """Collects a response without any checks."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, piece: bytes) -> None:
        self.body += piece


def _bare() -> None:
    HttpResponseParser(Bare()).feed_data(ANSWER)


def _capped() -> None:
    ResponseParser(CAPS).feed(ANSWER)


def _microseconds(work: Callable[[], Any], times: int) -> float:
    work()
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times * 1e6


def _connection_guarded() -> None:
    permitted([ADDRESS], LOOPBACK)
    refusal(ADDRESS, LOOPBACK)


async def _whole(number: int) -> float:
    fetcher = Fetcher(limits=Limits(), user_agent="bench", allow=LOOPBACK)
    async with PracticeProcess(hosts=1) as site, fetcher:
        request = Request(site.url(0, "/page/1"))
        for lap in (50, number):
            began = time.perf_counter()
            for _ in range(lap):
                reply = await fetcher.fetch(request, lambda: True)
                if isinstance(reply, Failed):
                    raise SystemExit(reply.error)
            spent = time.perf_counter() - began
    return spent / number * 1e6


async def run(number: int) -> dict[str, Any]:
    robots = robots_of(RULES.encode(), "curtsy")
    return {
        "whole": await _whole(number),
        "robots": _microseconds(lambda: robots.allows(path_of(PATH)), number),
        "reading": _microseconds(lambda: robots_of(RULES.encode(), "curtsy"), 200),
        "guard": _microseconds(_connection_guarded, number),
        "caps": _microseconds(_capped, number) - _microseconds(_bare, number),
    }


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
