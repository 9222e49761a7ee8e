"""Sessions: a browser sends a key once and gets a cookie. Only the cookie's hash is stored."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from curtsy.access.keys import Presented, lock_valid_key, store_use
from curtsy.clock import HOUR
from curtsy.model.roles import ROLES, Caller
from curtsy.store import Connection, Statement

LIFETIME = 12 * HOUR
MOST_SESSIONS = 100
"""Of one key; one more ends the oldest."""

_DELETE_ALL_EXPIRED = Statement("DELETE FROM sessions WHERE expires_at <= :now")
_DELETE_OLDEST = Statement(
    """
    DELETE FROM sessions WHERE key_id = :key_id AND hash NOT IN (
        SELECT hash FROM sessions WHERE key_id = :key_id ORDER BY created_at DESC LIMIT :keep)
    """
)
_INSERT = Statement(
    """
    INSERT INTO sessions (hash, key_id, csrf, created_at, expires_at)
    VALUES (:hash, :key_id, :csrf, :now, :expires_at)
    """
)
_SESSIONS = Statement(
    """
    SELECT s.hash, s.csrf, s.expires_at, k.id, k.user_id, k.role, k.pages_per_hour, k.open_jobs
    FROM (SELECT hash FROM {wanted}) w JOIN sessions s ON s.hash = w.hash
    JOIN api_keys k ON k.id = s.key_id
    WHERE s.expires_at > :now AND k.revoked_at IS NULL
    """,
    wanted={"hash": "text"},
)
_CLOSE = Statement("DELETE FROM sessions WHERE hash = :hash")

_DELETE_EXPIRED = Statement(
    """
    DELETE FROM sessions WHERE expires_at <= :now AND hash IN (
        SELECT hash FROM sessions WHERE expires_at <= :now ORDER BY expires_at LIMIT :most)
    """
)


@dataclass(frozen=True, slots=True)
class Session:
    caller: Caller
    csrf: str
    """Known to this site's own pages, but not to a foreign page that sends the cookie."""
    expires_at: int


def cookie_hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def open_session(
    connection: Connection, presented: Presented, *, now: int
) -> tuple[Session, str] | None:
    """Opens a session that expires no later than its key, and returns it with its cookie; None:
    the key is not valid. Also deletes expired sessions, and the oldest ones of the key where it has
    too many."""
    key = lock_valid_key(connection, presented, now=now)
    if key is None:
        return None
    _DELETE_ALL_EXPIRED(connection, now=now)
    _DELETE_OLDEST(connection, key_id=key.id, keep=MOST_SESSIONS - 1)
    cookie, csrf = secrets.token_hex(32), secrets.token_hex(32)
    until = min(now + LIFETIME, key.expires_at or now + LIFETIME)
    _INSERT(connection, hash=cookie_hash(cookie), key_id=key.id, csrf=csrf, now=now,
            expires_at=until)  # fmt: skip
    store_use(connection, key.id, now=now)
    return Session(key.caller, csrf, until), cookie


def sessions_of(connection: Connection, hashes: Sequence[str], *, now: int) -> dict[str, Session]:
    """By the hashes of their cookies: sessions that have not expired, of keys that were not
    revoked."""
    rows = _SESSIONS(connection, wanted=[(cookie,) for cookie in set(hashes)], now=now)
    return {
        row.hash: Session(
            Caller(row.user_id, ROLES[row.role], row.id, row.pages_per_hour, row.open_jobs),
            row.csrf, row.expires_at,
        )
        for row in rows
    }  # fmt: skip


def close_session(connection: Connection, hashed: str) -> None:
    _CLOSE(connection, hash=hashed)


def delete_expired(connection: Connection, *, now: int, most: int) -> int:
    """Deletes at most `most` expired sessions; returns how many."""
    return int(_DELETE_EXPIRED(connection, now=now, most=most).rowcount)
