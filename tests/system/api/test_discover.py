"""`POST /discover`: a job whose results say which feeds and sitemaps a site offers."""

from typing import Any

import pytest

from api.conftest import Site
from api.front import Front

HTML, XML = "text/html", "application/xml"
PAGE = b"<title>Home</title><link rel=alternate type=application/rss+xml href=/rss title=All>"
RSS = b"<rss><channel><title>News</title><item><link>/1</link></item></channel></rss>"
INDEX = b"<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>/b.xml</loc></sitemap>"


async def discovered(door: Front, **body: Any) -> tuple[str, dict[str, Any]]:
    """The job, and its results by path."""
    answer = await door.ask("POST", "/discover", json=body)
    assert answer.status == 200, answer
    job = answer.json["job_id"]
    await door.engine.ended(job, 60)
    results = await door.get(f"/jobs/{job}/results")
    assert results.json["failed_articles"] == []
    return job, {"/" + one["url"].split("/", 3)[3]: one["record"]
                 for one in results.json["results"]}  # fmt: skip


def missing(site: Site, *paths: str) -> None:
    for path in paths:
        site.fails(path, 404)


async def test_the_results_are_what_the_lists_have(working: Front, site: Site) -> None:
    missing(site, "/robots.txt", "/b.xml")
    site.has("/", PAGE, HTML)
    site.has("/rss", RSS, XML)
    site.has("/sitemap.xml", INDEX + b"</sitemapindex>", XML)
    site.has(
        "/a.xml", b"<urlset><url><loc>/1</loc><lastmod>2026-11-19</lastmod></url></urlset>", XML
    )
    _job, found = await discovered(working, url=f"{site.url}/")
    assert set(found) == {"/", "/rss", "/sitemap.xml", "/a.xml"}, "the others do not exist"
    assert {name: value for name, value in found["/rss"].items() if name != "url"} == {
        "kind": "rss", "title": "News", "language": None, "entries": 1, "newest_at": None,
        "oldest_at": None, "goes_on": False, "more": [],
    }  # fmt: skip
    assert found["/"]["more"] == [
        {"url": f"{site.url}/rss", "scraper": "feed", "updated_at": None, "title": "All"}
    ]
    assert found["/a.xml"]["newest_at"] == found["/a.xml"]["oldest_at"] == "2026-11-19T00:00:00Z"
    assert sorted(site.asked) == [
        "/", "/a.xml", "/b.xml", "/robots.txt", "/rss", "/sitemap.xml",
    ], "no entry"  # fmt: skip


async def test_no_list_is_read_twice(working: Front, site: Site) -> None:
    missing(site, "/a.xml", "/b.xml")
    site.has("/robots.txt", f"Sitemap: {site.url}/sitemap.xml".encode(), "text/plain")
    site.has(
        "/sitemap.xml", INDEX + b"<sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>", XML
    )
    _job, found = await discovered(working, url=f"{site.url}/sitemap.xml")
    assert set(found) == {"/robots.txt", "/sitemap.xml"}
    assert sorted(site.asked) == ["/a.xml", "/b.xml", "/robots.txt", "/sitemap.xml"]


async def test_the_number_of_lists_is_bounded(working: Front, site: Site) -> None:
    missing(site, "/", "/robots.txt", *(f"/{n}.xml" for n in range(20)))
    parts = "".join(f"<sitemap><loc>/{n}.xml</loc></sitemap>" for n in range(20))
    site.has("/sitemap.xml", f"<sitemapindex>{parts}</sitemapindex>".encode(), XML)
    job, found = await discovered(working, url=f"{site.url}/", max_lists=4)
    assert set(found) == {"/sitemap.xml"}
    assert (await working.engine.job(job)).total == 3 + 4


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"url": "ftp://a.example/"}, "is neither http nor https"),
        ({"url": "http://10.0.0.1/"}, "10.0.0.1"),
        ({"url": "http://a.example/", "max_lists": 1001}, "less than or equal to 1000"),
        ({}, "Field required"),
    ],
)
async def test_what_cannot_be_discovered_is_refused(
    door: Front, body: dict[str, Any], says: str
) -> None:
    answer = await door.ask("POST", "/discover", json=body)
    assert answer.status == 422
    assert says in str(answer.json)
