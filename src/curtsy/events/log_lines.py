"""Renders a job's events as log lines, in the form that people know from crawlers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from curtsy.clock import rfc3339
from curtsy.events.stored_events import StoredEvent
from curtsy.model.counts import are, counted


class LogLine(NamedTuple):
    ts: str
    level: str
    msg: str


def log_lines(event: StoredEvent) -> list[LogLine]:
    """Returns at least one line for each event."""
    ts = rfc3339(event.at)
    data = event.data
    match event.name:
        case "page_fetched":
            lines = _fetched(data)
        case "page_not_modified":
            lines = [("INFO", f"Not modified since it was last fetched: {_response(data)}")]
        case "page_moved":
            lines = [("INFO", f"Moved to {data['to']}: {_response(data)}")]
        case "page_again":
            lines = [("INFO", f"Continues at {data.get('again_at')}: {data['url']}")]
        case "page_retried":
            lines = [*data.get("lines", ()), ("WARNING", _retried(event))]
        case "page_failed":
            lines = [*data.get("lines", ()), ("ERROR", f"Failed: {_failure(data)}")]
        case _:
            lines = [("INFO", _job_line(event))]
    return [LogLine(ts, level, text) for level, text in lines]


def _fetched(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = [("INFO", f"Fetched {_response(data)}")]
    if data.get("robots"):
        lines.insert(0, ("DEBUG", f"robots.txt allows {data['url']}"))
    if "record" in data:
        lines.append(("INFO", f"Extracted {data['scraper']} of {data['record']} bytes"))
    lines += [(level, text) for level, text in data.get("lines", ())]
    if "links" in data:
        lines.append(("DEBUG", f"Found {counted(data['links'], 'link')}"))
    return lines


def _response(data: Mapping[str, Any]) -> str:
    size = f"{data['bytes']} bytes, " if "bytes" in data else ""
    return f"{data['url']} ({data['status']}, {size}{data['ms']} ms)"


def _failure(data: Mapping[str, Any]) -> str:
    """The error, with the status, size and duration of the response if there was one."""
    facts = [str(data["kind"])]
    if data.get("status") is not None:
        facts.append(str(data["status"]))
        facts += [f"{data['bytes']} bytes"] if "bytes" in data else []
        facts.append(f"{data['ms']} ms")
    return f"{data['url']}: {data['error']} ({', '.join(facts)})"


def _retried(event: StoredEvent) -> str:
    wait = max(0, round((event.data["again_ms"] - event.at) / 1000))
    when = "when its source allows the next request, in" if event.data.get("rests") else "in"
    return f"Retry {when} {wait} s: {_failure(event.data)}"


def _list_read(read: dict[str, Any], pages: int) -> str:
    """What a feed or sitemap listed, and what the job did with it."""
    facts = [f"{pages} to fetch"]
    facts += [f"{read['seen']} seen before"] if read["seen"] else []
    facts += [f"{read['outside']} outside the scope"] if read["outside"] else []
    facts += ["max_pages is reached"] if read["full"] else []
    entries = f"{read['entries']} {'entry' if read['entries'] == 1 else 'entries'}"
    return f"Read {read['url']}, {entries} ({', '.join(facts)})"


def _job_line(event: StoredEvent) -> str:
    state, done, failed, cancelled, total = event.job_progress
    pages = event.data.get("pages", 0)
    match event.name:
        case "job_scheduled":
            return f"Scheduled for {event.data['due_at']}"
        case "job_queued":
            return (
                f"Queued: {counted(total, 'page')}, {event.data['cached']} of them from the cache"
            )
        case "job_started":
            return "Started"
        case "job_retried":
            return f"Retrying {counted(pages, 'failed page')}"
        case "job_paused":
            return f"Paused: {counted(pages, 'waiting page')} {are(pages)} held back"
        case "job_resumed":
            return f"Resumed: {counted(pages, 'page')} {are(pages)} queued again"
        case "job_cancelled":
            text = f"Cancelled: {counted(event.data['removed'], 'page')} will not be fetched"
            return f"{text}. {event.data['reason']}" if "reason" in event.data else text
        case "job_grew" if "read" in event.data:
            return f"{_list_read(event.data['read'], pages)}: {counted(total, 'page')} now"
        case "job_grew":
            return f"Followed {counted(pages, 'link')}: {counted(total, 'page')} now"
        case "job_finished":
            return f"Done: {state}, {done} fetched, {failed} failed, {cancelled} cancelled"
    return event.name.replace("_", " ")
