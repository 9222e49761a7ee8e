"""A client of the API that does not take silence for an answer."""

import asyncio
import itertools
import random
from typing import Self

import aiohttp

_keys = itertools.count(1)


class Client:
    """Asks again, under the same Idempotency-Key, until it is told which job it has."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/jobs"
        self.unanswered = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=10)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def submitted(self, url: str, *, max_age: int = 0) -> str:
        key = f"client-{next(_keys)}"
        while (job := await self.once(url, key, max_age=max_age)) is None:
            self.unanswered += 1
            await asyncio.sleep(random.uniform(0.5, 1.5))
        return job

    async def once(self, url: str, key: str, *, max_age: int = 0) -> str | None:
        """The job, or None where nobody said whether there is one."""
        headers, body = {"Idempotency-Key": key}, {"url": url, "max_age": max_age}
        try:
            async with self._session.post(self._url, json=body, headers=headers) as answer:
                if answer.status == 201:
                    job: str = (await answer.json())["id"]
                    return job
                assert answer.status == 503, await answer.text()
        except (aiohttp.ClientError, OSError, TimeoutError):
            pass
        return None

    async def is_told_to_come_back(self) -> None:
        """While the database is away, an API says when to try again."""
        async with self._session.post(self._url, json={"url": "http://127.0.0.1/"}) as answer:
            assert answer.status == 503, await answer.text()
            assert int(answer.headers["Retry-After"]) > 0
