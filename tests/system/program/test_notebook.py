"""`curtsy` in the kernel of a notebook: its event loop runs already, and its cells come one by
one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from api.conftest import Site
from program.conftest import LOOPBACK
from support.engine import until
from support.patience import PATIENCE

Stories = Callable[[int], list[str]]


class Notebook:
    """A kernel, and what its cells print and return."""

    def __init__(self, manager: AsyncKernelManager, client: AsyncKernelClient) -> None:
        self.manager, self._client = manager, client

    async def cell(self, text: str) -> str:
        """Runs a cell; returns what it printed and its value, as text."""
        said: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    said.append(content["text"])
                case "execute_result":
                    said.append(content["data"]["text/plain"])
                case "error":
                    said.append(f"{content['ename']}: {content['evalue']}")

        await self._client.execute_interactive(
            text.replace("LOOPBACK", LOOPBACK), output_hook=hear, timeout=PATIENCE,
            allow_stdin=False,
        )  # fmt: skip
        return "".join(said)


@pytest.fixture
async def notebook(tmp_path: Path) -> AsyncIterator[Notebook]:
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=PATIENCE)
        yield Notebook(manager, client)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def test_cells_scrape_blocking_and_awaited_one_after_the_other(
    notebook: Notebook, site: Site, stories: Stories
) -> None:
    urls, gone = stories(3), site.fails("/gone", 410)
    assert await notebook.cell(f"import curtsy\nurls = {urls}") == ""
    assert await notebook.cell(f"pages = curtsy.scrape([*urls, {gone!r}], LOOPBACK)\npages") == (
        "Results(4 results, 1 of them failures)"
    )
    assert await notebook.cell("[one.title for one in pages.articles]") == str(["A story"] * 3)
    assert await notebook.cell("again = await curtsy.scrape_async(urls, LOOPBACK)\n"
                               "[one.cached for one in again]") == "[True, True, True]"  # fmt: skip


async def test_an_engine_lives_for_several_cells_and_its_events_come(
    notebook: Notebook, stories: Stories
) -> None:
    urls = stories(2)
    await notebook.cell("import curtsy\nengine = curtsy.Engine('cells.db', LOOPBACK).open()")
    await notebook.cell(f"job = engine.submit({urls})")
    assert await notebook.cell("[one['event'] for one in job.events(timeout=60)][-1]") == (
        "'job_finished'"
    )
    assert await notebook.cell("str(job.status)") == "'COMPLETED'"
    assert await notebook.cell(
        "async with curtsy.Engine('cells.db', LOOPBACK) as other:\n"
        f"    print(sorted([one.url async for one in other.scrape({urls})]) == sorted({urls}))"
    ) == "True\n"  # fmt: skip
    assert await notebook.cell("engine.close()") == ""


async def test_an_interrupted_cell_leaves_a_kernel_that_goes_on(
    notebook: Notebook, site: Site, stories: Stories
) -> None:
    urls = stories(2)
    site.held["/1"] = asyncio.Event()
    await notebook.cell(f"import curtsy\nurls = {urls}")
    stuck = asyncio.create_task(notebook.cell("curtsy.scrape(urls, LOOPBACK)"))

    async def is_held() -> bool:
        return "/1" in site.asked

    await until(is_held, PATIENCE, lambda: "the second page was not asked for")
    await notebook.manager.interrupt_kernel()
    site.held.pop("/1").set()
    assert "KeyboardInterrupt" in await stuck
    assert await notebook.cell("[one.cached for one in curtsy.scrape(urls, LOOPBACK)]") == (
        "[True, True]"
    )


async def test_a_function_of_a_cell_is_no_scraper_and_the_sentence_says_what_to_do(
    notebook: Notebook, stories: Stories
) -> None:
    [url] = stories(1)
    said = await notebook.cell(
        f"import curtsy\ndef mine(page): ...\ncurtsy.scrape({url!r}, scrapers=[mine])"
    )
    assert "%%writefile my_scraper.py" in said
