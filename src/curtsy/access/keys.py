"""API keys: creates, lists, rotates, revokes and verifies them. Only a hash of each is stored.

A key is written `curtsy_<public id>_<secret>`. The secret is 256 random bits, so a slow hash would
hide it no better than one round of SHA-256. During the grace period of a rotation a row has two
hashes: the new one, and the old one with the instant at which it expires.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from curtsy.clock import HOUR, rfc3339
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.model.roles import ROLES, Caller, Role
from curtsy.store import Connection, Statement

LARGEST_QUOTA = 2**31 - 1
LONGEST_NAME = 300
USE_STORED_EVERY = HOUR

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
_LIST = Statement("SELECT * FROM api_keys ORDER BY id")
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
_STORE_USE = Statement("UPDATE api_keys SET used_at = :now WHERE id = :id")


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret and its hash."""

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
    """A key as a client sent it, with a hash in place of the secret."""

    public_id: str
    hash: str


class _StoredKey(NamedTuple):
    key: Key
    hashes: str
    """As the module's docstring describes."""


def presented(text: str) -> Presented | None:
    """None: the text is not a key."""
    found = _KEY.fullmatch(text)
    return Presented(found[1], _hash(found[2])) if found else None


def create_key(connection: Connection, new: NewKey, *, now: int) -> tuple[Key, str]:
    """Returns the key and its text, which nobody can read later."""
    _check(new, now)
    public_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    row = _INSERT(
        connection, public_id=public_id, hash=_hash(secret), user_id=new.user_id, name=new.name,
        role=new.role.word, pages_per_hour=new.pages_per_hour, open_jobs=new.open_jobs, now=now,
        expires_at=new.expires_at,
    ).one()  # fmt: skip
    return _stored(row).key, _text(public_id, secret)


def list_keys(connection: Connection) -> list[Key]:
    """All keys, also expired and revoked ones, the oldest first."""
    return [_stored(row).key for row in _LIST(connection)]


def keys_exist(connection: Connection) -> bool:
    """Counts revoked keys, too: to revoke the last key must not open the API to everyone."""
    return _ANY(connection).scalar() is not None


def rotate_key(connection: Connection, public_id: str, *, grace: int, now: int) -> tuple[Key, str]:
    """Gives the key a new secret. The old secret, and sessions opened with it, expire after the
    grace period (milliseconds). Raises `WrongState` for a grace period within another one."""
    stored = _locked(connection, public_id, "rotated", now)
    if grace:
        _require_no_grace(stored, now)
    secret = secrets.token_hex(32)
    old = f" {_newest(stored.hashes)} {now + grace}" if grace else ""
    _SET_HASH(connection, id=stored.key.id, hash=f"{_hash(secret)}{old}")
    _END_SESSIONS(connection, key_id=stored.key.id, at=now + grace)
    return stored.key, _text(public_id, secret)


def revoke_key(connection: Connection, public_id: str, *, now: int) -> Key:
    """The key, and sessions opened with it, expire at once."""
    key = _locked(connection, public_id, "revoked", now).key
    _REVOKE(connection, id=key.id, now=now)
    return replace(key, revoked_at=now)


def valid_keys(
    connection: Connection, presented: Iterable[Presented], *, now: int
) -> dict[Presented, Key]:
    """Returns the presented keys that are valid."""
    all_presented = list(presented)
    wanted = [(public_id,) for public_id in {sent.public_id for sent in all_presented}]
    stored = {row.public_id: _stored(row) for row in _NAMED(connection, wanted=wanted)}
    found = {sent: stored[sent.public_id] for sent in all_presented if sent.public_id in stored}
    return {sent: key.key for sent, key in found.items() if _is_valid(key, sent, now)}


def lock_valid_key(connection: Connection, presented: Presented, *, now: int) -> Key | None:
    """Returns the key and locks it, so that nobody rotates or revokes it until the transaction
    ends; None: the key is not valid."""
    row = _LOCK(connection, public_id=presented.public_id).one_or_none()
    if row is None:
        return None
    stored = _stored(row)
    return stored.key if _is_valid(stored, presented, now) else None


def store_use(connection: Connection, key_id: int, *, now: int) -> None:
    """Stores when the key was last used."""
    _STORE_USE(connection, id=key_id, now=now)


def _check(new: NewKey, now: int) -> None:
    problems: list[str] = []
    if not _USER.fullmatch(new.user_id):
        problems.append(
            f"{new.user_id[:100]!r} is not a valid user name: use up to 100 of A-Z a-z 0-9 _.@+-"
        )
    if new.name is not None and len(new.name) > LONGEST_NAME:
        problems.append(f"The name is longer than {LONGEST_NAME} characters")
    quotas = {"pages an hour": new.pages_per_hour, "open jobs": new.open_jobs}
    for unit, quota in quotas.items():
        if quota is not None and not 1 <= quota <= LARGEST_QUOTA:
            problems.append(f"A quota of {quota} {unit} is not from 1 to {LARGEST_QUOTA}")
    if new.expires_at is not None and new.expires_at <= now:
        problems.append("The expiry date of the key is in the past")
    if problems:
        raise BadRequest([f"{problem}." for problem in problems])


def _locked(connection: Connection, public_id: str, action: str, now: int) -> _StoredKey:
    row = _LOCK(connection, public_id=public_id).one_or_none()
    if row is None:
        raise NotFound("key", public_id[:100])
    stored = _stored(row)
    if (state := stored.key.state(now)) != "valid":
        raise WrongState(f"Key {public_id}", state, action)
    return stored


def _stored(row: Any) -> _StoredKey:
    key = Key(
        row.id, row.public_id, row.user_id, row.name, ROLES[row.role], row.pages_per_hour,
        row.open_jobs, row.created_at, row.expires_at, row.revoked_at, row.used_at,
    )  # fmt: skip
    return _StoredKey(key, row.hash)


def _is_valid(stored: _StoredKey, presented: Presented, now: int) -> bool:
    if stored.key.state(now) != "valid":
        return False
    hashes = _valid_hashes(stored.hashes, now)
    return any(hmac.compare_digest(known, presented.hash) for known in hashes)


def _valid_hashes(hashes: str, now: int) -> Sequence[str]:
    newest, *older = hashes.split()
    if not older:
        return (newest,)
    old, until = older
    return (newest, old) if now < int(until) else (newest,)


def _require_no_grace(stored: _StoredKey, now: int) -> None:
    if len(_valid_hashes(stored.hashes, now)) > 1:
        until = rfc3339(int(stored.hashes.split()[-1]))
        state = f"within the grace of its last rotation until {until}"
        action = "rotated with another grace before; without a grace, both old secrets end at once"
        raise WrongState(f"Key {stored.key.public_id}", state, action)


def _newest(hashes: str) -> str:
    return hashes.split()[0]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _text(public_id: str, secret: str) -> str:
    return f"curtsy_{public_id}_{secret}"
