"""Formats schedules: the list, and the page of one with its next and last runs."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, one_line, span, to_second

Schedule = dict[str, Any]
STATES = {"waiting": "on", "paused": "paused", "done": "done"}
OVERLAPS = {
    "skip": "a slot is skipped while the previous run goes on",
    "queue_one": "one slot waits while the previous run goes on",
    "cancel_running": "a slot cancels the previous run if it still goes on",
    "allow": "runs may overlap",
}
CATCH_UPS = {
    "latest": "one run catches up all missed slots",
    "none": "missed slots are skipped",
    "all": "missed slots are caught up one by one",
}


def listed(schedules: list[Schedule]) -> list[str]:
    rows = [(s["name"], s["when"], next_run(s), _last_run(s), _state(s)) for s in schedules]
    return table(("schedule", "when", "next run", "last run", "state"), rows,
                 cut=("when", "schedule", "last run"))  # fmt: skip


def page(schedule: Schedule) -> str:
    """The page of one schedule; with `runs`, also its last runs."""
    facts = [
        ("When", schedule["when"]),
        ("Does", does(schedule["payload"])),
        ("State", _state(schedule)),
        ("Next run", next_run(schedule)),
        ("Last run", _last_run(schedule)),
        ("Not before", to_second(schedule["not_before"]) if schedule.get("not_before") else ""),
        ("Overlap", f"{schedule['overlap']}: {OVERLAPS[schedule['overlap']]}"),
        ("Catch-up", _catch_up(schedule)),
        ("User", schedule.get("user_id") or ""),
        ("Id", schedule["id"]),
        ("Note", schedule.get("note") or ""),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [one_line(schedule["name"])]
    lines += [f"  {name:<{width}}  {one_line(text)}" for name, text in facts if text]
    return "\n".join([*lines, *_coming(schedule), *_past(schedule)])


def local(instant: str, zone: str) -> str:
    """Formats an instant as a clock in the zone shows it."""
    to_minute = datetime.fromisoformat(instant)
    try:
        there = to_minute.astimezone(ZoneInfo(zone))
    except (KeyError, OSError, ValueError):  # a zone that only the API knows
        there = to_minute.astimezone(UTC)
    return f"{there:%a %Y-%m-%d %H:%M %Z}"


def next_run(schedule: Schedule) -> str:
    at = schedule.get("next_run")
    if at is None:
        after_end = schedule.get("after_end") and schedule["state"] == "waiting"
        return "after the current run" if after_end else ""
    ahead = (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()
    return f"{local(at, schedule['timezone'])}, {f'in {span(ahead)}' if ahead > 0 else 'now'}"


def does(payload: dict[str, Any]) -> str:
    """Describes what a slot does."""
    match payload:
        case {"fetch": fetch}:
            return f"fetches {fetch['url']}"
        case {"articles": batch}:
            urls = [one["url"] for one in batch["articles"]]
            return f"fetches {counted(len(urls), 'article')}, {_first(urls)}"
        case {"crawl": crawl}:
            most = crawl.get("params", {}).get("max_pages")
            bound = f", {counted(most, 'page')} at most" if most else ""
            depth = f"to depth {crawl.get('depth', 0)}{bound}"
            return f"crawls {_first(_starts(crawl))} {depth} ({crawl['spider']})"
        case {"duty": duty}:
            return f"runs the maintenance task {duty}"
        case {"run": run}:
            return f"scrapes the site {run['site_name']}"
        case _:
            return ", ".join(payload)


def _starts(crawl: dict[str, Any]) -> list[str]:
    lists = crawl.get("start") or {}
    found = [*crawl.get("start_urls", [])]
    for kind in ("feed", "sitemap"):
        given = lists.get(kind) or []
        found += [given] if isinstance(given, str) else given
    return found


def _first(urls: list[str]) -> str:
    return urls[0] + (f" and {len(urls) - 1} more" if len(urls) > 1 else "")


def _state(schedule: Schedule) -> str:
    state: str = schedule["state"]
    return STATES.get(state, state)


def _last_run(schedule: Schedule) -> str:
    at = schedule.get("last_run")
    if at is None:
        return ""
    outcome = _outcome(schedule.get("last_outcome"))
    return local(at, schedule["timezone"]) + (f", {outcome}" if outcome else "")


def _outcome(word: str | None) -> str:
    """A slot that fired without a job ran a maintenance task, which is done."""
    return "done" if word == "fired" else word or ""


def _catch_up(schedule: Schedule) -> str:
    word = schedule["catch_up"]
    within = "" if word == "none" else f", up to {span(schedule['catch_up_minutes'] * 60)} back"
    return f"{word}: {CATCH_UPS[word]}{within}"


def _coming(schedule: Schedule) -> list[str]:
    zone = schedule["timezone"]
    there = [zone] if zone != "UTC" else []
    rows = [(*(local(one["utc"], zone) for _ in there), to_second(one["utc"]),
             "clocks change on this day" if one["clock_changes"] else "")
            for one in schedule.get("next_runs") or []]  # fmt: skip
    headings = (*(f"in {zone}" for zone in there), "in UTC", "")
    return ["", "Next", *table(headings, rows)] if rows else []


def _past(schedule: Schedule) -> list[str]:
    if "runs" not in schedule:
        return []
    if not schedule["runs"]:
        return ["", "No slot has passed yet."]
    zone = schedule["timezone"]
    rows = [(local(one["fire_at"], zone), "by hand" if one["trigger"] == "manual" else "slot",
             one.get("status") or _outcome(one["outcome"]), one.get("job_id") or "",
             one.get("message") or "") for one in schedule["runs"]]  # fmt: skip
    headings = ("slot", "by", "outcome", "job", "reason")
    job = next((one["job_id"] for one in schedule["runs"] if one.get("job_id")), None)
    more = [f"`curtsy logs {job}` shows what happened in a run."] if job else []
    return ["", "Last", *table(headings, rows, cut=("reason",)), *more]
