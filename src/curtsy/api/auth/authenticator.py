"""The porter knows whose key or cookie it is, and whether one must be shown at all."""

from curtsy.access.keys import USE_STORED_EVERY, Key, Presented, keys_exist, presented, valid_keys
from curtsy.access.sessions import Session, cookie_hash, sessions_of
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.auth.cache import ReadCache
from curtsy.api.auth.failed_attempts import FailedAttempts
from curtsy.api.backend import Backend
from curtsy.clock import Clock
from curtsy.model.roles import Caller


class Authenticator:
    """What changes in the store, it knows within a second."""

    def __init__(self, backend: Backend, access_rules: AccessRules) -> None:
        self._backend, self._entrance = backend, access_rules
        self._keys: ReadCache[Presented, Key] = ReadCache(
            backend, lambda c, given, now: valid_keys(c, given, now=now)
        )
        self._sessions: ReadCache[str, Session] = ReadCache(
            backend, lambda c, hashes, now: sessions_of(c, hashes, now=now)
        )
        self._any_key: ReadCache[None, bool] = ReadCache(
            backend, lambda c, *_: {None: keys_exist(c)}
        )
        self._noted: dict[int, int] = {}
        self.wrong_keys = FailedAttempts()

    @property
    def clock(self) -> Clock:
        return self._backend.clock

    async def lets_everyone_in(self) -> bool:
        if self._entrance.open_access:
            return True
        return self._entrance.is_private and not await self._any_key.answer(None)

    async def holder(self, key: str) -> Caller | None:
        given = presented(key)
        found = await self._keys.answer(given) if given is not None else None
        if found is None:
            return None
        self._note_use(found)
        return found.caller

    async def session(self, cookie: str) -> Session | None:
        return await self._sessions.answer(cookie_hash(cookie))

    def forget(self, cookie: str) -> None:
        self._sessions.forget(cookie_hash(cookie))

    def _note_use(self, key: Key) -> None:
        now = self._backend.clock.now()
        if now - max(key.used_at or 0, self._noted.get(key.id, 0)) > USE_STORED_EVERY:
            self._noted[key.id] = now
            self._backend.store_use(key.id)
