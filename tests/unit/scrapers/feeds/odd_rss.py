"""Odd files of RSS, each with what must be read of it."""

import gzip

from scrapers.feeds.odd_files import HOST, Odd, at, feed, rss

ITEM = "<item><title>One</title><link>/1</link></item>"
ONE = at("/1", title="One")
DC = ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
XML = '<?xml version="1.0" encoding="{}"?>'
RDF = ('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
       f'xmlns="http://{{}}"{DC}>{{}}</rdf:RDF>')  # fmt: skip
LONG = "Word " * 1_000

RSS: dict[str, Odd] = {
    "rss 2.0": feed(rss(
        "<item><title>One</title><link>http://a.example/1</link><guid>id-1</guid>"
        "<pubDate>Thu, 19 Nov 2026 10:00:00 GMT</pubDate><author>j@a.example (Jane Doe)</author>"
        "<description>Short.</description><category>a</category><category>b</category></item>"),
        at("/1", title="One", published_at="2026-11-19T10:00:00Z", author="Jane Doe",
           summary="Short.", tags=["a", "b"]), keys=("id-1",)),
    "rss 0.91 with a doctype": feed(
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" '
        f'"http://127.0.0.1:1/rss-0.91.dtd">{rss(ITEM, version="0.91")}', ONE),
    "rss 0.90": feed(RDF.format("my.netscape.com/rdf/simple/0.9/",
        f"<channel><title>Of the feed</title></channel>{ITEM}"), ONE),
    "rss 1.0": feed(RDF.format("purl.org/rss/1.0/",
        "<channel rdf:about='x'><title>Of the feed</title><link>http://b.example/</link></channel>"
        "<image><title>No</title><url>/no</url><link>/no</link></image>"
        "<item rdf:about='http://a.example/1'><title>One</title><link>http://a.example/1</link>"
        "<dc:date>2026-11-19T10:00+02:00</dc:date><dc:creator>Jane</dc:creator></item>"),
        at("/1", title="One", published_at="2026-11-19T08:00:00Z", author="Jane")),
    "rss 1.0 with only rdf:about": feed(RDF.format("purl.org/rss/1.0/",
        "<item rdf:about='http://a.example/1'><title>One</title></item>"), ONE),
    "a guid that is the link": feed(rss(
        "<item><guid>http://a.example/1</guid><title>One</title></item>"), ONE),
    "a guid that is no link though it looks so": feed(rss(
        '<item><guid isPermaLink="false">http://a.example/1</guid></item>' + ITEM), ONE,
        says=("1 entries have no usable URL",)),
    "a guid that all items share": feed(rss(
        "<item><guid>x</guid><link>/1</link></item><item><guid>x</guid><link>/2</link></item>"),
        at("/1"), at("/2")),
    "the same item twice": feed(rss(ITEM + ITEM), ONE, says=("1 of 2 records have the key",)),
    "a link through feedburner": feed(rss(
        "<item><link>http://feedproxy.example/x</link>"
        "<feedburner:origLink>http://a.example/1</feedburner:origLink><title>One</title></item>",
        ' xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'), ONE),
    "a link of Atom within RSS": feed(rss(
        '<item><title>One</title><a10:link href="/1"/></item>',
        ' xmlns:a10="http://www.w3.org/2005/Atom"'), ONE),
    "the link of the feed itself is none of an item": feed(rss(
        '<atom:link rel="self" href="http://a.example/feed"/><link>http://a.example/</link>' + ITEM,
        ' xmlns:atom="http://www.w3.org/2005/Atom"'), ONE),
    "a podcast without links": feed(rss(
        '<item><title>One</title><enclosure url="/1" type="audio/mpeg"/></item>'), ONE),
    "the source of an item": feed(rss(
        '<item><source url="http://b.example/feed">Other</source><title>One</title>'
        "<link>/1</link></item>"), ONE),
    "an odd prefix for dates": feed(rss(
        "<item><link>/1</link><xx:date>2026-11-19</xx:date></item>",
        ' xmlns:xx="http://purl.org/dc/elements/1.1/"'),
        at("/1", published_at="2026-11-19T00:00:00Z")),
    "a prefix that is declared nowhere": feed(rss(
        "<item><link>/1</link><dc:creator>Jane</dc:creator></item>"), at("/1", author="Jane")),
    "tags in upper case": feed(
        "<RSS><CHANNEL><ITEM><TITLE>One</TITLE><LINK>/1</LINK>"
        "<PUBDATE>19 Nov 2026 10:00 +0000</PUBDATE></ITEM></CHANNEL></RSS>",
        at("/1", title="One", published_at="2026-11-19T10:00:00Z")),
    "tags that do not match": feed(
        rss(f"<Item><title>One</TITLE><link>/1</link></item>{ITEM.replace('1', '2')}"),
        ONE, at("/2", title="One"), says=("The XML is malformed (line 1: mismatched tag)",)),
    "HTML that is not escaped": feed(rss(
        "<item><link>/1</link><description><p>A<br>B</description></item>"
        + ITEM.replace("1", "2")),
        at("/1", summary="A B"), at("/2", title="One"), says=("The XML is malformed",)),
    "CDATA": feed(rss(
        "<item><title><![CDATA[A & B <b>bold</b> &copy;]]></title>"
        "<link><![CDATA[ /1?a=1&b=2 ]]></link></item>"), at("/1?a=1&b=2", title="A & B bold ©")),
    "entities of HTML": feed(rss(
        "<item><title>Caf&eacute;&nbsp;&ndash; &hellip;</title><link>/1</link></item>"),
        at("/1", title="Café – …")),
    "entities of nothing": feed(rss(
        "<item><title>R&D & &foo; &#0;&#x1F;&#146;</title><link>/1</link></item>"),
        at("/1", title="R&D & &foo; ’")),
    "escaped twice": feed(rss(
        "<item><title>Tom &amp;amp; Jerry &amp;lt;3</title><link>/1</link></item>"),
        at("/1", title="Tom & Jerry <3")),
    "a title with markup": feed(rss(
        "<item><title>&lt;b&gt;Bold&lt;/b&gt; 1 &lt; 2</title><link>/1</link></item>"),
        at("/1", title="Bold 1 < 2")),
    "ampersands in links": feed(rss("<item><link>/1?a=1&b=2&copy=3</link></item>"),
        at("/1?a=1&b=2&copy=3")),
    "white space before the declaration": feed(f"\n \t{XML.format('utf-8')}{rss(ITEM)}", ONE),
    "warnings before the declaration": feed(
        f"Warning: mysql_connect() in <b>x.php</b>\n{XML.format('utf-8')}{rss(ITEM)}", ONE,
        says=("Other text stands before the XML",)),
    "a byte order mark": feed(f"\ufeff{XML.format('utf-8')}{rss(ITEM)}", ONE),
    "UTF-16 with a mark": feed(f"{XML.format('utf-16')}{rss(ITEM)}".encode("utf-16"), ONE),
    "UTF-16 without a mark": feed(
        f"{XML.format('utf-16')}{rss(ITEM)}".encode("utf-16-be"), ONE),
    "UTF-16 that says UTF-8": feed(f"{XML.format('utf-8')}{rss(ITEM)}".encode("utf-16"), ONE),
    "Latin-1 as declared": feed(
        f"{XML.format('iso-8859-1')}{rss(ITEM.replace('One', 'Été'))}".encode("latin-1"),
        at("/1", title="Été")),
    "Latin-1 that says UTF-8": feed(
        f"{XML.format('utf-8')}{rss(ITEM.replace('One', 'Déjà vu'))}".encode("latin-1"),
        at("/1", title="Déjà vu")),
    "UTF-8 that says Latin-1": feed(
        f"{XML.format('iso-8859-1')}{rss(ITEM.replace('One', 'Été'))}",
        at("/1", title="Été"), content_type="text/xml; charset=iso-8859-1"),
    "a charset that does not exist": feed(
        f"{XML.format('klingon')}{rss(ITEM.replace('One', 'Été'))}", at("/1", title="Été")),
    "Cyrillic in windows-1251": feed(
        f"{XML.format('windows-1251')}{rss(ITEM.replace('One', 'Новости'))}".encode("cp1251"),
        at("/1", title="Новости")),
    "control characters": feed(rss(ITEM.replace("One", "O\x00n\x08e\x1f\ufffe")), ONE),
    "line breaks in a link": feed(rss(
        "<item><link>\n  http://a.example/a/\n  b?q=1 2\n</link></item>"), at("/a/b?q=1 2")),
    "a link without its scheme": feed(rss("<item><link>www.b.example/1</link></item>"),
        {"url": "http://www.b.example/1"}),
    "links that lead to no page": feed(rss(
        "<item><link>javascript:alert(1)</link></item><item><link>mailto:a@b.c</link></item>"
        "<item/>" + ITEM), ONE, says=("3 entries have no usable URL",)),
    "cut off within an item": feed(rss(ITEM + "<item><title>Two</ti")[:-20].split("</channel>")[0],
        ONE, says=("The XML ends too early",)),
    "cut off within a character": feed(
        f"<rss><channel>{ITEM}<item><title>é".encode()[:-1], ONE,
        says=("The XML ends too early",)),
    "more after the end": feed(rss(ITEM) + "<script>count()</script>", ONE,
        says=("More follows the end of the XML",)),
    "a comment after the end": feed(rss(ITEM) + "\n<!-- cached -->\n", ONE),
    "processing instructions": feed(
        '<?xml-stylesheet href="http://127.0.0.1:1/x.xsl"?><?php evil() ?>' + rss(ITEM), ONE),
    "gzip": feed(gzip.compress(rss(ITEM).encode()), ONE, content_type="application/x-gzip"),
    "a long text": feed(rss(
        f"<item><link>/1</link><title>{LONG}</title><description>{LONG}</description></item>"),
        at("/1", title=LONG[:499] + "…", summary=LONG[:1999].rstrip() + "…")),
    "no channel": feed(f"<rss>{ITEM}</rss>", ONE),
    "no items": feed(rss("")),
    "an item in an item": feed(rss(f"<item>{ITEM}<title>Outer</title></item>"), ONE),
    "a feed that goes on": feed(rss(
        '<a:link rel="next" href="?page=2"/>' + ITEM, ' xmlns:a="http://www.w3.org/2005/Atom"'),
        ONE, next=f"{HOST}/news/list.xml?page=2"),
    "a feed that goes on with itself": feed(rss(
        '<a:link rel="next" href=""/><a:link rel="next" href="/news/list.xml"/>' + ITEM,
        ' xmlns:a="http://www.w3.org/2005/Atom"'), ONE),
    "entities that are declared": feed(
        f'<!DOCTYPE rss [<!ENTITY a "b">]>{rss(ITEM)}', fails=("not_supported", "entities")),
    "an entity from outside": feed(
        f'<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]>{rss("<item>&a;</item>")}',
        fails=("not_supported", "entities")),
    "a parameter entity": feed(
        f'<!DOCTYPE rss [<!ENTITY % a SYSTEM "http://127.0.0.1:1/x.dtd"> %a;]>{rss(ITEM)}',
        fails=("not_supported", "entities")),
    "entities after an error": feed(
        f'<!DOCTYPE rss [<!BAD><!ENTITY a "b">]>{rss(ITEM)}', fails=("not_supported", "entities")),
}  # fmt: skip
