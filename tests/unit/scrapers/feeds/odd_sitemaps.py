"""Odd files of sitemaps, each with what must be read of it."""

import gzip

from scrapers.feeds.odd_files import HOST, Odd, at, index, rss, sitemap, urlset

ONE = "<url><loc>http://a.example/1</loc></url>"
NEWS = ' xmlns:{0}="http://www.google.com/schemas/sitemap-news/0.9"'
XHTML = ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
IMAGE = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
ROBOTS = f"{HOST}/robots.txt"
TEXT = "text/plain"

SITEMAPS: dict[str, Odd] = {
    "a sitemap": sitemap(urlset(
        "<url><loc>http://a.example/1</loc><lastmod>2026-11-19</lastmod>"
        "<changefreq>daily</changefreq><priority>0.5</priority></url>" + ONE.replace("1", "2")),
        at("/1", updated_at="2026-11-19T00:00:00Z"), at("/2")),
    "no namespace": sitemap(f"<urlset>{ONE}</urlset>", at("/1")),
    "an old namespace": sitemap(
        f'<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">{ONE}</urlset>', at("/1")),
    "another namespace": sitemap(f'<urlset xmlns="urn:x">{ONE}</urlset>', at("/1")),
    "an odd prefix": sitemap(
        '<s:urlset xmlns:s="https://www.sitemaps.org/schemas/sitemap/0.9/"><s:url>'
        "<s:loc>http://a.example/1</s:loc><s:lastmod>2026-11</s:lastmod></s:url></s:urlset>",
        at("/1", updated_at="2026-11-01T00:00:00Z")),
    "tags in upper case": sitemap("<URLSET><URL><LOC>/1</LOC></URL></URLSET>", at("/1")),
    "white space and CDATA": sitemap(urlset(
        "<url><loc>\n  <![CDATA[http://a.example/1?a=1&b=2]]>\n</loc></url>"), at("/1?a=1&b=2")),
    "relative URLs": sitemap(urlset("<url><loc>1</loc></url><url><loc>//b.example/</loc></url>"),
        at("/news/1"), {"url": "http://b.example/"}),
    "URLs that are none": sitemap(urlset(
        "<url><loc>ftp://a.example/1</loc></url><url><loc/></url><url/>" + ONE), at("/1"),
        says=("3 entries have no usable URL",)),
    "dates that are none": sitemap(urlset(
        "<url><loc>/1</loc><lastmod>0000-00-00</lastmod></url><url><loc>/2</loc><lastmod/></url>"
        "<url><loc>/3</loc><lastmod>2026-02-30T99:00Z</lastmod></url>"
        "<url><loc>/4</loc><lastmod>9999-12-31</lastmod></url>"),
        at("/1"), at("/2"), at("/3"), at("/4")),
    "a date in the future": sitemap(urlset(
        "<url><loc>/1</loc><lastmod>2098-01-01</lastmod></url>"),
        at("/1", updated_at="2098-01-01T00:00:00Z")),
    "news": sitemap(urlset(
        "<url><loc>/1</loc><n:news><n:publication><n:name>The Paper</n:name><n:language>en"
        "</n:language></n:publication><n:publication_date>2026-11-19T10:00:00+01:00"
        "</n:publication_date><n:title>A &amp; B</n:title></n:news></url>", NEWS.format("n")),
        at("/1", title="A & B", published_at="2026-11-19T09:00:00Z", language="en",
           publication="The Paper")),
    "images and videos": sitemap(urlset(
        "<url><image:image><image:loc>/no.jpg</image:loc><image:title>No</image:title>"
        "</image:image><loc>/1</loc><image><loc>/no2.jpg</loc></image></url>", IMAGE), at("/1")),
    "languages": sitemap(urlset(
        '<url><loc>/en</loc><lastmod>2026-11-19</lastmod>'
        '<xhtml:link rel="alternate" hreflang="de" href="/de"/>'
        '<xhtml:link rel="alternate" hreflang="en" href="/en"/></url>'
        "<url><loc>/de2</loc></url>", XHTML),
        at("/en", updated_at="2026-11-19T00:00:00Z", alternates=[
            at("/de", language="de"), at("/en", language="en")]),
        at("/de2"), at("/de", updated_at="2026-11-19T00:00:00Z", language="de")),
    "languages with entries of their own": sitemap(urlset(
        '<url><loc>/en</loc><xhtml:link rel="alternate" hreflang="de" href="/de"/></url>'
        "<url><loc>/de</loc><lastmod>2026-11-19</lastmod></url>", XHTML),
        at("/en", alternates=[at("/de", language="de")]),
        at("/de", updated_at="2026-11-19T00:00:00Z")),
    "an index": sitemap(index(
        "<sitemap><loc>/a.xml</loc><lastmod>2026-11-19</lastmod></sitemap>"
        "<sitemap><loc>/b.xml.gz</loc></sitemap><sitemap/>"),
        more=((f"{HOST}/a.xml", "sitemap"), (f"{HOST}/b.xml.gz", "sitemap")),
        dates={f"{HOST}/a.xml": "2026-11-19T00:00:00Z", f"{HOST}/b.xml.gz": None},
        says=("1 entries have no usable URL",)),
    "sitemaps within a sitemap": sitemap(urlset(
        ONE + "<sitemap><loc>/a.xml</loc></sitemap>"), at("/1"),
        more=((f"{HOST}/a.xml", "sitemap"),)),
    "gzip": sitemap(gzip.compress(urlset(ONE).encode()), at("/1"),
        content_type="application/octet-stream"),
    "gzip of two members": sitemap(
        gzip.compress(urlset(ONE)[:60].encode()) + gzip.compress(urlset(ONE)[60:].encode()),
        at("/1"), content_type="application/gzip"),
    "gzip that is cut off": sitemap(
        gzip.compress(urlset(ONE * 1_000).encode() + bytes(1_000))[:-20],
        at("/1"), says=("gzip body ends too early", "XML ends too early", "have the key of")),
    "cut off": sitemap(urlset(ONE + "<url><loc>/2</loc>").removesuffix("</urlset>"), at("/1"),
        says=("The XML ends too early",)),
    "an empty sitemap": sitemap(urlset("")),
    "rss": sitemap(rss("<item><link>/1</link></item>"), at("/1")),
    "lines of text": sitemap("http://a.example/1\r\n\r\nhttps://b.example/2\n# no\nnot a URL\n",
        at("/1"), {"url": "https://b.example/2"}, content_type=TEXT,
        says=("1 entries have no usable URL",)),
    "lines with a mark and old ends": sitemap("\ufeffhttp://a.example/1\rhttp://a.example/2",
        at("/1"), at("/2"), content_type=TEXT),
    "lines of no URLs": sitemap("Not found", fails=("extract_failed", "no line of it is a URL"),
        content_type=TEXT),
    "robots.txt": sitemap(
        "User-agent: *\nDisallow: /x\nSITEMAP : http://a.example/a.xml # all\nsitemap:/b.xml\n",
        more=((f"{HOST}/a.xml", "sitemap"), (f"{HOST}/b.xml", "sitemap")), url=ROBOTS,
        content_type=TEXT),
    "robots.txt without sitemaps": sitemap("User-agent: *\nDisallow:\n", url=ROBOTS,
        fails=("extract_failed", "names no sitemap"), content_type=TEXT),
    "a page": sitemap("<!doctype html><title>Soft 404</title>", content_type="text/html",
        fails=("extract_failed", "an HTML page, not a sitemap")),
    "entities that grow": sitemap(
        '<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        + urlset("<url><loc>&b;</loc></url>"), fails=("not_supported", "entities")),
    "xinclude": sitemap(urlset(
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/>' + ONE),
        at("/1")),
}  # fmt: skip
