"""Feeds and sitemaps as they are found: odd, broken, mislabelled and hostile."""

import random
from dataclasses import replace
from typing import Any

import orjson
import pytest

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import SUMMARY, load
from scrapers.feeds.odd_files import Odd
from scrapers.feeds.odd_others import ATOM, OTHERS
from scrapers.feeds.odd_rss import RSS
from scrapers.feeds.odd_sitemaps import SITEMAPS

KINDS = {"rss": RSS, "atom": ATOM, "other": OTHERS, "sitemap": SITEMAPS}
CORPUS = [pytest.param(odd, id=f"{kind}: {name}") for kind, odds in KINDS.items()
          for name, odd in odds.items()]  # fmt: skip


def read(odd: Odd, **params: Any) -> Record | Failed:
    headers = {"content-type": odd.content_type}
    reply = Reply(200, odd.url, headers, odd.body, len(odd.body))
    return load(odd.scraper, params)(reply)


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 100


@pytest.mark.parametrize("odd", CORPUS)
def test_an_odd_file_is_read_as_its_table_says(odd: Odd) -> None:
    record = read(odd)
    if odd.fails is not None:
        assert isinstance(record, Failed)
        assert (record.kind, odd.fails[1] in record.error) == (odd.fails[0], True), record.error
        return
    assert isinstance(record, Record), record
    found = orjson.loads(record.content)
    assert [one["fields"] for one in found["records"]] == list(odd.entries)
    keys = odd.keys or tuple(fields["url"] for fields in odd.entries)
    assert tuple(one["key"] for one in found["records"]) == keys
    more = found.get("more", [])
    assert tuple((one["url"], one["scraper"]) for one in more) == odd.more
    assert found["next"] == odd.next
    assert found["empty"] == (not (odd.entries or odd.more))
    assert {one["url"]: one["updated_at"] for one in more if one["url"] in odd.dates} == odd.dates
    said = [line for _level, line in record.lines]
    assert len(said) == len(odd.says), said
    assert all(part in line for part, line in zip(odd.says, said, strict=True)), said


PIECES = (
    b"<", b">", b"&", b"]]>", b"<![CDATA[", b"\0", b"\xff\xfe", b"<item>", b"</item>", b"<!--",
    b"&#xD800;", b"\xed\xa0\x80", b'"', b"<entry>", b"xmlns='", b"<a:b>", b"http://[",
)  # fmt: skip


def test_no_damage_is_too_much() -> None:
    """What is read is a list with usable URLs, or a failure with a sentence."""
    rng = random.Random(18)
    odds = [odd for of_kind in KINDS.values() for odd in of_kind.values()]
    for _ in range(1_500):
        odd, body = rng.choice(odds), bytearray(rng.choice(odds).body)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(body) + 1)
            match rng.randrange(4):
                case 0:
                    body[at : at + rng.randint(1, 20)] = b""
                case 1:
                    body[at:at] = rng.choice(PIECES)
                case 2:
                    body[at:] = rng.choice(odds).body
                case _:
                    body[at : at + 1] = bytes([rng.randrange(256)])
        record = read(replace(odd, body=bytes(body)))
        if isinstance(record, Failed):
            assert record.error.endswith("."), record
            continue
        for one in orjson.loads(record.content)["records"]:
            assert isinstance(one["key"], str)
            assert one["fields"]["url"].startswith(("http://", "https://"))


@pytest.mark.parametrize("odd", CORPUS)
def test_a_summary_counts_what_a_reading_lists(odd: Odd) -> None:
    record = read(odd, **SUMMARY)
    if odd.fails is not None:
        assert isinstance(record, Failed)
        return
    assert isinstance(record, Record), record
    found = orjson.loads(record.content)
    assert found["entries"] == len({fields["url"] for fields in odd.entries})
    stamps = [stamp for fields in odd.entries
              if (stamp := fields.get("updated_at") or fields.get("published_at"))]  # fmt: skip
    assert (found["newest_at"], found["oldest_at"]) == (
        (max(stamps), min(stamps)) if stamps else (None, None)
    )
    assert len(found["more"]) == len(odd.more)
