"""Errors for users and operators. Each builds its own sentence and has a stable code.

CurtsyError
├── Refused            the request cannot be fulfilled, and the request is at fault
│   ├── BadRequest     the request is invalid; lists every problem
│   ├── NotFound       the object does not exist
│   ├── WrongState     the object's state does not allow the action
│   ├── KeyNeeded      no API key, or an invalid one
│   └── NotAllowed     the key, or the origin, may not do this
├── OverLimit          a limit is reached; a later attempt may succeed
├── StoreAway          the database cannot be reached; nothing was lost
├── StoreFull          the disk is full, or nearly (StoreNearlyFull); nothing was lost
├── NotADatabase       the file is no database
├── NoDatabase         the file of the database does not exist
├── WrongSchema        this program cannot work with the database's schema
├── UpgradeWaits       the schema cannot be upgraded now; nothing was changed
└── BadSetting         a setting has an invalid value
"""

from curtsy import __version__


class CurtsyError(Exception):
    code = "internal"


class Refused(CurtsyError):
    code = "refused"


class BadRequest(Refused):
    code = "bad_request"

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class NotFound(Refused):
    code = "not_found"

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"There is no {what} {name!r}.")


class WrongState(Refused):
    code = "wrong_state"

    def __init__(self, name: str, state: str, action: str) -> None:
        super().__init__(f"{name} is {state}: it cannot be {action}.")


class KeyNeeded(Refused):
    """Has the same sentence for all invalid keys, so that a revoked key cannot be told from a wrong
    one."""

    code = "key_needed"

    def __init__(self) -> None:
        super().__init__("This needs a valid API key, as `Authorization: Bearer curtsy_…`.")


class NotAllowed(Refused):
    code = "not_allowed"


class OverLimit(CurtsyError):
    code = "over_limit"

    def __init__(self, sentence: str, retry_after_seconds: int = 60) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(sentence)


class StoreAway(CurtsyError):
    code = "store_away"

    def __init__(self, reason: str, trouble: str = "does not answer", advice: str = "") -> None:
        """`trouble` says what is wrong with the database, `advice` what helps."""
        again = f"{advice}, then try again" if advice else "try again"
        super().__init__(
            f"The database {trouble} ({reason}). What was acknowledged is kept; {again}."
        )


class StoreFull(CurtsyError):
    code = "store_full"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database's disk is full ({reason}). What was acknowledged is kept; "
            "free some space and try again."
        )


class StoreNearlyFull(StoreFull):
    """The rest of the disk is for what is fetched already."""

    def __init__(self, free: int, reserve: int) -> None:
        CurtsyError.__init__(
            self,
            f"The database's disk has only {free:,} bytes left, fewer than DISK_RESERVE_BYTES "
            f"({reserve:,}): nothing new was stored, so that running work can be. What was "
            "acknowledged is kept; free some space and try again.",
        )


class NotADatabase(CurtsyError):
    code = "not_a_database"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The file of the database is not a SQLite database, or is damaged ({reason}). Nothing "
            "was changed; set CURTSY_DATABASE_URL to another file, or restore a backup."
        )


class NoDatabase(CurtsyError):
    code = "no_database"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"There is no database {path}: go to the folder that has one, or create one with "
            "`curtsy up`, `curtsy submit` or `curtsy db upgrade`."
        )


class WrongSchema(CurtsyError):
    code = "wrong_schema"

    def __init__(self, found: str | None, own: str, oldest: str | None = None) -> None:
        """`own` is the newest schema that this program knows; `oldest` is the oldest whose programs
        work with the schema that was found."""
        self.found, self.own, self.oldest = found, own, oldest
        self.is_too_old = oldest is None
        """The schema; else the program is."""
        program = f"this program (curtsy {__version__}) has schema {own}"
        if oldest is None:
            super().__init__(
                f"The database has schema {found or 'none'}, and {program}. "
                "Run `curtsy db upgrade` with this program."
            )
            return
        if found is not None and oldest > found:
            super().__init__(
                f"An upgrade of the database from schema {found} to {oldest} has begun and not "
                f"ended, and {program}. `curtsy db upgrade` with the newer curtsy ends it, with "
                "this one it takes it back."
            )
            return
        works = f"works only with programs of schema {oldest} or newer"
        super().__init__(
            f"The database has schema {found}, which {works}, and {program}. Install the curtsy "
            "that upgraded the database, or restore the backup that was made before the upgrade."
        )


class UpgradeWaits(CurtsyError):
    """The schema cannot be upgraded now. The database works as before."""

    code = "upgrade_waits"


class BadSetting(CurtsyError):
    code = "bad_setting"
