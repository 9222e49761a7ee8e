"""A wire to a server that a test may cut: whoever talks over it must come back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress


class Wire:
    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._open: set[asyncio.StreamWriter] = set()
        self.cuts = 0
        self.is_down = False
        """What comes meanwhile is hung up on, as by a server that is not there."""
        self.refused = 0
        self.answers = 0
        """Pieces of them that came back over it."""
        self.url = ""

    def cut(self) -> None:
        """Everything that is open ends, without a goodbye; what comes next gets through."""
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
    """To the server with this URL."""
    made = Wire(int(to.rpartition(":")[2]))
    server = await asyncio.start_server(made.carry, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        made.cut()
        server.close()
