"""Figures as Prometheus reads them: its text format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_IN_LABELS = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(slots=True)
class Family:
    """One name, and a value for each set of labels."""

    name: str
    means: str
    kind: Literal["gauge", "counter"] = "gauge"
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)

    def add(self, value: float | None, **labels: str) -> "Family":
        """Of what is not known nothing is said."""
        if value is not None:
            self.samples.append((labels, value))
        return self


def exposition(families: Iterable[Family]) -> str:
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# HELP {family.name} {family.means}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples:
        told = ",".join(f'{k}="{v.translate(_IN_LABELS)}"' for k, v in labels.items())
        yield f"{family.name}{{{told}}} {+value}" if told else f"{family.name} {+value}"
