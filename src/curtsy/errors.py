"""Errors that someone must act on. Each builds its own sentence and carries a stable code.

CurtsyError
├── Refused            what was asked for cannot be done; the request is at fault
│   ├── BadRequest     wrong from the start: says every problem at once
│   ├── NotFound       no such thing
│   ├── WrongState     not in the state it is in now
│   ├── KeyNeeded      nobody says who asks, or with a key that does not hold
│   └── NotAllowed     not to this one, or not from there
├── OverLimit          a limit is reached; later it may work
├── StoreAway          the database cannot be reached; nothing was lost
├── StoreFull          the disk is full; nothing was lost
├── WrongSchema        the database has another schema than this program
└── BadSetting         a setting has no usable value
"""


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

    def __init__(self, name: str, state: str, asked: str) -> None:
        super().__init__(f"{name} is {state}: it cannot be {asked}.")


class KeyNeeded(Refused):
    """One sentence for all keys that do not hold: which of them once did is nobody's business."""

    code = "key_needed"

    def __init__(self) -> None:
        super().__init__("This needs a key that holds, as `Authorization: Bearer curtsy_…`.")


class NotAllowed(Refused):
    code = "not_allowed"


class OverLimit(CurtsyError):
    code = "over_limit"

    def __init__(self, sentence: str, retry_after_seconds: int = 60) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(sentence)


class StoreAway(CurtsyError):
    code = "store_away"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database does not answer ({reason}). What was acknowledged is kept; try again."
        )


class StoreFull(CurtsyError):
    code = "store_full"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database's disk is full ({reason}). What was acknowledged is kept; "
            "free some space and try again."
        )


class WrongSchema(CurtsyError):
    code = "wrong_schema"

    def __init__(self, found: str | None, wanted: str) -> None:
        self.found, self.wanted = found, wanted
        super().__init__(
            f"The database has schema {found or 'none'}, this program needs {wanted}. "
            "Run `curtsy db upgrade`"
            + (" with the newest curtsy that uses this database." if found else ".")
        )


class BadSetting(CurtsyError):
    code = "bad_setting"
