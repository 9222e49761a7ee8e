"""Results as they come: each once, whatever order the pages end in, however often one looks."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from curtsy.client import result_stream
from curtsy.client.answers import ArticlesJob
from curtsy.client.result_stream import ResultStream
from curtsy.client.retries import Patience
from curtsy.client.statuses import Status

TOTAL = 40


class ScriptedApi:
    """Answers the results of the pages that have ended so far: by their positions, and by events
    unless all pages come from the store."""

    was_answered = True

    def __init__(self, *, has_events: bool = True) -> None:
        self.events: list[int] = []
        """The position of the page that ended with each event."""
        self.failed = set[int]()
        self.listed, self.read_by_event = 0, 0
        self._has_events = has_events

    def ends(self, place: int, *, fails: bool = False) -> None:
        self.events.append(place)
        self.failed = self.failed | {place} if fails else self.failed - {place}

    @property
    def counts(self) -> dict[str, int]:
        ended = set(self.events)
        return {"completed": len(ended - self.failed), "failed": len(self.failed), "cancelled": 0}

    async def request(self, _method: str, _path: str, *, query: dict[str, Any]) -> Any:
        if "after_event" in query:
            return self._since(query["after_event"] if self._has_events else len(self.events),
                               query["limit"], query["after_event"])  # fmt: skip
        after = int(query["cursor"]) if query["cursor"] is not None else -1
        places = [one for one in sorted(set(self.events)) if one > after]
        piece = places[: query["limit"]]
        self.listed += len(piece)
        more = {"next_cursor": str(piece[-1])} if len(places) > len(piece) else {}
        return self._rows(piece) | more

    def _since(self, first: int, limit: int, after: int) -> dict[str, Any]:
        piece = self.events[first : first + limit]
        self.read_by_event += len(piece)
        return self._rows(list(dict.fromkeys(piece))) | {"last_event": after + len(piece)}

    def _rows(self, places: Sequence[int]) -> dict[str, Any]:
        done = [one for one in places if one not in self.failed]
        return {
            "results": [_row(place, number) for place in done for number in range(1 + place % 2)],
            "failed_articles": [_failure(place) for place in places if place in self.failed],
        }


def _failure(place: int) -> dict[str, Any]:
    return {
        "article_id": f"art_{place}", "url": f"http://a.example/{place}", "error": "It is gone.",
        "attempted_at": "2026-11-19T22:00:00Z",
    }  # fmt: skip


def _row(place: int, number: int) -> dict[str, Any]:
    return {
        "article_id": f"art_{place}", "url": f"http://a.example/{place}", "record": {"n": number},
        "scraped_at": "2026-11-19T22:00:00Z",
    }  # fmt: skip


def _status(api: ScriptedApi, state: str) -> Status:
    at = "2026-11-19T22:00:00Z"
    made = ArticlesJob(
        door="articles", state="running", job_id="j", status="", total_articles=TOTAL,
        completed=0, failed=0, pending=0, cached_articles=0,
        created_at=at, updated_at=at,  # type: ignore[arg-type]
    )  # fmt: skip
    made.update(api.counts)
    return Status(state, made)


async def _ends_in(api: ScriptedApi, order: Sequence[int]) -> AsyncIterator[Status]:
    for place in order:
        api.ends(place)
        yield _status(api, "running")
    yield _status(api, "succeeded")


@pytest.mark.parametrize("has_events", [True, False], ids=["events", "from the store"])
@pytest.mark.parametrize(
    "order",
    [range(TOTAL), range(TOTAL - 1, -1, -1), [*range(1, TOTAL, 2), *range(0, TOTAL, 2)]],
    ids=["forward", "backward", "odd first"],
)
async def test_each_result_comes_once_in_whatever_order_pages_end(
    order: Sequence[int], has_events: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_stream, "PAGE", 7)
    monkeypatch.setattr(result_stream, "LONGEST_SHARE", 1e9)
    api = ScriptedApi(has_events=has_events)
    found = [(one["article_id"], one["record"]["n"])
             async for one in stream_of(api).during(_ends_in(api, order))]  # fmt: skip
    assert len(found) == len(set(found)) == TOTAL + TOTAL // 2
    assert [name for name, number in found if not number] == [f"art_{place}" for place in order]


async def test_pages_that_end_with_an_event_are_read_once() -> None:
    api = ScriptedApi()
    assert len([one async for one in stream_of(api).during(_ends_in(api, range(TOTAL)))]) == 60
    assert (api.read_by_event, api.listed) == (TOTAL, 0)


async def test_pages_that_end_in_order_are_not_listed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(result_stream, "PAGE", 5)
    monkeypatch.setattr(result_stream, "LONGEST_SHARE", 1e9)
    api = ScriptedApi(has_events=False)
    assert len([one async for one in stream_of(api).during(_ends_in(api, range(TOTAL)))]) == 60
    assert api.listed <= TOTAL * 5, "a piece at most for each page"


async def test_listing_takes_a_small_share_of_the_time() -> None:
    api = ScriptedApi(has_events=False)
    stream = stream_of(api)
    stream._next_at = float("inf")
    found = [one async for one in stream.during(_ends_in(api, range(TOTAL)))]
    assert len(found) == 60
    assert api.listed == TOTAL, "only at the end"


@pytest.mark.parametrize("has_events", [True, False], ids=["events", "from the store"])
async def test_a_failure_does_not_hide_what_its_page_became_afterwards(
    has_events: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_stream, "PAGE", 2)
    monkeypatch.setattr(result_stream, "LONGEST_SHARE", 1e9)
    api = ScriptedApi(has_events=has_events)

    async def story() -> AsyncIterator[Status]:
        for place in range(8):
            api.ends(place, fails=place == 2)
            yield _status(api, "running")
        api.ends(2)
        yield _status(api, "running")
        api.ends(8, fails=True)
        yield _status(api, "partial")

    found = [one async for one in stream_of(api).during(story())]
    assert ["error" in one for one in found if one["article_id"] == "art_2"] == [True, False]
    assert [one["article_id"] for one in found[-2:]] == ["art_2", "art_8"]
    assert len(found) == 1 + 12 + 1


def stream_of(api: ScriptedApi) -> ResultStream:
    return ResultStream(api, "j", Patience(api))  # type: ignore[arg-type]
