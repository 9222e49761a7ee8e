"""The client for programs without an event loop: each call blocks until its result."""

import atexit
import os
from types import TracebackType
from typing import Self

from curtsy.client.address import open_http
from curtsy.client.async_client import DEFAULT_URL
from curtsy.client.background_loop import BackgroundLoop
from curtsy.client.client_calls import ClientCalls
from curtsy.client.faces import Blocking
from curtsy.client.http import ApiConnection
from curtsy.client.job_handle import Job


class Client(ClientCalls[Blocking, Job]):
    """`with Client() as client: client.submit([...]).get(timeout=60)`.

    `url` defaults to `CURTSY_URL`, or else to a curtsy on this machine; `key` to `CURTSY_KEY`.
    """

    def __init__(
        self, url: str | None = None, *, key: str | None = None, timeout: float = 30.0
    ) -> None:
        url = url or os.environ.get("CURTSY_URL") or DEFAULT_URL
        api = ApiConnection(open_http(url, key=key, timeout=timeout))
        self._background = loop = BackgroundLoop()
        super().__init__(api, lambda job_id: Job(api, job_id, loop), loop)
        atexit.register(self.close)  # later, nothing could cancel what its thread waits for

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """May be called more than once."""
        atexit.unregister(self.close)
        if not self._background.is_closed:
            self._background.run(self._api.close())
            self._background.close()
