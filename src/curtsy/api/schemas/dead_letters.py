"""Dead letters: requests that select them, and responses that show them."""

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
from curtsy.model.job_states import page_name
from curtsy.requests import examples

State = Literal["open", "retried", "resolved"]
LARGEST_ID = 2**62


class Letter(BaseModel):
    """A page that failed for good."""

    id: int
    page_id: str
    url: str
    source: str
    kind: Kind
    family: Family
    error: str
    attempts: int
    """How often the page was requested before it was given up, robots.txt not counted. 0: its host
    was given up first."""
    retries: int
    """How often the dead letter was retried since."""
    final: bool
    """A retry cannot help, although failures of this kind usually pass: the host's name does not
    exist. The duty `dead_letters` leaves the letter alone."""
    times: int
    """How often the page was given up since the letter was opened, as by each run of a schedule."""
    state: State
    created_at: str
    last_failed_at: str
    """When the page was given up last; kind, error, attempts and traceback are of that time."""


class LetterStory(Letter):
    """A dead letter with the history of its page."""

    traceback: str | None = None
    history: list[Attempt]
    """All attempts at the page, the newest first."""


class LetterGroup(BaseModel):
    """Open dead letters with the same cause."""

    kind: Kind
    family: Family
    means: str
    retried: bool
    """Whether failures of this kind are retried automatically; false also if all these are final.
    """
    final: int
    """How many of them are final."""
    count: int
    count_is_capped: bool
    newest: Letter


class LetterList(BaseModel):
    groups: list[LetterGroup]
    letters: list[Letter]
    limit: int
    next_cursor: str | None = None


class Which(BaseModel):
    """Selects the open dead letters that match all given fields."""

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
    """True: only count the letters. Send `false` to change them."""

    @model_validator(mode="after")
    def _require_selection(self) -> "Which":
        if self.ids is not None and (self.kind or self.source or self.all):
            raise ValueError("send either ids, or kind and source, or all")
        if self.ids is None and not (self.kind or self.source or self.all):
            raise ValueError("select letters by ids, kind, source, or all")
        if self.ids is not None and not all(0 < i < LARGEST_ID for i in self.ids):
            raise ValueError("an id is not that of a dead letter")
        return self


class SettledLetters(BaseModel):
    """What a retry or resolve changed, or with `preview` would change."""

    preview: bool
    letters: int
    """Letters that were changed; in a preview, that would be changed."""
    letters_is_capped: bool = False
    pages: int = 0
    """Pages that were queued again."""
    jobs: int = 0
    """Jobs that were reopened."""
    resolved: int = 0
    """Letters that were resolved; of a retry, those whose pages no job wants any more."""
    left: int = 0
    """Letters still to be changed: send the request again. Counted up to 10,000."""
    groups: list[LetterGroup] = Field(default_factory=list)


def selection_of(body: Which) -> LetterSelection:
    if body.kind is not None and body.kind not in list(Kind):
        raise BadRequest([f"There is no kind {body.kind[:100]!r}."])
    return LetterSelection(body.ids, body.kind, body.source)


def settled(done: Settled, left: int = 0) -> SettledLetters:
    return SettledLetters(preview=False, letters=done.letters, pages=done.pages, jobs=done.jobs,
                          resolved=done.resolved, left=left)  # fmt: skip


def letter_of(row: StoredLetter) -> Letter:
    return Letter(**_fields(row))


def story_of(row: StoredLetter, attempts: list[StoredAttempt]) -> LetterStory:
    history = [attempt_of(attempt) for attempt in attempts]
    return LetterStory(**_fields(row), traceback=row.traceback, history=history)


def own_story_of(row: StoredLetter, attempts: list[StoredAttempt], since: int) -> LetterStory:
    """The letter for a caller who first requested its page at `since`."""
    history = [
        attempt_of(attempt).model_copy(update={"worker": None, "traceback": None})
        for attempt in attempts if attempt.ended_at >= since
    ]  # fmt: skip
    return LetterStory(**_fields(row), history=history)


def group_of(group: Group) -> LetterGroup:
    rule = RULES[group.kind]
    return LetterGroup(
        kind=group.kind, family=rule.family, means=rule.means,
        retried=rule.retried and group.final < group.count.number, final=group.final,
        count=group.count.number, count_is_capped=group.count.capped,
        newest=letter_of(group.newest),
    )  # fmt: skip


def _fields(row: StoredLetter) -> dict[str, Any]:
    return {
        "id": row.id, "page_id": page_name(row.page_id), "url": row.url, "source": row.source,
        "kind": row.kind, "family": row.family, "error": row.error, "attempts": row.attempts,
        "retries": row.retries, "final": row.final, "times": row.times, "state": row.state,
        "created_at": rfc3339(row.created_at), "last_failed_at": rfc3339(row.last_failed_at),
    }  # fmt: skip
