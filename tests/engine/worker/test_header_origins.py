"""A job's headers stay with the scheme, host and port of its pages; a source's do not go from https
to http."""

from collections.abc import AsyncIterator

import pytest

from curtsy.extract import ExtractLimits
from curtsy.fetch import resolver
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.model.roles import OPEN
from curtsy.requests.crawl import CrawlRequest, job_request
from support.both_schemes import CERTIFICATE, BothSchemes
from support.engine import QUICK, Engine, settings

SECRET = ("Authorization", "Bearer 1")


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BothSchemes]:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: ["127.0.0.1"])
    async with BothSchemes() as serving:
        yield serving


async def moved(curtsy: Engine, site: BothSchemes, start: str, to: str) -> dict[str, str | None]:
    scheme = start.partition(":")[0]
    site.answers[f"{scheme}:/start"] = f"-> {to}"
    async with curtsy.worker():
        ended = await curtsy.ended(await curtsy.submit(start, headers=(SECRET,)))
    assert ended.state == "succeeded"
    return site.sent_with("Authorization")


async def test_a_redirect_from_https_to_http_loses_the_jobs_headers(
    curtsy: Engine, site: BothSchemes
) -> None:
    told = await moved(curtsy, site, site.url("https", "/start"), site.url("http", "/end"))
    assert told == {"https://127.0.0.1/start": "Bearer 1", "http://127.0.0.1/end": None}


async def test_a_redirect_from_http_to_https_keeps_the_jobs_headers(
    curtsy: Engine, site: BothSchemes
) -> None:
    told = await moved(curtsy, site, site.url("http", "/start"), site.url("https", "/end"))
    assert told == {"http://127.0.0.1/start": "Bearer 1", "https://127.0.0.1/end": "Bearer 1"}


async def test_a_redirect_to_www_loses_the_jobs_headers(curtsy: Engine, site: BothSchemes) -> None:
    start = site.url("http", "/start", "a.example")
    told = await moved(curtsy, site, start, site.url("http", "/end", "www.a.example"))
    assert told == {"http://a.example/start": "Bearer 1", "http://www.a.example/end": None}


async def test_a_crawls_headers_go_to_the_origins_of_its_start_pages_alone(
    curtsy: Engine, site: BothSchemes
) -> None:
    links = ("https:/safe", "http:/clear")
    urls = [site.url(*link.split(":")) for link in links]
    site.answers["https:/start"] = "".join(f"<a href='{url}'>x</a>" for url in urls)
    body = CrawlRequest.model_validate({
        "spider": "raw", "start_urls": [site.url("https", "/start")], "depth": 1,
        "params": {"headers": dict([SECRET])},
    })  # fmt: skip
    crawl = job_request(body, key=None, caller=OPEN, fresh=True, cache_ttl=0, now=0)
    async with curtsy.worker(settings(extract=ExtractLimits(processes=1, seconds=10))):
        ended = await curtsy.ended((await curtsy.submitter.submit(crawl)).job)
    assert (ended.state, ended.done) == ("succeeded", 3)
    assert site.sent_with("Authorization") == {
        "https://127.0.0.1/start": "Bearer 1",
        "https://127.0.0.1/safe": "Bearer 1",
        "http://127.0.0.1/clear": None,
    }


async def test_a_sources_headers_do_not_go_from_https_to_http(
    curtsy: Engine, site: BothSchemes
) -> None:
    """Neither with a page that moved, nor with robots.txt."""
    site.answers |= {
        "https:/start": f"-> {site.url('http', '/end')}",
        "https:/robots.txt": f"-> {site.url('http', '/other.txt')}",
        "http:/other.txt": "User-agent: *",
        "http:/robots.txt": "User-agent: *",
    }
    name = f"127.0.0.1:{site.port}"
    policy = {"headers": dict([SECRET])}
    context = PolicyContext(QUICK, 3_000, curtsy.clock.now())
    await curtsy.store.write(lambda c: describe(c, Description(name, policy, [name]), context))
    async with curtsy.worker(settings(obeys_robots=True)):
        ended = await curtsy.ended(await curtsy.submit(site.url("https", "/start")))
    assert ended.state == "succeeded"
    told = site.sent_with("Authorization")
    assert told["https://127.0.0.1/start"] == told["https://127.0.0.1/robots.txt"] == "Bearer 1"
    assert told["http://127.0.0.1/other.txt"] is None
    assert told["http://127.0.0.1/end"] is None
