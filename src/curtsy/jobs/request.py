"""What a door asks for, and the check that finds all its problems at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curtsy.errors import BadRequest
from curtsy.fetch.guard import Network, refusal_by_name
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls import Crawl
from curtsy.model.options import BadParams, Way, checked_params, options_for
from curtsy.model.urls import BadUrl, as_given, canonical, fingerprint
from curtsy.scrapers import NAMES, check_params

MAX_URLS = 100_000
PROBLEMS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class PageRequest:
    url: str
    priority: int = 5
    source_label: str | None = None
    category: str | None = None
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A key under which a request is known again for so long."""

    key: str
    lifetime: int
    request_hash: str = ""
    succeeds: bool = False
    """A job that failed or was cancelled gives the key up."""
    renews: bool = False
    """Whatever job has the key gives it up."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A schedule whose slot it is; a site that it is a run of."""

    schedule_id: int | None = None
    trigger: str = "manual"
    site_id: int | None = None
    search: str | None = None
    """What the run looks for, as a hash: by it runs are compared."""


MANUAL = Origin()


@dataclass(frozen=True, slots=True)
class JobRequest:
    door: str
    pages: Sequence[PageRequest]
    scraper: str = "raw"
    max_age: int = 0
    """A stored document no older than this will do (milliseconds)."""
    user_id: str | None = None
    key_id: int | None = None
    """Of the key whose quotas count."""
    name: str | None = None
    tags: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request to the pages' own hosts."""
    params: str = "{}"
    """As the door was told them, for people."""
    scraper_params: Mapping[str, Any] = field(default_factory=dict)
    """What the scraper is told with every page."""
    webhook_url: str | None = None
    """Is told when the job ends; kept and called as it was given."""
    finish_by: int | None = None
    """As is wished: it moves nothing, but is told beside what may be expected."""
    crawl: Crawl | None = None
    """It follows links; `pages` are where it starts."""
    idempotency_key: str | None = None
    request_hash: str = ""
    """Of what was asked: the same key with another request is a mistake."""
    same_as: Claim | None = None
    """Known again by what it asks for, without a key of the client's."""
    origin: "Origin | None" = None
    """Where it comes from, if nobody asked for it just so."""


@dataclass(frozen=True, slots=True)
class SubmitLimits:
    """Every limit has a default."""

    urls: int = MAX_URLS
    new_sources: int = 10_000
    """That one job may bring."""
    pending: int = 20_000_000
    """Visits that may wait in all."""
    pending_of_user: int = 5_000_000
    key_lifetime: int = 24 * 3_600_000
    allow: tuple[Network, ...] = ()
    """Addresses that may be fetched from although they are not public."""
    scrapers: frozenset[str] = NAMES
    """That jobs may name: those built in, and those of your own that were found at the start."""


class _Guarded(BadUrl):
    """It leads to an address that nothing is fetched from."""


def check(
    request: JobRequest, limits: SubmitLimits, *, guarded: list[str] | None = None
) -> list[Wanted]:
    """The pages that the request wants, in its order; raises with every problem found.

    With `guarded`, a URL that leads to an address we may not connect to is put there instead.
    """
    if not request.pages:
        raise BadRequest(["The job has no URLs."])
    if request.scraper not in limits.scrapers:
        known = ", ".join(sorted(limits.scrapers))
        raise BadRequest([f"There is no scraper {request.scraper[:100]!r}: there are {known}."])
    _check_params(request)
    if len(request.pages) > limits.urls:
        raise BadRequest([f"The job has {len(request.pages)} URLs; at most {limits.urls} may be."])
    wanted: list[Wanted] = []
    problems: list[str] = []
    first_seen: dict[str, int] = {}
    for position, page in enumerate(request.pages):
        problem = None
        try:
            want = _wanted(position, page, request, limits)
        except BadUrl as error:
            if guarded is not None and isinstance(error, _Guarded):
                guarded.append(page.url)
                continue
            problem = str(error)
        else:
            wanted.append(want)
            earlier = first_seen.setdefault(want.fingerprint, position)
            if earlier != position:
                problem = f"is the same page as URL {earlier + 1}"
        if problem is not None:
            problems.append(f"URL {position + 1} ({page.url[:200]}) {problem}.")
    if request.webhook_url is not None:
        problems += _problems_of_webhook(request.webhook_url, limits)
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        raise BadRequest(
            problems[:PROBLEMS_SHOWN] + ([f"And {more} more problems."] if more > 0 else [])
        )
    return wanted


def _check_params(request: JobRequest) -> None:
    try:
        checked_params(request.scraper_params)
    except BadParams as bad:
        raise BadRequest([str(bad)]) from None
    check_params(request.scraper, request.scraper_params)


def _problems_of_webhook(text: str, limits: SubmitLimits) -> list[str]:
    try:
        url = as_given(text)
    except BadUrl as error:
        return [f"webhook_url {error}."]
    if means := refusal_by_name(url.host, limits.allow):
        return [f"webhook_url leads to {url.host}, which is {means}."]
    return []


def _wanted(position: int, page: PageRequest, request: JobRequest, limits: SubmitLimits) -> Wanted:
    if not 1 <= page.priority <= 10:
        raise BadUrl(f"has priority {page.priority}, which is not from 1 to 10")
    url = canonical(page.url)
    if means := refusal_by_name(url.host, limits.allow):
        raise _Guarded(f"leads to {url.host}, which is {means}: ALLOW_ADDRESSES does not name it")
    options = options_for(url.host, headers=request.headers, params=request.scraper_params,
                          ways=page.ways)  # fmt: skip
    return Wanted(
        position,
        fingerprint(url.text, request.scraper, options or ""),
        url.text,
        url.host,
        request.scraper,
        page.priority,
        page.url if page.url != url.text else None,
        options,
        page.source_label,
        page.category,
        links=request.crawl is not None and request.crawl.depth > 0,
    )
