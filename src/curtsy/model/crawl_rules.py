"""The rules of a crawl: which scraper reads a page, whether it is a result, and whether its links
are followed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from curtsy.model.page_use import ORDINARY, PageUse
from curtsy.model.wildcards import Wildcard, patterns

DEEPEST = 32_767
"""No crawl goes so deep."""


@dataclass(frozen=True, slots=True)
class CrawlRule:
    """For the pages that match one of the patterns, at these depths."""

    patterns: tuple[Wildcard, ...] = ()
    """None: all URLs."""
    min_depth: int = 0
    max_depth: int = DEEPEST
    scraper: str | None = None
    """None: that of the crawl."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Passed to the scraper, beside the arguments of the crawl."""
    uses: PageUse = ORDINARY

    def applies(self, url: str, depth: int) -> bool:
        if not self.min_depth <= depth <= self.max_depth:
            return False
        return not self.patterns or any(pattern.matches(url) for pattern in self.patterns)

    def to_json(self) -> dict[str, Any]:
        return {
            "match": [pattern.text for pattern in self.patterns], "min_depth": self.min_depth,
            "max_depth": self.max_depth, "scraper": self.scraper, "params": self.params,
            "uses": int(self.uses),
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(patterns(stored["match"]), stored["min_depth"], stored["max_depth"],
                   stored["scraper"], stored["params"], PageUse(stored["uses"]))  # fmt: skip


@dataclass(frozen=True, slots=True)
class CrawlRules:
    """The first rule that applies decides. Without one, a page is kept if its URL matches a pattern
    of `keep`, and followed if it matches one of `follow`; no patterns match everything."""

    rules: tuple[CrawlRule, ...] = ()
    keep: tuple[Wildcard, ...] = ()
    follow: tuple[Wildcard, ...] = ()

    def rule_for(self, url: str, depth: int) -> CrawlRule:
        """The rule for this canonical URL."""
        for rule in self.rules:
            if rule.applies(url, depth):
                return rule
        return CrawlRule(uses=_if(self.keep, url, PageUse.KEPT)
                         | _if(self.follow, url, PageUse.FOLLOWED))  # fmt: skip

    def to_json(self) -> dict[str, Any] | None:
        """None: there are no rules."""
        if not (self.rules or self.keep or self.follow):
            return None
        return {
            "rules": [rule.to_json() for rule in self.rules],
            "keep": [pattern.text for pattern in self.keep],
            "follow": [pattern.text for pattern in self.follow],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Self:
        if stored is None:
            return cls()
        rules = tuple(map(CrawlRule.from_json, stored["rules"]))
        return cls(rules, patterns(stored["keep"]), patterns(stored["follow"]))


def _if(accepted: Sequence[Wildcard], url: str, use: PageUse) -> PageUse:
    matches = not accepted or any(pattern.matches(url) for pattern in accepted)
    return use if matches else PageUse(0)
