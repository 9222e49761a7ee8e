"""Pages that are made to be slow: the time grows with the size of the page, and no faster."""

import time

import pytest

from curtsy.scrapers.articles.extraction import extract
from curtsy.scrapers.depth_check import FEW_TAGS, is_too_deep
from support.hostile_pages import SHAPES

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages
SMALL, DOUBLED = 1_500, 3
MOST_GROWTH = 24
"""Of eight times the page: linear is 8, and quadratic 64."""
TOO_SHORT_TO_MEASURE = 0.02


def spent(page: str) -> float:
    began = time.process_time()
    extract(page, "http://a.example/2025/03/04/x")
    return time.process_time() - began


@pytest.mark.parametrize("shape", SHAPES)
def test_eight_times_the_page_takes_about_eight_times_as_long(shape: str) -> None:
    small, large = SHAPES[shape](SMALL), SHAPES[shape](SMALL << DOUBLED)
    before, after = (min(spent(page) for _ in range(3)) for page in (small, large))
    assert after < MOST_GROWTH * max(before, TOO_SHORT_TO_MEASURE), (before, after)


@pytest.mark.parametrize(
    "hidden",
    ["<div>", "<div><!--</div>-->", "<div a='</div>'>", '<div a="</div>">', "<DIV>",
     "<b><script></b></script>",
     "<div ='><div></div>", "<x-y>", "<ul><li>", "<span><title></span></title>"],
)  # fmt: skip
def test_depth_is_seen_whatever_hides_it(hidden: str) -> None:
    assert is_too_deep(hidden * FEW_TAGS)


@pytest.mark.parametrize(
    "flat",
    ["<div></div>", "<p>a", "<li>a", "<br>", "<DIV></div>", "<tr><td>a", "<!--<div>-->",
     "<script>'<div>'</script>", "<img src='>'>", "<option>a"],
)  # fmt: skip
def test_a_long_page_is_not_a_deep_one(flat: str) -> None:
    assert not is_too_deep(flat * FEW_TAGS)
