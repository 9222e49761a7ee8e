"""`job.records()` and `job.records(Product)`: records as dicts, or as instances of a class."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from curtsy.client.faces import Awaited, Blocking, loop_of
from curtsy.client.results import records_in
from curtsy.model.record_models import as_model

if TYPE_CHECKING:
    from curtsy.client.job_handle import JobHandle

M = TypeVar("M")
Fields = dict[str, Any]
"""A record, in the caller's own fields."""


class BlockingRecords(Protocol):
    @overload
    def __call__(self) -> Generator[Fields]: ...
    @overload
    def __call__(self, model: type[M]) -> Generator[M]: ...


class AwaitedRecords(Protocol):
    @overload
    def __call__(self) -> AsyncGenerator[Fields]: ...
    @overload
    def __call__(self, model: type[M]) -> AsyncGenerator[M]: ...


class Records:
    """A method with overloads, in both faces. Yields the records of all results so far."""

    @overload
    def __get__(self, instance: None, owner: type) -> "Records": ...
    @overload
    def __get__(self, instance: "JobHandle[Blocking]", owner: type) -> BlockingRecords: ...
    @overload
    def __get__(self, instance: "JobHandle[Awaited]", owner: type) -> AwaitedRecords: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        loop = loop_of(instance)

        def records(model: type | None = None) -> Any:
            found = _records(instance, model)
            return found if loop is None else loop.iterate(found)

        return records


async def _records(job: "JobHandle[Any]", model: type | None) -> AsyncGenerator[Any]:
    results = job._each_result()  # noqa: SLF001 - this is a method of the job
    async with aclosing(results):
        async for result in results:
            for record in records_in(result):
                yield record if model is None else as_model(model, record)
