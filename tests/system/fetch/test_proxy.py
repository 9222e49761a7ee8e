"""Through a proxy: what it is told, what the host is told, and what stands between the two."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from curtsy.fetch import Request, TrustEnded, resolver
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from fetch.proxies import SECRETS, serve_proxy, with_login
from fetch.sites import Script, Serve, Site, answers, fetcher, get, once, page

CERTIFICATE = Path(__file__).with_name("self_signed.pem")
"""For 127.0.0.1, where the hosts are; the proxies are elsewhere."""
SCHEMES = pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    return certified()


def certified() -> ssl.SSLContext:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(CERTIFICATE)
    return tls


def page_of(outcome: Reply | Failed) -> bytes:
    assert isinstance(outcome, Reply), outcome
    return outcome.body


def failed_by(outcome: Reply | Failed, proxy: str, kind: Kind = Kind.CONNECT) -> Failed:
    assert isinstance(outcome, Failed), outcome
    assert outcome.kind is kind, outcome
    assert f"(through the proxy {proxy.removeprefix('http://')})" in outcome.error
    assert outcome.error.endswith(".")
    assert not any(secret in outcome.error for secret in SECRETS)
    return outcome


async def test_a_plain_page_is_asked_for_by_its_whole_url(serve: Serve) -> None:
    site, proxy = await serve(page(b"page")), await serve_proxy(serve)
    url = f"{site.url}a?b=c"
    assert page_of(await get(Request(url, proxy=proxy.url))) == b"page"
    assert proxy.requests[0].startswith(f"GET {url} HTTP/1.1\r\nHost: 127.0.0.1:".encode())
    assert b"proxy-" not in proxy.requests[0].lower()
    assert site.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")


async def test_a_secure_page_is_asked_for_in_a_tunnel(
    serve: Serve, trusted: ssl.SSLContext
) -> None:
    site, proxy = await serve(page(b"page"), tls=trusted), await serve_proxy(serve)
    assert page_of(await get(Request(f"{site.url}a?b=c", proxy=proxy.url))) == b"page"
    authority = b"127.0.0.1:%d" % site.port
    assert proxy.requests == [b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (authority, authority)]
    assert site.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\nHost: " + authority)


@SCHEMES
async def test_the_password_is_for_the_proxy_alone(
    serve: Serve, trusted: ssl.SSLContext, secure: bool
) -> None:
    site = await serve(page(b"page"), tls=trusted if secure else None)
    proxy = await serve_proxy(serve, login=True)
    assert page_of(await get(Request(site.url, proxy=with_login(proxy)))) == b"page"
    assert proxy.requests[0].count(b"Proxy-Authorization: ") == 1
    assert b"authorization" not in site.requests[0].lower()


@SCHEMES
async def test_a_proxy_that_wants_another_password_is_told_of_and_no_page_is_lost(
    serve: Serve, trusted: ssl.SSLContext, secure: bool
) -> None:
    site = await serve(page(b"page"), tls=trusted if secure else None)
    proxy = await serve_proxy(serve, login=True)
    for own in (proxy.url, with_login(proxy, "user:p%40ss")):
        outcome = failed_by(await get(Request(site.url, proxy=own)), proxy.url)
        assert "the proxy answered 407: it requires a user name and password" in outcome.error
    assert site.connections == 0


async def test_a_407_from_within_a_tunnel_is_the_hosts_own(
    serve: Serve, trusted: ssl.SSLContext
) -> None:
    site = await serve(page(b"", status=b"407 Odd"), tls=trusted)
    proxy = await serve_proxy(serve)
    reply = await get(Request(site.url, proxy=proxy.url))
    assert isinstance(reply, Reply)
    assert reply.status == 407


# The guard.


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "[::1]", "[fd00::1]"])
async def test_a_proxy_hears_nothing_of_a_host_that_is_refused(
    serve: Serve, scheme: str, host: str
) -> None:
    proxy = await serve_proxy(serve)
    outcome = await get(Request(f"{scheme}://{host}/", proxy=proxy.url), allow="127.0.0.2")
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.ADDRESS_REFUSED
    assert proxy.connections == 0


async def test_one_refused_address_is_enough_because_the_proxy_chooses(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: ["8.8.8.8", "10.0.0.1"])
    proxy = await serve_proxy(serve)
    for _ in range(2):
        outcome = await get(Request("http://mixed.example/", proxy=proxy.url))
        assert isinstance(outcome, Failed)
        assert outcome.error == "We may not connect to mixed.example: its address is not public."
    assert proxy.connections == 0


async def test_a_name_is_judged_at_every_request_because_the_proxy_looks_it_up_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([["127.0.0.1"], ["10.0.0.1"]])
    monkeypatch.setattr(resolver, "CACHE_SECONDS", -1.0)
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: next(found))
    proxy = await serve(page(b"page"))
    async with fetcher() as open_fetcher:
        request = Request("http://rebinding.example/", proxy=proxy.url.rstrip("/"))
        assert page_of(await open_fetcher.fetch(request)) == b"page"
        outcome = await open_fetcher.fetch(request)
        assert isinstance(outcome, Failed)
        assert outcome.kind is Kind.ADDRESS_REFUSED
    assert (proxy.connections, len(proxy.requests)) == (1, 1)


async def test_a_proxys_own_address_is_free_for_proxied_requests_only(serve: Serve) -> None:
    site, proxy = await serve(page(b"page")), await serve_proxy(serve)
    async with fetcher(allow="127.0.0.1") as open_fetcher:
        request = Request(site.url, proxy=proxy.url)
        assert page_of(await open_fetcher.fetch(request)) == b"page"
        for own in (None, proxy.url):
            outcome = await open_fetcher.fetch(Request(f"{proxy.url}/", proxy=own))
            assert isinstance(outcome, Failed)
            assert outcome.kind is Kind.ADDRESS_REFUSED
    assert len(proxy.requests) == 1


@SCHEMES
@pytest.mark.parametrize("allow_proxies", ["", "127.0.0.1", "127.0.0.2:1", "10.0.0.0/8"])
async def test_a_proxy_at_a_private_address_hears_nothing_unless_the_operator_allows_it(
    serve: Serve, secure: bool, allow_proxies: str
) -> None:
    """ALLOW_ADDRESSES, which has all of 127.0.0.0/8 here, is for pages only."""
    proxy = await serve_proxy(serve)
    request = Request(f"{'https' if secure else 'http'}://127.0.0.1:99/", proxy=with_login(proxy))
    outcome = failed_by(await get(request, allow_proxies=allow_proxies), proxy.url)
    assert "its address is not public, and ALLOW_PROXIES does not name it" in outcome.error
    assert proxy.connections == 0


@pytest.mark.parametrize("form", ["127.0.0.2:{port}", "127.0.0.2", "127.0.0.0/24, ::1"])
async def test_an_allowed_proxy_is_used(serve: Serve, form: str) -> None:
    site, proxy = await serve(page(b"page")), await serve_proxy(serve)
    allow_proxies = form.format(port=proxy.port)
    reply = await get(Request(site.url, proxy=proxy.url), allow_proxies=allow_proxies)
    assert page_of(reply) == b"page"


async def test_a_proxys_private_address_is_not_told_and_its_blocked_port_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: ["10.11.12.13"])
    proxy = "http://intra.example:3128"
    outcome = failed_by(await get(Request("http://127.0.0.1/", proxy=proxy)), proxy)
    assert "10.11.12.13" not in outcome.error
    mail = "http://intra.example:25"
    request = Request("http://127.0.0.1/", proxy=mail)
    outcome = failed_by(await get(request, allow_proxies="10.0.0.0/8"), mail)
    assert "browsers block its port too" in outcome.error


def tunnels(proxy: Site) -> list[str]:
    return [head.split(b" ")[1].decode() for head in proxy.requests]


async def test_a_tunnel_leads_to_a_checked_address_and_not_to_a_name(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name leads elsewhere as soon as somebody else looks it up."""
    found = iter([["10.0.0.1", "127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]])
    real = resolver.addresses_of

    def looked_up(host: str) -> list[str]:
        return next(found) if host == "rebinding.example" else real(host)

    monkeypatch.setattr(resolver, "addresses_of", looked_up)
    site, proxy = await serve(page(b"page"), tls=certified()), await serve_proxy(serve)
    request = Request(f"https://rebinding.example:{site.port}/", proxy=proxy.url)
    failed_by(await get(request), proxy.url, Kind.TLS)  # the certificate is for the address only
    assert tunnels(proxy) == [f"127.0.0.1:{site.port}"]


async def test_of_several_addresses_a_proxy_is_asked_for_one_after_another(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = ["::1", "127.0.0.3", "10.0.0.1", "127.0.0.4", "127.0.0.5"]
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: addresses)
    proxy = await serve(page(b"", status=b"502 Bad Gateway"))
    own = f"http://127.0.0.1:{proxy.port}"
    outcome = await get(Request("https://many.example/", proxy=own), allow="127.0.0.0/8 ::1")
    assert "the proxy answered 502" in failed_by(outcome, own).error
    assert tunnels(proxy) == ["127.0.0.3:443", "127.0.0.4:443", "127.0.0.5:443"]


@pytest.mark.parametrize("private", [False, True])
async def test_a_proxy_that_takes_no_addresses_gets_a_name_whose_addresses_are_all_allowed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, private: bool
) -> None:
    addresses = ["127.0.0.3"] + (["10.0.0.1"] if private else [])
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: addresses)
    proxy = await serve(page(b"", status=b"403 Forbidden"))
    own = f"http://127.0.0.1:{proxy.port}"
    outcome = await get(Request("https://name.example/", proxy=own))
    assert isinstance(outcome, Failed)
    assert outcome.kind is (Kind.ADDRESS_REFUSED if private else Kind.CONNECT)
    assert tunnels(proxy) == ["127.0.0.3:443"] + ([] if private else ["name.example:443"])


# Connections that are kept.


@SCHEMES
async def test_a_kept_connection_serves_only_its_own_proxy_and_origin(
    serve: Serve, trusted: ssl.SSLContext, secure: bool
) -> None:
    tls = trusted if secure else None
    site, other_site = await serve(page(b"one"), tls=tls), await serve(page(b"two"), tls=tls)
    proxy, other_proxy = await serve_proxy(serve), await serve_proxy(serve)
    asked = [(s, p) for s in (site, other_site)
             for p in (None, proxy.url, other_proxy.url, with_login(proxy))]  # fmt: skip
    async with fetcher() as open_fetcher:
        for _ in range(3):
            for whom, own in asked:
                body = page_of(await open_fetcher.fetch(Request(whom.url, proxy=own)))
                assert body == (b"one" if whom is site else b"two")
        assert open_fetcher._pool._count == len(asked)
    assert (proxy.connections, other_proxy.connections) == (4, 2)
    assert len(proxy.requests) == (4 if secure else 12)
    assert site.connections == (4 if secure else 1 + 9)


# Trust.


@SCHEMES
async def test_without_trust_the_host_is_asked_nothing(
    serve: Serve, trusted: ssl.SSLContext, secure: bool
) -> None:
    site = await serve(page(b"page"), tls=trusted if secure else None)
    proxy = await serve_proxy(serve)
    asked: list[int] = []

    def may_start() -> bool:
        asked.append(len(proxy.requests))
        return False

    async with fetcher(may_start=may_start) as open_fetcher:
        with pytest.raises(TrustEnded):
            await open_fetcher.fetch(Request(site.url, proxy=proxy.url))
        await proxy.arrived.wait()
        await proxy.left()
    assert asked == [1 if secure else 0]  # once, and when the tunnel stood
    assert [head[:7] for head in proxy.requests] == ([b"CONNECT"] if secure else [])
    assert site.requests == []


async def test_a_certificate_in_a_tunnel_must_be_trusted(serve: Serve) -> None:
    site, proxy = await serve(page(b"page"), tls=certified()), await serve_proxy(serve)
    failed_by(await get(Request(site.url, proxy=proxy.url)), proxy.url, Kind.TLS)
    assert site.requests == []


async def test_a_certificate_in_a_tunnel_must_be_the_hosts(
    serve: Serve, trusted: ssl.SSLContext
) -> None:
    site, proxy = await serve(page(b"page"), tls=trusted), await serve_proxy(serve)
    url = f"https://localhost:{site.port}/"
    request = Request(url, proxy=proxy.url)
    failed_by(await get(request, allow="127.0.0.0/8 ::1"), proxy.url, Kind.TLS)
    assert proxy.requests[0].startswith(b"CONNECT 127.0.0.1:%d " % site.port)
    assert site.requests == []


# What a proxy can do instead.


async def until_it_leaves(
    site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    await site.heard(reader)
    await reader.read()


def endless(begin: bytes, piece: bytes) -> Script:
    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        writer.write(begin)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)

    return script


def answers_and_waits(*pieces: bytes) -> Script:
    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await once(*pieces)(site, reader, writer)
        await reader.read()

    return script


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (answers(page(b"no", status=b"502 Bad Gateway")), "the proxy answered 502"),
        (answers(page(b"no", status=b"403 Forbidden")), "the proxy answered 403"),
        (answers(b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n"), "the proxy answered 301"),
        (answers(b"HTTP/1.0 503\r\n\r\n"), "the proxy answered 503"),
        (answers(b"HTTP/1.1 100 Continue\r\n\r\n"), "the proxy answered 100"),
        (answers_and_waits(b"SSH-2.0-OpenSSH_9.6\r\n"), "the proxy sent what is not HTTP"),
        (answers_and_waits(b"HTTP/2 200 OK\r\n\r\n"), "the proxy sent what is not HTTP"),
        (answers_and_waits(b"HTTP/1.1 2000\r\n\r\n"), "the proxy sent what is not HTTP"),
        (answers_and_waits(b"HTTP/1.1 \n\n"), "the proxy sent what is not HTTP"),
        (once(), "the proxy closed the connection"),
        (once(b"HTTP/1.1 200 OK\r\nVia"), "the proxy closed the connection"),
        (answers_and_waits(b"HTTP/1.1 200 OK\r\n\r\nmore"), "the proxy sent more than its answer"),
        (endless(b"HTTP/1.1 200 OK\r\nVia: ", b"a" * 9999), "the proxy sent more than 16384 bytes"),
        (endless(b"HTTP/1.1 200 OK\r\nVia: ", b"a"), "not in time"),
        (until_it_leaves, "not in time"),
    ],
    ids=["502", "403", "a redirect", "bare 503", "interim", "ssh", "http/2", "long status",
         "no status", "nothing", "half", "surplus", "endless", "dripping", "silence"],
)  # fmt: skip
async def test_a_proxy_that_opens_no_tunnel_is_named(
    serve: Serve, script: Script, reason: str
) -> None:
    proxy = await serve(script, address="127.0.0.2")
    proxy.url = f"http://127.0.0.2:{proxy.port}"
    request = Request("https://127.0.0.1:99/", proxy=with_login(proxy))
    patience = 0.4 if reason == "not in time" else 10
    outcome = failed_by(await get(request, connect_seconds=patience), proxy.url)
    assert f"): {reason}" in outcome.error
    assert [head[:20] for head in proxy.requests] == [b"CONNECT 127.0.0.1:99"]


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.0 200\n\n", b"HTTP/1.1 204 \r\nContent-Length: 9\r\n\r\n"]
)
async def test_a_short_yes_opens_a_tunnel(serve: Serve, answer: bytes) -> None:
    """Nothing but the TLS that follows it is left to go wrong."""
    proxy = await serve(once(answer), address="127.0.0.2")
    request = Request("https://127.0.0.1:99/", proxy=f"http://127.0.0.2:{proxy.port}")
    outcome = await get(request)
    assert isinstance(outcome, Failed)
    assert "the proxy sent" not in outcome.error
    assert "the proxy broke" not in outcome.error


async def test_a_tunnel_to_an_ipv6_address_is_asked_for_in_brackets(serve: Serve) -> None:
    proxy = await serve(page(b"", status=b"502 Bad Gateway"))
    request = Request("https://[::1]/", proxy=f"http://127.0.0.1:{proxy.port}")
    await get(request, allow="::1")
    assert proxy.requests == [b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"]


@SCHEMES
async def test_a_proxy_that_is_away_is_named(secure: bool) -> None:
    url = f"{'https' if secure else 'http'}://127.0.0.1/"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{unused.getsockname()[1]}"
        outcome = failed_by(await get(Request(url, proxy=proxy)), proxy)
        assert "the proxy cannot be reached (" in outcome.error


async def test_a_proxys_unknown_name_is_not_taken_for_the_pages() -> None:
    proxy = f"http://{'a' * 70}.example:8080"
    outcome = failed_by(await get(Request("http://127.0.0.1/", proxy=proxy)), proxy)
    assert not outcome.final


async def test_a_silent_proxy_runs_out_of_time(serve: Serve) -> None:
    proxy = await serve(until_it_leaves)
    own = proxy.url.rstrip("/")
    request = Request("http://127.0.0.1:99/", proxy=own, timeout_ms=50)
    failed_by(await get(request), own, Kind.TIMEOUT)


async def test_a_proxys_502_for_a_plain_page_is_an_answer_like_any(serve: Serve) -> None:
    proxy = await serve(page(b"", status=b"502 Bad Gateway"))
    reply = await get(Request("http://127.0.0.1:99/", proxy=proxy.url))
    assert isinstance(reply, Reply)
    assert reply.status == 502
