"""Runs of sites: the jobs that scrape them."""

import hashlib
import math
import uuid
from collections.abc import Mapping
from typing import Any

import orjson

from curtsy.errors import BadRequest, NotFound
from curtsy.frontier.crawls import Crawl
from curtsy.jobs import JobRequest, Origin, PageRequest
from curtsy.logs import logger
from curtsy.model.options import Way
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from curtsy.sites.site import Site
from curtsy.sites.spec import UNSAID, fields_of, filled
from curtsy.store import Connection, Statement

_RUN = Statement(
    """
    SELECT j.id, j.public_id, j.state, j.trigger, j.total, j.done, j.failed, j.message, j.params,
           j.started_at, j.finished_at, j.gathered_at, s.name AS site, c.public_id AS schedule,
           cr.max_pages
    FROM jobs j LEFT JOIN sites s ON s.id = j.site_id
    LEFT JOIN schedules c ON c.id = j.schedule_id LEFT JOIN crawls cr ON cr.job_id = j.id
    WHERE j.public_id = :run AND j.door = 'runs'
    """
)


def run_row(connection: Connection, run: str) -> Any:
    row = _RUN(connection, run=run).one_or_none()
    if row is None:
        raise NotFound("run", run[:100])
    return row


DOOR = "runs"
RESULTS_WANTED = 15


def run_request(
    of: Site, said: Mapping[str, Any], *, priority: int | None = None, mode: str = "async"
) -> JobRequest:
    """The job of one run. What it is not told is as the site's defaults have it; who is told of its
    end (`webhook_url`) makes it no other search."""
    hook = said.get("webhook_url")
    said = {k: v for k, v in said.items() if v is not None and k != "webhook_url"}
    search = of.words.defaults.told() | said
    wanted = int(search.get("results_wanted") or RESULTS_WANTED)
    search["results_wanted"] = wanted
    _require_known(of, search)
    priority = priority or of.words.priority
    origin = Origin(site_id=of.id, search=_hash(of.name, search))
    common: dict[str, Any] = {
        "door": DOOR, "origin": origin, "name": of.name, "webhook_url": hook,
        "params": orjson.dumps({"site_name": of.name, "mode": mode} | search).decode(),
    }  # fmt: skip
    _require_whole(of, search)
    if search.get("country") and of.words.country_url:
        country = str(search["country"]).lower().replace(" ", "-")
        search = dict(UNSAID) | search
        url = filled(of.words.country_url, search | {"country": country})
        return JobRequest(pages=[PageRequest(url, priority)], scraper="article", **common)
    return JobRequest(scraper=of.words.scraper, scraper_params=of.words.for_scraper(search),
                      **_pages(of, search, wanted, priority), **common)  # fmt: skip


def _pages(of: Site, search: dict[str, Any], wanted: int, priority: int) -> dict[str, Any]:
    """Its pages, where they are counted; else the first, and how far to follow from it."""
    words, template = of.words, of.words.search_url
    used = fields_of(template)
    told, search = search, dict(UNSAID) | search
    most = min(words.max_pages, math.ceil(wanted / words.results_per_page))
    urls = [
        filled(template, search | {"page": n + 1, "offset": n * words.results_per_page})
        for n in range(most if used & {"page", "offset"} else 1)
    ]
    if used & {"page", "offset"} and not (words.recipe and words.recipe.get("next")):
        later = (Way.MAY_BE_MISSING,)
        return {"pages": [PageRequest(url, priority, ways=later if n else ())
                          for n, url in enumerate(dict.fromkeys(urls))]}  # fmt: skip
    start = canonical(urls[0])
    scope = scope_around([(start.text, start.host)], "host", include=[], exclude=[])
    chosen = (Way.CHOSEN_LINKS,)
    terms = {"scope": scope.to_json(), "max_age": 0, "headers": [],
             "params": words.for_scraper(told), "ways": chosen}  # fmt: skip
    crawl = Crawl(most - 1, most, priority, orjson.dumps(terms).decode())
    return {"pages": [PageRequest(urls[0], priority, ways=chosen)], "crawl": crawl}


def _require_known(of: Site, search: Mapping[str, Any]) -> None:
    """What is said and means nothing here would be ignored; what says nothing may be said."""
    known = of.words.searched_by()
    unknown = [name for name, value in search.items() if name not in known and value]
    if unknown:
        sentence = f"The site {of.name} cannot be searched by {' and '.join(unknown)}: "
        raise BadRequest([f"{sentence}it takes {', '.join(known)}."])


def _require_whole(of: Site, search: Mapping[str, Any]) -> None:
    if missing := of.words.needs(search):
        raise BadRequest([f"The site {of.name} needs {' and '.join(missing)}."])


def task_id(run_id: str) -> str:
    """A run is one job; whoever wants another name for it gets always the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, run_id))


def _hash(name: str, search: Mapping[str, Any]) -> str:
    packed = orjson.dumps([name, dict(search)], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=12).hexdigest()


log = logger("schedule")


def log_run(event: str, site: str, run: str, status: str) -> None:
    log.info(event, site_name=site, run_id=run, task_id=task_id(run), status=status)
