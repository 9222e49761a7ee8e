"""Job requests as all doors build them, and the check that finds all their problems at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from curtsy.errors import BadRequest
from curtsy.fetch.cookies import Cookie
from curtsy.fetch.guard import Network, blocked_port, refusal_by_name
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls.leads import Crawl
from curtsy.model.counts import counted
from curtsy.model.masks import MASK
from curtsy.model.options import BadParams, Way, checked_params, identity_of, options_for
from curtsy.model.page_body import PageBody
from curtsy.model.page_use import ORDINARY, PageUse, is_followed
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
    scraper: str | None = None
    """None: the job's."""
    params: Mapping[str, Any] | None = None
    """The parameters of the page's scraper; None: the job's."""
    uses: PageUse = ORDINARY
    body: PageBody | None = None
    """None: the page is requested with GET."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A key that identifies a request for `lifetime` milliseconds."""

    key: str
    lifetime: int
    request_hash: str = ""
    succeeds: bool = False
    """The claim wins the key of a job that failed or was cancelled."""
    renews: bool = False
    """The claim wins the key of any job."""


@dataclass(frozen=True, slots=True)
class JobOrigin:
    """The schedule or the site that a job comes from."""

    schedule_id: int | None = None
    trigger: str = "manual"
    site_id: int | None = None
    search: str | None = None
    """A hash of the search parameters of a run: only runs with the same hash are compared."""


MANUAL = JobOrigin()


@dataclass(frozen=True, slots=True)
class JobSession:
    """The session in which the pages of a job are fetched. Its name is part of their options, so
    that they are nobody else's."""

    name: str
    cookies: tuple[Cookie, ...] = field(default=(), repr=False)
    """Of a browser: what the session begins with."""
    ends_with_job: bool = True
    """False: the jobs of a schedule or a site share it."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    door: str
    pages: Sequence[PageRequest]
    scraper: str = "raw"
    scrapers: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Others that pages of the job may have, as the rules of a crawl name them, with parameters."""
    max_age: int = 0
    """A stored document no older than this is fresh enough (milliseconds)."""
    new_only: bool = False
    """Pages that have a stored document, however old, are left out of the job."""
    user_id: str | None = None
    key_id: int | None = None
    """The API key whose quotas count."""
    name: str | None = None
    tags: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request to the pages' own origins."""
    params: str = "{}"
    """JSON: the parameters as the client sent them, for people."""
    scraper_params: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the scraper, the same for every page."""
    webhook_url: str | None = None
    """Called when the job ends; stored and called as the client spelled it."""
    finish_by: int | None = None
    """The client's deadline. It changes no order; it is reported next to the expected end."""
    crawl: Crawl | None = None
    """The job follows links, starting at `pages`."""
    idempotency_key: str | None = None
    request_hash: str = ""
    """A hash of the request: the same key with another request is an error."""
    same_as: Claim | None = None
    """Identifies a repeated request by its content, without a key of the client."""
    origin: "JobOrigin | None" = None
    """None: a client requested the job directly."""
    session: JobSession | None = None

    def at_priority(self, priority: int) -> "JobRequest":
        """The same request, with this priority for all its pages."""
        pages = [replace(page, priority=priority) for page in self.pages]
        crawl = replace(self.crawl, priority=priority) if self.crawl is not None else None
        return replace(self, pages=pages, crawl=crawl)

    def in_session_of(self, name: str) -> "JobRequest":
        """The same request, in a session that outlives the job. A job without a session gets
        none."""
        if self.session is None or not self.session.ends_with_job:
            return self
        session = JobSession(name, self.session.cookies, ends_with_job=False)
        crawl = self.crawl
        if crawl is not None:
            terms = orjson.loads(crawl.scope) | {"session": name}
            crawl = replace(crawl, scope=orjson.dumps(terms).decode())
        return replace(self, session=session, crawl=crawl)


@dataclass(frozen=True, slots=True)
class SubmitLimits:
    """Limits of a submit."""

    urls: int = MAX_URLS
    new_sources: int = 10_000
    """Hosts of one job that were never seen before."""
    pending: int = 20_000_000
    """Pages that may wait, of all users."""
    pending_of_user: int = 5_000_000
    key_lifetime: int = 24 * 3_600_000
    allow: tuple[Network, ...] = ()
    """Networks that may be fetched from although they are not public."""
    scrapers: frozenset[str] = NAMES
    """The scrapers that jobs may name: built-in ones, and custom ones found at startup."""


class _Guarded(BadUrl):
    """The URL leads to an address that may not be fetched from."""


def check(
    request: JobRequest, limits: SubmitLimits, *, guarded: list[str] | None = None
) -> list[Wanted]:
    """Returns the pages of the request, in order; raises with every problem found.

    With `guarded`, a URL that leads to a forbidden address is no problem but added to that list.
    """
    if not request.pages:
        raise BadRequest(["The job has no URLs."])
    _check_scrapers(request, limits)
    if len(request.pages) > limits.urls:
        raise BadRequest(
            [f"The job has {counted(len(request.pages), 'URL')}; at most {limits.urls} may be."]
        )
    wanted: list[Wanted] = []
    problems = _Problems()
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
            problems.add(f"URL {position + 1} ({page.url[:200]}) {problem}.")
    for name, value in request.headers:
        if value == MASK:
            problems.add(
                f"The header {name} is {MASK}, which only masks its value: write the real one."
            )
    if request.webhook_url is not None:
        for problem in _webhook_problems(request.webhook_url, limits):
            problems.add(problem)
    problems.raise_if_any()
    return wanted


class _Problems:
    """Counts the problems of a request and keeps the first ones."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._more = 0

    def add(self, sentence: str) -> None:
        if len(self._first) < PROBLEMS_SHOWN:
            self._first.append(sentence)
        else:
            self._more += 1

    def raise_if_any(self) -> None:
        if self._first:
            more = [f"And {counted(self._more, 'more problem')}."] if self._more else []
            raise BadRequest(self._first + more)


def _check_scrapers(request: JobRequest, limits: SubmitLimits) -> None:
    """Checks the names of the scrapers that the request names itself, and their parameters."""
    named = [(request.scraper, request.scraper_params), *request.scrapers]
    names = {name for name, _params in named} | {p.scraper for p in request.pages if p.scraper}
    if unknown := sorted(names - limits.scrapers):
        known = ", ".join(sorted(limits.scrapers))
        raise BadRequest([f"There is no scraper {unknown[0][:100]!r}: there are {known}."])
    for name, params in named:
        try:
            checked_params(params)
        except BadParams as bad:
            raise BadRequest([str(bad)]) from None
        check_params(name, params)


def _webhook_problems(text: str, limits: SubmitLimits) -> list[str]:
    if MASK in text:
        return [f"webhook_url contains {MASK}, which only masks a part of it: write the real one."]
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
    if (port := blocked_port(url.host)) is not None:
        raise _Guarded(f"leads to port {port}, which browsers block too")
    if means := refusal_by_name(url.host, limits.allow):
        raise _Guarded(f"leads to {url.host}, which is {means}: ALLOW_ADDRESSES does not name it")
    scraper = page.scraper or request.scraper
    params = request.scraper_params if page.params is None else page.params
    session = request.session.name if request.session is not None else None
    options = options_for(url.host, headers=request.headers, params=params, ways=page.ways,
                          session=session, body=page.body)  # fmt: skip
    followed = request.crawl is not None and request.crawl.depth > 0 and is_followed(page.uses)
    return Wanted(
        position,
        fingerprint(url.text, scraper, identity_of(options)),
        url.text,
        url.host,
        scraper,
        page.priority,
        page.url if page.url != url.text else None,
        options,
        page.source_label,
        page.category,
        links=followed,
        uses=page.uses,
        sends=page.body is not None,
    )
