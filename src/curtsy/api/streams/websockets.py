"""A WebSocket that only speaks: it ends when the client goes, and the client when it is slow."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from fastapi import WebSocket, WebSocketDisconnect

from curtsy.api.problems import in_short
from curtsy.errors import StoreAway
from curtsy.events import JobGone

SEND_WITHIN_SECONDS = 10.0
BAD_PLACE, UNKNOWN_JOB = 4422, 4404
TRY_AGAIN_LATER, GOING_AWAY = 1013, 1001


async def speak(socket: WebSocket, messages: AsyncGenerator[bytes]) -> None:
    """Until either side has had enough, or what is spoken of is no more."""
    listening = asyncio.create_task(_until_gone(socket))
    speaking = asyncio.create_task(_send_all(socket, messages))
    tasks = (listening, speaking)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if speaking.cancelled() or (error := speaking.exception()) is None:
        return
    match error:
        case JobGone():
            await _close(socket, UNKNOWN_JOB, "The job was purged.")
        case TimeoutError():
            await _close(socket, TRY_AGAIN_LATER, "Too slow: come back with the last seq you had.")
        case _:
            await _close(socket, GOING_AWAY, "Come back with the last seq you had.")
            if not isinstance(error, WebSocketDisconnect | StoreAway):
                raise error


async def refuse(socket: WebSocket, code: int, reason: str) -> None:
    """Accepted first: without that, a browser is not told why."""
    await socket.accept()
    await _close(socket, code, reason)


async def _send_all(socket: WebSocket, messages: AsyncGenerator[bytes]) -> None:
    now = asyncio.get_running_loop().time
    async with asyncio.timeout(None) as patience, aclosing(messages):
        async for message in messages:
            patience.reschedule(now() + SEND_WITHIN_SECONDS)
            await socket.send_text(message.decode())
            patience.reschedule(None)


async def _until_gone(socket: WebSocket) -> None:
    """What a client says is read, so that its goodbye is heard, and not looked at."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    with suppress(RuntimeError, OSError, TimeoutError, WebSocketDisconnect):
        async with asyncio.timeout(SEND_WITHIN_SECONDS):
            await socket.close(code, in_short(reason))
