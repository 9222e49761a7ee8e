"""From a schedule's payload to the job that a door would make of it, or to a duty."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from curtsy.errors import BadRequest, NotFound
from curtsy.jobs import JobRequest
from curtsy.maintenance.tasks import NOT_BUILT
from curtsy.model.roles import Caller, Role
from curtsy.requests import articles, crawl, fetch
from curtsy.requests.runs import ScrapeRequest
from curtsy.requests.schedules import Payload
from curtsy.schedules.firer import MaintenanceTask, Task
from curtsy.sites.runs import run_request
from curtsy.sites.site import site
from curtsy.store import Connection


class PayloadParser:
    """What the doors need to know beside what is asked of them."""

    def __init__(self, *, page_max_age: int, crawl_cache_ttl: int) -> None:
        self._page_max_age, self._crawl_cache_ttl = page_max_age, crawl_cache_ttl

    def __call__(
        self, connection: Connection, payload: Mapping[str, Any], row: Any, now: int
    ) -> Task:
        """`row` says whose it is: a schedule, or a plan for one. Raises `BadRequest`."""
        said = parsed(payload)
        if said.duty is not None:
            if part := NOT_BUILT.get(said.duty):
                sentence = f"The duty {said.duty!r} is not built yet: it comes with {part}."
                raise BadRequest([sentence])
            return MaintenanceTask(said.duty)
        caller = Caller(row.user_id, Role.SUBMIT, row.key_id)
        if said.run is not None:
            return _run(connection, said.run, caller, row)
        return self.request(said, caller, now)

    def request(self, said: Payload, caller: Caller, now: int) -> JobRequest:
        """Who wants something again and again wants it anew: what the store has will do only where
        the payload says so."""
        if said.articles is not None:
            anew = not said.articles.model_fields_set & {"max_age", "ignore_cache"}
            page_max_age = 0 if anew else self._page_max_age
            return articles.job_request(
                said.articles, key=None, page_max_age=page_max_age, caller=caller, now=now
            )
        if said.crawl is not None:
            anew = not ("max_age" in said.crawl.params.model_fields_set
                        or "ignore_cache" in said.crawl.model_fields_set)  # fmt: skip
            return crawl.job_request(
                said.crawl, key=None, caller=caller, fresh=anew or said.crawl.ignore_cache,
                cache_ttl=self._crawl_cache_ttl, now=now,
            )  # fmt: skip
        assert said.fetch is not None
        return fetch.job_request(said.fetch, None, caller)


def _run(connection: Connection, asked: ScrapeRequest, caller: Caller, row: Any) -> JobRequest:
    try:
        found = site(connection, asked.site_name)
    except NotFound as gone:
        raise BadRequest([str(gone)]) from None
    if not found.row.enabled:
        raise BadRequest([f"The site {found.name} is not enabled."])
    if row.site_id not in (None, found.id):  # it is held and asked whether it is idle by this
        sentence = f"The site {found.name} is another than it was: say again what to run."
        raise BadRequest([sentence])
    request = run_request(found, asked.search(), priority=asked.priority)
    return replace(request, user_id=caller.user_id, key_id=caller.key_id)


def parsed(payload: Mapping[str, Any]) -> Payload:
    """As it was stored, perhaps by another version of curtsy."""
    try:
        return Payload.model_validate(payload)
    except ValidationError as wrong:
        problems = [f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}"
                    for error in wrong.errors(include_url=False)[:20]]  # fmt: skip
        raise BadRequest(problems) from None


def as_stored(said: Payload) -> dict[str, Any]:
    """What was said, and no more: what was not keeps following the defaults."""
    return said.model_dump(mode="json", exclude_unset=True, by_alias=False)
