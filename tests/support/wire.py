"""A TCP relay to a server, which a test may cut: clients must reconnect."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress


class Wire:
    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._open: set[asyncio.StreamWriter] = set()
        self.cuts = 0
        self.is_down = False
        """New connections are closed, as if the server were down."""
        self.refused = 0
        self.answers = 0
        """Pieces of data that came back from the server."""
        self.url = ""

    def cut(self) -> None:
        """Aborts all open connections; new ones pass."""
        self.cuts += 1
        for writer in self._open:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            there = await asyncio.open_connection("127.0.0.1", self._to_port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, there[1]}
        self._open |= both
        ways = [
            asyncio.create_task(_one_way(reader, there[1])),
            asyncio.create_task(_one_way(there[0], writer, self._answered)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in both:
            end.transport.abort()
        self._open -= both

    def _answered(self) -> None:
        self.answers += 1


async def _one_way(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    carried: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
            carried()


@asynccontextmanager
async def wire(to: str) -> AsyncIterator[Wire]:
    """A relay to the server with this URL."""
    relay = Wire(int(to.rpartition(":")[2]))
    server = await asyncio.start_server(relay.carry, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        relay.cut()
        server.close()
