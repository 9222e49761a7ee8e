"""Odd files of Atom, JSON Feed, and pages that name feeds, each with what must be read of it."""

from scrapers.feeds.odd_files import HOST, Odd, at, atom, feed

LINK = '<link href="http://a.example/1"/>'
ONE = at("/1", title="One")
JSON = "application/feed+json"
V1 = '"version": "https://jsonfeed.org/version/1.1"'
PAGE = "<!DOCTYPE html><html><head><title>Home</title>{}</head><body>Hello</body></html>"
TO_RSS = '<link rel="alternate" type="application/rss+xml" title="All" href="/rss">'

ATOM: dict[str, Odd] = {
    "atom 1.0": feed(atom(
        f"<entry><id>tag:a,1</id><title>One</title>{LINK}<published>2026-11-18T10:00:00Z"
        "</published><updated>2026-11-19T12:00:00+02:00</updated><author><name>Jane</name>"
        "<email>j@a.example</email></author><summary type='html'>&lt;p&gt;Short.&lt;/p&gt;"
        "</summary><category term='x' label='X'/></entry>", ' xml:lang="en"'),
        ONE | {"published_at": "2026-11-18T10:00:00Z", "updated_at": "2026-11-19T10:00:00Z",
               "author": "Jane", "summary": "Short.", "tags": ["X"]}, keys=("tag:a,1",)),
    "atom 0.3": feed(
        '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><title>One</title>'
        '<link rel="alternate" href="/1"/><issued>2026-11-18T10:00:00Z</issued>'
        "<modified>2026-11-19T10:00:00Z</modified></entry></feed>",
        ONE | {"published_at": "2026-11-18T10:00:00Z", "updated_at": "2026-11-19T10:00:00Z"}),
    "atom without its namespace": feed(
        "<feed><entry><title>One</title><link href='/1'/></entry></feed>", ONE),
    "atom with a prefix": feed(
        '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:title>One</a:title>'
        '<a:link href="/1"/></a:entry></a:feed>', ONE),
    "the page is preferred to the entry's own data": feed(atom(
        '<entry><title>One</title><link rel="self" href="/self"/><link rel="edit" href="/edit"/>'
        '<link rel="replies" href="/replies"/><link rel="alternate" type="application/json" '
        'href="/json"/><link rel="alternate" type="text/html" href="/1"/></entry>'), ONE),
    "only a link to itself": feed(atom('<entry><link rel="self" href="/1"/></entry>'), at("/1")),
    "an id that is the link": feed(atom("<entry><id>http://a.example/1</id></entry>"), at("/1")),
    "content elsewhere": feed(atom('<entry><content src="/1"/></entry>'), at("/1")),
    "xml:base": feed(atom(
        '<entry xml:base="2026/"><title>One</title><link xml:base="11/" href="1"/></entry>'
        '<entry><link href="2"/></entry>', ' xml:base="http://b.example/blog/"'),
        {"url": "http://b.example/blog/2026/11/1", "title": "One"},
        {"url": "http://b.example/blog/2"}),
    "a title of XHTML": feed(atom(
        '<entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">One <b>bo</b>ld'
        f"</div></title>{LINK}</entry>"), at("/1", title="One bold")),
    "content of XHTML with elements of the feed": feed(atom(
        '<entry><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><title>No</title>'
        f'<p>Text</p><p>More</p></div></content>{LINK}<title>One</title></entry>'),
        ONE | {"summary": "No Text More"}),
    "an entry with its source": feed(atom(
        "<entry><source><title>Other</title><id>x</id><link href='/other'/>"
        f"<updated>2001-01-01T00:00:00Z</updated></source><title>One</title>{LINK}</entry>"), ONE),
    "pages of a feed": feed(atom(
        f"<entry>{LINK}</entry>", of_feed='<link rel="next" href="/p2"/>'), at("/1"),
        next=f"{HOST}/p2"),
    "an archive": feed(atom(
        f"<entry>{LINK}</entry>", of_feed='<link rel="prev-archive" href="/2025"/>'), at("/1"),
        next=f"{HOST}/2025"),
    "a link as text": feed(atom("<entry><link>/1</link></entry>"), at("/1")),
    "a broken date": feed(atom(
        f"<entry>{LINK}<updated>yesterday</updated><published>2026-13-40</published></entry>"),
        at("/1")),
    "a language of its own": feed(atom(f"<entry xml:lang='fr'>{LINK}</entry>"),
        at("/1", language="fr")),
}  # fmt: skip
OTHERS: dict[str, Odd] = {
    "json feed 1.1": feed(
        f'{{{V1}, "title": "News", "next_url": "/p2", "authors": [{{"name": "Jane"}}], "items": [{{'
        '"id": 7, "url": "/1", "title": "One", "content_html": "<p>Text", "tags": ["x", null],'
        '"date_published": "2026-11-19T10:00:00-05:00", "language": "en"}]}',
        ONE | {"published_at": "2026-11-19T15:00:00Z", "author": "Jane", "summary": "Text",
               "language": "en", "tags": ["x"]}, keys=("7",), next=f"{HOST}/p2", content_type=JSON),
    "json feed 1.0": feed(
        '\ufeff {"version": "https://jsonfeed.org/version/1", "items": [{"id": "http://a.example/1"'
        ', "author": {"name": "Jane"}}, {"external_url": "/2"}, null, {}]}',
        at("/1", author="Jane"), at("/2"), content_type=JSON,
        says=("1 entries have no usable URL",)),
    "json feed whose ids are odd": feed(
        f'{{{V1}, "items": [{{"id": "HTTP://A.example/3"}}, {{"id": true, "url": "/4"}}]}}',
        at("/3"), at("/4"), keys=("HTTP://A.example/3", f"{HOST}/4"), content_type=JSON),
    "json with other types than expected": feed(
        f'{{{V1}, "title": [], "next_url": 5, "items": [{{"url": "/1", "title": {{}}, "tags": 3,'
        '"authors": {}, "date_published": 3, "summary": false}]}', at("/1"), content_type=JSON),
    "json feed without its version": feed(
        '{"feed_url": "/x", "items": [{"url": "/1"}]}', at("/1"), content_type=JSON),
    "json that is no feed": feed('{"items": 3}', fails=("extract_failed", "no JSON Feed"),
        content_type="application/json"),
    "json that is cut off": feed(f'{{{V1}, "items": [', fails=("extract_failed", "is none"),
        content_type=JSON),
    "json that nests deep": feed("[" * 100_000, fails=("extract_failed", "JSON")),
    "a page that names feeds": feed(PAGE.format(
        TO_RSS + '<link rel="ALTERNATE stylesheet" type="application/Atom+XML" href="atom">'
        '<link rel=alternate type="application/feed+json" href="/json">'
        '<link rel=alternate hreflang=de href="/de"><link rel=next href="/p2">'),
        more=((f"{HOST}/rss", "feed"), (f"{HOST}/news/atom", "feed"), (f"{HOST}/json", "feed")),
        next=f"{HOST}/p2", says=("an HTML page, not a feed; it links to 3",),
        content_type="text/html"),
    "a page with a base": feed(PAGE.format(
        '<base href="http://b.example/x/"><link rel=alternate type="application/rss+xml" '
        'href="rss"><link rel=sitemap type="application/xml" href="/sitemap.xml">'),
        more=(("http://b.example/x/rss", "feed"), ("http://b.example/sitemap.xml", "sitemap")),
        says=("links to 2",), content_type="text/html"),
    "a page that says it is a feed": feed(PAGE.format(""), fails=("extract_failed", "HTML page"),
        content_type="application/rss+xml"),
    "a page of XHTML": feed(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>'
        '<link rel="alternate" type="application/atom+xml" href="/atom"/></head></html>',
        more=((f"{HOST}/atom", "feed"),), says=("an HTML page",)),
    "other XML": feed("<opml><body/></opml>", fails=("extract_failed", "not a feed")),
    "nothing": feed("", fails=("extract_failed", "empty")),
    "an image": feed(b"\x89PNG\r\n\x1a\n\0\0\0", fails=("extract_failed", "image/png")),
    "text": feed("Not found.", fails=("extract_failed", "plain text")),
    "gzip that is none": feed(b"\x1f\x8bnot gzip", fails=("bad_encoding", "gzip")),
    "a sitemap": feed("<urlset><url><loc>/1</loc></url></urlset>", at("/1")),
}  # fmt: skip
