"""The sessions of a lane: cookies and logins, in memory while the lane holds the source.

They are stored with the flush, under the fence of the source, so that the next owner goes on with
them. What a killed worker did not store is lost: its successor logs in once more at most.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import orjson

from curtsy.clock import HOUR, rfc3339
from curtsy.errors import StoreAway, StoreFull
from curtsy.fetch import cookies
from curtsy.fetch.cookies import Cookie
from curtsy.frontier.cookie_jars import JarPair, StoredJar, read_jar
from curtsy.frontier.take import Visit
from curtsy.logs import logger
from curtsy.model.domains import domain_of
from curtsy.model.failure_kinds import Kind
from curtsy.model.options import session_of
from curtsy.model.outcome import Again, Failed, Reply
from curtsy.politeness.login import MOST_PER_HOUR, MOST_RENEWALS, MOST_TRIES, REST
from curtsy.politeness.policy import Policy
from curtsy.store import Store

log = logger("worker")

MOST_COOKIES = 200
LARGEST_JAR = 64 * 1024
"""Bytes of the cookies that are stored; those of other hosts go first, then the oldest."""
MOST_IN_MEMORY = 200
AFTER_FAILURE_SECONDS = 0.5

ReadJar = Callable[[str, int], Awaitable[JarPair]]


@dataclass(slots=True)
class LoginState:
    """What is known of the login of a session, as it is stored."""

    is_in: bool = False
    tries: int = 0
    """Logins in a row that failed."""
    renewed: int = 0
    """Times in a row that the session was lost, without a page between that showed it."""
    recent: list[int] = field(default_factory=list)
    """When the last logins were, at most an hour ago."""
    rests_until: int = 0
    why: str = ""
    """A sentence: why it rests."""
    version: int = 0
    """Of the policy under which it failed: a change of the policy ends the rest."""
    given: str = ""
    """A hash of the cookies that came with the job and are in the jar already."""

    @classmethod
    def from_json(cls, text: str) -> "LoginState":
        known = {one.name for one in fields(cls)}
        return cls(**{k: v for k, v in orjson.loads(text).items() if k in known})


@dataclass(slots=True)
class LoginRun:
    """A login between two of its requests. It is not stored: its successor begins anew."""

    phase: str
    """form, send or follow."""
    url: str
    hops: int = 0
    hidden: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    """The values of the cookies before the form was sent."""


class PageSession:
    """One session at one source."""

    def __init__(self, name: str, source_id: int, stored: JarPair, *, now: int) -> None:
        self.name, self._source_id = name, source_id
        jar = stored.jar
        self.cookies = cookies.load(jar.cookies if jar is not None else None)
        self.state = LoginState.from_json(jar.login if jar is not None else "{}")
        self.run: LoginRun | None = None
        self.is_sending = False
        """A request of the login is open."""
        self.generation = 0
        """Grows with each login; a page of an earlier one says nothing about the present one."""
        self.has_changed = False
        given = _of_domains(cookies.load(stored.given), stored.hosts)
        hashed = hashlib.blake2b(stored.given.encode(), digest_size=12).hexdigest()
        if given and hashed != self.state.given:
            self._take_over(given, hashed)
        self.cookies = cookies.unexpired(self.cookies, now)

    def _take_over(self, given: tuple[Cookie, ...], hashed: str) -> None:
        """Cookies of a browser may be those of a login: the first page shows it."""
        jar = {cookie.identity: cookie for cookie in (*self.cookies, *given)}
        self.cookies = tuple(jar.values())
        self.state = LoginState(is_in=True, given=hashed)
        self.has_changed = True

    def header(self, url: str, now: int) -> tuple[tuple[str, str], ...]:
        shown = cookies.header(cookies.unexpired(self.cookies, now), url)
        return (("Cookie", shown),) if shown else ()

    def values(self) -> dict[str, str]:
        return {cookie.name: cookie.value for cookie in self.cookies}

    def received(self, reply: Reply, now: int) -> None:
        """Adopts the cookies of a response."""
        if "set-cookie" not in reply.headers:
            return
        after = cookies.updated(self.cookies, reply, now, most=MOST_COOKIES)
        if after != self.cookies:
            self.cookies = cookies.within(after, reply.url, most=MOST_COOKIES, largest=LARGEST_JAR)
            self.has_changed = True

    def needs_login(self, policy: Policy, version: int, now: int) -> bool:
        rests = self.refusal(policy, version, now) is not None
        return policy.login is not None and not self.state.is_in and not rests

    def refusal(self, policy: Policy, version: int, now: int) -> Failed | None:
        """Returns why no page of the session is requested now."""
        state = self.state
        over = now >= state.rests_until or version != state.version
        return None if policy.login is None or state.is_in or over else self.rest()

    def rest(self) -> Failed:
        """The failure of each page while the login rests."""
        until = rfc3339(self.state.rests_until)
        sentence = f"{self.state.why} The next login is tried from {until} on."
        return Failed(Kind.LOGIN_FAILED, sentence)

    # What happens to the login.

    def succeeded(self, now: int) -> None:
        state = self.state
        state.is_in, state.tries, state.rests_until, state.why = True, 0, 0, ""
        state.recent = [*self._recent(now), now]
        self.generation += 1
        self.run, self.has_changed = None, True

    def failed(self, sentence: str, version: int, now: int) -> bool:
        """The login failed; returns whether it rests now."""
        self.run = None
        self.state.tries += 1
        self.state.recent = [*self._recent(now), now]
        self.has_changed = True
        rests = self.state.tries >= MOST_TRIES
        if rests:
            self._rest(sentence, version, now)
        return rests

    def lost(self, version: int, now: int) -> None:
        """A page shows that the session is lost: the next page waits for a new login."""
        state = self.state
        state.is_in, state.renewed, self.has_changed = False, state.renewed + 1, True
        if state.renewed > MOST_RENEWALS:
            self._rest("The pages show that the session is lost, after "
                       f"{MOST_RENEWALS} new logins too.", version, now)  # fmt: skip
        elif len(self._recent(now)) >= MOST_PER_HOUR:
            self._rest(f"The session was lost {MOST_PER_HOUR} times within an hour.", version, now)

    def shown(self) -> None:
        """A page was fetched with the session."""
        if self.state.renewed:
            self.state.renewed, self.has_changed = 0, True

    def _rest(self, why: str, version: int, now: int) -> None:
        state = self.state
        state.rests_until, state.version, state.why = now + REST, version, why.replace("\0", "")
        state.tries = state.renewed = 0

    def _recent(self, now: int) -> list[int]:
        return [at for at in self.state.recent if at > now - HOUR][-MOST_PER_HOUR:]

    def stored(self) -> StoredJar:
        login = orjson.dumps(asdict(self.state)).decode()
        return StoredJar(self.name, self._source_id, cookies.dump(self.cookies), login)


def _of_domains(given: tuple[Cookie, ...], hosts: tuple[str, ...]) -> tuple[Cookie, ...]:
    """The cookies for the domains of these hosts. Not for the hosts alone: others of a domain may
    join the source later, and given cookies are taken over once."""
    domains = {domain_of(host) for host in hosts}
    return tuple(cookie for cookie in given if domain_of(cookie.host) in domains)


class LaneSessions:
    """The sessions of one lane."""

    def __init__(self, source_id: int, *, read: ReadJar, now: Callable[[], int]) -> None:
        self._source_id, self._read, self._now = source_id, read, now
        self._known: dict[str, PageSession] = {}
        """Those used last stand last."""

    async def of(self, visit: Visit) -> PageSession | None:
        """Returns the session of the visit; None: its page has none."""
        name = session_of(visit.options)
        if name is None:
            return None
        found = self._known.pop(name, None)
        if found is None:
            stored = await self._read(name, self._source_id)
            found = PageSession(name, self._source_id, stored, now=self._now())
        self._known[name] = found
        self._forget_some()
        return found

    def comes_first(self, visit: Visit, policy: Policy, version: int) -> bool:
        """Whether the visit's start is needed to read its session or to log in."""
        name = session_of(visit.options)
        if name is None:
            return False
        known = self._known.get(name)
        return known is None or known.needs_login(policy, version, self._now())

    def refusal(self, visit: Visit, policy: Policy, version: int) -> Failed | None:
        if policy.login is None or (name := session_of(visit.options)) is None:
            return None
        known = self._known.get(name)
        return None if known is None else known.refusal(policy, version, self._now())

    def is_sending(self) -> bool:
        """Whether a request of a login is open: no visit starts until it has ended."""
        return any(session.is_sending for session in self._known.values())

    def changed(self) -> tuple[StoredJar, ...]:
        """Returns what is to be stored, once."""
        found = [session for session in self._known.values() if session.has_changed]
        for session in found:
            session.has_changed = False
        return tuple(session.stored() for session in found)

    def _forget_some(self) -> None:
        for name in [*self._known][:-MOST_IN_MEMORY]:
            old = self._known[name]
            if not old.has_changed and not old.is_sending and old.run is None:
                del self._known[name]


class JarReader:
    """Reads jars, and waits for a store that is away."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, session: str, source_id: int) -> JarPair:
        while True:
            try:
                return await self._store.read(lambda c: read_jar(c, session, source_id))
            except (StoreAway, StoreFull) as away:
                log.warning("session_waits_for_store", reason=str(away))
                await asyncio.sleep(AFTER_FAILURE_SECONDS)


def losses(visit: Visit) -> int:
    """How often the visit found that its session was lost."""
    found: Any = orjson.loads(visit.progress) if visit.progress else None
    return int(found.get("lost", 0)) if isinstance(found, dict) else 0


def once_more(visit: Visit, now: int) -> Again:
    return Again(now, orjson.dumps({"lost": losses(visit) + 1}).decode())
