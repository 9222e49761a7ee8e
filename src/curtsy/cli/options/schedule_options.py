"""The options of `curtsy schedules add` and `edit`, and their translation to the API's fields."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.text import in_utf8, minutes_of
from curtsy.cli.console.url_arguments import read_text, read_urls
from curtsy.cli.options.webhook_option import webhook_field
from curtsy.errors import BadRequest

CronLine = Annotated[
    str | None,
    typer.Option(
        "--cron", metavar="LINE",
        help="Minute, hour, day, month and weekday, such as '0 9 * * MON-FRI'; or @hourly, "
        "@daily, @weekly, @monthly, @yearly.",
    ),
]  # fmt: skip
EverySpan = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="SPAN",
        help="Interval, such as 90m, 2h or 1d; a plain number is minutes.",
    ),
]
AtMoment = Annotated[
    str | None,
    typer.Option("--at", metavar="MOMENT", help="Run once, at 2026-12-01T09:00:00Z for example."),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE", help="Time zone of --cron, such as Europe/Berlin; UTC by default."
    ),
]
OverlapWord = Annotated[
    str | None,
    typer.Option(
        "--overlap", metavar="WORD",
        help="If the previous run still goes on: skip, queue_one, cancel_running or allow.",
    ),
]  # fmt: skip
CatchUpWord = Annotated[
    str | None,
    typer.Option(
        "--catch-up", metavar="WORD",
        help="Which missed slots to catch up: latest, none or all.",
    ),
]  # fmt: skip
CatchUpWithin = Annotated[
    str | None,
    typer.Option(
        "--catch-up-within",
        metavar="SPAN",
        help="Do not catch up slots older than this; a day by default.",
    ),
]
NotBefore = Annotated[str | None, typer.Option(metavar="MOMENT", help="Earliest slot.")]
AfterEnd = Annotated[
    bool | None,
    typer.Option("--after-end/--by-the-clock", show_default=False,
                 help="Count --every from the end of the last run, or from slot to slot."),
]  # fmt: skip
Jitter = Annotated[
    bool | None,
    typer.Option("--jitter/--no-jitter", show_default=False,
                 help="Move each slot of --every at random by up to a tenth, or not."),
]  # fmt: skip
Fetch = Annotated[str | None, typer.Option(metavar="URL", help="Fetch this page.")]
CrawlFrom = Annotated[
    list[str] | None,
    typer.Option("--crawl", metavar="URL", help="Follow links from this page; may be repeated."),
]
Spider = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Scraper of the crawl: article or raw; article by default."),
]
Depth = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="How many links deep to follow: 1 from --crawl, 0 from --feed and --sitemap only.",
    ),
]
MaxPages = Annotated[
    int | None, typer.Option(metavar="N", help="Maximum number of pages of the crawl.")
]
Articles = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Fetch the articles of this file, one URL per line, like `curtsy submit -f`.",
    ),
]
DutyName = Annotated[
    str | None,
    typer.Option(
        "--duty",
        metavar="NAME",
        help="Run a maintenance task of curtsy, such as cleanup or dead_letters.",
    ),
]
PayloadFile = Annotated[
    Path | None,
    typer.Option(
        "--payload", metavar="FILE", help="JSON file with any payload that the API accepts."
    ),
]

Body = dict[str, Any]
WHAT = "--fetch, --crawl, --feed, --sitemap, --articles, --duty and --payload"


def rule_fields(
    *, cron: str | None, every: str | None, at: str | None, timezone: str | None,
    overlap: str | None, catch_up: str | None, catch_up_within: str | None,
    not_before: str | None, after_end: bool | None, jitter: bool | None,
) -> Body:  # fmt: skip
    """The API's fields of the given options: when, overlap and catch-up."""
    if sum(one is not None for one in (cron, every, at)) > 1:
        raise WrongUsage("Give only one of --cron, --every and --at.")
    fields: Body = {
        "cron": _text(cron), "at": _text(at), "timezone": _text(timezone),
        "every_minutes": None if every is None else minutes_of(every, "--every"),
        "overlap": _word(overlap), "catch_up": _word(catch_up), "not_before": _text(not_before),
        "after_end": after_end, "jitter": jitter,
    }  # fmt: skip
    if catch_up_within is not None:
        fields["catch_up_minutes"] = minutes_of(catch_up_within, "--catch-up-within")
    return {name: value for name, value in fields.items() if value is not None}


def crawl_fields(spider: str | None, depth: int | None, max_pages: int | None) -> Body:
    fields: Body = {"spider": _text(spider), "depth": depth,
                  "params": None if max_pages is None else {"max_pages": max_pages}}  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}


def payload(
    *, fetch: str | None, crawl: list[str] | None, start: Body, crawl_options: Body,
    articles: Path | None, duty: str | None, file: Path | None,
) -> Body | None:  # fmt: skip
    """The payload that the options describe; None where they describe none."""
    chosen = [bool(option) for option in (fetch, crawl or start, articles, duty, file)]
    if sum(chosen) > 1:
        raise WrongUsage(f"Give only one of {WHAT}; --feed and --sitemap go with --crawl.")
    if any(chosen) and crawl_options and not (crawl or start):
        raise WrongUsage("--spider, --depth and --max-pages need --crawl, --feed or --sitemap.")
    if fetch:
        [page] = read_urls([fetch], None)
        return {"fetch": {"url": page}}
    if crawl or start:
        pages = {"start_urls": read_urls(crawl, None)} if crawl else {}
        depth = {"depth": int(bool(crawl))}
        return {"crawl": {"spider": "article"} | pages | depth | start | crawl_options}
    if articles:
        found = [{"url": url} for url in read_urls(None, articles)]
        return {"articles": {"articles": found}}
    if duty:
        return {"duty": in_utf8(duty)}
    return _read(file) if file else None


def changed_crawl(before: Body, crawl_options: Body) -> Body:
    """The payload `before`, a crawl, with the given options changed."""
    if "crawl" not in before:
        raise WrongUsage(
            "--spider, --depth and --max-pages are for a crawl; this schedule is not one."
        )
    crawl = before["crawl"]
    params = crawl.get("params", {}) | crawl_options.get("params", {})
    return {"crawl": crawl | crawl_options | ({"params": params} if params else {})}


def with_webhook(payload: Body, webhook: str | None) -> Body:
    """The payload, whose jobs call the webhook when they have ended."""
    if not webhook:
        return payload
    if "duty" in payload:
        raise WrongUsage("--webhook is for jobs; a duty makes none.")
    return {door: job | webhook_field(webhook) if isinstance(job, dict) else job
            for door, job in payload.items()}  # fmt: skip


def _read(file: Path) -> Body:
    try:
        found = json.loads(read_text(file))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        example = '{"fetch": {"url": "https://example.com/"}}'
        raise BadRequest([f"{file} is not a JSON payload, such as {example}."])
    return found


def _text(option: str | None) -> str | None:
    return None if option is None else in_utf8(option)


def _word(option: str | None) -> str | None:
    """Takes `queue-one` for `queue_one`."""
    return None if option is None else in_utf8(option).replace("-", "_")
