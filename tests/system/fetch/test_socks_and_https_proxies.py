"""Through proxies of SOCKS 5 and of https, on both loops: what they hear, and what they never
do."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from curtsy.fetch import Request, proxy_rotation, resolver
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from fetch.sites import Serve, Site, fetcher, get, page
from support.relay_proxies import ESCAPED, LOGIN, RelayProxy, closed_port

CERTIFICATE = Path(__file__).with_name("self_signed.pem")
"""For 127.0.0.1."""
SCHEMES = pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    return certified()


def certified() -> ssl.SSLContext:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(CERTIFICATE)
    return tls


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


def body_of(outcome: Reply | Failed) -> bytes:
    assert isinstance(outcome, Reply), outcome
    return outcome.body


def failed(outcome: Reply | Failed, kind: Kind = Kind.CONNECT) -> Failed:
    assert isinstance(outcome, Failed), outcome
    assert outcome.kind is kind, outcome
    for secret in (*LOGIN, ESCAPED, "hush", "p%40ss"):
        assert secret not in outcome.error
    return outcome


@SCHEMES
@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_page_comes_through_socks(
    serve: Serve, trusted: ssl.SSLContext, stack: AsyncExitStack, secure: bool, login: bool,
    scheme: str,
) -> None:  # fmt: skip
    site = await serve(page(b"page"), tls=trusted if secure else None)
    proxy = await stack.enter_async_context(RelayProxy(login=login))
    through = proxy.url.replace("socks5", scheme)
    assert body_of(await get(Request(f"{site.url}a?b=c", proxy=through))) == b"page"
    assert proxy.asked == [f"127.0.0.1:{site.port}"]
    assert site.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b"proxy" not in site.requests[0].lower()


@SCHEMES
@pytest.mark.parametrize("login", [False, True])
async def test_a_page_comes_through_an_https_proxy(
    serve: Serve, trusted: ssl.SSLContext, stack: AsyncExitStack, secure: bool, login: bool
) -> None:
    site = await serve(page(b"page" * 50_000), tls=trusted if secure else None)
    proxy = await stack.enter_async_context(RelayProxy("http", tls=certified(), login=login))
    async with fetcher() as one:
        for _ in range(2):
            found = await one.fetch(Request(f"{site.url}a", proxy=proxy.url))
            assert body_of(found) == b"page" * 50_000
    assert site.requests[0].startswith(b"GET /a HTTP/1.1\r\n")
    place = f"127.0.0.1:{site.port}"
    assert proxy.asked[0] == (place if secure else f"http://{place}/a")


@SCHEMES
async def test_socks_gets_the_checked_address_and_no_name(
    serve: Serve, trusted: ssl.SSLContext, stack: AsyncExitStack, secure: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: ["127.0.0.1"])
    site = await serve(page(b"page"), tls=trusted if secure else None)
    proxy = await stack.enter_async_context(RelayProxy())
    url = site.url.replace("127.0.0.1", "shop.example")
    found = await get(Request(url, proxy=proxy.url))
    assert proxy.asked == [f"127.0.0.1:{site.port}"]
    if secure:
        failed(found, Kind.TLS)  # the certificate is for the address
    else:
        assert body_of(found) == b"page"


@SCHEMES
@pytest.mark.parametrize("kind", ["socks5", "https"])
async def test_a_name_with_a_private_address_is_refused_before_the_proxy_hears_of_it(
    stack: AsyncExitStack, trusted: ssl.SSLContext, secure: bool, kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: ["10.0.0.7"])
    tls = trusted if kind == "https" else None
    proxy = RelayProxy("http" if tls else kind, tls=tls)
    await stack.enter_async_context(proxy)
    scheme = "https" if secure else "http"
    request = Request(f"{scheme}://inside.example/", proxy=proxy.url)
    failed(await get(request), Kind.ADDRESS_REFUSED)
    several = Request(f"{scheme}://inside.example/", proxies=(proxy.url, f"{proxy.url}/"))
    failed(await get(several), Kind.ADDRESS_REFUSED)
    assert (proxy.asked, proxy.connections) == ([], 0)


@pytest.mark.parametrize("url", ["socks5://us%3Aer:wrong@", "socks5://"])
async def test_socks_that_wants_another_login_is_the_proxy_s_failure(
    serve: Serve, stack: AsyncExitStack, url: str
) -> None:
    site = await serve(page(b"page"))
    proxy = await stack.enter_async_context(RelayProxy(login=True))
    outcome = failed(await get(Request(site.url, proxy=f"{url}127.0.0.1:{proxy.port}")))
    assert "the proxy requires a user name and password, or other ones" in outcome.error
    assert (proxy.asked, site.requests) == ([], [])


@pytest.mark.parametrize("reply", [1, 2, 3, 4, 5, 6, 8, 77])
async def test_a_refusal_of_socks_is_a_failed_connection(
    serve: Serve, stack: AsyncExitStack, reply: int
) -> None:
    site = await serve(page(b"page"))
    proxy = await stack.enter_async_context(RelayProxy(refuses=reply))
    outcome = failed(await get(Request(site.url, proxy=proxy.url)))
    assert outcome.error.startswith("No connection to 127.0.0.1:")


async def test_a_proxy_that_is_no_socks_is_said_to_be_none(serve: Serve) -> None:
    async def of_http(
        _site: Site, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n")

    site = await serve(of_http)
    through = f"socks5://127.0.0.1:{site.port}"
    outcome = failed(await get(Request("http://127.0.0.1:1234/", proxy=through)))
    assert "the proxy sent what is not SOCKS 5" in outcome.error


async def test_an_https_proxy_that_is_not_trusted_hears_nothing(
    serve: Serve, stack: AsyncExitStack
) -> None:
    site = await serve(page(b"page"))
    proxy = await stack.enter_async_context(RelayProxy("http", tls=certified(), login=True))
    outcome = failed(await get(Request(site.url, proxy=proxy.url)))
    assert "the proxy is not trusted" in outcome.error
    assert (proxy.asked, site.requests) == ([], [])


# Several.


async def each(requests: list[Request], **settings: Any) -> list[Reply | Failed]:
    async with fetcher(**settings) as one:
        return [await one.fetch(request) for request in requests]


async def test_requests_take_turns_between_the_proxies(serve: Serve, stack: AsyncExitStack) -> None:
    site = await serve(page(b"page"))
    proxies = [await stack.enter_async_context(RelayProxy(kind)) for kind in ("socks5", "http")]
    several = tuple(proxy.url for proxy in proxies)
    found = await each([Request(f"{site.url}{n}", proxies=several) for n in range(6)])
    assert [body_of(one) for one in found] == [b"page"] * 6
    # Connections are kept, so count what came over each.
    assert len(site.requests) == 6
    assert all(proxy.asked for proxy in proxies)


async def test_a_dead_proxy_rests_and_the_next_one_is_tried_with_one_request(
    serve: Serve, stack: AsyncExitStack, trusted: ssl.SSLContext
) -> None:
    site = await serve(page(b"page"), tls=trusted)
    dead = f"socks5://127.0.0.1:{closed_port()}"
    wrong = await stack.enter_async_context(RelayProxy("http", login=True))
    refused = wrong.url.replace("hush", "other")
    works = await stack.enter_async_context(RelayProxy())
    starts: list[int] = []
    request = Request(site.url, proxies=(dead, refused, works.url))

    def may_start() -> bool:
        starts.append(1)
        return True

    async with fetcher(may_start=may_start) as one:
        for _ in range(3):
            assert body_of(await one.fetch(request)) == b"page"
    assert (len(site.requests), len(starts)) == (3, 3), "one start for each request"
    assert wrong.connections == 1, "then it rests"


async def test_all_resting_says_for_how_long_and_asks_none(
    serve: Serve, stack: AsyncExitStack
) -> None:
    site = await serve(page(b"page"))
    dead = tuple(f"{kind}://127.0.0.1:{closed_port()}" for kind in ("socks5", "http", "https"))
    first, second = await each([Request(site.url, proxies=dead)] * 2)
    for outcome in (failed(first), failed(second)):
        assert outcome.proxies_rest is not None
        assert 50_000 < outcome.proxies_rest <= 60_000
        assert "all proxies rest, the first for 60 s" in outcome.error
    assert site.requests == []


async def test_a_host_that_no_proxy_reaches_is_the_host_s_failure(
    stack: AsyncExitStack, trusted: ssl.SSLContext
) -> None:
    """Otherwise one dead site would take the proxies away from all others."""
    socks = await stack.enter_async_context(RelayProxy(refuses=4))
    tunnel = await stack.enter_async_context(RelayProxy("http", refuses=502))
    outcome = failed((await each([Request("https://127.0.0.1:1234/",
                                          proxies=(socks.url, tunnel.url))]))[0])  # fmt: skip
    assert outcome.proxies_rest is None
    assert len(socks.asked) == len(tunnel.asked) == 1


async def test_a_proxy_that_wants_a_login_is_found_out_after_a_plain_request_left(
    serve: Serve, stack: AsyncExitStack
) -> None:
    """That start is spent: the page goes on through the other proxy at its next one."""
    site = await serve(page(b"page"))
    wrong = await stack.enter_async_context(RelayProxy("http", login=True))
    works = await stack.enter_async_context(RelayProxy("http"))
    several = (wrong.url.replace("hush", "other"), works.url)
    first, second = await each([Request(site.url, proxies=several)] * 2)
    assert failed(first).proxies_rest == 0
    assert body_of(second) == b"page"
    assert len(site.requests) == 1


async def test_a_silent_proxy_does_not_take_the_whole_time(
    serve: Serve, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await serve(page(b"page"))
    silent = await stack.enter_async_context(RelayProxy(silent=True))
    works = await stack.enter_async_context(RelayProxy())
    [first, second] = await each([Request(site.url, proxies=(silent.url, works.url))] * 2,
                                 connect_seconds=0.5)  # fmt: skip
    assert failed(first).proxies_rest == 0, "the other one is ready"
    assert body_of(second) == b"page"


async def test_a_host_that_swallows_connections_fails_however_many_proxies_there_are(
    stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time that the last one has failed the first is ready again, here as with seven of
    ten seconds each."""
    monkeypatch.setattr(proxy_rotation, "FIRST_REST", 0.05)
    silent = [await stack.enter_async_context(RelayProxy(silent=True)) for _ in range(4)]
    request = Request("https://127.0.0.1:1234/", proxies=tuple(proxy.url for proxy in silent))
    found = await each([request] * 5, connect_seconds=0.2)
    rests = [failed(one).proxies_rest for one in found]  # an attempt tries one proxy, or two
    assert (rests[0], rests[2:]) == (0, [None, None, None])
