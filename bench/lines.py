"""A line of the table: the measurement, its comparison, and whether the bar was met."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

HEADINGS = ("benchmark", "what", "ours", "beside", "figure", "bar", "")


@dataclass(frozen=True, slots=True)
class Line:
    """`figure` is compared with the bar: a ratio, unless `unit` is another."""

    benchmark: str
    what: str
    ours: str
    beside: str
    figure: float
    bar: float | None = None
    at_least: bool = True
    unit: str = "x"

    @property
    def passed(self) -> bool:
        meets: Callable[[float, float], bool] = operator.ge if self.at_least else operator.le
        return self.bar is None or meets(self.figure, self.bar)

    def cells(self) -> tuple[str, ...]:
        sign = "≥" if self.at_least else "≤"
        bar = "" if self.bar is None else f"{sign} {_number(self.bar)} {self.unit}"
        verdict = "" if self.bar is None else ("pass" if self.passed else "MISS")
        figure = f"{_number(self.figure)} {self.unit}"
        return self.benchmark, self.what, self.ours, self.beside, figure, bar, verdict

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"passed": self.passed}


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def table(lines: Sequence[Line]) -> str:
    rows = [HEADINGS, *(line.cells() for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    padded = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join(line.rstrip() for line in (padded[0], rule, *padded[1:]))
