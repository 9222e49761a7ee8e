"""One call, at most one request, and only while we are trusted to make it."""

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from aiohttp import (
    ClientConnectionError,
    ClientOSError,
    ClientRequest,
    ClientResponse,
    ServerDisconnectedError,
)
from aiohttp.connector import Connection


class TrustEnded(Exception):
    """Nothing was sent: when the connection stood ready, the right to use it was gone."""


class Dropped(ClientConnectionError):
    """The host broke the connection off before its answer's headers were complete."""


asked: ContextVar[Callable[[], bool]] = ContextVar("asked")
"""Whether the request of this task may leave; aiohttp builds and sends it within the task."""


class TrustedRequest(ClientRequest):
    """A request that asks in the same step of the loop that writes its bytes."""

    # aiohttp calls this once the connection stands. A request without a body is written by
    # the coroutine returned here before that first yields, so nothing can come between.
    def send(self, conn: Connection) -> Coroutine[Any, Any, ClientResponse]:
        if not asked.get()():
            raise TrustEnded
        return super().send(conn)


class OnlyResponse(ClientResponse):
    """aiohttp sends a GET again when a kept connection turns out to be dead.

    To the site that is a second start, which nobody paced. It happens for these two errors only:
    under another name they end the call.
    """

    async def start(self, connection: Connection) -> ClientResponse:
        try:
            return await super().start(connection)
        except (ClientOSError, ServerDisconnectedError) as error:
            raise Dropped(str(error)) from error
