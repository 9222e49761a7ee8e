"""Articles of many kinds of pages, without names of sites: each holds a text and what is not."""

import pytest

from curtsy.scrapers.articles.extraction import extract

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages
URL = "http://a.example/x"
ENGLISH = [
    f"In part {n} the council met on Tuesday and agreed, after a long debate about the costs, on a "
    f"plan for the harbour that will change the river bank for the next {n + 10} years."
    for n in range(12)
]
SENTENCES = {
    "English": ENGLISH,
    "Chinese": [
        f"市议会第{n}次会议于星期二召开，经过长时间的讨论，最终通过了港口改造计划。" * 2
        for n in range(12)
    ],
    "Japanese": [
        f"市議会は火曜日に第{n}回の会議を開き、長い議論の末に港の改修計画を承認しました。" * 3
        for n in range(12)
    ],
    "Arabic": [
        f"اجتمع المجلس للمرة {n} يوم الثلاثاء ووافق بعد نقاش طويل حول التكاليف على خطة الميناء."
        for n in range(15)
    ],
    "Thai": [
        f"สภาเมืองประชุมครั้งที่ {n} และเห็นชอบแผนพัฒนาท่าเรือหลังจากอภิปรายเรื่องค่าใช้จ่ายอย่างยาวนาน"
        for n in range(15)
    ],
    "Russian": [
        f"На заседании {n} совет города после долгого обсуждения расходов принял план гавани."
        for n in range(15)
    ],
}
MENU = "".join(f'<li><a href="/s/{n}">Section {n}</a></li>' for n in range(30))
TEASERS = "".join(
    f'<div class="card"><h3><a href="/n/{n}">Other headline number {n}</a></h3></div>'
    for n in range(20)
)


def paragraphs(sentences: list[str]) -> str:
    return "".join(f"<p>{sentence}</p>" for sentence in sentences)


def page(body: str, head: str = "<title>Harbour</title>") -> str:
    return f"<html><head>{head}</head><body>{body}</body></html>"


BODIES = {
    "an article element": f"<nav>{MENU}</nav><article>{{}}</article>{TEASERS}",
    "a named division": f"<ul>{MENU}</ul><div class='post-content'>{{}}</div><div>{TEASERS}</div>",
    "a body by itemprop": f"<div>{MENU}</div><div itemprop=articleBody>{{}}</div>{TEASERS}",
    "a division without a name": f"<div>{MENU}</div><div><div>{{}}</div></div><div>{TEASERS}</div>",
    "main": f"<div>{MENU}</div><main>{{}}</main><div>{TEASERS}</div>",
    "an old table": f"<table><tr><td><ul>{MENU}</ul></td><td>{{}}</td></tr></table>",
    "a form around all": f"<form><div>{MENU}</div><div id=ctl00>{{}}</div></form>",
    "hidden until a script runs": "<div style='display: none'><article>{}</article></div>",
    "words that usually mean noise": "<div class='has-sidebar share-page'><div>{}</div></div>",
    "comments after it": "<article>{}</article><div id=comments>"
    + "<div class=comment><p>I do not agree with the plan, not at all.</p></div>" * 5
    + "</div>",
    "related stories in it": "<article>{}<div class='related-stories'><p>Read this other story "
    f"about the bridge.</p></div>{TEASERS}</article>",
}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("language", SENTENCES)
def test_the_whole_text_is_found_and_nothing_else(kind: str, language: str) -> None:
    sentences = SENTENCES[language]
    found = extract(page(BODIES[kind].format(paragraphs(sentences))), URL)
    assert found.parts["text"].split("\n") == [" ".join(s.split()) for s in sentences]


def test_such_pages_are_not_handed_over() -> None:
    handed = [
        kind for kind, body in BODIES.items()
        if extract(page(body.format(paragraphs(ENGLISH))), URL).handed_over is not None
    ]  # fmt: skip
    assert handed == []


def test_text_between_line_breaks_is_paragraphs() -> None:
    body = "<br><br>".join(ENGLISH)
    found = extract(page(f"<div>{MENU}</div><div id=story>{body}</div>"), URL)
    assert found.parts["text"].split("\n") == ENGLISH


def test_a_forum_keeps_more_than_its_first_post() -> None:
    posts = "".join(f"<div class=post><p>{sentence}</p></div>" for sentence in ENGLISH)
    text = extract(page(f"<div class=thread>{posts}</div>"), URL).parts["text"]
    assert sum(sentence in text for sentence in ENGLISH) >= 10


def test_a_recipe_keeps_its_lists() -> None:
    items = "".join(f"<li>{n} spoons of ingredient {n}</li>" for n in range(8))
    steps = "".join(f"<li>{sentence}</li>" for sentence in ENGLISH)
    body = f"<article><h1>Soup</h1><p>{ENGLISH[0]}</p><ul>{items}</ul><ol>{steps}</ol></article>"
    markdown = extract(page(body), URL).parts["markdown"]
    assert "- 3 spoons of ingredient 3\n- 4 spoons" in markdown
    assert f"12. {ENGLISH[11]}" in markdown


def test_documentation_keeps_headings_code_and_tables() -> None:
    body = (
        f"<main><h1>Tool</h1><p>{ENGLISH[0]}</p><h2>Install</h2><pre><code>pip install tool\n"
        f"tool --help</code></pre>{paragraphs(ENGLISH[1:])}<h2>Options</h2><table><tr><th>name</th>"
        "<th>use</th></tr><tr><td>-v</td><td>talk</td></tr></table></main>"
    )
    markdown = extract(page(body), URL).parts["markdown"]
    assert "## Install\n\n```\npip install tool\ntool --help\n```" in markdown
    assert "| name | use |\n| --- | --- |\n| -v | talk |" in markdown


def test_a_page_that_only_a_script_fills_has_no_text() -> None:
    assert not extract(page("<div id=root></div><script>start()</script>"), URL).parts["text"]


def test_an_unsure_page_is_handed_over_and_has_its_text() -> None:
    found = extract(page(f"<div><p>{ENGLISH[0]}</p><p>{ENGLISH[1]}</p></div>"), URL)
    assert found.handed_over == "short"
    assert ENGLISH[1] in found.parts["text"]


def test_a_deep_page_is_handed_over() -> None:
    deep = "<div>" * 5_000 + "</div>" * 5_000
    found = extract(page(f"<article>{paragraphs(ENGLISH)}</article>{deep}"), URL)
    assert found.handed_over == "deep"
    assert ENGLISH[5] in found.parts["text"]


def test_a_paragraph_that_follows_itself_and_the_title_are_left_out() -> None:
    again = f"<p>{ENGLISH[-1]}</p>"
    body = f"<article><h1>Harbour</h1>{paragraphs(ENGLISH)}{again}<h2>More</h2></article>"
    markdown = extract(page(body), URL).parts["markdown"]
    assert markdown.count(ENGLISH[-1]) == 1
    assert "Harbour" not in markdown
    assert "More" not in markdown


def test_a_paragraph_that_comes_again_later_is_kept() -> None:
    body = f"<article>{paragraphs(ENGLISH)}<p>{ENGLISH[3]}</p></article>"
    assert extract(page(body), URL).parts["text"].count(ENGLISH[3]) == 2


def test_a_headline_in_other_words_than_the_title_is_no_text() -> None:
    body = f"<article><h1>The port opens again</h1>{paragraphs(ENGLISH)}</article>"
    assert extract(page(body), URL).parts["text"].startswith(ENGLISH[0])


@pytest.mark.parametrize("name", ["popup", "share-word", "related"])
def test_words_within_a_sentence_are_kept_whatever_their_name(name: str) -> None:
    sentence = f'{ENGLISH[0]} It was a <a class="{name}" href="#">conveyancer</a>, they said.'
    body = f"<article>{paragraphs(ENGLISH)}<p>{sentence}</p></article>"
    assert "It was a conveyancer, they said." in extract(page(body), URL).parts["text"]


def test_hidden_words_within_a_sentence_are_left_out() -> None:
    sentence = f'{ENGLISH[0]} It was a <span class="sr-only">unseen</span> debt, they said.'
    body = f"<article>{paragraphs(ENGLISH)}<p>{sentence}</p></article>"
    assert "It was a debt, they said." in extract(page(body), URL).parts["text"]


def test_lines_between_breaks_are_kept_beside_quotations() -> None:
    lines = "<br><br>".join(["A short line of text.", *ENGLISH, "Another short line."])
    body = f"<article>{lines}<blockquote>{paragraphs(ENGLISH[:5])}</blockquote></article>"
    text = extract(page(body), URL).parts["text"]
    assert "A short line of text." in text
    assert "Another short line." in text


def test_the_heading_of_a_list_of_links_goes_with_the_list() -> None:
    links = "".join(f'<li><a href="/n/{n}">Headline number {n}</a></li>' for n in range(5))
    box = f"<h3>On this topic</h3><ul>{links}</ul>"
    body = f"<article>{paragraphs(ENGLISH[:6])}{box}{paragraphs(ENGLISH[6:])}</article>"
    text = extract(page(body), URL).parts["text"]
    assert "On this topic" not in text
    assert ENGLISH[6] in text


def test_a_last_heading_goes_with_its_images() -> None:
    box = '<h3>Gallery</h3><p><img src="/a.png" alt="A"></p><p><img src="/b.png" alt="B"></p>'
    body = f"<article>{paragraphs(ENGLISH)}{box}</article>"
    markdown = extract(page(body), URL).parts["markdown"]
    assert "Gallery" not in markdown
    assert "a.png" not in markdown


def test_a_short_article_by_name_is_not_handed_over() -> None:
    body = f"<article class=story-body>{paragraphs(ENGLISH[:4])}</article>"
    assert extract(page(body), URL).handed_over is None
    elsewhere = paragraphs([f"Other text {n}. {ENGLISH[0]}" for n in range(5)])
    assert extract(page(body + f"<div>{elsewhere}</div>"), URL).handed_over == "short"


def test_a_handed_over_page_keeps_its_links_and_images() -> None:
    linked = f'<p>{ENGLISH[0]} See <a href="/plan">the plan</a>.</p>'
    body = f"<div>{linked}{paragraphs(ENGLISH[1:4])}</div>"
    found = extract(page(body), URL)
    assert found.handed_over is not None
    assert "[the plan](http://a.example/plan)" in found.parts["markdown"]
