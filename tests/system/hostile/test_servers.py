"""Every hostile behaviour has one outcome, a known number of requests, and an end."""

import gzip
import resource
import zlib
from dataclasses import dataclass

import brotli
import zstandard

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

POLICY = Policy(min_delay=0, concurrency=2, max_retries=1, retry_base=20, retry_cap=40,
                give_up_probes=2)  # fmt: skip


@dataclass(frozen=True)
class Row:
    behaviour: Behaviour | bytes
    kind: str | None = None
    """None: a success."""
    requests: int = 1


WORDS = b"words " * 900
BOMB = b"\0" * 30_000_000

SUCCESSES: dict[str, Row] = {
    "a plain page": Row(page()),
    "in chunks": Row(CHUNKED + b"4\r\npage\r\n0\r\n\r\n"),
    "chunks of one byte": Row(CHUNKED + b"1\r\nx\r\n" * 3_000 + b"0\r\n\r\n"),
    "a chunk with an extension": Row(CHUNKED + b"4;a=b\r\npage\r\n0\r\n\r\n"),
    "spaces behind a chunk's size": Row(CHUNKED + b"4  \r\npage\r\n0\r\n\r\n"),
    "a trailer": Row(CHUNKED + b"4\r\npage\r\n0\r\nX-A: b\r\n\r\n"),
    "no length": Row(then_close(OK + b"\r\npage")),
    "the old protocol": Row(then_close(b"HTTP/1.0 200 OK\r\n\r\npage")),
    "bare line ends": Row(b"HTTP/1.1 200 OK\nContent-Length: 4\n\npage"),
    "no reason": Row(b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\npage"),
    "an interim answer": Row(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + page()),
    "another interim answer": Row(b"HTTP/1.1 100 Continue\r\n\r\n" + page()),
    "nothing": Row(page(b"")),
    "no content": Row(b"HTTP/1.1 204 No Content\r\n\r\n", "client_error"),
    "not authoritative": Row(page(status=b"203 Non-Authoritative Information")),
    "a header that is not ASCII": Row(page(b"page", b"X-Name: caf\xe9")),
    "a header of null bytes": Row(page(b"page", b"X-Name: a" + b"b" * 9)),
    "a byte order mark": Row(page(b"\xef\xbb\xbfpage")),
    "a second answer behind it": Row(page() + page(b"planted")),
    "rubbish behind it": Row(page() + b"rubbish"),
    "a promise to stay, broken": Row(then_close(page(b"page", b"Connection: keep-alive"))),
    "gzip": Row(encoded(b"gzip", gzip.compress(WORDS))),
    "gzip in two members": Row(encoded(b"gzip", gzip.compress(WORDS) * 2)),
    "zlib": Row(encoded(b"deflate", zlib.compress(WORDS))),
    "bare deflate": Row(encoded(b"deflate", zlib.compress(WORDS, wbits=-15))),
    "brotli": Row(encoded(b"br", brotli.compress(WORDS))),
    "zstd": Row(encoded(b"zstd", zstandard.compress(WORDS))),
    "encoded twice": Row(encoded(b"deflate, gzip", gzip.compress(zlib.compress(WORDS)))),
    "a redirect to itself with a number": Row(
        status(b"302 Found", b"Location: {here}{next}"), "redirect_loop", 11
    ),
}
STALLS: dict[str, Row] = {
    "silence": Row(silence, "timeout", 2),
    "a byte of the body now and then": Row(
        without_end(OK + b"Content-Length: 9999\r\n\r\n", b".", 0.05), "timeout", 2
    ),
    "a header now and then": Row(without_end(OK, b"X-A: b\r\n", 0.05), "timeout", 2),
    "a body that stops": Row(
        without_end(OK + b"Content-Length: 9999\r\n\r\nhalf", b"", 0.05), "timeout", 2
    ),
}
BREAKS: dict[str, Row] = {
    "closed at once": Row(then_close(), "reset", 2),
    "reset at once": Row(then_reset(b""), "reset", 2),
    "closed within the status": Row(then_close(b"HTTP/1.1"), "reset", 2),
    "closed within a header": Row(then_close(OK + b"Content-"), "reset", 2),
    "closed within the body": Row(then_close(OK + b"Content-Length: 9\r\n\r\ncut"), "truncated", 2),
    "reset within the body": Row(then_reset(OK + b"Content-Length: 9\r\n\r\ncut"), "truncated", 2),
    "reset without a length": Row(then_reset(OK + b"\r\ncut"), "truncated", 2),
    "closed within a chunk": Row(then_close(CHUNKED, b"9\r\ncut"), "truncated", 2),
    "closed before the last chunk": Row(then_close(CHUNKED + b"4\r\npage\r\n"), "truncated", 2),
    "a chunk's size that is none": Row(then_close(CHUNKED + b"xyz\r\npage"), "truncated", 2),
    "a chunk longer than its size": Row(then_close(CHUNKED + b"3\r\nabcdef\r\n"), "truncated", 2),
}
LIES: dict[str, Row] = {
    "another protocol": Row(then_close(b"SSH-2.0-OpenSSH_9.6\r\n"), "server_error", 2),
    "bytes": Row(then_close(b"\0\1\2\3" * 9), "server_error", 2),
    "a page without a head": Row(then_close(b"<html>\r\n\r\n"), "server_error", 2),
    "two lengths": Row(
        then_close(OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\npage"), "server_error", 2
    ),
    "a length and chunks": Row(
        then_close(OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "server_error", 2,
    ),
    "a negative length": Row(then_close(OK + b"Content-Length: -4\r\n\r\n"), "server_error", 2),
    "not gzip": Row(encoded(b"gzip", b"not gzip"), "bad_encoding"),
    "gzip cut short": Row(encoded(b"gzip", gzip.compress(WORDS)[:-9]), "bad_encoding"),
    "gzip damaged": Row(encoded(b"gzip", gzip.compress(WORDS)[:-5] + b"12345"), "bad_encoding"),
    "brotli cut short": Row(encoded(b"br", brotli.compress(WORDS)[:-3]), "bad_encoding"),
    "zstd cut short": Row(encoded(b"zstd", zstandard.compress(WORDS)[:-3]), "bad_encoding"),
    "an unknown coding": Row(encoded(b"magic", b"page"), "bad_encoding"),
    "coded too often": Row(encoded(b"gzip, gzip, gzip, gzip", b"page"), "bad_encoding"),
}  # fmt: skip
FLOODS: dict[str, Row] = {
    "a length over the cap": Row(OK + b"Content-Length: 99999999\r\n\r\n", "too_large"),
    "a body without end": Row(without_end(OK + b"\r\n", b"x" * 50_000), "too_large"),
    "chunks without end": Row(
        without_end(CHUNKED, b"400\r\n" + b"x" * 1024 + b"\r\n"), "too_large"
    ),
    "frames around nothing": Row(without_end(CHUNKED + b"1;", b"ext" * 9_000), "too_large"),
    "one long header": Row(page(b"", b"X-A: " + b"a" * 20_000), "too_large"),
    "many headers": Row(page(b"", *(b"X-%d: a" % n for n in range(300))), "too_large"),
    "a header without end": Row(without_end(OK + b"X-A: ", b"a" * 9_000), "too_large"),
    "headers without end": Row(without_end(OK, b"X-A: b\r\n" * 900), "too_large"),
    "interim answers without end": Row(
        without_end(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 90), "too_large"
    ),
    "a bomb of gzip": Row(encoded(b"gzip", gzip.compress(BOMB, 1)), "too_large"),
    "a bomb of brotli": Row(encoded(b"br", brotli.compress(BOMB, quality=5)), "too_large"),
    "a bomb of zstd": Row(encoded(b"zstd", zstandard.compress(BOMB)), "too_large"),
    "a bomb in a bomb": Row(
        encoded(b"gzip, gzip", gzip.compress(gzip.compress(BOMB, 1))), "too_large"
    ),
    "empty members without end": Row(encoded(b"gzip", gzip.compress(b"") * 2_000), "bad_encoding"),
}
STATUSES: dict[str, Row] = {
    "created": Row(status(b"201 Created"), "client_error"),
    "accepted": Row(status(b"202 Accepted"), "client_error"),
    "a part nobody asked for": Row(status(b"206 Partial Content"), "client_error"),
    "not modified, though nobody knows it": Row(
        b"HTTP/1.1 304 Not Modified\r\n\r\n", "client_error"
    ),
    "another protocol offered": Row(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        "client_error",
    ),
    "unauthorized": Row(status(b"401 Unauthorized"), "unauthorized"),
    "payment required": Row(status(b"402 Payment Required"), "client_error"),
    "forbidden": Row(status(b"403 Forbidden"), "forbidden"),
    "not found": Row(status(b"404 Not Found"), "gone"),
    "gone": Row(status(b"410 Gone"), "gone"),
    "too late": Row(status(b"408 Request Timeout"), "timeout", 2),
    "a teapot": Row(status(b"418 I'm a teapot"), "client_error"),
    "too many": Row(status(b"429 Too Many Requests"), "rate_limited", 2),
    "legal reasons": Row(status(b"451 Unavailable For Legal Reasons"), "forbidden"),
    "an error": Row(status(b"500 Internal Server Error"), "server_error", 2),
    "a bad gateway": Row(status(b"502 Bad Gateway"), "server_error", 2),
    "overloaded": Row(status(b"503 Service Unavailable"), "rate_limited", 2),
    "a status nobody knows": Row(status(b"799 What"), "client_error"),
    "an error whose body never ends": Row(
        without_end(b"HTTP/1.1 404 Not Found\r\n\r\n", b"x" * 50_000), "gone"
    ),
    "an error whose body stalls": Row(
        without_end(b"HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n", b"", 0.05), "gone"
    ),
    "an error in rubbish": Row(
        page(b"rubbish", b"Content-Encoding: br", status=b"404 Not Found"), "gone"
    ),
}
REDIRECTS: dict[str, Row] = {
    "nowhere": Row(status(b"302 Found"), "client_error"),
    "to itself": Row(status(b"301 Moved Permanently", b"Location: {here}/"), "redirect_loop", 11),
    "to another scheme": Row(status(b"302 Found", b"Location: ftp://a.example/"), "client_error"),
    "to a script": Row(status(b"302 Found", b"Location: javascript:alert(1)"), "client_error"),
    "to a file": Row(status(b"302 Found", b"Location: file:///etc/passwd"), "client_error"),
    "to a login of its own": Row(status(b"302 Found", b"Location: http://u:p@a.example/"),
                                 "client_error"),
    "to this machine": Row(status(b"302 Found", b"Location: http://127.0.0.1/"), "address_refused"),
    "to a private address": Row(status(b"302 Found", b"Location: http://10.0.0.1/"),
                                "address_refused"),
    "to the cloud's secrets": Row(
        status(b"307 Temporary Redirect", b"Location: http://169.254.169.254/latest/"),
        "address_refused",
    ),
    "to a number": Row(status(b"308 Permanent Redirect", b"Location: http://2130706433/"),
                       "address_refused"),
    "to a mapped address": Row(status(b"302 Found", b"Location: http://[::ffff:127.0.0.1]/"),
                               "address_refused"),
    "to bytes": Row(status(b"302 Found", b"Location: http://a\xff\xfe.example\x01/"),
                    "client_error"),
}  # fmt: skip
ROWS = SUCCESSES | STALLS | BREAKS | LIES | FLOODS | STATUSES | REDIRECTS


async def test_every_behaviour_has_its_outcome_and_its_end(store: Store, clock: Clock) -> None:
    curtsy = engine(store, clock, delay_ms=0)
    told = settings(POLICY, limits=LIMITS, allow=parse_networks("127.0.3.0/24"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    served = Servers({name: row.behaviour for name, row in ROWS.items()})
    async with served as servers, curtsy.worker(told):
        await servers.are_waited_for(curtsy, [*STALLS, "an error whose body stalls"])
        urls = {servers.url(name): name for name in ROWS}
        job = await curtsy.submit(*urls)
        await curtsy.ended(job, 60)
        items = await curtsy.items(job)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    found = {urls[item.page_url]: item.kind for item in items}
    wrong = {name: (found[name], row.kind) for name, row in ROWS.items() if found[name] != row.kind}
    assert wrong == {}, "as they were, and as they should be"
    asked = {name: servers.requests[name] for name in ROWS}
    often = {n: (asked[n], row.requests) for n, row in ROWS.items() if asked[n] != row.requests}
    assert often == {}, "how often each was asked, and how often it should be"
    assert grown < 150, "megabytes"
    assert await store.read(violations) == []


def test_there_are_many() -> None:
    assert len(ROWS) >= 60
