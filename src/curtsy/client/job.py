"""A job as a program holds it: ask how it stands, wait for it, read what it found."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from curtsy.client.talk import Declined, Talk, Unanswered
from curtsy.errors import CurtsyError
from curtsy.model.jobs import OPEN_STATES

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two looks at a job that is waited for."""
NOT_HERE = 4404
FOR_GOOD = (4401, 4403, NOT_HERE, 4422)
"""With these codes a stream ends for a reason that coming back does not mend."""


class NotInTime(CurtsyError):
    code = "not_in_time"


@dataclass(frozen=True, slots=True)
class Status:
    """How a job stands; `door_says` is the answer as it came, in the words of the job's door."""

    state: str
    door_says: dict[str, Any]

    @property
    def is_over(self) -> bool:
        return self.state not in OPEN_STATES

    @property
    def completed(self) -> int:
        return int(self.door_says.get("completed", self.state == "succeeded"))

    @property
    def failed(self) -> int:
        return int(self.door_says.get("failed", self.state == "failed"))

    @property
    def total(self) -> int:
        says = self.door_says
        return int(says.get("total_articles", says.get("total_pages", 1)))


Progress = Callable[[Status], None]


class AsyncJob:
    def __init__(self, talk: Talk, job_id: str) -> None:
        self.id = job_id
        self._talk = talk

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def status(self) -> Status:
        says = await self._talk.ask("GET", f"/jobs/{self.id}/status")
        return Status(says["state"], says)

    async def wait(
        self, timeout: float | None = None, *, progress: Progress | None = None
    ) -> Status:
        """Until it has ended; `progress` is told how it stands whenever that was looked at."""
        try:
            async with asyncio.timeout(timeout):
                pause = FIRST_PAUSE
                while True:
                    status = await self.status()
                    if progress is not None:
                        progress(status)
                    if status.is_over:
                        return status
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, LONGEST_PAUSE)
        except TimeoutError:
            raise NotInTime(f"{self.id} has not ended within {timeout:g} seconds.") from None

    async def results(self) -> AsyncGenerator[dict[str, Any]]:
        """What there is so far, a page at a time; failures have `error`."""
        async for found in self._talk.results(self.id):
            yield found

    async def get(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Wait for its end, then all results and failures."""
        await self.wait(timeout)
        return [found async for found in self.results()]

    async def events(self, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Every change, once and in order, until the job has ended; comes back when cut off."""
        last, pause = after, FIRST_PAUSE
        while True:
            try:
                async with connect(self._stream(last), **self._talk.stream_options()) as stream:
                    async for message in stream:
                        told = json.loads(message)
                        if told["event"] == "state":
                            continue
                        last, pause = told["seq"], FIRST_PAUSE
                        yield told
                        if told["event"] == "job_finished":
                            return
            except ConnectionClosed as closed:
                if closed.rcvd is not None and closed.rcvd.code in FOR_GOOD:
                    raise Declined(closed.rcvd.code, "refused", closed.rcvd.reason) from None
            except (WebSocketException, OSError) as error:
                if pause >= LONGEST_PAUSE:
                    raise Unanswered(self._talk.place, str(error)) from None
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _stream(self, after: int) -> str:
        base = self._talk.place.replace("http", "ws", 1)
        return f"{base}/ws/jobs/{self.id}?after={after}"

    async def cancel(self) -> str:
        """What the API says of it."""
        return str((await self._talk.ask("DELETE", f"/jobs/{self.id}"))["message"])

    async def retry(self) -> str:
        return str((await self._talk.ask("POST", f"/jobs/{self.id}/retry"))["message"])

    async def pause(self) -> str:
        return str((await self._talk.ask("POST", f"/jobs/{self.id}/pause"))["message"])

    async def resume(self) -> str:
        return str((await self._talk.ask("POST", f"/jobs/{self.id}/resume"))["message"])
