"""A small model of the frontier: what should come of each step, without a database."""

from dataclasses import dataclass, field
from typing import Any

URLS = [f"https://{host}.example/{n}" for host in ("a", "b") for n in range(3)]
ENDS = {"fetched": "done", "not_modified": "done", "failed": "failed"}

Ending = tuple[str, Any]
"""How an item ended: its state and the version of its document, or its failure's kind."""
WAITING: Ending = ("waiting", None)


@dataclass
class ModelPage:
    closed: int = 0
    """The last turn that ended."""
    waits: bool = False
    fresh: bool = False
    letter: bool = False
    """It was given up, and nobody did anything about that yet."""
    contents: list[str] = field(default_factory=list)


@dataclass
class ModelJob:
    items: dict[str, Ending]
    round: int = 1
    paused: bool = False

    def urls_in(self, state: str) -> list[str]:
        return [url for url, (is_in, _what) in self.items.items() if is_in == state]


class Model:
    """Pages, jobs and who holds which source: what the frontier should come to."""

    def __init__(self) -> None:
        self.pages = {url: ModelPage() for url in URLS}
        self.jobs: dict[str, ModelJob] = {}

    def submit(self, job: str, urls: list[str], use_cache: bool) -> None:
        items = {}
        for url in urls:
            page = self.pages[url]
            if use_cache and page.fresh:
                items[url] = ("done", len(page.contents))
            else:
                items[url] = WAITING
                page.waits = True
        self.jobs[job] = ModelJob(items)

    def counts(self, url: str, turn: int) -> bool:
        page = self.pages[url]
        return page.waits and turn == page.closed + 1

    def result(self, url: str, what: str, content: str) -> None:
        """A result that counts: the turn is over; unless it is to go on, so is the visit."""
        page = self.pages[url]
        page.closed += 1
        if what in ("failed", "retried", "rested"):
            page.fresh = False
        if what == "fetched" and page.contents[-1:] != [content]:
            page.contents.append(content)
        if what in ENDS:
            page.waits = False
            page.letter = page.letter or what == "failed"
            page.fresh = what != "failed" and bool(page.contents)
            ending = (ENDS[what], "gone" if what == "failed" else len(page.contents))
            for job in self.jobs.values():
                if job.items.get(url) == WAITING:
                    job.items[url] = ending
            self._unpause_ended()

    def cancel(self, job: str) -> int:
        waiting = self.jobs[job].urls_in("waiting")
        for url in waiting:
            self.jobs[job].items[url] = ("cancelled", "cancelled")
        self._drop(waiting)
        self._unpause_ended()
        return len(waiting)

    def pause(self, job: str) -> int:
        self.jobs[job].paused = True
        waiting = self.jobs[job].urls_in("waiting")
        self._drop(waiting)
        return len(waiting)

    def resume(self, job: str) -> int:
        self.jobs[job].paused = False
        waiting = self.jobs[job].urls_in("waiting")
        for url in waiting:
            self.pages[url].waits = True
        return len(waiting)

    def _drop(self, urls: list[str]) -> None:
        """What no job waits for, or only paused ones, leaves the queue."""
        for url in urls:
            wanted = any(
                job.items.get(url) == WAITING and not job.paused for job in self.jobs.values()
            )
            if self.pages[url].waits and not wanted:
                self.pages[url].waits = False
                self.pages[url].closed += 1

    def _unpause_ended(self) -> None:
        for job in self.jobs.values():
            job.paused = job.paused and bool(job.urls_in("waiting"))

    def retry(self, job: str) -> int:
        return self._reopen(job, self.jobs[job].urls_in("failed"))

    def retry_letters(self) -> int:
        """For all jobs but the cancelled ones; afterwards no letter is open."""
        pages = {url for url, page in self.pages.items() if page.letter}
        reopened = set()
        for name, job in self.jobs.items():
            if job.urls_in("waiting") or not job.urls_in("cancelled"):
                failures = [url for url in job.urls_in("failed") if url in pages]
                reopened |= set(failures)
                self._reopen(name, failures)
        for url in pages:
            self.pages[url].letter = False
        return len(reopened)

    def _reopen(self, job: str, urls: list[str]) -> int:
        is_over = not self.jobs[job].urls_in("waiting")
        self.jobs[job].round += bool(urls) and is_over
        for url in urls:
            self.jobs[job].items[url] = WAITING
            self.pages[url].waits = self.pages[url].waits or not self.jobs[job].paused
            self.pages[url].letter = False
        return len(urls)
