"""API keys: made, listed, rotated, revoked, recognised. Only a hash of each is kept.

A key is written `curtsy_<public id>_<secret>`. The secret is 256 random bits, so one round of
SHA-256 hides it as well as anything could. While a rotation's grace lasts, a row holds two hashes:
the new one, and the old one with the moment at which it ends.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from curtsy.clock import HOUR, rfc3339
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.model.roles import ROLES, Caller, Role
from curtsy.store import Connection, Statement

LARGEST_QUOTA = 2**31 - 1
LONGEST_NAME = 300
USES_NOTED_EVERY = HOUR

_USER = re.compile(r"[A-Za-z0-9_.@+-]{1,100}")
_KEY = re.compile(r"curtsy_([0-9a-f]{12})_([0-9a-f]{64})")

_INSERT = Statement(
    """
    INSERT INTO api_keys (public_id, hash, user_id, name, role, pages_per_hour, open_jobs,
                          created_at, expires_at)
    VALUES (:public_id, :hash, :user_id, :name, :role, :pages_per_hour, :open_jobs, :now,
            :expires_at)
    RETURNING *
    """
)
_ALL = Statement("SELECT * FROM api_keys ORDER BY id")
_ANY = Statement("SELECT 1 FROM api_keys LIMIT 1")
_LOCK = Statement("SELECT * FROM api_keys WHERE public_id = :public_id {lock}")
_NAMED = Statement(
    "SELECT * FROM api_keys WHERE public_id IN (SELECT public_id FROM {wanted})",
    wanted={"public_id": "text"},
)
_SET_HASH = Statement("UPDATE api_keys SET hash = :hash WHERE id = :id")
_REVOKE = Statement("UPDATE api_keys SET revoked_at = :now WHERE id = :id")
_END_SESSIONS = Statement(
    "UPDATE sessions SET expires_at = {least}(expires_at, :at) WHERE key_id = :key_id"
)
_NOTE_USE = Statement("UPDATE api_keys SET used_at = :now WHERE id = :id")


@dataclass(frozen=True, slots=True)
class Key:
    """What may be shown of a key."""

    id: int
    public_id: str
    user_id: str
    name: str | None
    role: Role
    pages_per_hour: int | None
    open_jobs: int | None
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    used_at: int | None
    """To the hour."""

    def state(self, now: int) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"

    @property
    def caller(self) -> Caller:
        return Caller(self.user_id, self.role, self.id, self.pages_per_hour, self.open_jobs)


@dataclass(frozen=True, slots=True)
class NewKey:
    user_id: str
    role: Role
    name: str | None = None
    pages_per_hour: int | None = None
    open_jobs: int | None = None
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Presented:
    """A key as somebody gave it; from here on its secret is known by its hash alone."""

    public_id: str
    hash: str


def presented(text: str) -> Presented | None:
    found = _KEY.fullmatch(text)
    return Presented(found[1], _hash(found[2])) if found else None


def make_key(connection: Connection, wish: NewKey, *, now: int) -> tuple[Key, str]:
    """The key, and its text: this is the only time that it is known."""
    _check(wish, now)
    public_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    row = _INSERT(
        connection, public_id=public_id, hash=_hash(secret), user_id=wish.user_id, name=wish.name,
        role=wish.role.word, pages_per_hour=wish.pages_per_hour, open_jobs=wish.open_jobs, now=now,
        expires_at=wish.expires_at,
    ).one()  # fmt: skip
    return _key(row), _text(public_id, secret)


def list_keys(connection: Connection) -> list[Key]:
    """All there ever were, the oldest first."""
    return [_key(row) for row in _ALL(connection)]


def keys_exist(connection: Connection) -> bool:
    """Also one that was revoked: taking the last key back must not let everyone in."""
    return _ANY(connection).scalar() is not None


def rotate_key(connection: Connection, public_id: str, *, grace: int, now: int) -> tuple[Key, str]:
    """The same key with a new secret. The old one, and what was opened with it, ends after the
    grace (milliseconds). While one has its grace, no other gets one."""
    row = _locked(connection, public_id, "rotated", now)
    if grace:
        _require_no_grace(row, now)
    secret = secrets.token_hex(32)
    old = f" {_newest(row.hash)} {now + grace}" if grace else ""
    _SET_HASH(connection, id=row.id, hash=f"{_hash(secret)}{old}")
    _END_SESSIONS(connection, key_id=row.id, at=now + grace)
    return _key(row), _text(public_id, secret)


def revoke_key(connection: Connection, public_id: str, *, now: int) -> Key:
    """It and what was opened with it ends at once."""
    row = _locked(connection, public_id, "revoked", now)
    _REVOKE(connection, id=row.id, now=now)
    return replace(_key(row), revoked_at=now)


def recognised(
    connection: Connection, given: Iterable[Presented], *, now: int
) -> dict[Presented, Key]:
    """Those of them that hold now."""
    all_given = list(given)
    wanted = [(public_id,) for public_id in {one.public_id for one in all_given}]
    rows = {row.public_id: row for row in _NAMED(connection, wanted=wanted)}
    found = {one: rows[one.public_id] for one in all_given if one.public_id in rows}
    return {one: _key(row) for one, row in found.items() if _holds(row, one, now)}


def lock_recognised(connection: Connection, given: Presented, *, now: int) -> Key | None:
    """The key, which nobody rotates or revokes until the transaction has ended; None: no key."""
    row = _LOCK(connection, public_id=given.public_id).one_or_none()
    return _key(row) if row is not None and _holds(row, given, now) else None


def note_use(connection: Connection, key_id: int, *, now: int) -> None:
    _NOTE_USE(connection, id=key_id, now=now)


def _check(wish: NewKey, now: int) -> None:
    problems: list[str] = []
    if not _USER.fullmatch(wish.user_id):
        problems.append(f"{wish.user_id[:100]!r} is no user's name: up to 100 of A-Z a-z 0-9 _.@+-")
    if wish.name is not None and len(wish.name) > LONGEST_NAME:
        problems.append(f"The name is longer than {LONGEST_NAME} characters")
    quotas = {"pages an hour": wish.pages_per_hour, "open jobs": wish.open_jobs}
    for what, quota in quotas.items():
        if quota is not None and not 1 <= quota <= LARGEST_QUOTA:
            problems.append(f"A quota of {quota} {what} is not from 1 to {LARGEST_QUOTA}")
    if wish.expires_at is not None and wish.expires_at <= now:
        problems.append("The key would have expired already")
    if problems:
        raise BadRequest([f"{problem}." for problem in problems])


def _locked(connection: Connection, public_id: str, asked: str, now: int) -> Any:
    row = _LOCK(connection, public_id=public_id).one_or_none()
    if row is None:
        raise NotFound("key", public_id[:100])
    if (state := _key(row).state(now)) != "valid":
        raise WrongState(f"Key {public_id}", state, asked)
    return row


def _holds(row: Any, given: Presented, now: int) -> bool:
    if _key(row).state(now) != "valid":
        return False
    return any(hmac.compare_digest(known, given.hash) for known in _hashes(row.hash, now))


def _hashes(stored: str, now: int) -> Sequence[str]:
    newest, *older = stored.split()
    if not older:
        return (newest,)
    old, until = older
    return (newest, old) if now < int(until) else (newest,)


def _require_no_grace(row: Any, now: int) -> None:
    if len(_hashes(row.hash, now)) > 1:
        until = rfc3339(int(row.hash.split()[-1]))
        state = f"within the grace of its last rotation until {until}"
        asked = "rotated with another one before; without one, both old secrets end at once"
        raise WrongState(f"Key {row.public_id}", state, asked)


def _newest(stored: str) -> str:
    return stored.split()[0]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _text(public_id: str, secret: str) -> str:
    return f"curtsy_{public_id}_{secret}"


def _key(row: Any) -> Key:
    return Key(
        row.id, row.public_id, row.user_id, row.name, ROLES[row.role], row.pages_per_hour,
        row.open_jobs, row.created_at, row.expires_at, row.revoked_at, row.used_at,
    )  # fmt: skip
