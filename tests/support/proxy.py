"""A proxy to PostgreSQL that a test may cut or stall, or make lose the answer to a COMMIT.

It parses as much of the protocol as it needs to know the statements of a transaction at its COMMIT:
names of prepared statements (Parse), which of them ran (Bind), and plain queries (Query).
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_SSL_REQUEST = 80_877_103


Chosen = Callable[[list[str]], bool]
"""Whether a transaction with these statements is chosen."""


def of_a_flush(statements: list[str]) -> bool:
    """Chooses flushes with results."""
    return any("INSERT INTO attempts" in statement for statement in statements)


class Every:
    """Chooses every n-th matching transaction."""

    def __init__(self, n: int, chosen: Chosen) -> None:
        self._n, self._chosen, self._seen = n, chosen, 0

    def __call__(self, statements: list[str]) -> bool:
        if not self._chosen(statements):
            return False
        self._seen += 1
        return self._seen % self._n == 0


class First:
    """Chooses the first few matching transactions."""

    def __init__(self, few: int, chosen: Chosen) -> None:
        self._left, self._chosen = few, chosen

    def __call__(self, statements: list[str]) -> bool:
        if self._left <= 0 or not self._chosen(statements):
            return False
        self._left -= 1
        return True


class Conversation:
    """Parses the messages of a client and collects the statements of its transaction."""

    def __init__(self) -> None:
        self._unread = b""
        self._greeted = False
        self._prepared: dict[str, str] = {}
        self.statements: list[str] = []
        self.runs = ""
        """The statement that the last bytes run, if any."""

    def parse(self, data: bytes) -> Iterator[bool]:
        """For each whole message in the bytes: whether it is a COMMIT."""
        self._unread += data
        self.runs = ""
        while (message := self._next()) is not None:
            yield self._is_commit(*message)

    def _next(self) -> tuple[bytes, bytes] | None:
        start = 1 if self._greeted else 0
        if len(self._unread) < start + 4:
            return None
        (length,) = struct.unpack_from("!I", self._unread, start)
        if len(self._unread) < start + length:
            return None
        kind, body = self._unread[:start], self._unread[start + 4 : start + length]
        self._unread = self._unread[start + length :]
        if not self._greeted and struct.unpack_from("!I", body)[0] != _SSL_REQUEST:
            self._greeted = True
        return kind, body

    def _is_commit(self, kind: bytes, body: bytes) -> bool:
        fields = [field.decode(errors="replace") for field in body.split(b"\0", 2)[:2]]
        if kind == b"P":
            self._prepared[fields[0]] = fields[1]
        elif kind == b"B":
            self.runs = self._prepared.get(fields[1], "")
            self.statements.append(self.runs)
        elif kind == b"Q":
            self.runs = fields[0]
            if fields[0].startswith("BEGIN"):
                self.statements.clear()
            return fields[0].startswith("COMMIT")
        return False


class Proxy:
    """`url` leads through the proxy to the database."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._to = (parts.hostname, parts.port)
        self._path, self._user = parts.path, parts.username
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self._closed = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._held: set[str] = set()
        self._let_go = asyncio.Event()
        self._loses: Chosen = lambda _statements: False
        self._freezes: Chosen = lambda _statements: False
        self.frozen = asyncio.Event()
        self.lost_answers = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://{self._user}@127.0.0.1:{port}{self._path}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self._closed = True
        self.cut()
        for task in tuple(self._relays):
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def cut(self) -> None:
        """Breaks all connections; new ones are accepted."""
        for writer in tuple(self._open):
            writer.transport.abort()

    def stall(self) -> None:
        """Holds all data in both directions and leaves the connections open."""
        self._flows.clear()

    def flow(self) -> None:
        """Ends `stall`: the held data passes."""
        self._flows.set()

    def hold(self, *fragments: str) -> None:
        """Holds statements that contain one of these fragments; others pass."""
        self._held |= set(fragments)

    def let_go(self, *fragments: str) -> None:
        """Lets the held statements pass."""
        self._held -= set(fragments)
        self._let_go.set()
        self._let_go = asyncio.Event()

    def lose_answers(self, to: Chosen) -> None:
        """The COMMIT of each chosen transaction takes effect, but its client sees only a broken
        connection."""
        self._loses = to

    def freeze_within(self, chosen: Chosen) -> None:
        """Stalls everything when a chosen transaction is about to commit: its locks stay, as if its
        client had frozen."""
        self._freezes = chosen

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Called as soon as there is a connection; what comes after the end is cut at once."""
        if self._closed:
            writer.transport.abort()
            return
        self._open.add(writer)
        task = asyncio.create_task(self._relay(reader, writer))
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)
        # A task that is cancelled before it begins runs nothing, so this cuts the connection.
        task.add_done_callback(lambda _task: writer.transport.abort())

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._flows.wait()
            async with self._connected(writer) as (from_server, to_server):
                deaf = asyncio.Event()
                async with asyncio.TaskGroup() as group:
                    up = group.create_task(self._up(reader, to_server, deaf))
                    down = group.create_task(self._down(from_server, writer, deaf))
                    await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
                    up.cancel()
                    down.cancel()

    @asynccontextmanager
    async def _connected(
        self, client: asyncio.StreamWriter
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        self._open.add(client)
        try:
            from_server, to_server = await asyncio.open_connection(*self._to)
            self._open.add(to_server)
            try:
                yield from_server, to_server
            finally:
                self._open.discard(to_server)
                to_server.transport.abort()
        finally:
            self._open.discard(client)
            client.transport.abort()

    async def _up(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deaf: asyncio.Event
    ) -> None:
        client = Conversation()
        with suppress(OSError):
            while data := await reader.read(65_536):
                if any(list(client.parse(data))):
                    if self._loses(client.statements):
                        deaf.set()
                    if self._freezes(client.statements):
                        self.stall()
                        self.frozen.set()
                await self._flows.wait()
                while any(fragment in client.runs for fragment in self._held):
                    await self._let_go.wait()
                writer.write(data)
                await writer.drain()

    async def _down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deaf: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await self._flows.wait()
                if deaf.is_set():
                    self.lost_answers += 1
                    return
                writer.write(data)
                await writer.drain()
