"""One of each: jobs of every door, in many states, their pages, schedules, sites and the rest."""

from dataclasses import dataclass
from typing import Any

from api.conftest import Site
from api.front import Front

STORY = b"<html><title>A story</title><article>" + b"<p>Once upon a time there was. </p>" * 20
LIST = b"<html><ul><li><a href='/1'>One</a></li><li><a href='/2'>Two</a></li></ul>"
HTML = "text/html"
LATER = {"schedule_at": "2999-01-01T00:00:00Z", "interval": "@daily"}


@dataclass(frozen=True)
class Things:
    """What stands for each parameter of a path, all that there are of it."""

    by_name: dict[str, list[str]]

    def for_path(self, path: str) -> list[dict[str, str]]:
        """Each of the first, with the others as they come; none where no parameter is known."""
        names = [name for name in self.by_name if "{" + name + "}" in path]
        if not names or path.count("{") != len(names):
            return []
        most = max(len(self.by_name[name]) for name in names)
        return [
            {name: self.by_name[name][n % len(self.by_name[name])] for name in names}
            for n in range(most)
        ]


async def make_things(door: Front, site: Site) -> Things:
    page, gone = site.has("/story", STORY, HTML), site.fails("/gone", 410)
    site.has("/list", LIST, HTML)
    hook = f"{site.url}/hook"
    run = await _run(door, site)

    async def made(path: str, says: str, **body: Any) -> str:
        answer = await door.ask("POST", path, json=body)
        assert answer.status in (200, 201, 202), answer
        return str(answer.json[says])

    ended = [
        await made("/jobs", "id", url=page),
        await made("/jobs", "id", url=gone),
        await made("/jobs/submit", "job_id", articles=[{"url": page}, {"url": gone}],
                   webhook_url=hook, name="both", tags=["t"]),
        await made("/crawl", "job_id", spider="raw", start_urls=[page], depth=1),
    ]  # fmt: skip
    for job in ended:
        await door.engine.ended(job, 60)
    later = await made("/crawl", "job_id", spider="article", start_urls=[page], **LATER)
    held = await made("/jobs", "id", url=f"{site.url}/never")
    await door.ask("POST", f"/jobs/{held}/pause")
    report = await made("/reports", "id")
    return Things({
        "job_id": [*ended, run, later, held], "run_id": [run],
        "page_id": await _found(door, "SELECT id FROM pages ORDER BY id", "art_{:x}"),
        "schedule_id": await _found(door, "SELECT public_id AS id FROM schedules", "{}"),
        "rule": ["limit_use"], "site_name": ["shop"],
        "source_name": [site.url.removeprefix("http://"), "shop"],
        "letter_id": await _found(door, "SELECT id FROM dead_letters ORDER BY id", "{}"),
        "delivery": await _found(door, "SELECT id FROM webhook_deliveries", "{}"),
        "report_id": [report],
    })  # fmt: skip


async def _run(door: Front, site: Site) -> str:
    recipe = {"record": "li", "fields": {"title": "a"}}
    said = {"search_url": f"{site.url}/list", "recipe": recipe, "interval_minutes": 60,
            "min_pause_seconds": 0, "max_pause_seconds": 0}  # fmt: skip
    declared = await door.ask("PUT", "/sites/shop", json=said)
    assert declared.status == 201, declared
    started = await door.ask("POST", "/jobs/scrape", json={"site_name": "shop"})
    run = str(started.json["data"]["run_id"])
    await door.engine.ended(run, 60)
    return run


async def _found(door: Front, sql: str, form: str) -> list[str]:
    rows = await door.engine.query(sql)
    assert rows, sql
    return [form.format(row.id) for row in rows]
