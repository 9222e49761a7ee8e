"""What a page says of its article: authors, topics, pictures, addresses, instants."""

import json
from typing import Any

import pytest

from curtsy.scrapers.articles.extraction import NOTHING, extract
from curtsy.scrapers.depth_check import is_too_deep

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages
URL = "http://paper.example/2025/03/04/harbour"
TEXT = "".join(
    f"<p>In part {n} the council met and agreed, after a long debate about the costs, on a plan "
    "for the harbour that will change the river bank for many years to come.</p>"
    for n in range(12)
)


def parts(head: str = "", body: str = "", inside: str = "") -> dict[str, Any]:
    page = f"<html lang=en><head>{head}</head><body>{body}<article>{inside}{TEXT}</article></body>"
    return extract(page, URL).parts


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


def ld(**members: Any) -> str:
    thing = {"@context": "https://schema.org", "@type": "NewsArticle"} | members
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


@pytest.mark.parametrize(
    ("head", "body", "authors"),
    [
        (meta("author", "By Ann Lee and Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (meta("author", "Von Ann Lee und Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (meta("author", "Par Ann Lee et Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (meta("author", "Ann Lee y Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (meta("author", "Ann Lee e Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (meta("author", "José Ortega y Gasset"), "", ["José Ortega y Gasset"]),
        (meta("author", "Ann Lee") + meta("author", "Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (meta("author", "Ann Lee, ANN LEE, ann lee"), "", ["Ann Lee"]),
        (meta("author", "Ann Lee, Senior Reporter, and Bo Ek"), "", ["Ann Lee", "Bo Ek"]),
        (ld(author="Ann Lee, AP Sports Writer"), "", ["Ann Lee"]),
        (meta("author", "Ann Lee, PhD, RD, Paper.com"), "", ["Ann Lee"]),
        (meta("author", "Analysis by Ann Lee"), "", ["Ann Lee"]),
        (meta("author", "Reporter Ann Lee"), "", ["Ann Lee"]),
        (meta("author", "Ann Lee, Redakteurin"), "", ["Ann Lee"]),
        (meta("citation_author", "Lee, Ann") + meta("citation_author", "Ek, Bo"), "",
         ["Ann Lee", "Bo Ek"]),
        (ld(author=["Ann Lee", {"@type": "Person", "name": "Bo Ek"}]), "", ["Ann Lee", "Bo Ek"]),
        (ld(author={"name": "Ann Lee and Bo Ek"}), "", ["Ann Lee", "Bo Ek"]),
        ("", "<p class=byline>By Ann Lee, Bo Ek and Cy Yd, 4 March 2025</p>",
         ["Ann Lee", "Bo Ek", "Cy Yd"]),
        ("", "<p class=byline>By Ann Lee Monday, November 18, 2019</p>", ["Ann Lee"]),
        ("", "", []),
    ],
)  # fmt: skip
def test_authors_are_a_list_of_persons(head: str, body: str, authors: list[str]) -> None:
    found = parts(head, body)
    assert found["authors"] == authors
    assert found["byline"] == ("; ".join(authors) or None)


@pytest.mark.parametrize(
    ("head", "inside", "tags"),
    [
        (meta("article:tag", "Harbour") + meta("article:tag", "Ships, old"), "",
         ["Harbour", "Ships, old"]),
        (meta("article:tag", "Harbour, Ships"), "", ["Harbour", "Ships"]),
        (ld(keywords="harbour, ships; Harbour"), "", ["harbour", "ships"]),
        (ld(keywords=["harbour", {"name": "ships"}]), "", ["harbour", "ships"]),
        (meta("news_keywords", "harbour,#ships, "), "", ["harbour", "ships"]),
        (meta("keywords", "港、船"), "", ["港", "船"]),
        (meta("keywords", "@river,_none,/article,ships"), "", ["ships"]),
        ("", "<p>On <a rel=tag href=/t/h>Harbour</a> <a rel='nofollow tag' href=/t/s>Ships</a></p>",
         ["Harbour", "Ships"]),
        (meta("keywords", ",,;"), "", []),
    ],
)  # fmt: skip
def test_tags_are_those_of_the_first_place_that_states_any(
    head: str, inside: str, tags: list[str]
) -> None:
    assert parts(head, inside=inside)["tags"] == tags


def trail(*names: str) -> str:
    steps = [{"position": n, "item": {"name": name}} for n, name in enumerate(names, 1)]
    return ld(**{"@type": "BreadcrumbList", "itemListElement": steps[::-1]})


@pytest.mark.parametrize(
    ("head", "section"),
    [
        (meta("article:section", " Local  news "), "Local news"),
        (ld(articleSection="Sport"), "Sport"),
        (ld(articleSection=["Sport", "Rowing"]), "Sport"),
        ("<title>Plan</title>" + trail("Home", "Sport", "Rowing", "Plan"), "Sport"),
        ("<title>Plan</title>" + trail("Startseite", "Plan"), None),
        (meta("og:site_name", "Paper") + "<title>Plan</title>" + trail("Paper", "Sport"), "Sport"),
        ("", None),
    ],
)
def test_the_section_is_stated_or_a_step_of_the_trail(head: str, section: str | None) -> None:
    assert parts(head)["section"] == section


@pytest.mark.parametrize(
    ("head", "inside", "image"),
    [
        (meta("og:image", "/i.jpg"), "", "http://paper.example/i.jpg"),
        (meta("og:image", "//cdn.example/i.jpg"), "", "http://cdn.example/i.jpg"),
        (meta("twitter:image", "https://cdn.example/i.jpg"), "", "https://cdn.example/i.jpg"),
        (meta("og:image", "/static/logo.png") + meta("twitter:image", "/i.jpg"), "",
         "http://paper.example/i.jpg"),
        (meta("og:image", "/img/paper-logo-1200x630.png"), "", None),
        (meta("og:image", "/img/alibaba-logo-getty-1024.jpg"), "",
         "http://paper.example/img/alibaba-logo-getty-1024.jpg"),
        (meta("og:image", "data:image/png;base64,AAAA"), "", None),
        (meta("og:image", "javascript:alert(1)"), "", None),
        (meta("og:image", "ftp://paper.example/i.jpg"), "", None),
        (ld(image="/i.jpg"), "", "http://paper.example/i.jpg"),
        (ld(image=["/i.jpg", "/j.jpg"]), "", "http://paper.example/i.jpg"),
        (ld(image={"@type": "ImageObject", "url": "/i.jpg"}), "", "http://paper.example/i.jpg"),
        (ld(image=[{"contentUrl": "/i.jpg"}]), "", "http://paper.example/i.jpg"),
        ("", "<img src=/pixel.gif><img src=/s.jpg width=40><img src=/i.jpg width=600>",
         "http://paper.example/i.jpg"),
        ("", "<img src='data:image/gif;base64,R0' data-src=/i.jpg>", "http://paper.example/i.jpg"),
        ("", "<div class=author><img src=/ann.jpg></div>", None),
        ("", "", None),
    ],
)  # fmt: skip
def test_the_image_is_a_picture_of_the_article(head: str, inside: str, image: str | None) -> None:
    assert parts(head, inside=inside)["image"] == image


@pytest.mark.parametrize(
    ("head", "canonical"),
    [
        ("<link rel=canonical href='/harbour#top'>", "http://paper.example/harbour"),
        ("<link rel=canonical href='https://agency.example/7'>", "https://agency.example/7"),
        (meta("og:url", "/harbour"), "http://paper.example/harbour"),
        ("<link rel=canonical href='javascript:alert(1)'>", None),
        ("<link rel=canonical href='mailto:a@b.example'>", None),
        ("<link rel=canonical href='http://user:secret@paper.example/'>", None),
        ("<link rel=canonical href='http://['>", None),
        ("", None),
    ],
)
def test_the_canonical_url_is_absolute_and_may_be_another_sites(
    head: str, canonical: str | None
) -> None:
    assert parts(head)["canonical_url"] == canonical


@pytest.mark.parametrize(
    ("head", "published", "modified"),
    [
        (meta("article:published_time", "2025-03-04T10:00:00Z")
         + meta("article:modified_time", "2025-03-05 09:30:00+0100"),
         "2025-03-04T10:00:00+00:00", "2025-03-05T09:30:00+01:00"),
        (ld(datePublished="2025-03-04T10:00:00.123+02:00", dateModified="2025-03-04T11:00"),
         "2025-03-04T10:00:00+02:00", "2025-03-04T11:00:00"),
        (ld(datePublished="2025-03-04"), None, None),
        (meta("article:published_time", "2025-02-31T10:00:00Z"), None, None),
        (meta("article:published_time", "2999-01-01T10:00:00Z"), None, None),
        (meta("article:published_time", "1025-03-04T10:00:00Z"), None, None),
        (meta("article:published_time", "2025-03-04T99:00:00+99:99"), None, None),
    ],
)  # fmt: skip
def test_instants_are_those_that_the_page_states(
    head: str, published: str | None, modified: str | None
) -> None:
    found = parts(head)
    assert (found["published_at"], found["modified_at"]) == (published, modified)


def test_every_record_has_every_field() -> None:
    assert parts().keys() == NOTHING.keys()
    assert extract("", URL).parts.keys() == NOTHING.keys()
    assert extract("<div>" * 5_000, URL).parts.keys() == NOTHING.keys()


def test_both_tiers_state_the_same() -> None:
    head = (
        meta("article:tag", "Harbour") + meta("author", "Ann Lee and Bo Ek")
        + meta("og:image", "/i.jpg") + meta("article:section", "Sport")
        + "<link rel=canonical href=/harbour>" + ld(datePublished="2025-03-04T10:00:00Z")
    )  # fmt: skip
    page = f"<html lang=en><head>{head}</head><body><article>{TEXT}</article>"
    slow = extract(f"<html lang=en><head>{head}</head><body><div><p>Short. It is.</p></div>", URL)
    deep = f"{page}{'<div>' * 5_000}"
    assert is_too_deep(deep)
    fast = extract(page, URL)
    reasons = [each.handed_over for each in (fast, slow, extract(deep, URL))]
    assert reasons[0] is None
    assert None not in reasons[1:]
    of_text = {"text", "markdown"}
    stated = [
        {key: value for key, value in each.parts.items() if key not in of_text}
        for each in (fast, slow, extract(deep, URL))
    ]
    assert stated[0] == stated[1] == stated[2]
    assert stated[0]["authors"] == ["Ann Lee", "Bo Ek"]
