"""Every robots.txt has one meaning for us, whatever the host does with it."""

import gzip
from dataclasses import dataclass

from curtsy.clock import Clock
from curtsy.fetch import parse_networks
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import engine, settings
from support.hostile import (
    CHUNKED,
    LIMITS,
    OK,
    Behaviour,
    Script,
    Servers,
    encoded,
    page,
    silence,
    status,
    then_close,
    then_reset,
    without_end,
)
from support.promises import violations

POLICY = Policy(min_delay=5, concurrency=2, max_retries=1, retry_base=20, retry_cap=40,
                give_up_probes=2)  # fmt: skip
NOT_PRIVATE = b"User-agent: *\nDisallow: /private\n"
DENIED = "robots_denied"


@dataclass(frozen=True)
class Row:
    answers: tuple[Behaviour | bytes, ...]
    private: str | None
    """How the visit of /private ends; None: with a page."""
    open: str | None = None
    asked: int = 1
    """How often robots.txt is asked for."""


def _file(rules: bytes) -> bytes:
    return page(rules, b"Content-Type: text/plain")


def _to(location: bytes, line: bytes = b"301 Moved Permanently") -> bytes:
    return status(line, b"Location: " + location)


FOUND: dict[str, Row] = {
    "rules for everybody": Row((_file(NOT_PRIVATE),), DENIED),
    "rules for us": Row((_file(b"User-agent: *\n\nUser-agent: Curtsy/2\nDisallow: /"),),
                        DENIED, DENIED),
    "rules for others": Row((_file(b"User-agent: other\nDisallow: /"),), None),
    "nothing is allowed": Row((_file(b"User-agent: *\nDisallow: /"),), DENIED, DENIED),
    "in gzip": Row((encoded(b"gzip", gzip.compress(NOT_PRIVATE)),), DENIED),
    "without a length": Row((then_close(OK + b"\r\n" + NOT_PRIVATE),), DENIED),
    "empty": Row((_file(b""),), None),
    "no content": Row((b"HTTP/1.1 204 No Content\r\n\r\n",), None),
    "a page instead": Row((page(b"<html>Disallow: /private</html>"),), None),
    "in no encoding": Row((_file(b"\xff\xfe\0\0" * 50 + b"\n" + NOT_PRIVATE),), DENIED),
    "larger than we read, rules first": Row((_file(NOT_PRIVATE + b"#" * 700_000),), DENIED),
    "larger than we read, rules last": Row((_file(b"#" * 700_000 + b"\n" + NOT_PRIVATE),), None),
}  # fmt: skip
NONE_THERE: dict[str, Row] = {
    f"a {line[:3].decode()}": Row((status(line),), None)
    for line in (b"400 Bad Request", b"401 Unauthorized", b"403 Forbidden", b"404 Not Found",
                 b"410 Gone", b"418 Teapot", b"451 Legal")
}  # fmt: skip
WAITS: dict[str, Row] = {
    "429, then rules": Row((status(b"429 Slow", b"Retry-After: 1"), _file(NOT_PRIVATE)),
                           DENIED, asked=2),
    "500, then rules": Row((status(b"500 Oops"), _file(NOT_PRIVATE)), DENIED, asked=2),
    "503, then none": Row((status(b"503 Busy"), status(b"404 Not Found")), None, asked=2),
    "a reset, then rules": Row((then_reset(b""), _file(NOT_PRIVATE)), DENIED, asked=2),
    "cut off, then rules": Row((then_close(OK + b"Content-Length: 99\r\n\r\nUser-agent: *\n"),
                                _file(NOT_PRIVATE)), DENIED, asked=2),
    "500 for ever": Row((status(b"500 Oops"),), "server_error", "server_error", 2),
    "503 for ever": Row((status(b"503 Busy"),), "rate_limited", "rate_limited", 2),
    "503 and no time, for ever": Row((status(b"503 Busy", b"Retry-After: 0"),), "rate_limited",
                                     "rate_limited", 2),
    "silence": Row((silence,), "timeout", "timeout", 2),
    "a byte at a time": Row((without_end(OK + b"\r\n", b"#", 0.05),), "timeout", "timeout", 2),
    "no end": Row((without_end(CHUNKED, b"ffff\r\n" + b"#" * 65_535 + b"\r\n"),),
                  "too_large", "too_large", 2),
    "a bomb": Row((encoded(b"gzip", gzip.compress(b"\0" * 30_000_000)),),
                  "too_large", "too_large", 2),
    "not HTTP": Row((then_close(b"SSH-2.0\r\n"),), "server_error", "server_error", 2),
}  # fmt: skip
REDIRECTS: dict[str, Row] = {
    "to another place of its own": Row((_to(b"/rules"),), DENIED),
    "to itself": Row((_to(b"/robots.txt"),), None, asked=6),
    "to another host": Row((_to(b"http://127.0.4.1:9/robots.txt"),), None),
    "to this machine": Row((_to(b"http://169.254.169.254/robots.txt"),), None),
    "nowhere": Row((status(b"302 Found"),), None),
    "to a file": Row((_to(b"file:///etc/passwd"),), None),
}
ROWS = FOUND | NONE_THERE | WAITS | REDIRECTS


async def test_every_robots_txt_has_its_meaning(store: Store, clock: Clock) -> None:
    curtsy = engine(store, clock, delay_ms=0)
    told = settings(
        POLICY, limits=LIMITS, allow=parse_networks("127.0.3.0/24"), obeys_robots=True,
        user_agent="curtsy/0 (test)",
    )  # fmt: skip
    scripts = {
        name: Script(robots_txt=list(row.answers), rules=[_file(NOT_PRIVATE)])
        for name, row in ROWS.items()
    }
    async with Servers(scripts) as servers, curtsy.worker(told):
        await servers.are_waited_for(curtsy, ["silence", "a byte at a time"])
        urls = {servers.url(n, path): (n, path) for n in ROWS for path in ("/private", "/open")}
        job = await curtsy.submit(*urls)
        await curtsy.ended(job, 60)
        items = {urls[item.page_url]: item for item in await curtsy.items(job)}
    found = {name: (items[name, "/private"].kind, items[name, "/open"].kind) for name in ROWS}
    assert found == {name: (row.private, row.open) for name, row in ROWS.items()}
    asked = {name: servers.paths[name].count("/robots.txt") for name in ROWS}
    assert asked == {name: row.asked for name, row in ROWS.items()}
    for name, row in ROWS.items():
        paths = servers.paths[name]
        assert paths[0] == "/robots.txt"
        assert paths.count("/private") == (row.private is None), name
        assert paths.count("/open") == (row.open is None), name
    assert await store.read(violations) == []


async def test_a_page_that_was_not_asked_for_says_why(store: Store, clock: Clock) -> None:
    curtsy = engine(store, clock, delay_ms=0)
    told = settings(POLICY, limits=LIMITS, allow=parse_networks("127.0.3.0/24"), obeys_robots=True)
    async with (
        Servers({"broken": Script(robots_txt=[status(b"500 Oops")])}) as servers,
        curtsy.worker(told),
    ):
        job = await curtsy.submit(servers.url("broken", "/a"))
        await curtsy.ended(job)
        [item] = await curtsy.items(job)
    assert "robots.txt could not be read" in item.error
    assert "500" in item.error
