"""What `curtsy schedules add` and `edit` may say, as options and as the API's words."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from curtsy.cli.console.errors import WrongUsage
from curtsy.cli.console.text import in_utf8, minutes_of
from curtsy.cli.console.url_arguments import read_text, read_urls
from curtsy.errors import BadRequest

CronLine = Annotated[
    str | None,
    typer.Option(
        "--cron", metavar="LINE",
        help="Minute, hour, day, month, weekday, as '0 9 * * MON-FRI'; or @hourly, @daily, …",
    ),
]  # fmt: skip
EverySpan = Annotated[
    str | None,
    typer.Option("--every", metavar="SPAN", help="As 90m, 2h or 1d; a plain number is minutes."),
]
AtMoment = Annotated[
    str | None, typer.Option("--at", metavar="MOMENT", help="Once, as 2026-12-01T09:00:00Z.")
]
Timezone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="In which --cron is meant, as Europe/Berlin; else UTC."),
]
OverlapWord = Annotated[
    str | None,
    typer.Option(
        "--overlap", metavar="WORD",
        help="If the run before still goes on: skip, queue_one, cancel_running or allow.",
    ),
]  # fmt: skip
CatchUpWord = Annotated[
    str | None,
    typer.Option(
        "--catch-up", metavar="WORD",
        help="What nobody fired in time is made up for: latest, none or all.",
    ),
]  # fmt: skip
CatchUpWithin = Annotated[
    str | None,
    typer.Option("--catch-up-within", metavar="SPAN", help="Unless it is older; a day at first."),
]
NotBefore = Annotated[str | None, typer.Option(metavar="MOMENT", help="No slot before this one.")]
AfterEnd = Annotated[
    bool | None,
    typer.Option("--after-end/--by-the-clock", show_default=False,
                 help="Count --every from the end of the last run, or from slot to slot."),
]  # fmt: skip
Jitter = Annotated[
    bool | None,
    typer.Option("--jitter/--no-jitter", show_default=False,
                 help="Move the slots of --every by up to a tenth, or not."),
]  # fmt: skip
Fetch = Annotated[str | None, typer.Option(metavar="URL", help="Fetch this page.")]
CrawlFrom = Annotated[
    list[str] | None,
    typer.Option("--crawl", metavar="URL", help="Follow links from here; may be repeated."),
]
Spider = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of --crawl: article or raw; else article.")
]
Depth = Annotated[
    int | None, typer.Option(metavar="N", help="Of --crawl: how many links away; else 1.")
]
MaxPages = Annotated[int | None, typer.Option(metavar="N", help="Of --crawl: in all.")]
Articles = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Fetch these articles; a URL a line, as `curtsy submit -f`."),
]
DutyName = Annotated[
    str | None,
    typer.Option("--duty", metavar="NAME", help="Do this for curtsy itself, as cleanup."),
]
PayloadFile = Annotated[
    Path | None,
    typer.Option("--payload", metavar="FILE", help="Anything that the API takes, as JSON."),
]

Body = dict[str, Any]


def rule_fields(
    *, cron: str | None, every: str | None, at: str | None, timezone: str | None,
    overlap: str | None, catch_up: str | None, catch_up_within: str | None,
    not_before: str | None, after_end: bool | None, jitter: bool | None,
) -> Body:  # fmt: skip
    """When, and what if something is in the way: as far as it was said."""
    if sum(one is not None for one in (cron, every, at)) > 1:
        raise WrongUsage("Of --cron, --every and --at a schedule has one.")
    said: Body = {
        "cron": _text(cron), "at": _text(at), "timezone": _text(timezone),
        "every_minutes": None if every is None else minutes_of(every, "--every"),
        "overlap": _word(overlap), "catch_up": _word(catch_up), "not_before": _text(not_before),
        "after_end": after_end, "jitter": jitter,
    }  # fmt: skip
    if catch_up_within is not None:
        said["catch_up_minutes"] = minutes_of(catch_up_within, "--catch-up-within")
    return {name: value for name, value in said.items() if value is not None}


def crawl_fields(spider: str | None, depth: int | None, max_pages: int | None) -> Body:
    said: Body = {"spider": _text(spider), "depth": depth,
                  "params": None if max_pages is None else {"max_pages": max_pages}}  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def payload(
    *, fetch: str | None, crawl: list[str] | None, crawl_options: Body, articles: Path | None,
    duty: str | None, file: Path | None,
) -> Body | None:  # fmt: skip
    """What it does, if that was said at all."""
    ways = [bool(way) for way in (fetch, crawl, articles, duty, file)]
    if sum(ways) > 1:
        raise WrongUsage(
            "Of --fetch, --crawl, --articles, --duty and --payload a schedule has one."
        )
    if fetch:
        [page] = read_urls([fetch], None)
        return {"fetch": {"url": page}}
    if crawl:
        return {"crawl": {"spider": "article", "start_urls": read_urls(crawl, None), "depth": 1}
                | crawl_options}  # fmt: skip
    if articles:
        found = [{"url": url} for url in read_urls(None, articles)]
        return {"articles": {"articles": found}}
    if duty:
        return {"duty": in_utf8(duty)}
    return _read(file) if file else None


def changed_crawl(before: Body, says: Body) -> Body:
    """The payload of a crawl with what is said of it now."""
    if "crawl" not in before:
        raise WrongUsage("--spider, --depth and --max-pages say more of a crawl; this is none.")
    crawl = before["crawl"]
    params = crawl.get("params", {}) | says.get("params", {})
    return {"crawl": crawl | says | ({"params": params} if params else {})}


def _read(file: Path) -> Body:
    try:
        found = json.loads(read_text(file))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        example = '{"fetch": {"url": "https://example.com/"}}'
        raise BadRequest([f"{file} holds no payload in JSON, as {example} would be."])
    return found


def _text(said: str | None) -> str | None:
    return None if said is None else in_utf8(said)


def _word(said: str | None) -> str | None:
    """`queue-one` is meant just so."""
    return None if said is None else in_utf8(said).replace("-", "_")
