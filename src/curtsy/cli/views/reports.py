"""Reports as text: a summary of one, and a list."""

from collections.abc import Iterator, Sequence
from typing import Any

from curtsy.cli.console.table import facts, table
from curtsy.cli.console.text import one_line, to_minute
from curtsy.reports.changes import Change, of_count, of_share, of_span
from curtsy.reports.formats import number, percent, rate, size, span

LINES = 5
HEADINGS = ("report", "from", "to", "made by", "pages", "succeeded")


def summary(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['id']}: {to_minute(found['since'])} to {to_minute(found['until'])}"
    yield ""
    yield from facts(_figures(found))
    if found["findings"]:
        yield ""
        yield "What needs attention:"
        yield from (f"  - {one_line(finding['sentence'])}" for finding in found["findings"])
    if failing := found["failing"][:LINES]:
        yield ""
        yield from table(("failing source", "failed", "pages", "mostly"), [
            (line["source"], number(line["failed"]), number(line["failed"] + line["succeeded"]),
             line["worst_kind"] or "-")
            for line in failing
        ])  # fmt: skip
    if slowest := found["slowest"][:LINES]:
        yield ""
        yield from table(("slow source", "95 % fetched in", "median"), [
            (line["source"], span(line["fetch_p95_ms"]), span(line["fetch_p50_ms"]))
            for line in slowest
        ])  # fmt: skip


def _figures(found: dict[str, Any]) -> dict[str, str]:
    now, before = found["figures"], found["before"]
    ended = now["succeeded"] + now["failed"]
    if not ended and not now["attempts"]:
        return {"pages ended": "none: nothing was fetched"}
    was = before or dict.fromkeys(now)
    ended_before = before["succeeded"] + before["failed"] if before else None
    open_letters = sum(line["open"] for line in found["letters"])
    return {
        "pages ended": _with(number(ended), of_count(ended, ended_before)),
        "success rate": _with(percent(now["success_rate"]),
                              of_share(now["success_rate"], was["success_rate"])),
        "pages a minute": rate(now["pages_per_minute"]),
        "fetched, median": _with(span(now["fetch_p50_ms"]),
                                 of_span(now["fetch_p50_ms"], was["fetch_p50_ms"])),
        "95 % fetched in": _with(span(now["fetch_p95_ms"]),
                                 of_span(now["fetch_p95_ms"], was["fetch_p95_ms"])),
        "received": size(now["bytes"]),
        "retries": _with(number(now["retries"]), of_count(now["retries"], was["retries"])),
        "dead letters": f"{number(now['new_dead_letters'])} new, {number(open_letters)} open",
    }  # fmt: skip


def _with(value: str, change: Change | None) -> str:
    return value if change is None else f"{value} ({change.words})"


def listed(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["There is no report yet: `curtsy generate-report` makes one."]
    return table(HEADINGS, [
        (row["id"], to_minute(row["since"]), to_minute(row["until"]),
         "timetable" if row["trigger"] == "schedule" else "hand", number(row["ended"]),
         percent(row.get("success_rate")))
        for row in rows
    ])  # fmt: skip
