"""`curtsy try`: runs one scraper on one page, for authors of scrapers."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from curtsy.cli.commands.processes import Scrapers, join_paths
from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.exit_codes import ALL_FAILED
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.text import counted
from curtsy.cli.views.records import as_text
from curtsy.errors import BadRequest
from curtsy.model.urls import BadUrl, canonical

if TYPE_CHECKING:
    from curtsy.model.outcome import Record
    from curtsy.processes.trial import Trial, Tried

LINKS_SHOWN = 20


def try_(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="A URL, or a file with a saved page.")
    ],
    scraper: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Built in or your own; not needed if you have just one."),
    ] = None,
    scrapers: Scrapers = None,
    params: Annotated[
        str | None, typer.Option(metavar="JSON", help="Parameters of the scraper, a JSON object.")
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Recipe for the scraper listing, in TOML or JSON."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fetched page for the next try.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Address of a saved page.")
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run a scraper on one page and show what it finds, or where it fails.

    The page is fetched once, after robots.txt, or read from a file; nothing is stored. The scraper
    runs as in a worker, with limits and without network. Records go to standard output, links and
    log lines to stderr. Exit code 4 if the page or the scraper failed.
    """
    from curtsy.processes.trial import try_page

    scraper_params = _params(params, recipe)
    chosen = scraper or ("listing" if recipe is not None else None)
    settings = settings_for(scrapers=join_paths(scrapers), log_level="WARNING")
    tried = run(
        try_page(settings, _trial(page, url, chosen, scraper_params)), doing="Trying the scraper"
    )
    if save is not None and tried.reply is not None:
        _save(save, tried.reply.body)
    if as_json:
        echo_json(_facts(tried))
    else:
        _show(tried)
    raise typer.Exit(0 if tried.reply is not None and _has_worked(tried) else ALL_FAILED)


def _trial(page: str, url: str | None, scraper: str | None, params: dict[str, Any]) -> "Trial":
    from curtsy.processes.trial import Trial
    from curtsy.scrapers.saved_page import saved_reply

    try:
        if "://" in page:
            if url is not None:
                raise WrongUsage("--url is for a saved page; PAGE is a URL itself.")
            return Trial(scraper, canonical(page).text, params=params)
        if not Path(page).is_file():
            raise WrongUsage(f"{page} is neither a URL, such as https://example.com/, nor a file.")
        if url is None:
            raise WrongUsage(f"{page} is a saved page: give its address with --url.")
        return Trial(scraper, url, saved_reply(page, url), params)
    except BadUrl as bad:
        raise BadRequest([f"{url or page} {bad}."]) from None
    except OSError as error:
        raise WrongUsage(f"{page} cannot be read ({error.strerror}).") from None


def _params(params: str | None, recipe: Path | None) -> dict[str, Any]:
    try:
        found = orjson.loads(params) if params is not None else {}
    except orjson.JSONDecodeError as error:
        raise WrongUsage(f"--params is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise WrongUsage('--params is not an object such as {"city": "Oslo"}.')
    if recipe is not None:
        found["recipe"] = _recipe(recipe)
    return found


def _recipe(file: Path) -> Any:
    try:
        text = file.read_bytes()
        return orjson.loads(text) if file.suffix == ".json" else tomllib.loads(text.decode())
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, orjson.JSONDecodeError, UnicodeDecodeError) as error:
        raise WrongUsage(f"{file} cannot be read: {error}.") from None


def _save(file: Path, body: bytes) -> None:
    try:
        file.write_bytes(body)
    except OSError as error:
        raise WrongUsage(f"{file} cannot be written ({error.strerror}).") from None
    note(f"The page was saved to {file}.")


def _has_worked(tried: "Tried") -> bool:
    from curtsy.model.outcome import Record

    return isinstance(tried.outcome, Record)


def _facts(tried: "Tried") -> dict[str, Any]:
    from curtsy.model.link import packed
    from curtsy.model.outcome import Failed

    outcome = tried.outcome
    facts: dict[str, Any] = {"scraper": tried.scraper, "seconds": round(tried.seconds, 4)}
    if tried.reply is not None:
        facts |= {"url": tried.reply.url, "bytes": len(tried.reply.body)}
    if isinstance(outcome, Failed):
        return facts | {"kind": outcome.kind, "error": outcome.error,
                        "traceback": outcome.traceback}  # fmt: skip
    log = [{"level": level, "message": text} for level, text in outcome.lines]
    return facts | _content(tried.scraper, outcome, facts["url"]) | {
        "links": packed(outcome.links or ()), "log": log
    }  # fmt: skip


def _content(scraper: str, record: "Record", url: str) -> dict[str, Any]:
    """What the scraper found: records in the form of a job's results, or the page."""
    from curtsy.scrapers import PAGES
    from curtsy.scrapers.charset import text_of
    from curtsy.scrapers.record_keys import is_listing, records_on

    if scraper == "raw":
        return {"content": text_of(record.content, record.content_type, record.charset)[0]}
    found = orjson.loads(record.content)
    if scraper in PAGES:
        return {"record": found}
    rows = [{"record_key": key, "record": fields} for key, fields in records_on(found, url)]
    more = found if is_listing(found) else {"next": None, "empty": False}
    return {"records": rows, "next": more["next"], "empty": more["empty"]}


def _show(tried: "Tried") -> None:
    facts = _facts(tried)
    if tried.reply is not None:
        note(f"{facts['scraper']} on {facts['url']} ({facts['bytes']} bytes): "
             f"{tried.seconds * 1000:.0f} ms.")  # fmt: skip
    if "error" in facts:
        note(f"Failed: {facts['error']} ({facts['kind']})")
        if facts["traceback"]:
            note(f"\n{facts['traceback'].rstrip()}")
        return
    _show_found(facts)
    for line in facts["log"]:
        note(f"{line['level']} {line['message']}")
    links = facts["links"]
    if links:
        note(f"It links to {counted(len(links), 'page')}:")
    for link in links[:LINKS_SHOWN]:
        note(f"  {_shown_link(link)}")
    if len(links) > LINKS_SHOWN:
        note(f"  and {len(links) - LINKS_SHOWN} more (--json shows all)")


def _shown_link(link: Any) -> str:
    """A link is its URL, or a list of URL, scraper and parameters."""
    if isinstance(link, str):
        return link
    url, scraper, params = link
    return " ".join([url, scraper or "", orjson.dumps(params).decode() if params else ""]).strip()


def _show_found(facts: dict[str, Any]) -> None:
    if "content" in facts:
        echo(facts["content"])
    elif "record" in facts:
        echo_json(facts["record"])
    else:
        for n, record in enumerate(facts["records"]):
            echo(("\n" if n else "") + as_text(record["record"]))
        empty = " (the page says that it has none)" if facts["empty"] else ""
        note(f"{counted(len(facts['records']), 'record')}{empty}; "
             f"next page: {facts['next'] or 'none'}.")  # fmt: skip
