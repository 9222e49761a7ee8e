"""The text format of Prometheus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(slots=True)
class Family:
    """One metric, with a value for each set of labels."""

    name: str
    help: str
    kind: Literal["gauge", "counter", "histogram"] = "gauge"
    samples: list[tuple[str, Mapping[str, str], float]] = field(default_factory=list)
    """Name, labels and value; the samples of a histogram have names of their own."""

    def add(self, value: float | None, **labels: str) -> "Family":
        """Ignores None: an unknown value has no sample."""
        if value is not None:
            self.samples.append((self.name, labels, value))
        return self

    def add_histogram(
        self, bounds: Sequence[float], counts: Sequence[int], total: float, **labels: str
    ) -> "Family":
        """Adds a histogram: the upper bounds of its buckets, how many values each bucket has (the
        last one has those above all bounds), and the sum of the values."""
        names = [f"{bound:g}" for bound in bounds] + ["+Inf"]
        for name, number in zip(names, accumulate(counts), strict=True):
            self.samples.append((f"{self.name}_bucket", labels | {"le": name}, number))
        self.samples.append((f"{self.name}_sum", labels, total))
        self.samples.append((f"{self.name}_count", labels, sum(counts)))
        return self


def exposition(families: Iterable[Family]) -> str:
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for name, labels, value in family.samples:
        pairs = ",".join(f'{k}="{v.translate(_LABEL_ESCAPES)}"' for k, v in labels.items())
        yield f"{name}{{{pairs}}} {+value}" if pairs else f"{name} {+value}"
