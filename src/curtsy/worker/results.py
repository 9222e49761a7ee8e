"""From an outcome to what is recorded of it, and to what it means for the host."""

import asyncio
import base64
import hashlib
import random
from dataclasses import dataclass, replace
from typing import assert_never

import zstandard

from curtsy.frontier.results import Document, Result
from curtsy.frontier.take import Visit
from curtsy.model.kinds import RULES
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified, Outcome, Record
from curtsy.model.urls import canonical
from curtsy.politeness.consequence import GiveUp, HostHealth, Rest, Retry, consequence
from curtsy.politeness.policy import Policy

COMPRESS_IN_THREAD_FROM = 256 * 1024

_compressor = zstandard.ZstdCompressor(level=3)


@dataclass(frozen=True, slots=True)
class Judged:
    result: Result
    health: HostHealth
    rest: Rest | None = None
    host_is_dead: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """When the visit began and ended, as instants."""

    started_at: int
    ended_at: int


def judge(
    visit: Visit,
    outcome: Outcome,
    span: Span,
    *,
    policy: Policy,
    health: HostHealth,
    rng: random.Random,
) -> Judged:
    """The result to record, without its document, and the host's health after it."""
    result = Result(visit, outcome, span.started_at, span.ended_at)
    match outcome:
        case Fetched() | NotModified():
            return Judged(result, HostHealth())
        case Moved():
            moved = replace(result, again_at=span.ended_at, moved_to_host=canonical(outcome.url).host)
            return Judged(moved, HostHealth())
        case Again():
            return Judged(replace(result, again_at=outcome.due_at), HostHealth())
        case Failed():
            return _judge_failure(result, outcome, policy, health, rng)
        case _:
            assert_never(outcome)


def _judge_failure(
    result: Result, failed: Failed, policy: Policy, health: HostHealth, rng: random.Random
) -> Judged:
    now = result.ended_at
    follows = consequence(failed, result.visit.attempt, health.fail_streak, policy, rng)
    match follows:
        case GiveUp():
            return Judged(result, health if RULES[failed.kind].hosts_fault else HostHealth())
        case Retry():
            again = replace(result, again_at=now + follows.wait, spends_attempt=True)
            return Judged(again, HostHealth())
        case Rest():
            after = health.after_rest(follows, now)
            if after.is_dead(policy, now):
                return Judged(result, HostHealth(), host_is_dead=True)
            return Judged(replace(result, again_at=now), after, rest=follows)
        case _:
            assert_never(follows)


async def documented(result: Result) -> Result:
    """The result with its record as it is stored; large ones are compressed off the loop."""
    if not isinstance(result.outcome, Fetched):
        return result
    record = result.outcome.record
    if len(record.content) < COMPRESS_IN_THREAD_FROM:
        document = _document(record, _compressor)
    else:
        document = await asyncio.to_thread(_document, record, zstandard.ZstdCompressor(level=3))
    bare = replace(result.outcome, record=replace(record, content=b""))
    return replace(result, outcome=bare, document=document)


def _document(record: Record, compressor: zstandard.ZstdCompressor) -> Document:
    digest = hashlib.blake2b(record.content, digest_size=16)
    digest.update(f"\0{record.content_type};{record.charset}".encode())
    return Document(
        content=compressor.compress(record.content),
        hash=base64.b64encode(digest.digest()).decode()[:22],
        content_type=record.content_type,
        charset=record.charset,
        bytes=len(record.content),
    )
