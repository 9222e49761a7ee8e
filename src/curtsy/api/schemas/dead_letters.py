"""Dead letters, as they are asked for and shown."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from curtsy.api.schemas.pages import Attempt, attempt_of
from curtsy.clock import rfc3339
from curtsy.errors import BadRequest
from curtsy.jobs import LetterSelection, Settled
from curtsy.jobs.dead_letters import Group
from curtsy.jobs.dead_letters import Letter as StoredLetter
from curtsy.jobs.pages import Attempt as StoredAttempt
from curtsy.model.failure_kinds import RULES, Family, Kind
from curtsy.model.jobs import page_name
from curtsy.requests import examples

State = Literal["open", "retried", "resolved"]
LARGEST_ID = 2**62


class Letter(BaseModel):
    id: int
    page_id: str
    url: str
    source: str
    kind: Kind
    family: Family
    error: str
    attempts: int
    """How often the page was tried before it was given up."""
    retries: int
    """How often somebody had it tried again since."""
    state: State
    created_at: str


class LetterStory(Letter):
    traceback: str | None = None
    history: list[Attempt]
    """All attempts at the page, the newest first."""


class LetterGroup(BaseModel):
    """Open letters with one cause."""

    kind: Kind
    family: Family
    means: str
    retried: bool
    """Whether this kind is tried again by itself before it is given up."""
    count: int
    count_is_capped: bool
    newest: Letter


class LetterList(BaseModel):
    groups: list[LetterGroup]
    letters: list[Letter]
    limit: int
    next_cursor: str | None = None


class Which(BaseModel):
    """Which open letters are meant: those that fit everything that is said."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra=examples.shown(examples.LETTERS_PREVIEWED, examples.LETTERS_DONE),
    )

    ids: list[int] | None = Field(None, min_length=1, max_length=1_000)
    kind: str | None = None
    source: str | None = Field(None, max_length=300)
    all: bool = False
    preview: bool = True
    """Only say how many there are. Send `false` to have it done."""

    @model_validator(mode="after")
    def _says_which(self) -> "Which":
        if self.ids is not None and (self.kind or self.source or self.all):
            raise ValueError("say either ids, or kind and source, or all")
        if self.ids is None and not (self.kind or self.source or self.all):
            raise ValueError("say which: ids, kind, source, or all")
        if self.ids is not None and not all(0 < i < LARGEST_ID for i in self.ids):
            raise ValueError("an id is not one of a dead letter")
        return self


class SettledLetters(BaseModel):
    preview: bool
    letters: int
    """That were settled; in a preview, that would be."""
    letters_is_capped: bool = False
    pages: int = 0
    """That wait again."""
    jobs: int = 0
    """That were opened again."""
    left: int = 0
    """Letters that are still to be done: ask again. Counted up to 10,000."""
    groups: list[LetterGroup] = Field(default_factory=list)


def meant(which: Which) -> LetterSelection:
    if which.kind is not None and which.kind not in list(Kind):
        raise BadRequest([f"There is no kind {which.kind[:100]!r}."])
    return LetterSelection(which.ids, which.kind, which.source)


def settled(done: Settled, left: int = 0) -> SettledLetters:
    return SettledLetters(preview=False, letters=done.letters, pages=done.pages, jobs=done.jobs,
                          left=left)  # fmt: skip


def shown(row: StoredLetter) -> Letter:
    return Letter(**_fields(row))


def story_of(row: StoredLetter, attempts: list[StoredAttempt]) -> LetterStory:
    history = [attempt_of(attempt) for attempt in attempts]
    return LetterStory(**_fields(row), traceback=row.traceback, history=history)


def group_of(group: Group) -> LetterGroup:
    rule = RULES[group.kind]
    return LetterGroup(
        kind=group.kind, family=rule.family, means=rule.means, retried=rule.retried,
        count=group.count.number, count_is_capped=group.count.capped, newest=shown(group.newest),
    )  # fmt: skip


def _fields(row: StoredLetter) -> dict[str, Any]:
    return {
        "id": row.id, "page_id": page_name(row.page_id), "url": row.url, "source": row.source,
        "kind": row.kind, "family": row.family, "error": row.error, "attempts": row.attempts,
        "retries": row.retries, "state": row.state, "created_at": rfc3339(row.created_at),
    }  # fmt: skip
