"""People who come to the API with keys, and a clock that can be moved on."""

from dataclasses import dataclass
from typing import Any

from api.front import Answer, Front
from curtsy.access.keys import NewKey, create_key, revoke_key, rotate_key
from curtsy.clock import Clock, boot_time
from curtsy.model.roles import Role


class MovableClock(Clock):
    """Goes as any clock, and jumps ahead when it is told to."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        super().__init__(monotonic=lambda: boot_time() + self.ahead_ms)

    def advance(self, milliseconds: int) -> None:
        self.ahead_ms += milliseconds


@dataclass
class Visitor:
    front: Front
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def key_id(self) -> str:
        return self.key.split("_")[1]

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        headers = self.headers | options.pop("headers", {})
        return await self.front.ask(method, path, headers=headers, **options)

    async def get(self, path: str) -> Answer:
        return await self.ask("GET", path)

    async def submit(self, *urls: str, **headers: str) -> Answer:
        body = {"articles": [{"url": url} for url in urls]}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.ask("POST", "/jobs/submit", json=body, headers=named)

    async def job(self, *urls: str) -> str:
        made = await self.submit(*urls)
        assert made.status == 201, made
        return str(made.json["job_id"])


async def visitor(
    front: Front, user: str = "ann", role: Role = Role.SUBMIT, **limits: Any
) -> Visitor:
    """With a key of her own."""
    wish = NewKey(user, role, **limits)
    clock = front.engine.clock
    _, text = await front.engine.store.write(lambda c: create_key(c, wish, now=clock.now()))
    return Visitor(front, text)


async def revoke(of: Visitor) -> None:
    now = of.front.engine.clock.now()
    await of.front.engine.store.write(lambda c: revoke_key(c, of.key_id, now=now))


async def rotate(of: Visitor, grace: int = 0) -> Visitor:
    """With her key's new secret."""
    now = of.front.engine.clock.now()
    _, text = await of.front.engine.store.write(
        lambda c: rotate_key(c, of.key_id, grace=grace, now=now)
    )
    return Visitor(of.front, text)
