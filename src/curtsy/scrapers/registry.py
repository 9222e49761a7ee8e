"""Which scrapers a process knows: those built in, and those of your own that it was told of."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OwnScrapers:
    """Found by an inspection; nothing of them is loaded."""

    files: tuple[str, ...] = ()
    docs: Mapping[str, str] = field(default_factory=dict)
    """The first line of what each says of itself, by name."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.docs)
