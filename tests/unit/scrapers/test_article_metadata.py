"""What a page says of its article, from the many places where it can say it."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from curtsy.scrapers.articles.dates import LARGEST_SEARCHED, searched_date
from curtsy.scrapers.articles.extraction import extract

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages
URL = "http://a.example/x"
PUBLISHED = '<meta property="article:published_time" content="2025-03-04T10:00:00Z">'
WITH_SITE = """<meta property="og:title" content="A plan | Paper">
<meta property="og:site_name" content="Paper">"""
TEXT = "".join(
    f"<p>In part {n} the council met and agreed, after a long debate about the costs, on a plan "
    "for the harbour that will change the river bank for many years to come.</p>"
    for n in range(12)
)


def parts(head: str = "", body: str = "", url: str = URL, html: str = "<html>") -> dict[str, Any]:
    page = f"{html}<head>{head}</head><body>{body}<article>{TEXT}</article></body></html>"
    return extract(page, url).parts


def ld(**members: Any) -> str:
    thing = {"@context": "https://schema.org", "@type": "NewsArticle"} | members
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ('<meta property="og:title" content="A plan"><title>B</title>', "", "A plan"),
        (WITH_SITE, "", "A plan"),
        (WITH_SITE.replace("| Paper", "| Paper Politics"), "", "A plan"),
        (WITH_SITE.replace("| Paper", "-- Other.example"), "", "A plan"),
        (WITH_SITE.replace("| Paper", "| Why it is made"), "", "A plan | Why it is made"),
        (ld(headline="A plan"), "", "A plan"),
        ("<title>Paper - A much longer plan</title>", "<h1>A  plan</h1>", "A plan"),
        ("<title>A much longer plan | Paper</title>", "", "A much longer plan"),
        ("<title>A plan</title>", "<h1></h1>", "A plan"),
        ("", "<h1>a</h1><h1>b</h1><p class=post-title>A plan</p>", "A plan"),
        ("", "", None),
    ],
)  # fmt: skip
def test_the_title_is_found(head: str, body: str, title: str | None) -> None:
    assert parts(head, body)["title"] == title


@pytest.mark.parametrize(
    ("head", "body", "byline"),
    [
        ('<meta name="author" content="Ann Lee">', "", "Ann Lee"),
        ('<meta name="author" content="By Ann Lee and Bo Ek">', "", "Ann Lee; Bo Ek"),
        ('<meta name="author" content="Ann Lee, Bo Ek, and Cy Yd">', "", "Ann Lee; Bo Ek; Cy Yd"),
        ('<meta name="author" content="Ann andersson">', "", "Ann andersson"),
        ('<meta property="article:author" content="https://a.example/ann">', "", None),
        (ld(author={"@type": "Person", "name": "Ann Lee"}), "", "Ann Lee"),
        (ld(author=[{"name": "Ann Lee"}, {"name": "Bo Ek"}]), "", "Ann Lee; Bo Ek"),
        (ld(author="Ann Lee"), "", "Ann Lee"),
        (ld(author={"@type": "Organization", "name": "The Paper"}), "", None),
        (ld(author={"name": "Paper"}, publisher={"name": "Paper"}), "", None),
        (ld(author={"name": ["Ann Lee"]}), "", "Ann Lee"),
        ("", "<span class=byline>By Ann Lee</span>", "Ann Lee"),
        ("", "<a rel=author href=/ann>Ann Lee</a>", "Ann Lee"),
        ("", "<div id=comments><span class=author>Troll</span></div>", None),
        ("", "<div class=author-bio>Ann Lee writes about harbours.</div>", None),
    ],
)  # fmt: skip
def test_the_authors_are_persons(head: str, body: str, byline: str | None) -> None:
    assert parts(head, body)["byline"] == byline


@pytest.mark.parametrize(
    ("head", "body", "url", "date"),
    [
        (PUBLISHED, "", URL, "2025-03-04"),
        (ld(datePublished="2025-03-04T23:00:00Z"), "", f"{URL}/2025/03/05/x", "2025-03-05"),
        (ld(datePublished="2025-03-04"), "", URL, "2025-03-04"),
        (ld(datePublished="2025-03-04T02:00:00Z"), "", f"{URL}/2025/3/3/x", "2025-03-03"),
        ("", "<time datetime='2025-03-04'>yesterday</time>", URL, "2025-03-04"),
        ("", "<time>4 March 2025</time>", URL, "2025-03-04"),
        ("", "<span class=date>March 4th, 2025</span>", URL, "2025-03-04"),
        ("", "<span class=date>4. März 2025</span>", URL, "2025-03-04"),
        ("", "<span class=date>4 de marzo de 2025</span>", URL, "2025-03-04"),
        ("", "<span class=date>4 марта 2025</span>", URL, "2025-03-04"),
        ("", "<span class=date>2025年3月4日</span>", URL, "2025-03-04"),
        ("", "<span class=date>04.03.2025</span>", URL, "2025-03-04"),
        ("", "<span class=date>31 February 2025</span>", URL, "2025-01-01"),  # the year alone
        ("", "<span class=date>4 March 2999</span>", URL, None),
    ],
)  # fmt: skip
def test_the_day_of_publication_is_found(head: str, body: str, url: str, date: str | None) -> None:
    assert parts(head, body, url)["date"] == date


def test_what_costs_nothing_is_in_the_record() -> None:
    found = parts(
        '<meta property="og:image" content="/i.png"><link rel=canonical href="/y">'
        '<meta name=keywords content="harbour, plans,harbour">'
        '<meta name=description content=" A  b ">'
        '<meta property="og:site_name" content="Paper">', html='<html lang="pt-BR">',
    )  # fmt: skip
    assert found["image"] == "http://a.example/i.png"
    assert found["canonical_url"] == "http://a.example/y"
    assert found["tags"] == ["harbour", "plans"]
    assert found["description"] == "A b"
    assert found["site"] == "Paper"
    assert found["language"] == "pt"


@pytest.mark.parametrize(
    "data",
    ["{", "[]", "null", '{"@graph": 1}', '{"@type": {}}', '{"@type": "Article", "author": 7}',
     '{"@type": ["Article"], "author": [[[]]], "headline": 3}',
     '{"@type": "Article", "@graph": [[1]]}'],
)  # fmt: skip
def test_odd_data_are_no_harm(data: str) -> None:
    found = parts(f'<title>T</title><script type="application/ld+json">{data}</script>')
    assert found["title"] == "T"
    assert found["byline"] is None


def test_data_with_line_breaks_in_strings_are_read() -> None:
    data = '<!-- {"@type": "Article", "headline": "A\n plan"} -->'
    assert parts(f'<script type="application/ld+json">{data}</script>')["title"] == "A plan"


def test_the_day_of_a_quoted_post_is_not_the_articles() -> None:
    quoted = '<blockquote><time datetime="2018-03-12">then</time></blockquote>'
    assert parts(body=f'{quoted}<p class="date">4 March 2025</p>')["date"] == "2025-03-04"


def test_a_day_in_a_footer_comes_before_days_of_the_text() -> None:
    told = "<p>The law was passed on 19.02.2001 and <a href=/2008/12/09/x>mended</a> later.</p>"
    footer = "<footer><time itemprop=datePublished datetime='2019-05-15'>then</time></footer>"
    assert parts(body=f"<div>{told}{footer}</div>")["date"] == "2019-05-15"


def test_a_day_in_a_script_is_found() -> None:
    script = "<script>ga('set', 'day', '2019-05-15 11:30')</script>"
    assert parts(body=script)["date"] == "2019-05-15"


def test_a_year_is_the_first_of_january_if_it_is_past() -> None:
    this_year = datetime.now(UTC).year
    assert parts(body="<footer>© 2016 Paper</footer>")["date"] == "2016-01-01"
    assert parts(body=f"<footer>© {this_year} Paper</footer>")["date"] is None


def test_a_large_page_is_searched_without_its_scripts() -> None:
    script = f"<script>{'x = 1;' * (LARGEST_SEARCHED // 6 + 1)}</script>"
    assert parts(body=f"{script}<p>Updated: 2019-05-15</p>")["date"] == "2019-05-15"
    assert searched_date(f"{script}2019-05-15", URL, date(2025, 1, 1)) is None
