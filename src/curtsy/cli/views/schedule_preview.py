"""`curtsy plan --next`: previews what the schedules will do."""

from collections.abc import Iterator
from typing import Any

from curtsy.cli.console.api_connection import open_api
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.job_wait import warn_without_scheduler, warn_without_worker
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.progress import spinner
from curtsy.cli.console.runner import run
from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, minutes_of, one_line, span, to_minute

HOURS_SHOWN = 10
SENTENCES_SHOWN = 20
LONGEST_DAYS = 31
THEN = {
    "skip": "the next slot is skipped",
    "queue_one": "the next slot waits",
    "cancel_running": "the next slot cancels it",
    "allow": "the next slot runs beside it",
}


def show_plan(text: str, *, as_json: bool, url: str | None) -> None:
    minutes = minutes_of(text, "--next")
    if not 0 < minutes <= LONGEST_DAYS * 24 * 60:
        raise WrongUsage(f"--next is {text!r}: give a span of at most {LONGEST_DAYS}d.")
    found = run(_preview(url, minutes / 60))
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(page(found)))


async def _preview(url: str | None, hours: float) -> dict[str, Any]:
    async with open_api(url) as api:
        with spinner("Planning the schedules"):
            found = await api.request(
                "GET", "/scheduler/plan", query={"hours": hours, "limit": 1_000}
            )
        data: dict[str, Any] = found["data"]
        if data["schedules"]:
            await warn_without_scheduler(api)
            await warn_without_worker(api)
        return data


def page(found: dict[str, Any]) -> Iterator[str]:
    if not found["schedules"]:
        yield "Nothing is scheduled: `curtsy schedules add` creates a schedule."
        return
    skipped = f", {found['skipped']} of them skipped" if found["skipped"] else ""
    slots, schedules = (counted(found[name], noun) for name, noun in
                        (("slots_total", "slot"), ("schedules", "schedule")))  # fmt: skip
    yield f"Until {to_minute(found['until'])}: {slots} of {schedules}{skipped}; {_pages(found)}."
    if found["capped"]:
        yield "  That is not all: there is too much to preview; choose a shorter span."
    if found["busiest"]:
        rows = [(one["source"], to_minute(one["hour"]), str(one["pages"]),
                 str(one["pages_at_most"])) for one in found["busiest"][:HOURS_SHOWN]]  # fmt: skip
        yield from ("", "The busiest hours")
        yield from table(("source", "hour", "pages", "at most"), rows, cut=("source",))
    yield ""
    yield from _sentences("Clashes", [clash(one) for one in found["clashes"]],
                          "No two schedules use one source at the same time.")  # fmt: skip
    yield from _sentences("Too long for their slots", [overrun(one) for one in found["overruns"]],
                          "Every slot ends before the next one of its schedule.")  # fmt: skip


def clash(found: dict[str, Any]) -> str:
    one, other = found["schedules"]
    use = "use" if found["certain"] else "may use"
    often = "once" if found["times"] == 1 else f"{found['times']} times"
    return (f"{one} and {other} {use} {found['source']} at the same time: {often}, "
            f"first at {to_minute(found['first_at'])}.")  # fmt: skip


def overrun(found: dict[str, Any]) -> str:
    takes, first = found["takes_seconds"], to_minute(found["first_at"])
    slots = counted(found["times"], "slot")
    if takes is None:
        return f"{found['schedule']} does not end: a source that it uses is paused ({slots})."
    how = "takes" if found["certain"] else "may take"
    return (f"{found['schedule']} {how} {span(takes)}, but its next slot comes after "
            f"{span(found['next_after_seconds'])}: {THEN[found['overlap']]} "
            f"({slots}, the first at {first}).")  # fmt: skip


def _pages(found: dict[str, Any]) -> str:
    pages, most = counted(found["pages"], "page"), found["pages_at_most"]
    if most <= found["pages"]:
        return pages
    return f"{pages}, or up to {most} where links are followed"


def _sentences(heading: str, sentences: list[str], otherwise: str) -> Iterator[str]:
    if not sentences:
        yield otherwise
        return
    yield heading
    yield from (f"  {one_line(one)}" for one in sentences[:SENTENCES_SHOWN])
    if len(sentences) > SENTENCES_SHOWN:
        yield f"  and {len(sentences) - SENTENCES_SHOWN} more: --json has them"
