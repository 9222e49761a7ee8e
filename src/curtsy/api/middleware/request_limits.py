"""Guards around every request: limits on its head and its body, and an answer whatever happens."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from fastapi import HTTPException, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curtsy.api.problems import problem
from curtsy.logs import logger

log = logger("api")

MAX_HEAD_BYTES = 64 * 2**10
MAX_BODY_BYTES = 64 * 2**20
MAX_BODIES_BYTES = 4 * MAX_BODY_BYTES
"""Of all requests that are being read or answered."""
MAX_COMMAS = 1_000_000
"""With each comes another value, which parsed may take a hundred times the bytes it was sent in."""
PIECE_BYTES, PIECE_SECONDS = 128 * 2**10, 10.0
"""So much of a body, or its end, has to come in so many seconds."""
LINGER_SECONDS = 2.0
RETRY_SECONDS = 2


class HeadLimits:
    """Refuses a head that no door should have to look at."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = _at_sight(scope) if scope["type"] in ("http", "websocket") else None
        await (refused or self._app)(scope, receive, send)


class BodyLimit:
    """Counts what really arrives, too: a length that a client states proves nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, send, self._hold)
        if _stated_length(scope) > MAX_BODY_BYTES:
            body.refusal = _too_large(f"The body is larger than {MAX_BODY_BYTES} bytes.")
        else:
            try:
                await self._app(scope, body.receive, body.send)
            finally:
                self._held -= body.arrived
        if body.refusal is not None:
            await _answer_and_hang_up(body.refusal, scope, receive, send)

    def _hold(self, more: int) -> bool:
        """Whether there was room for so many bytes more."""
        self._held += more
        return self._held <= MAX_BODIES_BYTES


class _Body:
    """One body on its way in. Refused, the door is left, and nothing it says is sent any more."""

    def __init__(self, receive: Receive, send: Send, hold: Callable[[int], bool]) -> None:
        self.arrived = 0
        self.refusal: Response | None = None
        self._receive, self._send, self._hold = receive, send, hold
        self._commas = 0
        self._ended = self._answered = False
        self._due = 0
        self._until = 0.0
        self._expect_another_piece()

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            sentence = (
                f"Of the body came less than {PIECE_BYTES} bytes in {PIECE_SECONDS:g} seconds."
            )
            return self._refuse(refusal(408, sentence, "too_slow"))
        self._ended = not message.get("more_body", False)
        piece: bytes = message.get("body", b"")
        self.arrived += len(piece)
        self._commas += piece.count(b",")
        if self.arrived >= self._due:
            self._expect_another_piece()
        if not self._hold(len(piece)):
            sentence = "Too many large bodies come in at once: try again."
            again = {"Retry-After": str(RETRY_SECONDS)}
            return self._refuse(refusal(503, sentence, "busy", again))
        if self.arrived > MAX_BODY_BYTES:
            return self._refuse(_too_large(f"The body is larger than {MAX_BODY_BYTES} bytes."))
        if self._commas > MAX_COMMAS:
            sentence = f"The body has more than {MAX_COMMAS} commas: more values than any job has."
            return self._refuse(_too_large(sentence))
        return message

    async def send(self, message: Message) -> None:
        if self.refusal is None:
            self._answered = True
            await self._send(message)

    def _expect_another_piece(self) -> None:
        self._due = self.arrived + PIECE_BYTES
        self._until = asyncio.get_running_loop().time() + PIECE_SECONDS

    def _refuse(self, answer: Response) -> Message:
        if self._answered:
            return {"type": "http.disconnect"}
        self.refusal = answer
        raise HTTPException(answer.status_code)


class ErrorBoundary:
    """The one place where a request's unexpected error is caught: logged, and answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = False

        async def watched(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            log.exception("request_failed", method=scope.get("method"), path=scope.get("path"))
            if answered or scope["type"] != "http":
                raise
            sentence = "An error of our own; its traceback is in the log of this server."
            await problem(500, sentence, "internal")(scope, receive, send)


async def _answer_and_hang_up(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """The whole answer goes out at once; what the client still sends is dropped for a moment.

    Were the connection closed on it, the client's system would tell it of that, not of the answer.
    """

    async def unfinished(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
        await send(message)

    await answer(scope, receive, unfinished)
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while (await receive()).get("more_body"):
                pass
    await send({"type": "http.response.body"})


def _stated_length(scope: Scope) -> int:
    stated = dict(scope["headers"]).get(b"content-length", b"0")
    return int(stated) if stated.isdigit() else 0


def _at_sight(scope: Scope) -> Response | None:
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD_BYTES:
        return head_too_long()
    if scope["http_version"] not in ("1.0", "1.1"):
        return refusal(505, "The server speaks HTTP/1.1 and HTTP/1.0.", "unknown_http_version")
    if "\0" in scope["path"]:
        return problem(404, "Nothing has a NUL character in its name.", "not_found")
    if b"%00" in scope["query_string"]:
        found = {"loc": ["query"], "msg": "A NUL character cannot be looked for", "type": "nul"}
        return problem(422, f"query: {found['msg']}.", "bad_request", errors=[found])
    return None


def head_too_long() -> Response:
    return refusal(431, f"The head is longer than {MAX_HEAD_BYTES} bytes.", "head_too_long")


def _too_large(sentence: str) -> Response:
    return refusal(413, sentence, "too_large")


def refusal(
    status: int, sentence: str, code: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The last answer on its connection."""
    return problem(status, sentence, code, headers={"Connection": "close", **(headers or {})})
