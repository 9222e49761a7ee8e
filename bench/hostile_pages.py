"""Pages that cost a scraper of articles more than their size: one of each shape, of any size."""

from collections.abc import Callable, Mapping

Shape = Callable[[int], bytes]
"""Returns a page of about so many bytes."""

_WORDS = b"The council said on Monday that the harbour would open again in the summer. "
_HEAD = b"<!DOCTYPE html><html lang=en><head><title>A title</title></head><body>"
_TEXT = b"<article>" + b"".join(b"<p>%d %s</p>" % (n, _WORDS * 5) for n in range(8)) + b"</article>"
"""Enough of an article for the other parts of the page to be looked at."""


def _repeated(piece: bytes, *, before: bytes = _TEXT, after: bytes = b"") -> Shape:
    return lambda size: _HEAD + before + piece * (size // len(piece)) + after


def _nested(opening: bytes, closing: bytes, inside: bytes = _TEXT) -> Shape:
    def make(size: int) -> bytes:
        depth = size // (len(opening) + len(closing))
        return _HEAD + opening * depth + inside + closing * depth

    return make


def _in_head(piece: bytes, *, before: bytes = b"", after: bytes = b"") -> Shape:
    def make(size: int) -> bytes:
        head = before + piece * (size // len(piece)) + after
        return b"<!DOCTYPE html><html><head>" + head + b"</head><body>" + _TEXT

    return make


def _numbered(piece: bytes) -> Shape:
    """With a number in each piece, so that no two are alike."""

    def make(size: int) -> bytes:
        return _HEAD + _TEXT + b"".join(piece % n for n in range(size // len(piece % 10**5)))

    return make


def _attributes(size: int) -> bytes:
    return _HEAD + b"<p " + b" ".join(b"a%d=b" % n for n in range(size // 9)) + b">x</p>" + _TEXT


SHAPES: Mapping[str, Shape] = {
    "nested div": _nested(b"<div>", b"</div>"),
    "nested div, never closed": _repeated(b"<div>", before=b"", after=_TEXT),
    "nested div with text at each level": _nested(b"<div>some text", b"</div>"),
    "nested blockquote": _nested(b"<blockquote>", b"</blockquote>"),
    "nested lists": _nested(b"<ul><li>item", b"</li></ul>"),
    "nested tables": _nested(b"<table><tr><td>", b"</td></tr></table>"),
    "nested article": _nested(b"<article>", b"</article>"),
    "nested span in a paragraph": _nested(b"<span>", b"</span>", b"<p>" + _WORDS * 20),
    "nested bold": _nested(b"<b>", b"</b>", b"<p>" + _WORDS * 20),
    "bold and paragraphs that overlap": _repeated(b"<b><p>words"),
    "links that are never closed": _repeated(b"<a href=x><div>words"),
    "empty paragraphs": _repeated(b"<p></p>"),
    "paragraphs of one word": _repeated(b"<p>word</p>"),
    "line breaks in a paragraph": _repeated(b"word<br>", before=b"<article><p>"),
    "a span for each word": _repeated(b"<span>word </span>", before=b"<article><p>"),
    "links in a paragraph": _numbered(b"<a href=/page/%d>a link</a> "),
    "list items with links": _numbered(b"<li><a href=/page/%d>a link</a></li>"),
    "images": _numbered(b"<img src=/image/%d alt=picture>"),
    "cells of a table": _repeated(b"<td>x", before=b"<table><tr>"),
    "rows of a table": _repeated(b"<tr><td>x<td>y", before=b"<table>"),
    "headings": _repeated(b"<h2>A heading</h2>"),
    "byline-like elements": _repeated(b"<div class=author>By Ann Writer</div>"),
    "content-like elements": _repeated(b"<div class='article-content post-body'>text</div>"),
    "comment-like elements": _repeated(b"<div class=comments id=comment>text</div>"),
    "time elements": _repeated(b"<time datetime=2024-01-02>2 January 2024</time>"),
    "written dates": _repeated(b"12/11/2012 2012-11-12 12 Nov. 2012 ", before=b"<p>"),
    "half dates": _repeated(b"2012-", before=b"<p>"),
    "one long paragraph": _repeated(_WORDS, before=b"<article><p>"),
    "one long word": _repeated(b"a", before=b"<article><p>"),
    "white space": _repeated(b" \n\t\xc2\xa0", before=_TEXT),
    "preformatted lines": _repeated(b"  code\n", before=_TEXT + b"<pre>"),
    "characters that markdown escapes": _repeated(b"*_`[](#) ", before=b"<article><p>"),
    "less-than signs": _repeated(b"<"),
    "unfinished comments": _repeated(b"<!-"),
    "comments": _repeated(b"<!---->"),
    "entities": _repeated(b"&amp;&#8203;&nope;"),
    "null characters": _repeated(b"\0"),
    "attributes of one element": _attributes,
    "one long class": _repeated(b"content ", before=b"<div class='", after=b"'>" + _TEXT),
    "templates": _nested(b"<template>", b"</template>"),
    "svg and math": _repeated(b"<svg><math><mi>"),
    "meta elements": _in_head(b"<meta property=og:title content='A title of a page'>"),
    "one long title": _in_head(_WORDS, before=b"<title>", after=b"</title>"),
    "scripts of JSON-LD": _in_head(
        b'<script type=application/ld+json>{"@type":"Article","author":"Ann"}</script>'
    ),
    "deep JSON-LD": _in_head(b"[", before=b"<script type=application/ld+json>", after=b"</script>"),
    "deep JSON-LD objects": _in_head(
        b'{"@graph":', before=b"<script type=application/ld+json>", after=b"</script>"
    ),
    "an unfinished script": _repeated(b"var a = '</scrip'; ", before=_TEXT + b"<script>"),
}
