"""A job's events as the lines of a log, such as people are used to from crawlers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from curtsy.clock import rfc3339
from curtsy.events.stored_events import StoredEvent


class LogLine(NamedTuple):
    ts: str
    level: str
    msg: str


def log_lines(fact: StoredEvent) -> list[LogLine]:
    """At least one for each event."""
    ts = rfc3339(fact.at)
    data = fact.data
    match fact.name:
        case "page_fetched":
            said = _fetched(data)
        case "page_not_modified":
            said = [("INFO", f"Not modified since it was last fetched: {_answer(data)}")]
        case "page_moved":
            said = [("INFO", f"Moved to {data['to']}: {_answer(data)}")]
        case "page_again":
            said = [("INFO", f"Goes on at {data.get('again_at')}: {data['url']}")]
        case "page_retried":
            said = [*data.get("lines", ()), ("WARNING", _retried(fact))]
        case "page_failed":
            said = [*data.get("lines", ()), ("ERROR", f"Failed: {_failure(data)}")]
        case _:
            said = [("INFO", _of_the_job(fact))]
    return [LogLine(ts, level, text) for level, text in said]


def _fetched(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    said = [("INFO", f"Fetched {_answer(data)}")]
    if data.get("robots"):
        said.insert(0, ("DEBUG", f"robots.txt allows {data['url']}"))
    if "record" in data:
        said.append(("INFO", f"Extracted {data['scraper']} of {data['record']} bytes"))
    said += [(level, text) for level, text in data.get("lines", ())]
    if "links" in data:
        said.append(("DEBUG", f"Found {data['links']} links"))
    return said


def _answer(data: Mapping[str, Any]) -> str:
    size = f"{data['bytes']} bytes, " if "bytes" in data else ""
    return f"{data['url']} ({data['status']}, {size}{data['ms']} ms)"


def _failure(data: Mapping[str, Any]) -> str:
    """Where there was an answer, with what is known of it."""
    facts = [str(data["kind"])]
    if data.get("status") is not None:
        facts.append(str(data["status"]))
        facts += [f"{data['bytes']} bytes"] if "bytes" in data else []
        facts.append(f"{data['ms']} ms")
    return f"{data['url']}: {data['error']} ({', '.join(facts)})"


def _retried(fact: StoredEvent) -> str:
    wait = max(0, round((fact.data["again_ms"] - fact.at) / 1000))
    when = "when its host may be asked again, in" if fact.data.get("rests") else "in"
    return f"Retry {when} {wait} s: {_failure(fact.data)}"


def _of_the_job(fact: StoredEvent) -> str:
    state, done, failed, cancelled, total = fact.stands
    match fact.name:
        case "job_scheduled":
            return f"Scheduled: its slot comes at {fact.data['due_at']}"
        case "job_queued":
            return f"Queued: {total} pages, {fact.data['cached']} of them from the cache"
        case "job_started":
            return "Started"
        case "job_retried":
            return f"Trying {fact.data['pages']} failed pages again"
        case "job_paused":
            return f"Paused: {fact.data['pages']} pages wait aside"
        case "job_resumed":
            return f"Resumed: {fact.data['pages']} pages wait again"
        case "job_cancelled":
            said = f"Cancelled: {fact.data['removed']} pages are not fetched any more"
            return f"{said}. {fact.data['reason']}" if "reason" in fact.data else said
        case "job_grew":
            return f"Followed {fact.data['pages']} links: {total} pages now"
        case "job_finished":
            return f"Done: {state}, {done} fetched, {failed} failed, {cancelled} cancelled"
    return fact.name.replace("_", " ")
