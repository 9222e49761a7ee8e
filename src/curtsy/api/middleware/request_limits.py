"""Middleware that limits the head and the body of every request, and catches unexpected errors."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from fastapi import HTTPException, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curtsy.api.problems import problem
from curtsy.errors import OverLimit
from curtsy.logs import logger
from curtsy.model.roles import Caller

log = logger("api")

MAX_HEAD_BYTES = 64 * 2**10
MAX_BODY_BYTES = 64 * 2**20
MAX_BODIES_BYTES = 4 * MAX_BODY_BYTES
"""Total of all requests in progress."""
MAX_CLIENT_BODIES_BYTES = MAX_BODIES_BYTES // 2
"""Total of one client's requests in progress, so that no client leaves nothing for the others."""
MAX_KEYLESS_BODY_BYTES = 2**10
"""Where everyone may send a body without a key, as for `POST /session`."""
MAX_COMMAS = 1_000_000
"""Each comma adds a value, and a parsed value may take a hundred times the bytes of its text."""
PIECE_BYTES, PIECE_SECONDS = 128 * 2**10, 10.0
"""This much of a body, or its end, must arrive within this many seconds."""
LINGER_SECONDS = 2.0
RETRY_SECONDS = 2


class HeadLimits:
    """Refuses requests whose head is too long, malformed or of an unknown HTTP version."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = _check_head(scope) if scope["type"] in ("http", "websocket") else None
        await (response or self._app)(scope, receive, send)


class BodyLimit:
    """Limits the declared length of a body and the bytes that really arrive.

    The key is checked before: without a key, no byte of a body is read, but for the few bytes of a
    request that needs none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._reserved: Counter[str] = Counter()
        """Bytes of the requests in progress, by client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = scope.get("state", {}).get("caller")
        client = _client(caller, scope)
        most = MAX_BODY_BYTES if caller is not None else MAX_KEYLESS_BODY_BYTES
        body = _Body(receive, send, partial(self._reserve, client), most)
        if _declared_length(scope) > most:
            body.refusal = _too_large(most)
        else:
            try:
                await self._app(scope, body.receive, body.send)
            finally:
                self._release(client, body.arrived)
        if body.refusal is not None:
            await _send_and_close(body.refusal, scope, receive, send)

    def _reserve(self, client: str, more: int) -> Response | None:
        """Adds the bytes to those of the client; returns a refusal if they are too many."""
        self._reserved[client] += more
        retry = {"Retry-After": str(RETRY_SECONDS)}
        if self._reserved[client] > MAX_CLIENT_BODIES_BYTES:
            sentence = (
                f"Your requests in progress have more than {MAX_CLIENT_BODIES_BYTES} bytes of "
                "bodies: send this one again when another has ended."
            )
            return refusal(429, sentence, OverLimit.code, retry)
        if self._reserved.total() > MAX_BODIES_BYTES:
            return refusal(503, "Too many large request bodies at once: try again.", "busy", retry)
        return None

    def _release(self, client: str, arrived: int) -> None:
        if arrived:
            self._reserved[client] -= arrived
        if not self._reserved[client]:
            del self._reserved[client]


class _Body:
    """A body that is being received. A refusal makes `receive` raise in the route, and drops
    everything that the route sends from then on."""

    def __init__(
        self, receive: Receive, send: Send, reserve: Callable[[int], Response | None], most: int
    ) -> None:
        self.arrived = 0
        self.refusal: Response | None = None
        self._receive, self._send, self._reserve, self._most = receive, send, reserve, most
        self._commas = 0
        self._ended = self._answered = False
        self._piece_end = 0
        self._deadline = 0.0
        self._extend_deadline()

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            sentence = (
                f"The body is too slow: less than {PIECE_BYTES} bytes in {PIECE_SECONDS:g} seconds."
            )
            return self._refuse(refusal(408, sentence, "too_slow"))
        self._ended = not message.get("more_body", False)
        piece: bytes = message.get("body", b"")
        self.arrived += len(piece)
        self._commas += piece.count(b",")
        if self.arrived >= self._piece_end:
            self._extend_deadline()
        if (over := self._reserve(len(piece))) is not None:
            return self._refuse(over)
        if self.arrived > self._most:
            return self._refuse(_too_large(self._most))
        if self._commas > MAX_COMMAS:
            sentence = f"The body has more than {MAX_COMMAS} commas: too many values for a job."
            return self._refuse(refusal(413, sentence, "too_large"))
        return message

    async def send(self, message: Message) -> None:
        if self.refusal is None:
            self._answered = True
            await self._send(message)

    def _extend_deadline(self) -> None:
        self._piece_end = self.arrived + PIECE_BYTES
        self._deadline = asyncio.get_running_loop().time() + PIECE_SECONDS

    def _refuse(self, response: Response) -> Message:
        if self._answered:
            return {"type": "http.disconnect"}
        self.refusal = response
        raise HTTPException(response.status_code)


class ErrorBoundary:
    """The one place that catches a request's unexpected errors: logs them and answers 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def tracked(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, tracked)
        except Exception:
            log.exception("request_failed", method=scope.get("method"), path=scope.get("path"))
            if started or scope["type"] != "http":
                raise
            sentence = "Internal error: the traceback is in the log of this server."
            await problem(500, sentence, "internal")(scope, receive, send)


async def _send_and_close(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends the whole response at once, then discards what the client still sends for a moment.

    If the connection were closed at once, the client would see a reset instead of the response.
    """

    async def unfinished(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
        await send(message)

    await response(scope, receive, unfinished)
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while (await receive()).get("more_body"):
                pass
    await send({"type": "http.response.body"})


def _declared_length(scope: Scope) -> int:
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    return int(declared) if declared.isdigit() else 0


def _check_head(scope: Scope) -> Response | None:
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD_BYTES:
        return head_too_long()
    if scope["http_version"] not in ("1.0", "1.1"):
        return refusal(505, "The server supports HTTP/1.1 and HTTP/1.0.", "unknown_http_version")
    if "\0" in scope["path"]:
        return problem(404, "No path has a NUL character.", "not_found")
    if b"%00" in scope["query_string"]:
        error = {"loc": ["query"], "msg": "NUL characters are not allowed", "type": "nul"}
        return problem(422, f"query: {error['msg']}.", "bad_request", errors=[error])
    return None


def head_too_long() -> Response:
    return refusal(431, f"The head is longer than {MAX_HEAD_BYTES} bytes.", "head_too_long")


def _too_large(most: int) -> Response:
    return refusal(413, f"The body is larger than {most} bytes.", "too_large")


def _client(caller: Caller | None, scope: Scope) -> str:
    """Returns the user of the request's key; without a key, the address of the client."""
    if caller is not None and caller.user_id is not None:
        return f"user {caller.user_id}"
    address = scope.get("client")
    return f"address {address[0]}" if address else "unknown"


def refusal(
    status: int, sentence: str, code: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a problem document that also closes the connection."""
    return problem(status, sentence, code, headers={"Connection": "close", **(headers or {})})
