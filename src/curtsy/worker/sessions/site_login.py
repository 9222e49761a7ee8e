"""Logs in to a site: one request of the login at each start of the lane, like any other request.

The operator has declared these requests: robots.txt decides about pages, not about them. What the
form is filled with is read when it is sent, and is in nothing that is stored, logged or shown.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson

from curtsy.extract import Pool
from curtsy.fetch import Fetcher, Request
from curtsy.frontier.take import Visit
from curtsy.logs import logger
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.model.origins import is_downgrade
from curtsy.model.outcome import Again, Failed, Moved, NotModified, Record, Reply
from curtsy.model.urls import canonical, spelled
from curtsy.model.wildcards import Wildcard
from curtsy.politeness.classify import classify
from curtsy.politeness.login import MOST_HOPS, Login, Signs
from curtsy.references import SecretMissing, resolved
from curtsy.worker.sent_posts import NOT_AGAIN
from curtsy.worker.sessions.page_sessions import LoginRun, PageSession, losses, once_more

log = logger("worker")

_FORM = "application/x-www-form-urlencoded"
_READER = "login_page"
_PAGES_OWN = frozenset({Kind.TLS, Kind.ADDRESS_REFUSED, Kind.INTERNAL})
"""Failures that rest no host: the page itself would meet them too."""
Prepare = Callable[[Request], Request]
"""Adds what the policy of the source adds to every request."""


Verdict = Failed | Moved | NotModified | None


class LoginStep(NamedTuple):
    """What one request of a login came to."""

    failed: Failed | None = None
    """None: the login goes on, or has succeeded."""
    wire_bytes: int = 0


class SiteLogin:
    def __init__(self, *, fetcher: Fetcher, pool: Pool, now: Callable[[], int]) -> None:
        self._fetcher, self._pool, self._now = fetcher, pool, now

    async def step(
        self, session: PageSession, login: Login, version: int, prepare: Prepare,
        may_start: Callable[[], bool],
    ) -> LoginStep:  # fmt: skip
        """Sends the next request of the login."""
        run = session.run = session.run or _first(login)
        try:
            request = _request(run, login)
        except SecretMissing as missing:
            return self._fail(session, f"The login was not sent: {missing}", version, at_once=True)
        request = prepare(_with_cookies(request, session, self._now()))
        if run.phase == "send":
            run.before = session.values()
        session.is_sending = True
        try:
            return await self._sent(session, run, login, version, request, may_start)
        finally:
            session.is_sending = False

    async def _sent(
        self, session: PageSession, run: LoginRun, login: Login, version: int, request: Request,
        may_start: Callable[[], bool],
    ) -> LoginStep:  # fmt: skip
        reply = await self._fetcher.fetch(request, may_start)
        if isinstance(reply, Failed):
            session.run = None
            return LoginStep(_unreachable(reply))
        session.received(reply, self._now())
        verdict = classify(reply, self._now())
        if isinstance(verdict, Failed) and RULES[verdict.kind].retried:
            session.run = None
            return LoginStep(_unreachable(verdict), reply.wire_bytes)
        problem = await self._next(session, run, login, reply, verdict)
        if problem is None:
            return LoginStep(wire_bytes=reply.wire_bytes)
        failed = self._fail(session, f"The login failed: {problem}.", version)
        return failed._replace(wire_bytes=reply.wire_bytes)

    async def _next(
        self, session: PageSession, run: LoginRun, login: Login, reply: Reply, verdict: Verdict
    ) -> str | None:
        """Decides what follows from the response; returns why the login has failed."""
        if run.phase == "form" and verdict is None:
            read = await self._read(reply, ())
            if isinstance(read, Failed):
                return f"the page with its form could not be read ({read.kind})"
            session.run = LoginRun("send", login.url, hidden=read["hidden"])
            return None
        missing = "the page with its form is not there"
        if run.phase != "form":
            missing = await self._missing(login.success, session, run, reply, verdict)
            if not missing:
                session.succeeded(self._now())
                log.info("logged_in", url=login.url)
                return None
        if isinstance(verdict, Moved):
            return _follow(session, run, verdict, missing)
        return f"{missing} (status {reply.status})"

    async def _missing(
        self, signs: Signs, session: PageSession, run: LoginRun, reply: Reply, verdict: Verdict
    ) -> str:
        """Names a sign of success that does not show; empty: all of them do."""
        values = session.values()
        if signs.cookie and values.get(signs.cookie) in (None, run.before.get(signs.cookie)):
            return f"the cookie {signs.cookie} was not set"
        if signs.status and reply.status not in signs.status:
            return "its answer has another status"
        if signs.url and not _leads_to(signs.url, reply, verdict):
            return "its answer has another URL"
        if signs.text and not _contains(reply, signs.text):
            return "its answer lacks the text of success"
        if signs.selector and not await self._matches(reply, signs.selector):
            return "no element of its answer matches the selector of success"
        return ""

    async def lost(
        self, session: PageSession, login: Login, version: int, visit: Visit, reply: Reply,
        generation: int,
    ) -> Again | Failed | None:  # fmt: skip
        """Returns what becomes of a page that was fetched without the session; None: it shows the
        session. `generation`: of the session when the page was requested."""
        verdict = classify(reply, self._now())
        if not await self._shows_loss(login, reply, verdict):
            if verdict is None:
                session.shown()
            return None
        is_present = generation == session.generation and session.state.is_in
        if not _may_repeat(visit, reply, verdict):
            if is_present:
                session.lost(version, self._now())
            return Failed(Kind.LOGIN_FAILED, f"The answer shows a lost session. {NOT_AGAIN}")
        if not is_present:
            return Again(self._now(), visit.progress)  # the login that it had was lost meanwhile
        if losses(visit):
            return _still_lost()
        session.lost(version, self._now())
        log.info("session_lost", url=visit.url)
        return once_more(visit, self._now())

    async def _shows_loss(self, login: Login, reply: Reply, verdict: Verdict) -> bool:
        signs = login.lost
        if signs is None:
            is_login = isinstance(verdict, Moved) and login.is_page_of(verdict.url)
            return reply.status == 401 or is_login
        if reply.status in signs.status or (signs.url and _leads_to(signs.url, reply, verdict)):
            return True
        if signs.text and _contains(reply, signs.text):
            return True
        return bool(signs.selector) and await self._matches(reply, signs.selector or "")

    async def _matches(self, reply: Reply, selector: str) -> bool:
        read = await self._read(reply, (selector,))
        return not isinstance(read, Failed) and bool(read["matches"])

    async def _read(self, reply: Reply, selectors: tuple[str, ...]) -> dict[str, Any] | Failed:
        """Reads the page in a child process."""
        params = {"selectors": selectors}
        record = await self._pool.extract(_READER, reply, params=params)
        if not isinstance(record, Record):
            return record
        found: dict[str, Any] = orjson.loads(record.content)
        return found

    def _fail(
        self, session: PageSession, sentence: str, version: int, *, at_once: bool = False
    ) -> LoginStep:
        """The login failed. It is tried again before the page is given up, unless that is
        useless."""
        rests = session.failed(sentence, version, self._now())
        if at_once and not rests:
            rests = session.failed(sentence, version, self._now())
        log.warning("login_failed", reason=sentence)
        return LoginStep(session.rest() if rests else None)


def _first(login: Login) -> LoginRun:
    if login.form_from is not None:
        return LoginRun("form", login.form_from)
    return LoginRun("send", login.url)


def _request(run: LoginRun, login: Login) -> Request:
    """Raises `SecretMissing`."""
    if run.phase != "send" or login.method == "GET":
        return Request(run.url)
    filled = run.hidden | {name: resolved(value) for name, value in login.form}
    body = orjson.dumps(filled) if login.as_json else urlencode(filled).encode()
    headers = (
        ("Content-Type", "application/json" if login.as_json else _FORM),
        ("Referer", login.form_from or login.url),
    )
    return Request(run.url, headers, body=body)


def _with_cookies(request: Request, session: PageSession, now: int) -> Request:
    return replace(request, headers=request.headers + session.header(request.url, now))


def _follow(session: PageSession, run: LoginRun, moved: Moved, missing: str) -> str | None:
    if run.hops >= MOST_HOPS:
        return f"it led to more than {MOST_HOPS} redirects, and {missing}"
    if canonical(moved.url).host != canonical(run.url).host:
        return f"it was redirected to another host, {canonical(moved.url).host}, and {missing}"
    if is_downgrade(moved.url, from_url=run.url):
        return f"it was redirected from https to http, and {missing}"
    if run.phase == "send" and moved.status in (307, 308):
        return "it was redirected with its form: declare the URL that the form is sent to"
    phase = "form" if run.phase == "form" else "follow"
    session.run = LoginRun(phase, moved.url, run.hops + 1, before=run.before)
    return None


def _leads_to(pattern: str, reply: Reply, verdict: Verdict) -> bool:
    urls = [reply.url, verdict.url] if isinstance(verdict, Moved) else [reply.url]
    return any(Wildcard(spelled(pattern)).matches(url) for url in urls)


def _contains(reply: Reply, text: str) -> bool:
    _type, _mark, charset = reply.headers.get("content-type", "").lower().partition("charset=")
    spellings = {text.encode()}
    with suppress(LookupError, UnicodeError):
        spellings.add(text.encode(charset.strip("\"' ;") or "utf-8"))
    return any(spelling in reply.body for spelling in spellings)


def _unreachable(failed: Failed) -> Failed:
    """The host is in trouble, not the login: the source rests, as after any such failure."""
    error = f"The login could not be sent, so the page was not requested: {failed.error}"
    return replace(failed, error=error, whole_host=not (failed.final or failed.kind in _PAGES_OWN))


def _may_repeat(visit: Visit, reply: Reply, verdict: Verdict) -> bool:
    """Whether the request changes nothing, or was declined for want of a login: an answer of
    another kind leaves open whether a POST was processed."""
    body = visit.body
    is_declined = reply.status == 401 or isinstance(verdict, Moved)
    return body is None or not body.is_sent_once or is_declined


def _still_lost() -> Failed:
    sentence = "The page shows that the session is lost, right after a new login too."
    return Failed(Kind.LOGIN_FAILED, sentence)
