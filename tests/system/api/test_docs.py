"""The page on which the API can be tried: all of it comes from here."""

import asyncio
import re

import pytest

from api.front import Front, assert_problem
from support.browser import browser
from support.patience import PATIENCE
from support.programs import chromium


async def text(door: Front, path: str) -> tuple[int, str, str]:
    async with door.session.get(door.url + path) as reply:
        return reply.status, reply.headers["Content-Type"], await reply.text()


async def test_nothing_is_loaded_from_elsewhere(plain_door: Front) -> None:
    status, kind, page = await text(plain_door, "/docs")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    loaded = re.findall(r"(?:src|href)=\"([^\"]+)\"", page)
    assert len(loaded) == 4
    for path in loaded:
        assert path.startswith("/docs/")
        async with plain_door.session.get(plain_door.url + path) as reply:
            assert reply.status == 200
            assert len(await reply.read()) > 200
    _, kind, start = await text(plain_door, "/docs/start.js")
    assert kind.startswith("text/javascript")
    assert "/openapi.json" in start
    assert "validatorUrl: null" in start, "else the page sends our description elsewhere"


async def test_the_page_has_no_script_of_its_own(plain_door: Front) -> None:
    """So a strict Content-Security-Policy is possible."""
    _, _, page = await text(plain_door, "/docs")
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == ["", ""]
    assert not re.search(r"\son\w+=|<style|style=|javascript:", page)


async def test_the_page_understands_our_description(plain_door: Front) -> None:
    """OpenAPI 3.1 needs version 5 of it: the one before has no part of this name."""
    _, _, script = await text(plain_door, "/docs/swagger-ui-bundle.js")
    assert (await plain_door.get("/openapi.json")).json["openapi"].startswith("3.1")
    assert "OAS31" in script


@pytest.mark.parametrize("name", ["x.js", "..%2F..%2Fcore.py", "redoc.standalone.js"])
async def test_other_files_are_not_served(plain_door: Front, name: str) -> None:
    assert_problem(await plain_door.get(f"/docs/{name}"), 404, "not_found")


@pytest.mark.skipif(
    chromium() is None, reason="LEFT OUT: there is no Chromium; make test installs it as root"
)
async def test_a_browser_shows_the_page_although_its_policy_is_strict(plain_door: Front) -> None:
    async with asyncio.timeout(2 * PATIENCE), browser() as chrome:
        await chrome.go(f"{plain_door.url}/docs")
        while not await chrome.run("document.querySelectorAll('.opblock').length"):
            await asyncio.sleep(0.05)
        await chrome.run("document.head.append(Object.assign(document.createElement('script'),"
                         "{textContent: 'window.planted = 1'})); true")  # fmt: skip
        assert await chrome.run("typeof window.planted") == "undefined"
