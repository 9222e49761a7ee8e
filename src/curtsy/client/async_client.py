"""The client for programs with an event loop."""

import os
from types import TracebackType
from typing import Self

from curtsy.client.address import open_http
from curtsy.client.client_calls import ClientCalls
from curtsy.client.faces import Awaited
from curtsy.client.http import ApiConnection
from curtsy.client.job_handle import AsyncJob

DEFAULT_URL = "http://127.0.0.1:8000"


class AsyncClient(ClientCalls[Awaited, AsyncJob]):
    """`async with AsyncClient() as client: job = await client.submit([...])`.

    `url` defaults to `CURTSY_URL`, or else to a curtsy on this machine; `key` to `CURTSY_KEY`.
    """

    def __init__(
        self, url: str | None = None, *, key: str | None = None, timeout: float = 30.0,
        api: ApiConnection | None = None,
    ) -> None:  # fmt: skip
        """`api`: a connection that is open already, instead of a URL and a key."""
        if api is None:
            url = url or os.environ.get("CURTSY_URL") or DEFAULT_URL
            api = ApiConnection(open_http(url, key=key, timeout=timeout))
        super().__init__(api, lambda job_id: AsyncJob(api, job_id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """May be called more than once."""
        await self._api.close()
