"""The rules of a crawl in a request body: what is kept, what is followed, and by which scraper."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from curtsy.model.crawl_rules import DEEPEST, CrawlRule, CrawlRules
from curtsy.model.link import MOST_LINK_PARAMS_BYTES
from curtsy.model.options import checked_params
from curtsy.model.page_use import PageUse
from curtsy.model.wildcards import patterns

MOST_PATTERNS = 50
MOST_RULES = 50


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _small(given: dict[str, Any]) -> dict[str, Any]:
    return dict(checked_params(given, MOST_LINK_PARAMS_BYTES))


Pattern = Annotated[str, Field(min_length=1, max_length=500)]
Patterns = Annotated[
    list[Pattern], BeforeValidator(_as_list), Field(default_factory=list, max_length=MOST_PATTERNS)
]


class PageRule(BaseModel):
    """For the pages that match: which scraper reads them, and what becomes of them. The first rule
    that matches a page decides."""

    model_config = ConfigDict(extra="forbid", strict=True)

    match: Patterns
    """URLs: one pattern or several; `*` matches any characters. Without one, all URLs."""
    min_depth: int = Field(0, ge=0, le=DEEPEST)
    max_depth: int = Field(DEEPEST, ge=0, le=DEEPEST)
    scraper: str | None = Field(None, min_length=1, max_length=200)
    """Default: the spider of the crawl."""
    params: Annotated[dict[str, Any], AfterValidator(_small)] = Field(
        default_factory=dict, max_length=100
    )
    """Passed to the scraper, beside the arguments of the crawl."""
    keep: bool = True
    """The page is a result."""
    follow: bool = True
    """Its links are followed, as far as `depth` and `scope` allow."""

    @model_validator(mode="after")
    def _check_depths(self) -> Self:
        if self.min_depth > self.max_depth:
            raise ValueError("min_depth is larger than max_depth: no page can match")
        return self

    def parsed(self) -> CrawlRule:
        uses = PageUse.KEPT * self.keep | PageUse.FOLLOWED * self.follow
        return CrawlRule(patterns(self.match), self.min_depth, self.max_depth, self.scraper,
                         self.params, PageUse(uses))  # fmt: skip


def crawl_rules(rules: list[PageRule], *, keep: list[str], follow: list[str]) -> CrawlRules:
    return CrawlRules(tuple(rule.parsed() for rule in rules), patterns(keep), patterns(follow))
