"""What `client.scrape` asks the API for."""

from collections.abc import Iterable
from typing import Any

import pytest

from curtsy.client.request_bodies import PageBody
from curtsy.client.scrape_job import start_scrape

URL = "http://a.example/1"


class RecordingApi:
    """Keeps the bodies of requests."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def request(self, _method: str, _path: str, *, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        raise Asked


class Asked(Exception):
    """The request was made."""


async def asked(pages: PageBody | Iterable[PageBody], scraper: str, **params: object) -> Any:
    api = RecordingApi()
    with pytest.raises(Asked):
        await start_scrape(api, pages, scraper, None, params)  # type: ignore[arg-type]
    return api.bodies[0]


@pytest.mark.parametrize(("scraper", "params"), [("raw", {}), ("own", {}), ("article", {"a": 1})])
async def test_what_a_crawl_would_lose_is_refused(scraper: str, params: dict[str, object]) -> None:
    page: Any = {"url": URL, "json": {"a": 1}}
    with pytest.raises(TypeError, match=r"json would be lost\..*\.$"):
        await asked([page], scraper, **params)
    assert (await asked([{"url": URL}], scraper, **params))["start_urls"] == [URL]


async def test_a_crawl_may_have_as_many_pages_as_there_are_urls() -> None:
    body = await asked((f"http://a.example/{n}" for n in range(10_001)), "raw")
    assert body["params"]["max_pages"] == len(body["start_urls"]) == 10_001


async def test_a_page_that_came_before_is_left_out() -> None:
    again = ["http://A.example:80/1#part", {"url": URL, "source": "other"}, "no url", "no url"]
    assert (await asked([URL, *again], "article"))["articles"] == [{"url": URL}, {"url": "no url"}]
    assert (await asked([URL, again[0]], "raw"))["start_urls"] == [URL]
    different: list[PageBody] = [{"url": URL, "json": {"a": n}} for n in range(2)]
    pages = [URL, *different, {"url": URL, "body": ""}, *different]
    assert (await asked(pages, "article"))["articles"] == [{"url": URL}, *pages[1:4]]
