"""The open streams of this process: counted by key, and re-authenticated while nothing is sent."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from starlette.types import Scope

from curtsy import periodic
from curtsy.api.auth.direct_request import is_direct
from curtsy.api.auth.stream_access import StreamAccess
from curtsy.errors import KeyNeeded, NotAllowed, OverLimit, StoreAway
from curtsy.model.roles import Caller

CHECK_SECONDS = 0.8
"""A stream of a revoked key ends within a second; the rest is for the read."""
RETRY_SECONDS = 10
OPEN = "open_stream"


class _Credential(NamedTuple):
    """What decides who the caller is; all streams with the same one are checked together."""

    scheme: str
    key: bytes | None
    cookie: bytes | None
    is_direct: bool


class OpenStreams:
    """`authorise` raises where the caller of a scope may not go on. `forget` makes it read from the
    store. One task checks all streams, and runs only while there are any."""

    def __init__(
        self, authorise: Callable[[Scope], Awaitable[None]], forget: Callable[[], None], *,
        most_per_key: int,
    ) -> None:  # fmt: skip
        self._authorise, self._forget, self._most = authorise, forget, most_per_key
        self._streams: dict[StreamAccess, _Credential] = {}
        self._number: Counter[str] = Counter()
        """By key; without a key, by address."""
        self._checking: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def add(self, stream: StreamAccess) -> None:
        """Raises `OverLimit` if the key has as many streams open as it may."""
        if stream in self._streams:
            return
        client = _client(stream.scope)
        if self._number[client] >= self._most:
            raise OverLimit(
                f"{self._most} streams of this key are open already (STREAMS_PER_KEY): close one, "
                "or follow all jobs with one stream (`/ws` or `/events`).", RETRY_SECONDS
            )  # fmt: skip
        self._number[client] += 1
        self._streams[stream] = _credential(stream.scope)
        if self._checking is None:
            self._checking = asyncio.create_task(self._check_while_open())

    def remove(self, stream: StreamAccess) -> None:
        if self._streams.pop(stream, None) is None:
            return
        client = _client(stream.scope)
        self._number[client] -= 1
        if not self._number[client]:
            del self._number[client]

    async def _check_while_open(self) -> None:
        while self._streams:
            await asyncio.sleep(CHECK_SECONDS)
            await periodic.once("stream_access", self._check)
        self._checking = None

    async def _check(self) -> None:
        self._forget()
        groups: dict[_Credential, list[StreamAccess]] = {}
        for stream, credential in self._streams.items():
            groups.setdefault(credential, []).append(stream)
        await asyncio.gather(*map(self._check_group, groups.values()))

    async def _check_group(self, streams: list[StreamAccess]) -> None:
        """While the store is away streams go on: there is nothing new to disclose."""
        try:
            await self._authorise(streams[0].scope)
        except StoreAway:
            return
        except (KeyNeeded, NotAllowed) as error:
            for stream in streams:
                self._start(stream.end(error))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Waits for nobody: a client that reads nothing must not delay the end of the others."""
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # of a client that left in the same moment


def open_stream(scope: Scope) -> None:
    """Counts the response to this request among the streams of its key; raises `OverLimit`."""
    if (opens := scope.get("state", {}).get(OPEN)) is not None:
        opens()


def _client(scope: Scope) -> str:
    caller: Caller = scope["state"]["caller"]
    if caller.key_id is not None:
        return f"key {caller.key_id}"
    address = scope.get("client")
    return f"address {address[0]}" if address else "unknown"


def _credential(scope: Scope) -> _Credential:
    headers = dict(scope["headers"])
    return _Credential(
        scope["scheme"], headers.get(b"authorization"), headers.get(b"cookie"), is_direct(scope)
    )
