"""A site whose runs the test fetches page by page."""

from dataclasses import replace
from typing import Any

import zstandard

from curtsy.frontier.take import Visit
from curtsy.jobs import SubmitLimits
from curtsy.model.roles import OPEN
from curtsy.schedules.site_schedules import start_run
from curtsy.scrapers.record_keys import pack_listing
from curtsy.sites.records import gather_next
from curtsy.sites.site import put_site
from curtsy.sites.spec import SiteSpec
from support.frontier import DELAY, Bench, ScriptedWorker, failed, fetched

RECIPE = {"record": "li", "fields": {"id": "b"}, "key": ["id"]}


class Board:
    """A site with two results a page. Its pages are numbered, or with `follows` linked."""

    def __init__(self, bench: Bench, worker: ScriptedWorker, name: str) -> None:
        self.bench, self.worker, self.name = bench, worker, name

    @classmethod
    async def declared(cls, bench: Bench, name: str = "board", *, follows: bool = False) -> "Board":
        spec = SiteSpec.model_validate({
            "search_url": f"https://{name}.example/?q={{search_term}}&page={{page}}",
            "results_per_page": 2, "defaults": {"search_term": "cook", "results_wanted": 8},
            "recipe": RECIPE | ({"next": "a"} if follows else {}),
        })  # fmt: skip
        await bench.store.write(
            lambda c: put_site(c, name, spec, described_as=None, now=bench.time()) and None
        )
        return cls(bench, await bench.worker(f"w_{name}"), name)

    async def run(self, **search: Any) -> str:
        """Starts a run and returns its id."""
        submitted = await self.bench.store.write(
            lambda c: start_run(c, self.name, search, priority=None, limits=SubmitLimits(),
                                delay_ms=DELAY, clock=self.bench.clock, by=OPEN,
                                pending=self.bench.submitter.pending)
        )  # fmt: skip
        return submitted.job

    async def fetch(self, *pages: str, links: tuple[str, ...] = ()) -> None:
        """Fetches the next waiting pages, one for each string; each letter is a record."""
        for visit, keys in zip(await self.worker.lease_and_take(), pages, strict=False):
            records = [{"key": key, "fields": {"id": key}} for key in keys]
            following = links[0] if links else None
            await self._store(
                visit, pack_listing(records, following=following, is_empty=not keys), links
            )

    async def fetch_alone(self, record: str) -> None:
        """Fetches the next waiting page, whose content is this one JSON record."""
        visit, *_others = await self.worker.lease_and_take()
        await self._store(visit, record.encode(), ())

    async def _store(self, visit: Visit, content: bytes, links: tuple[str, ...]) -> None:
        result = fetched(visit, content.decode(), at=self.bench.time(), links=links)
        assert result.document is not None
        document = replace(result.document, content=zstandard.compress(content))
        await self.worker.flush(replace(result, document=document))

    async def fail(self) -> None:
        """Fails the next waiting page."""
        await self.worker.flush(failed((await self.worker.lease_and_take())[0]))

    async def whole_run(self, keys: str, **search: Any) -> str:
        """Runs to the end: two records a page, then empty pages."""
        run = await self.run(**search)
        await self.fetch(*(keys[n : n + 2] for n in range(0, 8, 2)))
        await self.gather()
        return run

    async def gather(self) -> None:
        while await self.bench.store.write(
            lambda c: gather_next(c, self.name, now=self.bench.time())
        ):
            pass

    async def told(self, run: str) -> Any:
        return await self.bench.row("SELECT * FROM jobs WHERE public_id = :run", run=run)

    async def seen(self, run: str) -> dict[str, str]:
        """The run's changes by key."""
        rows = await self.bench.rows(
            "SELECT s.key, s.change FROM sightings s JOIN jobs j ON j.id = s.job_id "
            "WHERE j.public_id = :run ORDER BY s.position", run=run,
        )  # fmt: skip
        return {row.key: row.change for row in rows}
