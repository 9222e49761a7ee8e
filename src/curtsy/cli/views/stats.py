"""Formats the answer of `GET /stats` for a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from curtsy.cli.console.table import facts, table
from curtsy.cli.console.text import counted, span, to_minute

BANDS = ("high", "medium", "low")
FIGURES = ("requests", "succeeded", "failed", "success", "fetch p95", "wait p95")
SITES = ("site", "runs", "succeeded", "partial", "failed", "pages", "failed pages", "success",
         "mean time")  # fmt: skip


def page(found: Mapping[str, Any]) -> list[str]:
    since, until = to_minute(found["since"]), to_minute(found["until"])
    lines = [f"The last {counted(found['asked_hours'], 'hour')}, as known from {since} to {until}."]
    for heading, rows in _sections(found):
        if rows:
            lines += ["", *([heading] if heading else []), *rows]
    return lines


def _sections(found: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    yield "", facts(_summary(found))
    yield "By priority", _rows(("band", *FIGURES, "waiting"), [
        (name, *_figures(found["bands"][name]), _waiting(found["queue"]["bands"][name]))
        for name in BANDS if name in found["bands"]
    ])  # fmt: skip
    by_source, shown = found["sources"], ("busiest", "failing")
    since = to_minute(by_source["since"])
    for which, rows in ((which, by_source[which]) for which in shown):
        yield f"The {which} sources, from {since}", _rows(("source", *FIGURES), [
            (source["source"] or "(deleted)", *_figures(source)) for source in rows
        ])  # fmt: skip
    yield "Sites", _rows(SITES, [_site(site) for site in found["sites"]])
    yield "Waiting now", _rows(("source", "ready", "later"), [
        (one["source"], _number(one["ready"], one["capped"]), _number(one["later"], one["capped"]))
        for one in found["queue"]["sources"]
    ])  # fmt: skip
    yield "Open dead letters", _rows(("cause", "pages"), [
        (group["kind"], _number(group["open"], group["capped"])) for group in found["dead_letters"]
    ])  # fmt: skip
    yield "Hourly limits", _rows(("source", "used", "limit", "use"), [
        (use["source"], f"{use['used']:,}", f"{use['limit']:,}", _share(use["utilisation"]))
        for use in found["limits"]
    ])  # fmt: skip
    yield "Workers", _rows(("worker", "machine", "in flight", "memory"), [
        (one["worker"], one["machine"], str(one["in_flight"]), _bytes(one["memory_bytes"]))
        for one in found["workers"]
    ])  # fmt: skip


def _summary(found: Mapping[str, Any]) -> dict[str, str | None]:
    waits = {why: span(seconds) for why, seconds in found["waited_seconds"].items() if seconds}
    lag = found["schedule_lag"]
    return {
        "pages": f"{found['succeeded']:,} succeeded, {found['failed']:,} failed: "
        f"{_share(found['success_rate'])}, {found['pages_per_minute']:,} a minute",
        "requests": _with(found["requests"], found["attempts"]),
        "failures": _with(sum(found["failures_by_kind"].values()), found["failures_by_kind"]),
        "retries": _with(found["retries"], found["retries_by_kind"]),
        "given_up": _with(found["failed"], found["given_up_by_kind"]),
        "received": _bytes(found["bytes"]),
        "fetch": _quantiles(found["fetch_ms"]),
        "wait": _quantiles(found["wait_ms"]),
        "waited_in_all": ", ".join(f"{why} {time}" for why, time in waits.items()) or None,
        "schedule_lag": lag
        and f"p95 {lag['p95_seconds']:.1f} s, worst {lag['worst_seconds']:.1f} "
        f"s, of {counted(lag['fired'], 'slot')}",
    }


def _with(number: int, parts: Mapping[str, int]) -> str:
    known = ", ".join(f"{name} {count:,}" for name, count in parts.items() if count)
    return f"{number:,} ({known})" if known else f"{number:,}"


def _quantiles(found: Mapping[str, int] | None) -> str | None:
    if found is None:
        return None
    return ", ".join(f"{name} {_time(found[name])}" for name in ("p50", "p95", "p99"))


def _figures(found: Mapping[str, Any]) -> tuple[str, ...]:
    fetch, wait = found["fetch_ms"], found["wait_ms"]
    return (
        f"{found['requests']:,}", f"{found['succeeded']:,}", f"{found['failed']:,}",
        _share(found["success_rate"]), _time(fetch and fetch["p95"]), _time(wait and wait["p95"]),
    )  # fmt: skip


def _site(site: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = ("runs", "succeeded", "partial", "failed", "pages", "failed_pages")
    mean = site["mean_seconds"]
    return (site["site"], *(f"{site[name]:,}" for name in numbers),
            _share(site["success_rate"]), "" if mean is None else span(mean))  # fmt: skip


def _waiting(band: Mapping[str, Any]) -> str:
    return _number(band["waiting"] + band["due_retries"], band["capped"] or band["retries_capped"])


def _rows(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return table(headings, rows, cut=headings[:1]) if rows else []


def _number(number: int, capped: bool) -> str:
    return f"{number:,}{'+' * capped}"


def _share(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f} %"


def _time(ms: int | None) -> str:
    if ms is None:
        return "-"
    return f"{ms} ms" if ms < 10_000 else span(ms / 1000)


def _bytes(number: int | None) -> str:
    if number is None:
        return "-"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number} bytes"
