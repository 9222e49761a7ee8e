"""A process with secrets in its environment, as a worker has them, and a scraper that looks."""

import asyncio
import ctypes
import os
import sys

from curtsy.config import load
from curtsy.extract import ExtractLimits, Pool
from curtsy.model.outcome import Record, Reply
from curtsy.processes.startup import own_scrapers

PR_GET_DUMPABLE = 3


async def main(file: str, word: str) -> None:
    own = own_scrapers(load(scrapers=file))
    async with Pool(ExtractLimits(processes=1, seconds=30), own=own) as pool:
        reply = Reply(200, "http://a.example/", {}, b"", 0)
        params = {"word": word, "worker": os.getpid()}
        outcome = await pool.extract("secrets", reply, params=params)
    assert isinstance(outcome, Record), outcome
    print(outcome.content.decode())
    print(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE))


asyncio.run(main(*sys.argv[1:]))
