"""A real SMTP server on loopback, as small as it can be: STARTTLS, TLS from the start, login."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class MailServer:
    tls: ssl.SSLContext | None = None
    """Offers STARTTLS, or with `implicit` speaks TLS from the start."""
    implicit: bool = False
    login: tuple[str, str] | None = None
    """Required before a mail."""
    answers: Mapping[str, str | None] = field(default_factory=dict)
    """Replies in place of the usual ones, by command; None: it never replies."""
    unknown: str = "nobody"
    """Refuses this receiver, and takes the mail for the others."""
    held: asyncio.Event | None = None
    """Greets nobody until it is set."""
    drips: bool = False
    """Answers the first command after TLS with lines without end, one after the other."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """A client that it dripped on has left."""
    mails: list[tuple[str, list[str], str]] = field(default_factory=list)
    """Sender, receivers, and the text with its headers."""
    commands: list[str] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.held is not None:
                await self.held.wait()
            await _Session(self, reader, writer).run()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()


class _Session:
    def __init__(
        self, server: MailServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._is_secret, self._is_known = server.implicit, server.login is None
        self._sender, self._receivers = "", list[str]()

    async def run(self) -> None:
        await self._say("220 loopback")
        while line := (await self._reader.readline()).decode("latin-1").rstrip("\r\n"):
            command = line.partition(" ")[0].upper()
            self._server.commands.append(command)
            if command in self._server.answers:
                await self._say_instead(self._server.answers[command])
            elif not await self._obey(command, line):
                return

    async def _obey(self, command: str, line: str) -> bool:
        match command:
            case "EHLO":
                await self._greet()
            case "STARTTLS":
                await self._say("220 go ahead")
                assert self._server.tls is not None
                await self._writer.start_tls(self._server.tls)
                self._is_secret = True
            case "AUTH":
                await self._log_in(line)
            case "MAIL" if not self._is_known:
                await self._say("530 log in first")
            case "MAIL":
                self._sender = line
                await self._say("250 fine")
            case "RCPT" if self._server.unknown in line:
                await self._say("550 unknown")
            case "RCPT":
                self._receivers.append(line)
                await self._say("250 fine")
            case "DATA":
                await self._take_mail()
            case "QUIT":
                await self._say("221 bye")
                return False
            case _:
                await self._say("250 fine")
        return True

    async def _greet(self) -> None:
        if self._server.drips and self._is_secret:
            await self._drip()
        offers = ["250-loopback"]
        if self._server.tls is not None and not self._is_secret:
            offers.append("250-STARTTLS")
        if self._server.login is not None:
            offers.append("250-AUTH PLAIN")
        await self._say("\r\n".join([*offers, "250 8BITMIME"]))

    async def _drip(self) -> None:
        try:
            while not self._reader.at_eof():
                await self._say("250-more")
                await asyncio.sleep(0.02)
        finally:
            self._server.left.set()

    async def _log_in(self, line: str) -> None:
        _, name, password = base64.b64decode(line.split()[-1]).decode().split("\0")
        self._is_known = (name, password) == self._server.login
        await self._say("235 welcome" if self._is_known else "535 wrong")

    async def _take_mail(self) -> None:
        await self._say("354 go ahead")
        text = (await self._reader.readuntil(b"\r\n.\r\n")).decode()
        self._server.mails.append((self._sender, self._receivers, text))
        await self._say("250 taken")

    async def _say_instead(self, reply: str | None) -> None:
        if reply is None:
            await asyncio.Event().wait()
        else:
            await self._say(reply)

    async def _say(self, reply: str) -> None:
        self._writer.write(f"{reply}\r\n".encode())
        await self._writer.drain()


@asynccontextmanager
async def mail_server(server: MailServer) -> AsyncIterator[MailServer]:
    tls = server.tls if server.implicit else None
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        if server.held is not None:
            server.held.set()
        listening.close()
