"""Bodies read by a strict parser: what is not JSON in UTF-8, whatever it is, is a 422."""

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute


class _StrictRequest(Request):
    async def json(self) -> Any:
        return orjson.loads(await self.body())


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict
