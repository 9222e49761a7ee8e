"""A connection to the API within this process: no socket, no port."""

import asyncio
from collections.abc import AsyncGenerator

from curtsy.client import ApiConnection, Unanswered
from curtsy.client.http import StreamRefused, refuse_for_good
from curtsy.processes.local_api import NAME, AsgiEvent, LocalHttp


class InProcessConnection(ApiConnection):
    """Requests to the API of the engine of this program."""

    def __init__(self, http: LocalHttp) -> None:
        super().__init__(http)
        self._app = http.app
        self.was_answered = True

    async def close(self) -> None:
        """Whoever opened the engine closes it."""

    async def messages(self, path: str) -> AsyncGenerator[str | bytes]:
        """Yields the messages of a WebSocket until the API closes it."""
        ours: asyncio.Queue[AsgiEvent] = asyncio.Queue()
        theirs: asyncio.Queue[AsgiEvent] = asyncio.Queue()
        await theirs.put({"type": "websocket.connect"})
        serving = asyncio.create_task(self._app(_scope(path), theirs.get, ours.put))
        serving.add_done_callback(lambda _: ours.put_nowait({"type": "websocket.close"}))
        try:
            while True:
                event = await ours.get()
                match event["type"]:
                    case "websocket.send":
                        yield event.get("text") or event["bytes"]
                    case "websocket.close":
                        refuse_for_good(event.get("code", 1000), event.get("reason") or "")
                        return
                    case "websocket.http.response.start":
                        refused = Unanswered(NAME, f"it answered {event['status']}")
                        raise StreamRefused(refused, is_final=True)
        finally:
            serving.cancel()
            await asyncio.wait([serving])


def _scope(path: str) -> AsgiEvent:
    place, _, query = path.partition("?")
    return {
        "type": "websocket", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "ws",
        "path": place, "raw_path": place.encode(), "query_string": query.encode(),
        "root_path": "", "headers": [(b"host", NAME.encode())], "client": None,
        "server": (NAME, 80), "subprotocols": [], "state": {},
        "extensions": {"websocket.http.response": {}},
    }  # fmt: skip
