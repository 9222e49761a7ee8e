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
    """Answers the results of the pages that have ended so far, by their positions."""

    was_answered = True

    def __init__(self) -> None:
        self.ended: set[int] = set()
        self.read = 0

    async def request(self, _method: str, _path: str, *, query: dict[str, Any]) -> Any:
        after = int(query["cursor"]) if query["cursor"] is not None else -1
        places = [one for one in sorted(self.ended) if one > after]
        piece = places[: query["limit"]]
        self.read += len(piece)
        rows = [_row(place, number) for place in piece for number in range(1 + place % 2)]
        more = {"next_cursor": str(piece[-1])} if len(places) > len(piece) else {}
        return {"results": rows, "failed_articles": []} | more


def _row(place: int, number: int) -> dict[str, Any]:
    return {
        "article_id": f"art_{place}", "url": f"http://a.example/{place}", "record": {"n": number},
        "scraped_at": "2026-11-19T22:00:00Z",
    }  # fmt: skip


def _status(api: ScriptedApi, state: str) -> Status:
    at = "2026-11-19T22:00:00Z"
    body: dict[str, Any] = {"completed": len(api.ended), "failed": 0, "cancelled": 0}
    made = ArticlesJob(
        door="articles", state="running", job_id="j", status="", total_articles=TOTAL,
        completed=len(api.ended), failed=0, pending=0, cached_articles=0,
        created_at=at, updated_at=at,  # type: ignore[arg-type]
    )  # fmt: skip
    made.update(body)
    return Status(state, made)


async def _ends_in(api: ScriptedApi, order: Sequence[int]) -> AsyncIterator[Status]:
    for place in order:
        api.ended.add(place)
        yield _status(api, "running")
    yield _status(api, "succeeded")


@pytest.mark.parametrize(
    "order",
    [range(TOTAL), range(TOTAL - 1, -1, -1), [*range(1, TOTAL, 2), *range(0, TOTAL, 2)]],
    ids=["forward", "backward", "odd first"],
)
async def test_each_result_comes_once_in_whatever_order_pages_end(
    order: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_stream, "PAGE", 7)
    monkeypatch.setattr(result_stream, "LONGEST_SHARE", 1e9)
    api = ScriptedApi()
    stream = ResultStream(api, "j", Patience(api))  # type: ignore[arg-type]
    found = [(one["article_id"], one["record"]["n"])
             async for one in stream.during(_ends_in(api, order))]  # fmt: skip
    assert len(found) == len(set(found)) == TOTAL + TOTAL // 2
    assert [name for name, number in found if not number] == [f"art_{place}" for place in order]


async def test_pages_that_end_in_order_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_stream, "PAGE", 5)
    monkeypatch.setattr(result_stream, "LONGEST_SHARE", 1e9)
    api = ScriptedApi()
    stream = ResultStream(api, "j", Patience(api))  # type: ignore[arg-type]
    assert len([one async for one in stream.during(_ends_in(api, range(TOTAL)))]) == 60
    assert api.read <= TOTAL * 5, "a piece at most for each page"


async def test_reading_takes_a_small_share_of_the_time() -> None:
    api = ScriptedApi()
    stream = ResultStream(api, "j", Patience(api))  # type: ignore[arg-type]
    stream._next_at = float("inf")
    found = [one async for one in stream.during(_ends_in(api, range(TOTAL)))]
    assert len(found) == 60
    assert api.read == TOTAL, "only at the end"
