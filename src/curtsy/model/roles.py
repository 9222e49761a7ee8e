"""Roles and callers: who sends a request, and what the caller may do."""

from dataclasses import dataclass
from enum import IntEnum


class Role(IntEnum):
    """Each role includes the permissions of the roles before it."""

    READ = 1
    SUBMIT = 2
    OPERATE = 3
    ADMIN = 4

    @property
    def word(self) -> str:
        return self.name.lower()


ROLES = {role.word: role for role in Role}


@dataclass(frozen=True, slots=True)
class Caller:
    user_id: str | None
    role: Role
    key_id: int | None = None
    pages_per_hour: int | None = None
    open_jobs: int | None = None
    """Quotas of the key, as is `pages_per_hour`; None: no limit."""

    @property
    def confined_to(self) -> str | None:
        """The user whose jobs are the only ones that the caller sees; None: the caller sees all."""
        return self.user_id if self.role < Role.OPERATE else None


ANONYMOUS = "anyone"
"""The name that is stored for who acts without a key; sentences name nobody then."""
OPEN = Caller(None, Role.ADMIN)
"""Any caller while authentication is off."""
