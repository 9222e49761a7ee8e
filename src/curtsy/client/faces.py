"""Methods that are written once and called in two ways: with `await`, or blocking.

A method that `call` or `each` decorates is a coroutine or an async generator. On an object of the
face `Awaited` it stays that; on one of the face `Blocking` the same method returns its result, or
is a plain generator: the client's background loop runs it.
"""

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from curtsy.client.answer import Answer, read

if TYPE_CHECKING:
    from curtsy.client.background_loop import BackgroundLoop
    from curtsy.client.http import ApiConnection


class Blocking:
    """The face of programs without an event loop."""


class Awaited:
    """The face of programs with an event loop."""


Face = TypeVar("Face", Blocking, Awaited)
R = TypeVar("R")
P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A", bound=Answer)
Query = dict[str, object]


class Resource(Generic[Face]):
    """Requests about one kind of thing. Without a `loop` its methods are awaited."""

    def __init__(self, api: "ApiConnection", loop: "BackgroundLoop | None" = None) -> None:
        self._api, self._loop = api, loop

    async def _ask(
        self, answer: type[A], method: str, path: str, *, body: object = None,
        query: Query | None = None, headers: dict[str, str] | None = None,
    ) -> A:  # fmt: skip
        """Sends a request and returns its typed answer."""
        found = await self._api.request(method, path, body=body, query=query, headers=headers)
        return read(answer, found)

    async def _ask_enveloped(
        self, answer: type[A], method: str, path: str, *, body: object = None,
        query: Query | None = None,
    ) -> A:  # fmt: skip
        """The same for the runs door, whose answers stand in an envelope."""
        found = await self._api.request(method, path, body=body, query=query)
        return read(answer, found["data"])

    async def _pages(
        self, answer: type[A], path: str, query: Query | None = None
    ) -> AsyncGenerator[A]:
        """Yields a list page by page, to its end."""
        query = dict(query or {})
        while True:
            page = await self._ask(answer, "GET", path, query=query)
            yield page
            if page.get("next_cursor") is None:
                return
            query["cursor"] = page["next_cursor"]


def loop_of(instance: Resource[Any]) -> "BackgroundLoop | None":
    """The loop that runs the requests of a blocking object."""
    return instance._loop  # noqa: SLF001 - of the decorators' own class


class call(Generic[R, P, T]):  # noqa: N801 - a decorator
    """A method that sends requests and returns a result."""

    def __init__(self, work: Callable[Concatenate[R, P], Coroutine[Any, Any, T]]) -> None:
        self.work = work
        functools.update_wrapper(self, work)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: type) -> "call[R, P, T]": ...
    @overload
    def __get__(self, instance: Resource[Blocking], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, instance: Resource[Awaited], owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        loop, work = loop_of(instance), functools.partial(self.work, instance)
        if loop is None:
            return functools.update_wrapper(work, self.work)

        def run(*given: P.args, **named: P.kwargs) -> T:
            return loop.run(work(*given, **named))

        return functools.update_wrapper(run, self.work)


class each(Generic[R, P, T]):  # noqa: N801 - a decorator
    """A method that yields things as they are read."""

    def __init__(self, work: Callable[Concatenate[R, P], AsyncGenerator[T]]) -> None:
        self.work = work
        functools.update_wrapper(self, work)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: type) -> "each[R, P, T]": ...
    @overload
    def __get__(self, instance: Resource[Blocking], owner: type) -> Callable[P, Generator[T]]: ...
    @overload
    def __get__(
        self, instance: Resource[Awaited], owner: type
    ) -> Callable[P, AsyncGenerator[T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        loop, work = loop_of(instance), functools.partial(self.work, instance)
        if loop is None:
            return functools.update_wrapper(work, self.work)

        def run(*given: P.args, **named: P.kwargs) -> Generator[T]:
            return loop.iterate(work(*given, **named))

        return functools.update_wrapper(run, self.work)


class fact(Generic[R, T]):  # noqa: N801 - a decorator
    """A property for programs without an event loop; with one, a method that is awaited."""

    def __init__(self, work: Callable[[R], Coroutine[Any, Any, T]]) -> None:
        self.work = work
        functools.update_wrapper(self, work)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: type) -> "fact[R, T]": ...
    @overload
    def __get__(self, instance: Resource[Blocking], owner: type) -> T: ...
    @overload
    def __get__(
        self, instance: Resource[Awaited], owner: type
    ) -> Callable[[], Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        if (loop := loop_of(instance)) is None:
            return functools.partial(self.work, instance)
        return loop.run(self.work(instance))
