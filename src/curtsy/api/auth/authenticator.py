"""Authenticates API keys and session cookies, and decides whether a request needs one."""

from starlette.types import Scope

from curtsy.access.keys import USE_STORED_EVERY, Key, Presented, keys_exist, presented, valid_keys
from curtsy.access.sessions import Session, cookie_hash, sessions_of
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.auth.cache import ReadCache
from curtsy.api.auth.direct_request import is_direct
from curtsy.api.auth.failed_attempts import FailedAttempts
from curtsy.api.backend import Backend
from curtsy.clock import Clock
from curtsy.logs import logger
from curtsy.model.roles import Caller

log = logger("api")

KEY_MISSING = (
    "a proxy or another machine sent a request, and no key exists: create one with `curtsy keys "
    "add --user NAME --role admin`, or allow everyone with CURTSY_OPEN_ACCESS=on"
)


class Authenticator:
    """Reads through a cache, so changes in the store take effect within a second."""

    def __init__(self, backend: Backend, access_rules: AccessRules) -> None:
        self._backend, self._access_rules = backend, access_rules
        self._keys: ReadCache[Presented, Key] = ReadCache(
            backend, lambda c, keys, now: valid_keys(c, keys, now=now)
        )
        self._sessions: ReadCache[str, Session] = ReadCache(
            backend, lambda c, hashes, now: sessions_of(c, hashes, now=now)
        )
        self._any_key: ReadCache[None, bool] = ReadCache(
            backend, lambda c, *_: {None: keys_exist(c)}
        )
        self._use_recorded_at: dict[int, int] = {}
        self._warned = False
        self.failed_attempts = FailedAttempts()

    @property
    def clock(self) -> Clock:
        return self._backend.clock

    async def allows_anonymous(self, scope: Scope) -> bool:
        """Whether the request needs no key: OPEN_ACCESS is on, or no key exists and the request
        comes straight from this machine. A proxy on this machine speaks for others."""
        if self._access_rules.open_access:
            return True
        if not self._access_rules.is_private or await self._any_key.get(None):
            return False
        if not is_direct(scope):
            self._warn_once()
            return False
        return True

    async def caller_of_key(self, key: str) -> Caller | None:
        parsed = presented(key)
        found = await self._keys.get(parsed) if parsed is not None else None
        if found is None:
            return None
        self._record_use(found)
        return found.caller

    async def session_of_cookie(self, cookie: str) -> Session | None:
        return await self._sessions.get(cookie_hash(cookie))

    def forget_all(self) -> None:
        """The next callers are read from the store."""
        for cache in (self._keys, self._sessions, self._any_key):
            cache.forget_all()

    def forget_cookie(self, cookie: str) -> None:
        self._sessions.forget(cookie_hash(cookie))

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            log.warning("key_missing", meaning=KEY_MISSING)

    def _record_use(self, key: Key) -> None:
        now = self._backend.clock.now()
        recorded_at = max(key.used_at or 0, self._use_recorded_at.get(key.id, 0))
        if now - recorded_at > USE_STORED_EVERY:
            self._use_recorded_at[key.id] = now
            self._backend.record_key_use(key.id)
