"""Runs of sites: builds the job of a run, and reads runs."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from curtsy.errors import BadRequest, NotFound
from curtsy.frontier.crawls.leads import Crawl
from curtsy.jobs import JobOrigin, JobRequest, PageRequest
from curtsy.jobs.job_request import JobSession
from curtsy.model.options import Way
from curtsy.model.scope import scope_around
from curtsy.model.urls import canonical
from curtsy.sites.site import Site
from curtsy.sites.spec import OPTIONAL_FIELDS, fields_of, fill
from curtsy.store import Connection, Statement

DOOR = "runs"
RESULTS_WANTED = 15

_RUN = Statement(
    """
    SELECT j.id, j.public_id, j.state, j.trigger, j.total, j.done, j.failed, j.message, j.params,
           j.started_at, j.finished_at, j.gathered_at, s.name AS site, c.public_id AS schedule
    FROM jobs j LEFT JOIN sites s ON s.id = j.site_id
    LEFT JOIN schedules c ON c.id = j.schedule_id
    WHERE j.public_id = :run AND j.door = 'runs'
    """
)


class SiteRun(NamedTuple):
    """The job of a run, with the names of its site and schedule if they still exist."""

    id: int
    public_id: str
    state: str
    trigger: str
    total: int
    done: int
    failed: int
    message: str | None
    params: str
    """JSON: the site's name, the mode and the search."""
    started_at: int | None
    finished_at: int | None
    gathered_at: int | None
    """When the records of the run were compared with those of the run before."""
    site: str | None
    schedule: str | None


def find_run(connection: Connection, run: str) -> SiteRun:
    """Raises `NotFound`."""
    row = _RUN(connection, run=run).one_or_none()
    if row is None:
        raise NotFound("run", run[:100])
    return SiteRun._make(row)


def wanted_by(params: str) -> int:
    """Returns how many results the run with these parameters wanted."""
    return int(orjson.loads(params).get("results_wanted") or RESULTS_WANTED)


def run_request(
    site: Site, given: Mapping[str, Any], *, priority: int | None = None, mode: str = "async"
) -> JobRequest:
    """Builds the job of a run. Parameters that are not given come from the site's defaults. Runs
    that differ only in `webhook_url` are runs of the same search."""
    webhook_url = given.get("webhook_url")
    given = {k: v for k, v in given.items() if v is not None and k != "webhook_url"}
    search = site.spec.defaults.given() | given
    wanted = int(search.get("results_wanted") or RESULTS_WANTED)
    search["results_wanted"] = wanted
    _require_known(site, search)
    priority = priority or site.spec.priority
    origin = JobOrigin(site_id=site.id, search=_hash(site.name, search))
    common: dict[str, Any] = {
        "door": DOOR, "origin": origin, "name": site.name, "webhook_url": webhook_url,
        "params": orjson.dumps({"site_name": site.name, "mode": mode} | search).decode(),
    }  # fmt: skip
    if site.spec.session:
        common["session"] = JobSession(f"site_{site.id}", ends_with_job=False)
    _require_complete(site, search)
    if search.get("country") and site.spec.country_url:
        country = str(search["country"]).lower().replace(" ", "-")
        search = dict(OPTIONAL_FIELDS) | search
        url = fill(site.spec.country_url, search | {"country": country})
        return JobRequest(pages=[PageRequest(url, priority)], scraper="article", **common)
    return JobRequest(scraper=site.spec.scraper, scraper_params=site.spec.scraper_params(search),
                      **_pages(site, search, wanted, priority), **common)  # fmt: skip


def _pages(site: Site, given: dict[str, Any], wanted: int, priority: int) -> dict[str, Any]:
    """Returns all pages of the run if they are numbered; else the first page and a crawl that
    follows links from there, until the wanted results are there or the listing ends."""
    spec, template = site.spec, site.spec.search_url
    used = fields_of(template)
    search = dict(OPTIONAL_FIELDS) | given
    most = min(spec.max_pages, math.ceil(wanted / spec.results_per_page))
    urls = [
        fill(template, search | {"page": n + 1, "offset": n * spec.results_per_page})
        for n in range(most if used & {"page", "offset"} else 1)
    ]
    if used & {"page", "offset"} and not (spec.recipe and spec.recipe.get("next")):
        later = (Way.MAY_BE_MISSING,)
        return {"pages": [PageRequest(url, priority, ways=later if n else ())
                          for n, url in enumerate(dict.fromkeys(urls))]}  # fmt: skip
    start = canonical(urls[0])
    scope = scope_around([(start.text, start.host)], "host", include=[], exclude=[])
    chosen = (Way.CHOSEN_LINKS,)
    terms = {"scope": scope.to_json(), "max_age": 0, "headers": [],
             "params": spec.scraper_params(given), "ways": chosen, "wanted": wanted}  # fmt: skip
    if spec.session:
        terms["session"] = f"site_{site.id}"
    most = spec.max_pages
    crawl = Crawl(most - 1, most, priority, orjson.dumps(terms).decode())
    return {"pages": [PageRequest(urls[0], priority, ways=chosen)], "crawl": crawl}


def _require_known(site: Site, search: Mapping[str, Any]) -> None:
    """Refuses parameters that this site would ignore, unless they are empty."""
    known = site.spec.search_fields()
    unknown = [name for name, value in search.items() if name not in known and value]
    if unknown:
        sentence = f"The site {site.name} cannot be searched by {' and '.join(unknown)}: "
        raise BadRequest([f"{sentence}it takes {', '.join(known)}."])


def _require_complete(site: Site, search: Mapping[str, Any]) -> None:
    if missing := site.spec.missing_fields(search):
        raise BadRequest([f"The site {site.name} needs {' and '.join(missing)}."])


def _hash(name: str, search: Mapping[str, Any]) -> str:
    packed = orjson.dumps([name, dict(search)], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=12).hexdigest()
