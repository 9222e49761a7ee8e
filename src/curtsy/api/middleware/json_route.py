"""Reads request bodies with a strict parser: anything but JSON in UTF-8 is a 422.

A large body is joined, parsed and validated in a thread, so that it does not hold the event loop.
"""

from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack
from json import JSONDecodeError
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi._compat import ModelField
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope

from curtsy.errors import CurtsyError
from curtsy.offload import collector_paused, offload, release

MOST_FIELDS, MOST_ITEMS = 100, 200_000
"""Per object and per list. A response lists every mistake, so this bounds its size too."""
MOST_LEVELS = 50
LARGE_BODY_BYTES = 32 * 2**10
_NESTED = (dict, list)
_INVALID = object()
"""Stands for a body with errors: no model accepts it, so FastAPI calls no route."""


class _StrictRequest(Request):
    def __init__(self, scope: Scope, receive: Receive, model: ModelField | None) -> None:
        super().__init__(scope, receive)
        self._model = model
        self.errors: list[Any] = []
        """What is wrong with a large body."""
        self.paused = ExitStack()
        """The pause of the garbage collector that a large body needs."""
        self.large: list[object] = []
        """Objects to be freed in a thread: a reference here outlives those of the route."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            pieces = [piece async for piece in self.stream()]
            is_large = sum(map(len, pieces)) > LARGE_BODY_BYTES
            self._body = await offload(b"".join, pieces) if is_large else b"".join(pieces)
        return self._body

    async def json(self) -> Any:
        body = await self.body()
        if len(body) <= LARGE_BODY_BYTES or self._model is None:
            return _parsed(body)
        self.paused.enter_context(collector_paused())
        value, self.errors = await offload(_validated, body, self._model)
        self.large += (value, body)
        return _INVALID if self.errors else value


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            read = _StrictRequest(request.scope, request.receive, self.body_field)
            with read.paused:
                try:
                    return await handle(read)
                except RequestValidationError:
                    if read.errors:
                        raise RequestValidationError(read.errors) from None
                    raise
                except CurtsyError as error:
                    if read.large:
                        raise error.with_traceback(None) from None  # its frames hold the body
                    raise
                finally:
                    if read.large:
                        release(read.large)

        return strict


def _validated(body: bytes, model: ModelField) -> tuple[Any, list[Any]]:
    """Returns the model's instance, which FastAPI then accepts as it is, or the errors."""
    value, errors = model.validate(_parsed(body), {}, loc=("body",))
    return value, errors or []


def _parsed(body: bytes) -> Any:
    value = orjson.loads(body)
    if isinstance(value, _NESTED):
        _check_shape(value)
    if b"\\u0000" in body and _has_nul(value):
        raise JSONDecodeError("it contains a NUL character", "", 0)
    return value


def _check_shape(document: Any) -> None:
    """Level by level, so that no document is too deep to check."""
    level, depth = [document], 1
    while level:
        if depth > MOST_LEVELS:
            raise JSONDecodeError(f"it is nested more than {MOST_LEVELS} levels deep", "", 0)
        if any(_is_too_wide(value) for value in level):
            most = f"{MOST_FIELDS} fields, or a list more than {MOST_ITEMS} items"
            raise JSONDecodeError(f"an object has more than {most}", "", 0)
        level = [inner for value in level for inner in _inner(value) if isinstance(inner, _NESTED)]
        depth += 1


def _is_too_wide(value: Any) -> bool:
    return len(value) > (MOST_FIELDS if isinstance(value, dict) else MOST_ITEMS)


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _has_nul(document: Any) -> bool:
    unchecked = [document]
    while unchecked:
        value = unchecked.pop()
        if isinstance(value, str):
            if "\0" in value:
                return True
        elif isinstance(value, dict):
            unchecked += [*value, *value.values()]
        elif isinstance(value, list):
            unchecked += value
    return False
