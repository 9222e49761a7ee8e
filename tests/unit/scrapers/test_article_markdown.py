"""Text and markdown of an article, element by element."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from curtsy.scrapers.articles.blocks import markdown_of, text_of
from curtsy.scrapers.articles.extraction import absolute_url
from curtsy.scrapers.articles.outline import outline_of
from curtsy.scrapers.articles.writer import Writer


def written(html: str) -> tuple[str, str]:
    body = LexborHTMLParser(f"<body>{html}</body>").body
    assert body is not None
    blocks = Writer(outline_of(body), lambda h: absolute_url("http://a.example/b/c", h)).write(0)
    return text_of(blocks), markdown_of(blocks)


def marked(html: str) -> str:
    return written(html)[1]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a <b>b</b> c</p>", "a **b** c"),
        ("<p>a<b> b </b>c</p>", "a **b** c"),
        ("<p>a <i>b <strong>c</strong></i></p>", "a *b **c***"),
        ("<p><b><b>a</b></b></p>", "**a**"),
        ("<p><b> </b>a</p>", "a"),
        ("<p>a <del>b</del></p>", "a ~~b~~"),
        ("<p>a <code>b `c` d</code></p>", "a ``b `c` d``"),
        ("<p><code>`a`</code></p>", "`` `a` ``"),
        ("<p><code>a * b</code></p>", "`a * b`"),
        ("<h2>A <b>b</b></h2>", "## A b"),
        ("<h3>a<br>b</h3>", "### a b"),
        ("<p>a<br>b</p>", "a\\\nb"),
        ("<p>a<br><br>b</p>", "a\n\nb"),
        ("<p>a<br></p>", "a"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("<b><p>a</p><p>b</p></b>", "**a**\n\n**b**"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        ("<blockquote>a</blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
        ("<blockquote>a<br>b</blockquote>", "> a\\\n> b"),
        ("<pre>  a\n    b</pre>", "```\n  a\n    b\n```"),
        ("<pre><code class='hljs language-python'>a</code></pre>", "```python\na\n```"),
        ("<pre class=lang-c++>a</pre>", "```c++\na\n```"),
        ("<pre class='language-`x'>a</pre>", "```\na\n```"),
        ("<pre>```\na\n```</pre>", "````\n```\na\n```\n````"),
        ("<pre><code>a &lt; b</code></pre>", "```\na < b\n```"),
    ],
)  # fmt: skip
def test_elements_become_marks(html: str, expected: str) -> None:
    assert marked(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        ("<ol start=9><li>a</li><li>b</li></ol>", "9. a\n10. b"),
        ("<ol start=-1><li>a</li></ol>", "1. a"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol><li>a<ol><li>b</li></ol></li><li>c</li></ol>", "1. a\n   1. b\n2. c"),
        ("<ul><li><p>a</p><p>b</p></li><li>c</li></ul>", "- a\n\n  b\n\n- c"),
        ("<ul><li>a</li></ul><p>b</p><ul><li>c</li></ul>", "- a\n\nb\n\n- c"),
        ("<ul><li><pre>a\nb</pre></li></ul>", "- ```\n  a\n  b\n  ```"),
        ("<blockquote><ul><li>a</li></ul></blockquote>", "> - a"),
    ],
)  # fmt: skip
def test_lists_keep_their_order_and_depth(html: str, expected: str) -> None:
    assert marked(html) == expected


def test_a_table_has_a_header_and_its_pipes_are_escaped() -> None:
    rows = "<tr><th>a</th><th>b|c</th></tr><tr><td><b>1</b></td><td>2<br>3</td></tr>"
    text, table = written(f"<table>{rows}</table>")
    assert table == "| a | b\\|c |\n| --- | --- |\n| **1** | 2 3 |"
    assert text == "a\tb|c\n1\t2 3"


def test_a_row_that_is_longer_than_the_header_widens_the_table() -> None:
    rows = "<tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td><td>3</td></tr>"
    table = marked(f"<table>{rows}</table>")
    assert table.splitlines()[:2] == ["| a | b |  |", "| --- | --- | --- |"]


def test_a_table_that_arranges_the_page_is_no_table() -> None:
    text = "A long paragraph of an old page. " * 20
    html = f"<table><tr><td>Menu</td><td><p>{text}</p><p>End.</p></td></tr></table>"
    assert "|" not in marked(html)
    assert text.strip() in marked(html)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * 3 * 4", r"2 \* 3 \* 4"),
        ("snake_case and _this_", r"snake_case and \_this\_"),
        ("[a](b)", r"\[a\](b)"),
        ("&lt;b&gt;", r"\<b>"),
        ("&amp;amp;", r"\&amp;"),
        ("AT&amp;T", "AT&T"),
        ("# a", r"\# a"),
        ("- a", r"\- a"),
        ("+ a", r"\+ a"),
        ("1. a", r"1\. a"),
        ("1.5 a", "1.5 a"),
        ("&gt; a", r"\> a"),
        ("---", r"\---"),
        ("===", r"\==="),
        ("~~~", r"\~\~\~"),
        (r"a\b", r"a\\b"),
        ("a `b`", r"a \`b\`"),
    ],
)  # fmt: skip
def test_text_that_looks_like_a_mark_stays_text(text: str, expected: str) -> None:
    plain, markdown = written(f"<p>{text}</p>")
    assert markdown == expected
    assert plain == text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a <a href='../d'>e</a> long enough</p>", "a [e](http://a.example/d) long enough"),
        ("<p>a <a href='/d (1)'>e</a> more</p>", "a [e](http://a.example/d%20%281%29) more"),
        ("<p>a <a href='javascript:x()'>e</a></p>", "a e"),
        ("<p>a <a href='data:text/html,x'>e</a></p>", "a e"),
        ("<p>a <a href=' JavaScript:x()'>e</a></p>", "a e"),
        ("<p>a <a href='mailto:b@c.example'>e</a> f</p>", "a [e](mailto:b@c.example) f"),
        ("<p>a <a>e</a></p>", "a e"),
        ("<p>a<img src=/i.png alt='x [y]'></p>", r"a![x \[y\]](http://a.example/i.png)"),
        ("<p><img src='data:image/gif,x' data-src=/i></p>", "![](http://a.example/i)"),
        ("<p>a<img src=/i.png width=1 height=1></p>", "a"),
        ("<p>a<img src='javascript:x()'></p>", "a"),
    ],
)  # fmt: skip
def test_links_and_images_are_absolute_and_safe(html: str, expected: str) -> None:
    assert marked(html) == expected


def test_space_is_collapsed_and_kept_between_words() -> None:
    text, _ = written("<p>a\n  b<span> c</span><span>d </span>\n<i>e</i>\u00a0f</p>")
    assert text == "a b cd e f"


def test_a_block_in_a_link_is_linked() -> None:
    found = marked(f"<p>{'words ' * 20}</p><a href=/x><h2>a</h2><h2>b</h2></a>")
    assert found.endswith("## [a](http://a.example/x)\n\n## [b](http://a.example/x)")
