"""Pages that are made to be slow to extract, each of a size that grows with `n`."""

from collections.abc import Callable

WORDS = "The council met on Tuesday and agreed on a plan for the harbour. "
ARTICLE = "".join(f"<p>Item {n} of the agenda. {WORDS * 4}</p>" for n in range(8))


def _around(hostile: str) -> str:
    head = "<html><head><title>Harbour</title></head>"
    return f"{head}<body><article>{ARTICLE}</article>{hostile}</body></html>"


def _nested(tag: str, n: int) -> str:
    return f"<{tag}>" * n + f"<p>{WORDS}</p>" + f"</{tag}>" * n


SHAPES: dict[str, Callable[[int], str]] = {
    "nested divisions": lambda n: _around(_nested("div", n)),
    "nested divisions in the article": lambda n: f"<article>{_nested('div', n)}{ARTICLE}</article>",
    "nested lists": lambda n: f"<article>{ARTICLE}{_nested('ul><li', n)}</article>",
    "nested quotations": lambda n: f"<article>{ARTICLE}{_nested('blockquote', n)}</article>",
    "nested emphasis": lambda n: f"<article>{ARTICLE}<p>{_nested('em', n)}</article>",
    "nested spans": lambda n: f"<article>{ARTICLE}<p>{_nested('span', n)}</article>",
    "nested tables": lambda n: _around(_nested("table><tr><td", n)),
    "empty elements": lambda n: _around("<i></i>" * 4 * n),
    "unclosed divisions": lambda n: _around("<div class=a>x" * n),
    "unclosed marks": lambda n: _around("".join(f"<b id=b{i}>x" for i in range(n)) + "<p>y" * n),
    "a huge attribute": lambda n: _around(f'<div class="{"share " * 20 * n}">x</div>'),
    "huge names, each different": lambda n: _around(
        "".join(f'<div class="c{i} comment-{"a-" * 50}">x</div>' for i in range(n // 4))
    ),
    "one giant text": lambda n: f"<article><p>{WORDS * 2 * n}</p></article>",
    "one giant word": lambda n: _around(f"<p>{'a' * 100 * n}</p>"),
    "a text of marks": lambda n: f"<article>{ARTICLE}<p>{'*_`[~' * 10 * n}</p></article>",
    "a giant table": lambda n: f"<article>{ARTICLE}<table>"
    + "<tr><td>a|b</td><td>c</td></tr>" * n + "</table></article>",
    "one wide row": lambda n: f"<article>{ARTICLE}<table><tr>{'<td>a</td>' * n}</tr>"
    + "<tr><td>b</td></tr>" * n + "</table></article>",
    "one cell of many lines": lambda n: f"<article>{ARTICLE}<table><tr><td>{'<p>x</p>' * n}</td>"
    "<td>y</td></tr><tr><td>a</td><td>b</td></tr></table></article>",
    "many candidates": lambda n: f"<article class=post-content><p>{WORDS}</p></article>" * n,
    "candidates in each other": lambda n: "<div class='post-content'>" * n + f"<p>{WORDS * 20}</p>",
    "many links": lambda n: _around("<a href='/x'>a link</a> " * n),
    "many links in it": lambda n: f"<article>{ARTICLE}<p>{'<a href=/x>a</a> b ' * n}</article>",
    "many meta elements": lambda n: "<head>" + "<meta name=author content='A B'>" * n + _around(""),
    "many scripts of data": lambda n: _around(
        '<script type="application/ld+json">{"@type":"Article"}</script>' * n
    ),
    "nested data": lambda n: _around(
        f'<script type="application/ld+json">{"[" * n}{"]" * n}</script>'
    ),
    "a long list of data": lambda n: _around(
        f'<script type="application/ld+json">[{"{},[[]]," * n}0]</script>'
    ),
    "entities": lambda n: _around(f"<p>{'&amp;&lt;&CounterClockwiseContourIntegral;' * n}</p>"),
    "many bylines": lambda n: _around("<div class=author>1234567</div><time>x</time>" * n),
    "many line breaks": lambda n: f"<article>{ARTICLE}<p>{'x<br>' * 4 * n}</p></article>",
    "backticks": lambda n: f"<article>{ARTICLE}<p><code>{'`' * 10 * n}</code></p></article>",
    "repeated paragraphs": lambda n: f"<article>{ARTICLE}{f'<p>{WORDS}</p>' * n}</article>",
    "repeated headings": lambda n: f"<article>{ARTICLE}{'<h2>Harbour plan</h2>' * n}</article>",
}  # fmt: skip
