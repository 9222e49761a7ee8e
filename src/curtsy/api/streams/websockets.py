"""WebSockets that only send: each closes when its client leaves, or reads too slowly."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from fastapi import WebSocket, WebSocketDisconnect

from curtsy.api.auth.open_streams import open_stream
from curtsy.api.problems import problem_of, short_reason
from curtsy.errors import OverLimit, StoreAway
from curtsy.events import JobGone

SEND_WITHIN_SECONDS = 10.0
BAD_PLACE, UNKNOWN_JOB = 4422, 4404
TRY_AGAIN_LATER, GOING_AWAY = 1013, 1001


async def send_messages(socket: WebSocket, messages: AsyncGenerator[bytes]) -> None:
    """Accepts the socket and sends the messages until they end, the client leaves or reads too
    slowly, or the job is purged. Refuses the socket if its key has too many streams open."""
    try:
        open_stream(socket.scope)
    except OverLimit as over:
        await socket.send_denial_response(problem_of(over))
        return
    await socket.accept()
    receiving = asyncio.create_task(_until_gone(socket))
    sending = asyncio.create_task(_send_all(socket, messages))
    tasks = (receiving, sending)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if sending.cancelled() or (error := sending.exception()) is None:
        return
    match error:
        case JobGone():
            await _close(socket, UNKNOWN_JOB, "The job was purged.")
        case TimeoutError():
            await _close(
                socket, TRY_AGAIN_LATER, "Too slow: reconnect with the last seq you received."
            )
        case _:
            await _close(socket, GOING_AWAY, "Reconnect with the last seq you received.")
            if not isinstance(error, WebSocketDisconnect | StoreAway):
                raise error


async def refuse(socket: WebSocket, code: int, reason: str) -> None:
    """Accepts first: otherwise a browser does not show the code and the reason."""
    await socket.accept()
    await _close(socket, code, reason)


async def _send_all(socket: WebSocket, messages: AsyncGenerator[bytes]) -> None:
    now = asyncio.get_running_loop().time
    async with asyncio.timeout(None) as deadline, aclosing(messages):
        async for message in messages:
            deadline.reschedule(now() + SEND_WITHIN_SECONDS)
            await socket.send_text(message.decode())
            deadline.reschedule(None)


async def _until_gone(socket: WebSocket) -> None:
    """Reads and ignores the client's messages until it disconnects."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    with suppress(RuntimeError, OSError, TimeoutError, WebSocketDisconnect):
        async with asyncio.timeout(SEND_WITHIN_SECONDS):
            await socket.close(code, short_reason(reason))
