"""What `curtsy scrape` submits: articles, or a crawl that starts at feeds and sitemaps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.text import counted
from curtsy.cli.console.url_arguments import Refusal, read_articles, read_urls
from curtsy.cli.views.results import Written
from curtsy.client import ApiConnection

Lists = list[str] | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The options that say what to scrape."""

    urls: Lists
    file: Path | None
    column: str | None
    feeds: Lists
    sitemaps: Lists
    seen_too: bool
    max_pages: int | None
    new_only: bool
    skip_invalid: bool
    max_age: int | None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job, as the door's answer has it."""

    job_id: str
    total: int
    cached: int = 0
    skipped: int = 0
    """Pages that `new_only` left out."""


@dataclass(frozen=True, slots=True)
class ScrapeRequest:
    path: str
    body: dict[str, Any]
    lists: int = 0
    """Feeds and sitemaps; 0: the body names the pages themselves."""

    @property
    def options(self) -> dict[str, Any]:
        """Where the body has the options of the job."""
        found: dict[str, Any] = self.body["params"] if self.lists else self.body
        return found

    async def submit(self, api: ApiConnection) -> Submitted:
        if self.lists:
            with spinner(f"Submitting {self._lists}"):
                created = await api.request("POST", self.path, body=self.body)
            return Submitted(created["job_id"], self.lists)
        with spinner(f"Submitting {counted(len(self.body['articles']), 'page')}"):
            created = await api.request("POST", self.path, body=self.body)
        return Submitted(created["job_id"], created["total_articles"], created["cached_articles"],
                         created.get("skipped_articles", 0))  # fmt: skip

    def outcome(self, submitted: Submitted, written: Written) -> str:
        """What came of it, without a full stop."""
        if self.lists:
            new = "" if self.body["start"]["new_only"] is False else "new "
            text = f"{counted(written.done, f'{new}page')} from {self._lists}"
        elif submitted.skipped and not submitted.total:
            return f"Nothing new: {counted(submitted.skipped, 'page')} scraped before"
        else:
            text = f"{written.done} of {counted(submitted.total, 'page')}"
        aside = [f"{submitted.cached} from the store"] if submitted.cached else []
        aside += [f"{submitted.skipped} scraped before"] if submitted.skipped else []
        text += f" ({', '.join(aside)})" if aside else ""
        return f"{text}, {written.failed} failed" if written.failed else text

    @property
    def _lists(self) -> str:
        start = self.body["start"]
        counts = ((len(start["feed"]), "feed"), (len(start["sitemap"]), "sitemap"))
        return " and ".join(counted(number, noun) for number, noun in counts if number)


def scrape_request(of: Sources, refusal: Refusal) -> ScrapeRequest:
    """Raises `WrongUsage` for options that contradict each other."""
    if of.feeds or of.sitemaps:
        return _crawl(of)
    for option, given in (("--all", of.seen_too), ("--max-pages", of.max_pages)):
        if given:
            raise WrongUsage(f"{option} is for --feed and --sitemap.")
    if of.new_only and of.max_age is not None:
        raise WrongUsage("--new-only takes nothing from the store: leave out --max-age.")
    articles = read_articles(of.urls, of.file, of.column, skip_invalid=of.skip_invalid,
                             refusal=refusal)  # fmt: skip
    body: dict[str, Any] = {"articles": articles}
    body |= {"new_only": True} if of.new_only else {}
    body |= {"max_age": of.max_age} if of.max_age is not None else {}
    return ScrapeRequest("/jobs/submit", body)


def _crawl(of: Sources) -> ScrapeRequest:
    if of.urls or of.file is not None or of.column is not None:
        raise WrongUsage("Give either URLs, or --feed and --sitemap.")
    if of.new_only and of.seen_too:
        raise WrongUsage("--new-only and --all exclude each other.")
    if of.skip_invalid:
        raise WrongUsage("--skip-invalid is for URLs, not for --feed and --sitemap.")
    feeds, sitemaps = (read_urls(one, None) if one else [] for one in (of.feeds, of.sitemaps))
    start = {"feed": feeds, "sitemap": sitemaps, "new_only": not of.seen_too}
    params: dict[str, Any] = {"max_pages": of.max_pages} if of.max_pages is not None else {}
    params |= {"max_age": of.max_age} if of.max_age is not None else {}
    body = {"spider": "article", "depth": 0, "start": start, "params": params}
    return ScrapeRequest("/crawl", body, len(feeds) + len(sitemaps))
