"""Signing secrets of webhooks: one for each user, and one for the jobs that no user owns.

Whoever receives the webhooks of one user can therefore not forge those of another. A secret is
created on first use. During the grace period of a rotation a row has two secrets: the new one, and
the old one with the instant at which it stops signing.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from typing import NamedTuple

from curtsy.clock import SECOND, rfc3339
from curtsy.errors import WrongState
from curtsy.store import Connection, Statement

_READ = Statement(
    "SELECT name, value FROM secrets WHERE name IN (SELECT name FROM {wanted})",
    wanted={"name": "text"},
)
_INSERT = Statement(
    """
    INSERT INTO secrets (name, value, created_at) SELECT name, value, :now FROM {new} WHERE true
    ON CONFLICT (name) DO NOTHING
    """,
    new={"name": "text", "value": "text"},
)
_LOCK = Statement("SELECT value FROM secrets WHERE name = :name {lock}")
_SET = Statement("UPDATE secrets SET value = :value, created_at = :now WHERE name = :name")


class SigningSecret(NamedTuple):
    """The secret of a user."""

    secret: str
    old: str | None = None
    """Signs too, until `old_until`."""
    old_until: int | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """The secrets that sign, the newest first."""
        return (self.secret,) if self.old is None else (self.secret, self.old)


def signing_secrets(
    connection: Connection, users: Collection[str | None], *, now: int
) -> dict[str | None, SigningSecret]:
    """Returns the secret of each user; None stands for the jobs that no user owns."""
    names = {user: _name(user) for user in users}
    found = _read(connection, names.values())
    if missing := sorted(set(names.values()) - found.keys()):
        _INSERT(connection, new=[(name, _new()) for name in missing], now=now)
        found |= _read(connection, missing)  # another transaction may have been first
    return {user: _parsed(found[name], now) for user, name in names.items()}


def signing_secret(connection: Connection, user: str | None, *, now: int) -> SigningSecret:
    return signing_secrets(connection, [user], now=now)[user]


def rotate_secret(
    connection: Connection, user: str | None, *, grace: int, now: int
) -> SigningSecret:
    """Gives the user a new secret. The old one signs too for the grace period (milliseconds).
    Raises `WrongState` for a grace period within another one."""
    signing_secret(connection, user, now=now)
    name = _name(user)
    stored = _parsed(str(_LOCK(connection, name=name).scalar_one()), now)
    if grace and stored.old_until is not None:
        state = f"within the grace of its last rotation until {rfc3339(stored.old_until)}"
        action = "rotated with another grace before; without a grace, both old secrets end at once"
        raise WrongState("The webhook secret", state, action)
    rotated = SigningSecret(_new())
    if grace:
        rotated = SigningSecret(rotated.secret, stored.secret, now + grace)
    _SET(connection, name=name, value=_text(rotated), now=now)
    return rotated


def signature(signing: Sequence[str], body: bytes, *, now: int) -> str:
    """`t` is the second of signing; each `v1` is the HMAC-SHA256 of `t`, a dot and the body with
    one of the secrets."""
    at = now // SECOND
    signed = f"{at}.".encode() + body
    hashes = (hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in signing)
    return ",".join((f"t={at}", *(f"v1={one}" for one in hashes)))


def _name(user: str | None) -> str:
    return "webhooks" if user is None else f"webhooks/{user}"


def _new() -> str:
    return f"whsec_{secrets.token_hex(32)}"


def _read(connection: Connection, names: Collection[str]) -> dict[str, str]:
    rows = _READ(connection, wanted=[(name,) for name in names])
    return {row.name: row.value for row in rows}


def _parsed(value: str, now: int) -> SigningSecret:
    newest, *older = value.split()
    if not older or now >= int(older[1]):
        return SigningSecret(newest)
    return SigningSecret(newest, older[0], int(older[1]))


def _text(secret: SigningSecret) -> str:
    return (
        secret.secret if secret.old is None else f"{secret.secret} {secret.old} {secret.old_until}"
    )
