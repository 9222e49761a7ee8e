"""Reads request bodies with a strict parser: anything but JSON in UTF-8 is a 422."""

import re
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

MOST_FIELDS, MOST_ITEMS = 100, 200_000
"""Per object and per list. A response lists every mistake, so this bounds its size too."""
_NESTED = (dict, list)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        value = orjson.loads(body)
        if b"\\u0000" in body and (nul := _NUL.search(body)):
            raise JSONDecodeError("it contains a NUL character", "", nul.start())
        if isinstance(value, _NESTED) and _is_too_wide(value):
            most = f"{MOST_FIELDS} fields, or a list more than {MOST_ITEMS} items"
            raise JSONDecodeError(f"an object has more than {most}", "", 0)
        return value


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict


def _is_too_wide(document: Any) -> bool:
    unchecked = [document]
    while unchecked:
        value = unchecked.pop()
        if isinstance(value, dict):
            if len(value) > MOST_FIELDS:
                return True
            value = value.values()
        elif len(value) > MOST_ITEMS:
            return True
        unchecked.extend([inner for inner in value if isinstance(inner, _NESTED)])
    return False
