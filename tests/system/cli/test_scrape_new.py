"""`scrape --new-only`, and what `--feed` and `--sitemap` submit."""

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Curtsy
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.scrape_request import ScrapeRequest, Sources, Submitted, scrape_request
from curtsy.cli.views.results import Written
from curtsy.demo.process import PracticeProcess
from curtsy.requests.crawl import CrawlRequest

NOTHING: dict[str, Any] = {
    "urls": None, "file": None, "column": None, "feeds": None, "sitemaps": None, "seen_too": False,
    "max_pages": None, "new_only": False, "skip_invalid": False, "max_age": None,
}  # fmt: skip
FEED, SITEMAP = "http://a.example/rss", "http://b.example/sitemap.xml"


def _request(**options: Any) -> ScrapeRequest:
    return scrape_request(Sources(**(NOTHING | options)), lambda _host: None)


def test_a_second_run_gets_only_what_the_first_did_not(
    quick: Curtsy, pages: PracticeProcess
) -> None:
    one, two, missing = (pages.url(0, path) for path in ("/page/1", "/page/2", "/missing/3"))
    assert quick("scrape", one, missing, "-q", "--json").exit_code == 3
    told = quick("scrape", one, two, missing, "--new-only", "--json")
    assert told.exit_code == 3, "what failed before is new"
    assert {line["url"] for line in told.lines_of_json} == {two, missing}
    assert told.err.splitlines()[-1] == "1 of 2 pages (1 scraped before), 1 failed."
    again = quick("scrape", one, two, "--new-only", "--json")
    assert (again.exit_code, again.out) == (0, "")
    assert again.err == "Nothing new: 2 pages scraped before.\n"
    told = quick("submit", one, pages.url(0, "/page/9"), "--new-only")
    assert "1 to fetch, 0 in the store already, 1 left out that were scraped before." in told.out


@pytest.mark.parametrize("command", ["scrape", "submit"])
@pytest.mark.parametrize("of_session", [("--session",), ("--cookies", __file__)])
def test_new_only_and_a_session_exclude_each_other(
    quick: Curtsy, command: str, of_session: tuple[str, ...]
) -> None:
    told = quick(command, "http://a.invalid/", "--new-only", *of_session)
    assert told.exit_code == 2
    assert "--new-only excludes --session and --cookies" in told.err


@pytest.mark.parametrize(
    "options",
    [
        {"urls": ["http://a/"], "seen_too": True},
        {"urls": ["http://a/"], "max_pages": 3},
        {"urls": ["http://a/"], "feeds": [FEED]},
        {"file": Path("x"), "sitemaps": [SITEMAP]},
        {"feeds": [FEED], "new_only": True, "seen_too": True},
        {"urls": ["http://a/"], "new_only": True, "max_age": 3},
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(WrongUsage):
        _request(**options)


def test_feeds_and_sitemaps_are_submitted_as_a_crawl_that_the_api_takes() -> None:
    request = _request(feeds=[FEED], sitemaps=[SITEMAP], max_pages=50)
    body = CrawlRequest.model_validate(request.body)
    assert (request.path, body.spider, body.depth, body.params.max_pages) == (
        "/crawl", "article", 0, 50,
    )  # fmt: skip
    assert body.start is not None
    assert (body.start.feed, body.start.sitemap, body.start.new_only) == ([FEED], [SITEMAP], True)
    everything = CrawlRequest.model_validate(_request(feeds=[FEED], seen_too=True).body)
    assert everything.start is not None
    assert not everything.start.new_only


def test_the_outcome_of_feeds_counts_what_was_new() -> None:
    submitted, written = Submitted("job_1", 2), Written(done=3, failed=1)
    of_both = _request(feeds=[FEED, "http://c.example/"], sitemaps=[SITEMAP])
    assert of_both.outcome(submitted, written) == (
        "3 new pages from 2 feeds and 1 sitemap, 1 failed"
    )
    assert _request(feeds=[FEED], seen_too=True).outcome(submitted, Written(done=1)) == (
        "1 page from 1 feed"
    )
