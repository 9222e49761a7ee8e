"""Bodies read by a strict parser: what is not JSON in UTF-8, whatever it is, is a 422."""

import re
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

MOST_FIELDS, MOST_ITEMS = 100, 200_000
"""Of one object and of one list. Each mistake is told, and a million of them would be, too."""
_NESTED = (dict, list)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        read = orjson.loads(body)
        if b"\\u0000" in body and (nul := _NUL.search(body)):
            raise JSONDecodeError("a NUL character is in it", "", nul.start())
        if isinstance(read, _NESTED) and _is_too_wide(read):
            most = f"{MOST_FIELDS} fields, or a list more than {MOST_ITEMS} items"
            raise JSONDecodeError(f"an object has more than {most}", "", 0)
        return read


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict


def _is_too_wide(read: Any) -> bool:
    waiting = [read]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if len(value) > MOST_FIELDS:
                return True
            value = value.values()
        elif len(value) > MOST_ITEMS:
            return True
        waiting.extend([inner for inner in value if isinstance(inner, _NESTED)])
    return False
