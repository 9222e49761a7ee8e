"""Refuses query parameters that a route does not have: a misspelt filter must not be ignored."""

import difflib
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

MOST_NAMED = 20


class QueryCheck:
    def __init__(self, app: ASGIApp, known: frozenset[str]) -> None:
        self._app, self._known = app, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if query := scope["query_string"]:
            pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
            unknown = dict.fromkeys(name for name, _value in pairs if name not in self._known)
            if unknown:
                names = list(unknown)[:MOST_NAMED]
                raise RequestValidationError([self._problem(name[:100]) for name in names])
        await self._app(scope, receive, send)

    def _problem(self, name: str) -> dict[str, object]:
        near = difflib.get_close_matches(name.lower(), self._known, 1, cutoff=0.5)
        known = f"there are {', '.join(sorted(self._known))}" if self._known else "there are none"
        hint = f" (did you mean {near[0]}?)" if near else f": {known}"
        message = f"There is no such parameter{hint}"
        return {"type": "extra_forbidden", "loc": ("query", name), "msg": message, "input": None}


def check_queries(routes: Iterable[BaseRoute]) -> None:
    """Checks the queries of these routes from now on."""
    for route in routes:
        if isinstance(route, APIRoute) and not isinstance(route.app, QueryCheck):
            route.app = QueryCheck(route.app, frozenset(_names(route.dependant)))


def _names(dependant: Dependant) -> Iterator[str]:
    """Query parameters of a route, and of what the route depends on."""
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _names(inner)
