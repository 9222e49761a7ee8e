"""The rules of a crawl: the first that applies decides, and what is stored reads back the same."""

from collections.abc import Sequence

import pytest

from curtsy.model.crawl_rules import CrawlRule, CrawlRules
from curtsy.model.page_use import ORDINARY, PageUse, is_followed, is_kept
from curtsy.model.wildcards import patterns

SHOP = CrawlRules(
    rules=(
        CrawlRule(patterns(["*/login*"]), uses=PageUse(0)),
        CrawlRule(patterns(["*/p/*"]), scraper="product", params={"a": 1}, uses=PageUse.KEPT),
        CrawlRule(min_depth=1, max_depth=2, uses=PageUse.FOLLOWED),
    ),
    keep=patterns(["*/about"]),
    follow=patterns(["*/shop/*"]),
)


@pytest.mark.parametrize(
    ("url", "depth", "scraper", "uses"),
    [
        ("http://a.example/p/login", 1, None, PageUse(0)),
        ("http://a.example/p/7", 0, "product", PageUse.KEPT),
        ("http://a.example/p/7", 9, "product", PageUse.KEPT),
        ("http://a.example/list", 1, None, PageUse.FOLLOWED),
        ("http://a.example/list", 2, None, PageUse.FOLLOWED),
        ("http://a.example/list", 3, None, PageUse(0)),
        ("http://a.example/about", 0, None, PageUse.KEPT),
        ("http://a.example/shop/1", 3, None, PageUse.FOLLOWED),
        ("http://a.example/shop/1/about", 0, None, ORDINARY),
    ],
)
def test_the_first_rule_that_applies_decides(
    url: str, depth: int, scraper: str | None, uses: PageUse
) -> None:
    rule = SHOP.rule_for(url, depth)
    assert (rule.scraper, rule.uses) == (scraper, uses)


def test_without_rules_every_page_is_kept_and_followed() -> None:
    rule = CrawlRules().rule_for("http://a.example/", 7)
    assert (rule.scraper, rule.params, rule.uses) == (None, {}, ORDINARY)
    assert is_kept(rule.uses)
    assert is_followed(rule.uses)


@pytest.mark.parametrize("rules", [SHOP, CrawlRules()])
def test_what_is_stored_reads_back_the_same(rules: CrawlRules) -> None:
    assert CrawlRules.from_json(rules.to_json()) == rules


def test_a_crawl_without_rules_stores_none() -> None:
    assert CrawlRules().to_json() is None


@pytest.mark.parametrize("given", [["*/%7Euser/*"], ["*/a b"]])
def test_patterns_are_compared_in_the_spelling_of_canonical_urls(given: Sequence[str]) -> None:
    rules = CrawlRules(rules=(CrawlRule(patterns(given), scraper="x"),))
    urls = ("http://a.example/~user/1", "http://a.example/a%20b")
    assert [rules.rule_for(url, 0).scraper for url in urls].count("x") == 1
