"""A query parameter that a route does not have is refused, with the nearest name."""

import pytest
from fastapi.routing import APIRoute

from api.front import Front, assert_problem
from curtsy.api.app import UNCHECKED, create_app

PATHS = sorted({
    (method, route.path)
    for route in create_app(None).routes  # type: ignore[arg-type]  # its routes need no desk
    if isinstance(route, APIRoute)
    and not any(route in module.router.routes for module in UNCHECKED)
    for method in route.methods & {"GET", "DELETE"}
})  # fmt: skip


def test_the_routes_are_many() -> None:
    assert len(PATHS) > 35
    assert {("GET", "/jobs"), ("GET", "/jobs/"), ("GET", "/sources"), ("DELETE", "/jobs/{job_id}"),
            ("GET", "/sites/{site_name}/records")} <= set(PATHS)  # fmt: skip


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_no_route_ignores_what_it_does_not_know(
    plain_door: Front, method: str, path: str
) -> None:
    told = await plain_door.ask(method, f"{path}?bogus_word=1")
    assert_problem(told, 422, "bad_request")
    assert [error["loc"] for error in told.json["errors"]] == [["query", "bogus_word"]]


@pytest.mark.parametrize(
    ("path", "meant"),
    [("/jobs?status=COMPLETED", "status_filter"), ("/jobs/?limt=3", "limit"),
     ("/sources?cursr=a", "cursor"), ("/dead-letters?kinds=dns", "kind"),
     ("/schedules?Limit=3", "limit"), ("/jobs?status_filter=queued&tags=x", "tag")],
)  # fmt: skip
async def test_the_nearest_name_is_told(plain_door: Front, path: str, meant: str) -> None:
    told = await plain_door.get(path)
    assert told.status == 422
    assert f"(did you mean {meant}?)." in told.json["detail"]


async def test_a_misspelt_purge_deletes_nothing_and_cancels_nothing(plain_door: Front) -> None:
    job = (await plain_door.submit("http://a.example/1")).json["id"]
    assert (await plain_door.delete(f"/jobs/{job}?purg=true")).status == 422
    assert (await plain_door.get(f"/jobs/{job}")).json["status"] == "queued"


async def test_what_the_documents_ask_with_is_known(plain_door: Front) -> None:
    for path in ("/jobs/?status_filter=COMPLETED&limit=10", "/jobs/?limit=10&skip=5",
                 "/jobs?cursor=1-1&tag=a&q=b&door=crawl"):  # fmt: skip
        assert (await plain_door.get(path)).status == 200, path
    body = {"spider": "article", "start_urls": ["http://a.example/"]}
    assert (await plain_door.ask("POST", "/crawl?ignore_cache=true", json=body)).status == 200
