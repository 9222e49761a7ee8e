"""The place of a worker among the processes of one command."""

import re
from dataclasses import dataclass

_FORM = re.compile(r"([1-9][0-9]{0,3}) of ([1-9][0-9]{0,3}) under ([1-9][0-9]{0,9})")
_BEHIND = "; process "


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """As text: `2 of 4 under 812`."""

    number: int
    processes: int
    """How many workers the command runs."""
    supervisor: int
    """The process id of the command."""

    def __str__(self) -> str:
        return f"{self.number} of {self.processes} under {self.supervisor}"


def parse_place(text: str) -> WorkerPlace | None:
    found = _FORM.fullmatch(text)
    return WorkerPlace(*map(int, found.groups())) if found else None


def program_with_place(program: str, place: WorkerPlace | None) -> str:
    """The text of a worker's program as its row has it, for display."""
    return program if place is None else f"{program}{_BEHIND}{place}"


def split_program(text: str) -> tuple[str, WorkerPlace | None]:
    """Splits the text of a worker's row into its program and its place."""
    program, _, place = text.partition(_BEHIND)
    return program, parse_place(place)
