"""What becomes of pages, from the submit to the stored document, on both engines."""

import zstandard

from curtsy.clock import Clock
from curtsy.demo.access_log import TICK_MS
from curtsy.demo.practice_site import PracticeSite
from curtsy.demo.process import PracticeProcess
from curtsy.demo.truth import counts, most_at_once, smallest_gap
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import QUICK, Engine, engine, settings

LATE = 2 * TICK_MS / 1000  # seconds by which the site's stamps may be late


async def test_a_page_is_fetched_once_and_stored_as_it_came(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker():
        job = await curtsy.submit(site.url(0, "/page/7"))
        ended = await curtsy.ended(job)
    [document] = await curtsy.query("SELECT * FROM documents")
    assert (ended.state, ended.done, ended.failed) == ("succeeded", 1, 0)
    assert b"<title>" in zstandard.decompress(document.content)
    assert document.content_type == "text/html"
    assert sum(counts(site.entries()).values()) == 1


async def test_every_kind_of_answer_has_its_outcome(curtsy: Engine, site: PracticeSite) -> None:
    expected = {
        "/page/1": None, "/gzip/1": None, "/bytes/1": None, "/latin1/1": None,
        "/redirect/3/1": None, "/elsewhere/2/1": None, "/flaky/2/1": None, "/reset/1/1": None,
        "/missing/1": "gone", "/status/403/1": "forbidden", "/status/401/1": "unauthorized",
        "/status/418/1": "client_error", "/status/500/1": "server_error",
        "/circle/1": "redirect_loop", "/truncated/1": "truncated",
    }  # fmt: skip
    async with curtsy.worker(settings(Policy(min_delay=0, retry_base=20, retry_cap=40))):
        job = await curtsy.submit(*(site.url(0, path) for path in expected))
        await curtsy.ended(job)
    found = {site.url(0, path): kind for path, kind in expected.items()}
    assert {item.page_url: item.kind for item in await curtsy.items(job)} == found
    asked = counts(site.entries())
    host = "127.0.1.1"
    assert asked[host, "/status/500/1"] == 4, "one try and three retries"
    assert asked[host, "/missing/1"] == 1
    assert asked[host, "/circle/1"] == 11, "ten redirects are followed"


async def test_events_tell_the_whole_story_without_gaps(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker():
        job = await curtsy.submit(site.url(0, "/flaky/1/1"), site.url(1, "/missing/1"))
        ended = await curtsy.ended(job)
    events = await curtsy.events(job)
    assert [event.n for event in events] == list(range(1, ended.last_event + 1))
    names = [event.name for event in events]
    assert names[0] == "job_queued"
    assert names[1] == "job_started"
    assert names[-1] == "job_finished"
    assert sorted(names[2:-1]) == ["page_failed", "page_fetched", "page_retried"]


async def test_a_429_rests_the_whole_source_for_as_long_as_it_asked(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker():
        job = await curtsy.submit(
            site.url(0, "/limited/1/1/1"), *(site.url(0, f"/page/{n}") for n in range(3))
        )
        ended = await curtsy.ended(job)
    entries = [e for e in site.entries() if e.host == "127.0.1.1"]
    refused = next(e for e in entries if e.status == 429)
    after = min(e.seen_at for e in entries if e.at > refused.at)
    assert ended.done == 4
    assert (after - refused.at) / 1e9 >= 1.0 - LATE
    [page] = await curtsy.query("SELECT * FROM pages WHERE url LIKE '%limited%'")
    assert page.retry_count == 1, "it was asked for twice, although that burns no attempt"


async def test_requests_to_a_source_keep_their_delay_and_their_number(
    curtsy: Engine, site_apart: PracticeProcess
) -> None:
    policy = Policy(min_delay=80, concurrency=2)
    async with curtsy.worker(settings(policy)):
        job = await curtsy.submit(*(site_apart.url(n % 2, f"/slow/190/{n}") for n in range(24)))
        await curtsy.ended(job)
    site_apart.stop()
    for host in ("127.0.1.1", "127.0.1.2"):
        gap = smallest_gap(site_apart.entries(), host)
        assert gap is not None
        assert gap >= 0.080 - LATE
        assert most_at_once(site_apart.entries(), host) == 2


async def test_a_dead_host_ends_its_jobs_and_later_ones_get_their_chance(
    curtsy: Engine, site: PracticeSite
) -> None:
    nobody = "http://127.0.3.3:9"
    policy = Policy(min_delay=0, retry_base=20, retry_cap=50, give_up_probes=3)
    async with curtsy.worker(settings(policy)):
        job = await curtsy.submit(*(f"{nobody}/{n}" for n in range(50)))
        ended = await curtsy.ended(job)
        assert (ended.state, ended.failed) == ("failed", 50)
        assert {item.kind for item in await curtsy.items(job)} == {"connect"}
        attempts = await curtsy.query("SELECT * FROM attempts")
        assert len(attempts) == 3, "three probes, the other pages were never asked for"
        [letters] = await curtsy.query("SELECT count(*) AS n FROM dead_letters")
        assert letters.n == 50
        later = await curtsy.submit(f"{nobody}/later")
        assert (await curtsy.ended(later)).state == "failed"
    assert len(await curtsy.query("SELECT * FROM attempts")) == 6, "probed anew"


async def test_an_unchanged_page_makes_no_new_version_and_a_304_counts_as_done(
    curtsy: Engine, site: PracticeSite
) -> None:
    async with curtsy.worker():
        first = await curtsy.submit(site.url(0, "/page/1"))
        await curtsy.ended(first)
        second = await curtsy.submit(site.url(0, "/page/1"))
        ended = await curtsy.ended(second)
    assert ended.state == "succeeded"
    assert [d.version for d in await curtsy.query("SELECT version FROM documents")] == [1]
    assert [e.status for e in site.entries()] == [200, 304]
    assert [i.document_version for i in await curtsy.items(second)] == [1]


async def test_a_fresh_page_is_not_asked_for_again(curtsy: Engine, site: PracticeSite) -> None:
    async with curtsy.worker():
        await curtsy.ended(await curtsy.submit(site.url(0, "/page/1")))
        job = await curtsy.submit(site.url(0, "/page/1"), max_age=60_000)
        assert (await curtsy.job(job)).state == "succeeded"
        assert (await curtsy.job(job)).cached == 1
    assert len(site.entries()) == 1


async def test_nothing_starts_at_a_refused_address(store: Store, clock: Clock) -> None:
    curtsy = engine(store, clock)
    async with PracticeSite(hosts=1) as site, curtsy.worker(settings(QUICK, allow=())):
        job = await curtsy.submit(site.url(0, "/page/1"))
        await curtsy.ended(job)
        [item] = await curtsy.items(job)
        assert item.kind == "address_refused"
        assert site.entries() == []
