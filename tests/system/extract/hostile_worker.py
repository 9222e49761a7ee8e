"""A process with secrets in its environment, as a worker has them, that scrapes one page.

`python hostile_worker.py SCRAPER MODULE TARGETS`: prints the record, and what it is itself.
"""

import asyncio
import ctypes
import json
import os
import sys

import orjson

from curtsy.config import load
from curtsy.extract import ExtractLimits, Pool
from curtsy.model.outcome import Record, Reply
from curtsy.processes.startup import own_scrapers

PR_GET_DUMPABLE = 3


async def main(scraper: str, module: str, targets: str) -> None:
    known = {**json.loads(targets), "worker": os.getpid()}
    files = known["file"] if scraper == "hostile" else ""
    own = own_scrapers(load(scrapers=files))
    limits = ExtractLimits(processes=1, seconds=60)
    async with Pool(limits, fork_server=module, own=own) as pool:
        body = b"attempt " + orjson.dumps(known)
        reply = Reply(200, "http://a.example/", {}, body, len(body))
        outcome = await pool.extract(scraper, reply, params=known)
    assert isinstance(outcome, Record), outcome
    dumpable = ctypes.CDLL(None).prctl(PR_GET_DUMPABLE)
    print(json.dumps({"record": orjson.loads(outcome.content), "dumpable": dumpable}))


asyncio.run(main(*sys.argv[1:]))
