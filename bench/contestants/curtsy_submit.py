"""One large job through our Submitter, with the peak of its process's memory."""

import time
from pathlib import Path
from typing import Any

import uvloop

from bench.children import contestant
from bench.setting_up import invented_urls, opened, submitter
from curtsy.jobs import JobRequest, PageRequest


def peak_megabytes() -> float:
    """The peak of this program; `getrusage` would include the process that forked it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not report peak memory")


async def run(database: str, urls: int, hosts: int) -> dict[str, Any]:
    async with opened(database) as (store, clock):
        door = submitter(store, clock)
        await door.submit(JobRequest("bench", [PageRequest("http://first.example/")]))
        pages = [PageRequest(url) for url in invented_urls(urls, hosts)]
        began = time.perf_counter()
        submitted = await door.submit(JobRequest("bench", pages))
        seconds = time.perf_counter() - began
    return {"urls": submitted.total, "seconds": seconds, "peak": peak_megabytes()}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
