"""Ends a process in order when an upgrade made a schema that does not work with its program."""

from collections.abc import Callable

from curtsy.errors import WrongSchema
from curtsy.logs import logger
from curtsy.store import Store
from curtsy.store.version import require_known_schema

log = logger("app")

LOOK_EVERY_SECONDS = 5.0


class SchemaWatch:
    def __init__(self, store: Store, on_wrong: Callable[[], None]) -> None:
        """`on_wrong` is called once, and begins the shutdown of the process."""
        self._store, self._on_wrong = store, on_wrong
        self._found: WrongSchema | None = None

    async def step(self) -> float:
        """A periodic step: compares the schema with this program."""
        if self._found is None and (wrong := await self._problem()) is not None:
            self._found = wrong
            log.error("schema_does_not_fit", schema=wrong.found, own=wrong.own,
                      meaning="open work is finished, then this process ends")  # fmt: skip
            self._on_wrong()
        return LOOK_EVERY_SECONDS

    async def _problem(self) -> WrongSchema | None:
        try:
            await require_known_schema(self._store)
        except WrongSchema as wrong:
            return wrong
        return None

    def check(self) -> None:
        """Raises the `WrongSchema` that ended the process."""
        if self._found is not None:
            raise self._found
