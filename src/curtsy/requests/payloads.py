"""Parses the payload of a schedule into a job request or a maintenance task."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from curtsy.errors import BadRequest, NotFound
from curtsy.jobs import JobRequest
from curtsy.model.roles import Caller, Role
from curtsy.requests import articles, crawl, fetch
from curtsy.requests.payload_secrets import with_secrets
from curtsy.requests.runs import ScrapeRequest
from curtsy.requests.schedules import Payload
from curtsy.schedules.firer import MaintenanceTask, Owner, Task
from curtsy.sites.runs import run_request
from curtsy.sites.site import find_site
from curtsy.store import Connection


class PayloadParser:
    """Parses payloads with the cache settings that the doors use."""

    def __init__(self, *, page_max_age: int, crawl_cache_ttl: int) -> None:
        self._page_max_age, self._crawl_cache_ttl = page_max_age, crawl_cache_ttl

    def __call__(
        self, connection: Connection, payload: Mapping[str, Any], owner: Owner, now: int
    ) -> Task:
        """Raises `BadRequest`."""
        work = parsed(with_secrets(payload))
        if work.duty is not None:
            return MaintenanceTask(work.duty)
        caller = Caller(owner.user_id, Role.SUBMIT, owner.key_id)
        if work.run is not None:
            return _run(connection, work.run, caller, owner)
        return self.request(work, caller, now)

    def request(self, work: Payload, caller: Caller, now: int) -> JobRequest:
        """Builds the job request of a payload. Stored pages are accepted only if the payload allows
        that: a repeated job is there to fetch again."""
        if work.articles is not None:
            always_fetch = not work.articles.model_fields_set & {"max_age", "ignore_cache"}
            page_max_age = 0 if always_fetch else self._page_max_age
            return articles.job_request(
                work.articles, key=None, page_max_age=page_max_age, caller=caller, now=now
            )
        if work.crawl is not None:
            always_fetch = not ("max_age" in work.crawl.params.model_fields_set
                                or "ignore_cache" in work.crawl.model_fields_set)  # fmt: skip
            return crawl.job_request(
                work.crawl, key=None, caller=caller, fresh=always_fetch or work.crawl.ignore_cache,
                cache_ttl=self._crawl_cache_ttl, now=now,
            )  # fmt: skip
        assert work.fetch is not None
        return fetch.job_request(work.fetch, None, caller)


def _run(connection: Connection, body: ScrapeRequest, caller: Caller, owner: Owner) -> JobRequest:
    try:
        site = find_site(connection, body.site_name)
    except NotFound as gone:
        raise BadRequest([str(gone)]) from None
    if not site.enabled:
        raise BadRequest([f"The site {site.name} is not enabled."])
    if owner.site_id not in (None, site.id):  # the firer locks and checks owner.site_id
        sentence = f"The site {site.name} was deleted and declared again: set this payload again."
        raise BadRequest([sentence])
    request = run_request(site, body.search(), priority=body.priority)
    return replace(request, user_id=caller.user_id, key_id=caller.key_id)


def parsed(payload: Mapping[str, Any]) -> Payload:
    """Parses a stored payload, which another version of curtsy may have written."""
    try:
        return Payload.model_validate(payload)
    except ValidationError as wrong:
        problems = [f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}"
                    for error in wrong.errors(include_url=False)[:20]]  # fmt: skip
        raise BadRequest(problems) from None


def as_stored(work: Payload) -> dict[str, Any]:
    """Returns only the fields that were given: the others follow the defaults, even when those
    change."""
    return work.model_dump(mode="json", exclude_unset=True, by_alias=False)
