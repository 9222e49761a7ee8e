"""A refusal before any door is reached, or in the midst of a stream."""

from starlette.types import Message, Receive, Scope, Send

from curtsy.api.problems import problem_of
from curtsy.errors import CurtsyError, KeyNeeded, NotAllowed

NO_KEY, NOT_ALLOWED = 4401, 4403
LONGEST_REASON = 123
"""Bytes, by the standard."""


async def refuse(error: CurtsyError, scope: Scope, receive: Receive, send: Send) -> None:
    """With a problem document, also where a WebSocket was asked for: before that is opened it is
    a request as any other, and its answer has a status."""
    await problem_of(error)(scope, receive, send)


def closing(error: KeyNeeded | NotAllowed) -> Message:
    """Of a WebSocket that is open."""
    code = NO_KEY if isinstance(error, KeyNeeded) else NOT_ALLOWED
    return {"type": "websocket.close", "code": code, "reason": in_short(str(error))}


def in_short(sentence: str) -> str:
    """As much of the sentence as a closing WebSocket may say."""
    return sentence.encode(errors="replace")[:LONGEST_REASON].decode(errors="ignore")
