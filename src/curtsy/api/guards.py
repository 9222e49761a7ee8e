"""Guards around every request: a limit on its body, and an answer whatever happens."""

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curtsy.api.problems import problem
from curtsy.logs import logger

log = logger("api")

MAX_BODY_BYTES = 64 * 2**20


class LimitBody:
    """Counts what really arrives: a length that a client states proves nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                raise HTTPException(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)


class CatchEverything:
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
