"""Runs one visit from its URL to its outcome: robots.txt, fetch, classify, scrape. Writes no
results to the store."""

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from curtsy.extract import Pool
from curtsy.fetch import Fetcher, Request, TrustEnded, cookies
from curtsy.frontier.batch import Document
from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link
from curtsy.model.options import Way, headers_for, params_of, session_of, ways_of
from curtsy.model.origins import is_downgrade, may_follow, origin_of
from curtsy.model.outcome import Failed, Fetched, Moved, NotModified, Outcome, Record, Reply
from curtsy.model.page_body import PageBody, body_of
from curtsy.politeness.classify import classify
from curtsy.politeness.policy import Policy
from curtsy.politeness.robots import Robots
from curtsy.references import resolved
from curtsy.scrapers import LISTS, SIMPLE
from curtsy.scrapers.record_keys import pack_listing
from curtsy.worker.document_packer import unpacked
from curtsy.worker.policy_secrets import with_secrets
from curtsy.worker.robots_cache import RobotsCache, path_of
from curtsy.worker.sessions.page_sessions import PageSession
from curtsy.worker.sessions.site_login import SiteLogin

Mark = Callable[[], Awaitable[bool]]


class Done(NamedTuple):
    outcome: Outcome | None
    """None: robots.txt was requested first, or a login, and the page is next."""
    document: Document | None = None
    links: tuple[Link, ...] | None = None
    lines: tuple[tuple[str, str], ...] = ()
    asked_robots: bool = False
    """The request was for robots.txt."""
    asked_login: bool = False
    """The request, if there was one, was for the login."""
    answered_ms: int = 0
    """From the request to the headers of its answer; 0: there was no answer."""
    wire_bytes: int = 0
    """Received bytes of any body."""


_ALLOW_ALL = Robots()
_PAST_THE_END = Record(
    pack_listing([], following=None, is_empty=True), "application/json", "utf-8",
    lines=(("INFO", "This page does not exist: the listing ended on an earlier page."),),
)  # fmt: skip

_NO_LIST = replace(_PAST_THE_END, lines=(("INFO", "This page does not exist."),))
_NOT_A_LIST = frozenset({Kind.EXTRACT_FAILED, Kind.NOT_SUPPORTED})


class Pipeline:
    def __init__(
        self, *, robots: RobotsCache, fetcher: Fetcher, pool: Pool,
        now: Callable[[], int], max_redirects: int,
    ) -> None:  # fmt: skip
        self._robots, self._fetcher, self._pool = robots, fetcher, pool
        self._now, self._max_redirects = now, max_redirects
        self._logins = SiteLogin(fetcher=fetcher, pool=pool, now=now)

    def robots(self, visit: Visit, policy: Policy) -> Robots | None:
        """Returns the rules for this visit from memory; None: not in memory."""
        return self._robots.known(visit.url, policy.user_agent) if policy.robots else _ALLOW_ALL

    async def run(
        self, visit: Visit, policy: Policy, may_start: Callable[[], bool],
        session: PageSession | None = None, policy_version: int = 0, mark: Mark | None = None,
    ) -> Done:  # fmt: skip
        """Returns the result of the visit. Raises only `TrustEnded`: then nothing was sent. A POST
        needs a `mark`, which is awaited before it is sent."""
        try:
            answer = await self.fetch(visit, policy, may_start, session, policy_version, mark)
            if isinstance(answer, Done):
                return answer
            done = self._to_done(answer, _or_empty(visit, await self._scrape(visit, answer)))
            return done._replace(answered_ms=answer.answered_ms, wire_bytes=answer.wire_bytes)
        except TrustEnded:
            raise
        except Exception as error:
            sentence = f"An internal error: {error!r}"
            return Done(Failed(Kind.INTERNAL, sentence, traceback=traceback.format_exc()))

    async def fetch(
        self, visit: Visit, policy: Policy, may_start: Callable[[], bool],
        session: PageSession | None = None, policy_version: int = 0, mark: Mark | None = None,
    ) -> Reply | Done:  # fmt: skip
        """Returns the page, or the result of the visit without one. Sends at most one request, for
        the page, for the robots.txt of its host or for the login of its session."""
        try:
            policy = with_secrets(policy)
        except ValueError as missing:  # the source rests until the operator has mended it
            return Done(Failed(Kind.CONNECT, f"No request was sent: {missing}"))
        if _parses(visit) and not _is_conditional(visit):  # else it may never be needed
            self._pool.start(visit.scraper)  # it loads while the host answers
        if (denied := await self._robots_first(visit, policy, may_start)) is not None:
            return denied
        if session is not None:
            first = await self._login_first(session, policy, policy_version, may_start)
            if first is not None:
                return first
        generation = session.generation if session is not None else 0
        request = _with_policy(self._request(visit, session), policy, from_url=visit.page_url)
        body = visit.body
        once = mark if body is not None and body.is_sent_once else None
        reply = await self._fetcher.fetch(request, may_start, once)
        if isinstance(reply, Failed):
            return Done(reply)
        if session is not None:
            session.received(reply, self._now())
            if policy.login is not None:
                lost = await self._logins.lost(
                    session, policy.login, policy_version, visit, reply, generation
                )
                if lost is not None:
                    return Done(lost, wire_bytes=reply.wire_bytes)
        conditional = bool(request.etag or request.last_modified)
        verdict = classify(reply, self._now(), conditional=conditional)
        if verdict is None:
            return reply if visit.page_url is None else replace(reply, asked_url=visit.page_url)
        done = self._done_without_page(visit, reply, verdict)
        return done._replace(answered_ms=reply.answered_ms, wire_bytes=reply.wire_bytes)

    async def _robots_first(
        self, visit: Visit, policy: Policy, may_start: Callable[[], bool]
    ) -> Done | None:
        """Returns why the page is not requested now. Requests robots.txt if it is not stored."""
        if self.robots(visit, policy) is not None:
            return None
        robots = await self._robots.load(visit.url, policy.user_agent)
        if robots is None:
            robots_request = _with_policy(Request(""), policy)
            failed, wire_bytes = await self._robots.request(visit.url, robots_request, may_start)
            return Done(failed, asked_robots=True, wire_bytes=wire_bytes)
        denied = denial(robots, visit)
        return Done(denied) if denied is not None else None

    async def _login_first(
        self, session: PageSession, policy: Policy, version: int, may_start: Callable[[], bool]
    ) -> Done | None:
        """Returns why the page is not requested now. Sends the next request of the login if the
        session needs one."""
        if (refused := session.refusal(policy, version, self._now())) is not None:
            return Done(refused, asked_login=True)
        if policy.login is None or not session.needs_login(policy, version, self._now()):
            return None
        if session.is_sending:  # the session was lost after this visit had started
            return Done(None, asked_login=True)
        step = await self._logins.step(
            session, policy.login, version, partial(_with_policy, policy=policy), may_start
        )
        return Done(step.failed, asked_login=True, wire_bytes=step.wire_bytes)

    def _request(self, visit: Visit, session: PageSession | None) -> Request:
        if session is None:
            return _request(visit, visit.progress)
        request = _request(visit, None)
        return replace(request, headers=request.headers + session.header(visit.url, self._now()))

    def _done_without_page(
        self, visit: Visit, reply: Reply, verdict: Moved | NotModified | Failed
    ) -> Done:
        match verdict:
            case Moved():
                return Done(self._follow_redirect(visit, reply, verdict))
            case NotModified():
                return Done(verdict)
            case Failed() if _is_past_the_end(visit, verdict):
                return self._to_done(reply, _NO_LIST if visit.scraper in LISTS else _PAST_THE_END)
            case Failed():
                return Done(replace(verdict, wire_bytes=reply.wire_bytes))

    def _to_done(self, reply: Reply, record: Record | Failed) -> Done:
        if isinstance(record, Failed):
            answered = replace(record, status=reply.status, wire_bytes=reply.wire_bytes)
            return Done(answered, lines=record.lines)
        fetched = Fetched(
            status=reply.status,
            url=reply.url,
            etag=reply.headers.get("etag"),
            last_modified=reply.headers.get("last-modified"),
            wire_bytes=reply.wire_bytes,
            memory=record.memory,
        )
        return Done(fetched, unpacked(record), record.links, record.lines)

    def _follow_redirect(self, visit: Visit, reply: Reply, moved: Moved) -> Moved | Failed:
        if visit.hops >= self._max_redirects:
            sentence = f"More than {self._max_redirects} redirects."
            return Failed(Kind.REDIRECT_LOOP, sentence, moved.status)
        if (body := visit.body) is not None and body.repeats_after(moved.status):
            if not may_follow(moved.url, from_url=visit.page_url or visit.url):
                return _leaves_origin(body, moved)
            moved = replace(moved, repeats=True)
        if visit.progress is None and "set-cookie" not in reply.headers:
            return moved
        if session_of(visit.options) is not None:  # its cookies are in the jar
            return moved
        jar = cookies.updated(cookies.load(visit.progress), reply, self._now())
        return replace(moved, progress=cookies.dump(jar))

    async def _scrape(self, visit: Visit, reply: Reply) -> Record | Failed:
        scraper = visit.scraper
        if not _parses(visit):
            return SIMPLE[scraper](reply)
        if self._pool.knows(scraper):
            chosen = Way.CHOSEN_LINKS in ways_of(visit.options)
            return await self._pool.extract(
                scraper, reply, links=visit.links, params=params_of(visit.options), chosen=chosen
            )
        return Failed(Kind.NOT_SUPPORTED, f"This worker has no scraper named {scraper}.")


def _leaves_origin(body: PageBody, moved: Moved) -> Failed:
    to = f"The host answered {moved.status} to {origin_of(moved.url)[:200]}"
    why = f"the {body.method} is not repeated there: its body is meant for the page's own origin."
    return Failed(Kind.CLIENT_ERROR, f"{to}; {why}", moved.status)


def _parses(visit: Visit) -> bool:
    return visit.links or visit.scraper not in SIMPLE


def _is_past_the_end(visit: Visit, failed: Failed) -> bool:
    return failed.kind is Kind.GONE and Way.MAY_BE_MISSING in ways_of(visit.options)


def _or_empty(visit: Visit, record: Record | Failed) -> Record | Failed:
    """A feed or sitemap that was only guessed may be another page."""
    if not (isinstance(record, Failed) and record.kind in _NOT_A_LIST and visit.scraper in LISTS):
        return record
    if Way.MAY_BE_MISSING not in ways_of(visit.options):
        return record
    return replace(_NO_LIST, lines=(*record.lines, ("INFO", record.error)))


def denial(robots: Robots, visit: Visit) -> Failed | None:
    if robots.allows_all or robots.allows(path_of(visit.url)):
        return None
    return Failed(Kind.ROBOTS_DENIED, "The host's robots.txt does not allow this page.")


def _with_policy(request: Request, policy: Policy, *, from_url: str | None = None) -> Request:
    """Applies the source's policy to the request; the job's own headers take precedence. The
    source's headers do not go in clear where a page with https moved from."""
    if not (policy.headers or policy.user_agent or policy.timeout or policy.all_proxies):
        return request
    own = {name.lower() for name, _value in request.headers}
    headers = policy.headers
    if from_url is not None and is_downgrade(request.url, from_url=from_url):
        headers = ()
    added = tuple((n, resolved(v)) for n, v in headers if n.lower() not in own)
    proxies = tuple(resolved(proxy) for proxy in policy.all_proxies)
    several = proxies if len(proxies) > 1 else ()
    return replace(request, headers=request.headers + added, user_agent=policy.user_agent,
                   timeout_ms=policy.timeout, proxies=several,
                   proxy=proxies[0] if len(proxies) == 1 else None)  # fmt: skip


def _request(visit: Visit, chain: str | None) -> Request:
    """`chain`: the cookies of the chain of redirects."""
    shown = cookies.header(cookies.load(chain), visit.url) if chain else None
    headers = headers_for(visit.options, visit.url, page_url=visit.page_url)
    headers += (("Cookie", shown),) if shown else ()
    if (body := visit.body) is not None:
        return Request(visit.url, headers, method=body.method, body=body.text.encode(),
                       content_type=body.content_type)  # fmt: skip
    if not _is_conditional(visit):
        return Request(visit.url, headers)
    return Request(visit.url, headers, visit.etag, visit.last_modified)


def _is_conditional(visit: Visit) -> bool:
    """Links need the whole page, so no conditional request; nor is there one after a body."""
    if not (visit.etag or visit.last_modified):
        return False
    return not visit.links and body_of(visit.options) is None
