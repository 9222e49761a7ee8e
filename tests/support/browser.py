"""A headless Chromium that a test can tell what to run; spoken to by its debugging protocol."""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.asyncio.client import ClientConnection, connect

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-port=0",
)  # fmt: skip
START_SECONDS = 30


def chromium() -> str | None:
    return shutil.which("chromium")


def install() -> None:
    """Debian's package, where that is possible. `make test` calls it once, before any test: of
    several who install at the same time, all but one fail."""
    if chromium() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(
                ["apt-get", "-q", *words],
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True,
                check=False,
            )
    say_what_is_left_out()


def say_what_is_left_out() -> None:
    """`make test` says so before the tests, and again after them, where people look."""
    if chromium() is None:
        print("LEFT OUT: there is no Chromium, so no test tries a browser.")


class Browser:
    def __init__(self, page: ClientConnection) -> None:
        self._page = page
        self._numbers = itertools.count(1)

    async def go(self, url: str) -> None:
        await self._say("Page.enable")
        await self._say("Page.navigate", url=url)
        while await self.run("document.readyState") != "complete":
            await asyncio.sleep(0.05)

    async def run(self, script: str) -> Any:
        """The value of the script, or what its promise comes to."""
        said = await self._say(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in said:
            raise AssertionError(said["exceptionDetails"])
        return said["result"].get("value")

    async def _say(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        await self._page.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            heard = json.loads(await self._page.recv())
            if heard.get("id") == number:
                if "error" in heard:
                    raise AssertionError(heard["error"])
                return heard["result"]


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    assert path is not None
    profile = Path(tempfile.mkdtemp(prefix="curtsy-chromium-"))
    process = subprocess.Popen(  # noqa: ASYNC220
        [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(START_SECONDS):
            address = await _debugging_address(profile)
        async with connect(address, max_size=2**24) as page:
            yield Browser(page)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


async def _debugging_address(profile: Path) -> str:
    told = profile / "DevToolsActivePort"
    while not told.exists() or not told.read_text().strip():
        await asyncio.sleep(0.05)
    port = int(told.read_text().split()[0])
    while True:
        tabs = await asyncio.to_thread(_tabs, port)
        for tab in tabs:
            if tab["type"] == "page":
                return str(tab["webSocketDebuggerUrl"])
        await asyncio.sleep(0.05)


def _tabs(port: int) -> Any:
    with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
        return json.load(answer)


if __name__ == "__main__":
    if "--only-say" in sys.argv:
        say_what_is_left_out()
    else:
        install()
