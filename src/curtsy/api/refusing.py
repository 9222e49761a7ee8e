"""A refusal before any door is reached: a problem document, or a WebSocket that is not opened."""

from starlette.types import Message, Receive, Scope, Send

from curtsy.api.problems import problem_of
from curtsy.errors import CurtsyError, KeyNeeded, NotAllowed

NO_KEY, NOT_ALLOWED, TRY_AGAIN_LATER = 4401, 4403, 1013
LONGEST_REASON = 123
"""Bytes, by the standard."""


async def refuse(error: CurtsyError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await problem_of(error)(scope, receive, send)
    else:
        await send(closing(error))


def closing(error: CurtsyError) -> Message:
    """Of a WebSocket, whether it was opened or not."""
    match error:
        case KeyNeeded():
            code = NO_KEY
        case NotAllowed():
            code = NOT_ALLOWED
        case _:
            code = TRY_AGAIN_LATER
    reason = str(error).encode("ascii", "replace")[:LONGEST_REASON].decode()
    return {"type": "websocket.close", "code": code, "reason": reason}
