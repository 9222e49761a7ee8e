"""What each address of the practice site answers, asked over real sockets."""

import gzip
import time

import aiohttp
import pytest

from curtsy.demo.practice_site import PracticeSite
from curtsy.demo.site_pages import Place, plan
from curtsy.politeness.robots import robots_of


async def statuses(
    client: aiohttp.ClientSession, site: PracticeSite, path: str, times: int, host: int = 0
) -> list[int]:
    found = []
    for _ in range(times):
        async with client.get(site.url(host, path)) as reply:
            await reply.read()
            found.append(reply.status)
    return found


async def test_a_page_has_a_title_paragraphs_and_links_onward(client, site):
    async with client.get(site.url(0, "/page/7")) as reply:
        text = await reply.text()
    assert reply.status == 200
    assert "<title>Page 7 of 127.0.1.1</title>" in text
    assert text.count("<p>") == 4
    assert 'href="/page/8"' in text
    assert 'href="/page/9"' in text
    assert 1_900 < len(text) < 2_300


async def test_the_same_page_is_the_same_on_another_site_but_not_on_another_host(client, site):
    async def body(where: PracticeSite, host: int) -> bytes:
        async with client.get(where.url(host, "/page/7")) as reply:
            return await reply.read()

    async with PracticeSite(hosts=2) as other:
        assert await body(site, 1) == await body(other, 1)
        assert await body(site, 0) != await body(site, 1)


@pytest.mark.parametrize("size", [0, 1, 100, 2_100, 2_110, 5_000, 300_000])
async def test_a_sized_page_has_exactly_that_size(client, site, size):
    async with client.get(site.url(0, f"/page/1?size={size}")) as reply:
        assert len(await reply.read()) == size


async def test_a_page_that_the_client_holds_is_not_sent_again(client, site):
    async with client.get(site.url(0, "/page/1")) as first:
        etag = first.headers["ETag"]
    assert first.headers["Last-Modified"].endswith("Jan 2024 00:01:01 GMT")
    for held in (etag, f'"old", W/{etag}', "*"):
        async with client.get(site.url(0, "/page/1"), headers={"If-None-Match": held}) as again:
            assert (again.status, await again.read()) == (304, b"")
            assert again.headers["ETag"] == etag
    async with client.get(site.url(0, "/page/2"), headers={"If-None-Match": etag}) as other:
        assert other.status == 200


async def test_a_slow_page_and_a_dripping_one_take_their_time(client, site):
    for path in ("/slow/120/1", "/drip/120/1"):
        began = time.monotonic()
        async with client.get(site.url(0, path)) as reply:
            assert len(await reply.read()) == reply.content_length
        assert 0.119 < time.monotonic() - began < 1


async def test_a_flaky_page_fails_as_often_as_it_says_on_each_host(client, site):
    assert await statuses(client, site, "/flaky/2/1", 4) == [500, 500, 200, 200]
    assert await statuses(client, site, "/flaky/2/1", 3, host=1) == [500, 500, 200]
    assert await statuses(client, site, "/flaky/2/2", 3) == [500, 500, 200]
    assert await statuses(client, site, "/flaky503/1/1", 2) == [503, 200]
    assert await statuses(client, site, "/flaky/0/1", 1) == [200]


async def test_a_reset_site_has_forgotten_who_asked(client, site):
    assert await statuses(client, site, "/flaky/1/1", 2) == [500, 200]
    site.reset()
    assert await statuses(client, site, "/flaky/1/1", 2) == [500, 200]


async def test_a_reset_page_closes_the_connection_and_then_answers(raw, client, site):
    """Asked by hand: aiohttp asks a second time, at once, where a connection just closes."""
    for _ in range(2):
        assert await raw(b"GET /reset/2/1 HTTP/1.1\r\nHost: a\r\n\r\n") == b""
    assert await statuses(client, site, "/reset/2/1", 1) == [200]


@pytest.mark.parametrize(("name", "status"), [("limited", 429), ("busy", 503)])
async def test_a_limited_page_says_when_to_come_back(client, site, name, status):
    async with client.get(site.url(0, f"/{name}/30/1/5")) as reply:
        assert (reply.status, reply.headers["Retry-After"]) == (status, "30")
    assert await statuses(client, site, f"/{name}/30/1/5", 1) == [200]


async def test_a_status_can_be_ordered(client, site):
    for status in (200, 204, 304, 403, 410, 418, 599):
        assert await statuses(client, site, f"/status/{status}/1", 1) == [status]


async def test_a_redirect_takes_as_many_hops_as_it_says(client, site):
    async with client.get(site.url(0, "/redirect/3/7")) as reply:
        assert "Page 7" in await reply.text()
    assert [entry.path for entry in site.entries()] == [
        "/redirect/3/7",
        "/redirect/2/7",
        "/redirect/1/7",
        "/page/7",
    ]


async def test_a_redirect_can_lead_to_another_host(client, site):
    async with client.get(site.url(0, "/elsewhere/2/7")) as reply:
        assert str(reply.url) == site.url(2, "/page/7")
    assert await statuses(client, site, "/elsewhere/3/7", 1) == [404]


async def test_a_circle_never_ends(client, site):
    with pytest.raises(aiohttp.TooManyRedirects):
        await client.get(site.url(0, "/circle/1"))


async def test_a_truncated_page_ends_before_its_length(client, site):
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.get(site.url(0, "/truncated/1")) as reply:
            await reply.read()


async def test_bodies_come_encoded_binary_and_in_latin1(client, site):
    async with aiohttp.ClientSession(auto_decompress=False) as plain:
        async with plain.get(site.url(0, "/gzip/7")) as packed:
            unpacked = gzip.decompress(await packed.read())
        async with plain.get(site.url(0, "/page/7")) as page:
            assert unpacked == await page.read()
    async with client.get(site.url(0, "/bytes/1")) as binary:
        assert binary.content_type == "application/octet-stream"
        assert (await binary.read())[:2] == b"\x00\xff"
    async with client.get(site.url(0, "/latin1/1")) as latin:
        assert latin.charset == "iso-8859-1"
        assert "Café 1" in await latin.text()


async def test_robots_may_go_almost_anywhere(client, site):
    async with client.get(site.url(0, "/robots.txt")) as reply:
        robots = robots_of(await reply.read(), "curtsy")
    assert robots.allows("/page/1")
    assert robots.allows("/news/")
    assert not robots.allows("/news/private/editors-notes")


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/page", "/page/", "/page/x", "/page/1/2", "/page/-1", "//", "/nothing/1"),
        *("/missing/1", "/status/100/1", "/status/600/1", "/slow/600001/1", "/redirect/1001/1"),
        *("/page/1?size=x", "/page/1?size=99999999", "/page/1234567890123456", "/Robots.txt"),
    ],
)
def test_anything_else_is_not_found(path):
    assert plan(Place("127.0.1.1", 80, 1), path).answer.status == 404
