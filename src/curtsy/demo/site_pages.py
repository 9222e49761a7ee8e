"""The pages of the site: maps a place and a target to a plan of responses. Pure.

A target is the path and query of the request line. Numbers are decimal. A target that is not in
this table, or has a number out of range, gets a 404.

/page/{n}                      a page of about 2 KB; `?size=BYTES` makes it that long
/slow/{ms}/{n}                 the page, after `ms`
/drip/{ms}/{n}                 a short page, a byte at a time over `ms`
/flaky/{k}/{n}                 500 the first `k` times, then the page
/flaky503/{k}/{n}              503 the first `k` times, then the page
/reset/{k}/{n}                 closes the connection without a response `k` times, then the page
/limited/{seconds}/{k}/{n}     429 with Retry-After the first `k` times, then the page
/busy/{seconds}/{k}/{n}        503 with Retry-After the first `k` times, then the page
/status/{code}/{n}             that status, 200 to 599
/missing/{n}                   404
/redirect/{hops}/{n}           `hops` times 302, then the page at /page/{n}
/elsewhere/{i}/{n}             302 to /page/{n} of host number `i`
/circle/{n}                    302 to itself
/truncated/{n}                 sends less than its Content-Length, then closes
/gzip/{n}                      the page, gzip-encoded whatever the client accepts
/bytes/{n}                     1 KB of application/octet-stream
/latin1/{n}                    a page in ISO-8859-1
/news/…                        a small newspaper: see `news.py`
/board/…                       a job board that changes from edition to edition: see `board.py`
/advisories/{us,uk,ca}/…       three travel-advisory sites: see `advisories.py`
/robots.txt                    allows everything but /news/private/
"""

import gzip
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs

from curtsy.demo import addresses, advisories, board, news, prose
from curtsy.demo.answers import PLAIN, Answer, Delivery, answer, plain, tagged, truncated
from curtsy.demo.plans import Place, Plan

__all__ = ["Place", "Plan", "plan"]

LARGEST_PAGE = 16 * 1024 * 1024
LONGEST_WAIT_MS = 600_000
MOST_HOPS = 1_000
_MOST_DIGITS = 15


NOT_FOUND = Plan(plain(404))
ROBOTS = Plan(answer(200, news.ROBOTS, PLAIN))


def plan(place: Place, target: str) -> Plan:
    path, _, query = target.partition("?")
    if path == "/robots.txt":
        return ROBOTS
    if path.startswith("/news/"):
        return news.plan(place, path) or NOT_FOUND
    if path.startswith("/board/"):
        return board.plan(path, query) or NOT_FOUND
    if path.startswith("/advisories/"):
        return advisories.plan(path, query) or NOT_FOUND
    _, name, *parts = path.split("/")
    if any(not (part.isdecimal() and len(part) <= _MOST_DIGITS) for part in parts):
        return NOT_FOUND
    numbers = [int(part) for part in parts]
    if name == "page" and len(numbers) == 1 and "size" in query:
        return _sized_page(place, numbers[0], query)
    build = _TABLE.get((name, len(numbers)))
    return NOT_FOUND if build is None else build(place, *numbers)


def _sized_page(place: Place, n: int, query: str) -> Plan:
    size = parse_qs(query, keep_blank_values=True).get("size", [""])[-1]
    if not size.isdecimal() or len(size) > _MOST_DIGITS or int(size) > LARGEST_PAGE:
        return NOT_FOUND
    body = prose.sized(place.host, n, int(size))
    return Plan(tagged(body, prose.etag(body), prose.last_modified(n)))


def _page(place: Place, n: int) -> Plan:
    body = prose.page(place.host, n)
    return Plan(tagged(body, prose.etag(body), prose.last_modified(n)))


def _slow(place: Place, ms: int, n: int) -> Plan:
    if ms > LONGEST_WAIT_MS:
        return NOT_FOUND
    return Plan(replace(_page(place, n).answer, wait_ms=ms))


def _drip(place: Place, ms: int, n: int) -> Plan:
    if ms > LONGEST_WAIT_MS:
        return NOT_FOUND
    whole = answer(200, prose.short(place.host, n))
    return Plan(replace(whole, delivery=Delivery.DRIP, span_ms=ms))


def _refused_first(place: Place, times: int, n: int, refusal: Answer) -> Plan:
    return Plan(_page(place, n).answer, times, refusal)


def _flaky(place: Place, times: int, n: int) -> Plan:
    return _refused_first(place, times, n, plain(500))


def _flaky503(place: Place, times: int, n: int) -> Plan:
    return _refused_first(place, times, n, plain(503))


def _reset(place: Place, times: int, n: int) -> Plan:
    return _refused_first(place, times, n, _DROPPED)


def _limited(place: Place, seconds: int, times: int, n: int) -> Plan:
    return _refused_first(place, times, n, plain(429, ("Retry-After", str(seconds))))


def _busy(place: Place, seconds: int, times: int, n: int) -> Plan:
    return _refused_first(place, times, n, plain(503, ("Retry-After", str(seconds))))


def _status(_place: Place, code: int, _n: int) -> Plan:
    return Plan(plain(code)) if 200 <= code <= 599 else NOT_FOUND


def _missing(_place: Place, _n: int) -> Plan:
    return NOT_FOUND


def _redirect(place: Place, hops: int, n: int) -> Plan:
    if hops > MOST_HOPS:
        return NOT_FOUND
    if hops == 0:
        return _page(place, n)
    return _to(f"/page/{n}" if hops == 1 else f"/redirect/{hops - 1}/{n}")


def _elsewhere(place: Place, index: int, n: int) -> Plan:
    if index >= place.hosts:
        return NOT_FOUND
    return _to(addresses.url(index, place.port, f"/page/{n}"))


def _circle(_place: Place, n: int) -> Plan:
    return _to(f"/circle/{n}")


def _to(location: str) -> Plan:
    return Plan(plain(302, ("Location", location)))


def _truncated(place: Place, n: int) -> Plan:
    return Plan(truncated(prose.page(place.host, n)))


def _gzip(place: Place, n: int) -> Plan:
    packed = gzip.compress(prose.page(place.host, n), mtime=0)
    return Plan(answer(200, packed, "text/html; charset=utf-8", ("Content-Encoding", "gzip")))


def _bytes(place: Place, n: int) -> Plan:
    return Plan(answer(200, prose.binary(place.host, n), "application/octet-stream"))


def _latin1(place: Place, n: int) -> Plan:
    return Plan(answer(200, prose.latin1(place.host, n), "text/html; charset=iso-8859-1"))


_DROPPED = Answer(0, b"", b"", delivery=Delivery.DROPPED)

_TABLE: dict[tuple[str, int], Callable[..., Plan]] = {
    ("page", 1): _page,
    ("slow", 2): _slow,
    ("drip", 2): _drip,
    ("flaky", 2): _flaky,
    ("flaky503", 2): _flaky503,
    ("reset", 2): _reset,
    ("limited", 3): _limited,
    ("busy", 3): _busy,
    ("status", 2): _status,
    ("missing", 1): _missing,
    ("redirect", 2): _redirect,
    ("elsewhere", 2): _elsewhere,
    ("circle", 1): _circle,
    ("truncated", 1): _truncated,
    ("gzip", 1): _gzip,
    ("bytes", 1): _bytes,
    ("latin1", 1): _latin1,
}
