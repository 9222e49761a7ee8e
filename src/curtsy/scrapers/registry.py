"""The user's own scrapers that a process knows besides the built-in ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OwnScrapers:
    """Names and files of own scrapers, as an inspection found them; their code is not loaded."""

    files: tuple[str, ...] = ()
    docs: Mapping[str, str] = field(default_factory=dict)
    """The first line of each scraper's docstring, by name."""

    data: tuple[str, ...] = ()
    """Files and folders that these scrapers may read besides code."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.docs)
