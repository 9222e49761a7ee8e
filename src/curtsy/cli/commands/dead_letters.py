"""`curtsy dead-letters`: lists, shows, retries and resolves pages that curtsy gave up on."""

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import echo, echo_json, require_yes
from curtsy.cli.console.runner import run
from curtsy.cli.console.table import facts, table
from curtsy.cli.console.text import counted, one_line, to_minute, to_second
from curtsy.model.failure_kinds import Kind

Cause = Annotated[
    Kind | None,
    typer.Option(
        metavar="KIND", help="Only this cause, such as timeout; the list shows the causes."
    ),
]
Source = Annotated[
    str | None, typer.Option(metavar="HOST", help="Only this source, such as example.com.")
]
LIST_COMMAND = "curtsy dead-letters"
PAST = {"retry": "retried", "resolve": "resolved"}
GERUND = {"retry": "Retrying", "resolve": "Resolving"}


def dead_letters(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many to show.")
    ] = 20,
    kind: Cause = None,
    source: Source = None,
    retry: Annotated[bool, typer.Option("--retry", help="Fetch these pages again.")] = False,
    resolve: Annotated[
        bool, typer.Option("--resolve", help="Close these without fetching them again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List pages that curtsy gave up on, by cause; retry or resolve them.

    --retry and --resolve apply to all dead letters, or to those that --kind and --source select.
    The command asks first, unless --yes is given; without a terminal --yes is required.
    """
    if context.invoked_subcommand is not None:
        return
    if retry and resolve:
        raise WrongUsage("--retry and --resolve exclude each other.")
    filters = {"kind": kind, "source": source}
    if not (retry or resolve):
        found = run(_list(url, filters | {"limit": limit}), doing="Reading dead letters")
        if as_json:
            echo_json(found)
        else:
            echo(_page(found))
        return
    chosen: dict[str, Any] = {name: value for name, value in filters.items() if value}
    _settle(url, "retry" if retry else "resolve", chosen or {"all": True}, yes=yes, as_json=as_json)


def show(
    number: Annotated[int, typer.Argument(metavar="ID", min=1, help="Its id, from the list.")],
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show one dead letter: why its page failed, and every attempt at it."""
    found = run(_read(url, number), doing="Reading the dead letter")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(_story(found)))


async def _read(url: str | None, number: int) -> dict[str, Any]:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        found: dict[str, Any] = await api.request("GET", f"/dead-letters/{number}")
        return found


def _story(found: dict[str, Any]) -> Iterator[str]:
    shown = {
        "url": one_line(found["url"]), "page": found["page_id"], "source": found["source"],
        "kind": f"{found['kind']} ({found['family'].replace('_', ' ')})",
        "reason": one_line(found["error"]), "state": found["state"],
        "given up": to_second(found["created_at"]),
        "tried": counted(found["attempts"], "time"), "retried": counted(found["retries"], "time"),
    }  # fmt: skip
    yield from facts(shown)
    rows = [(to_second(one["ended_at"]), str(one.get("status") or ""), one["outcome"],
             one.get("error") or "") for one in found["history"]]  # fmt: skip
    yield from ("", "Attempts", *table(("ended", "status", "outcome", "reason"), rows,
                                       cut=("reason",)))  # fmt: skip
    if found.get("traceback"):
        yield from ("", found["traceback"].rstrip())


async def _list(url: str | None, query: dict[str, Any]) -> dict[str, Any]:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        found: dict[str, Any] = await api.request("GET", "/dead-letters", query=query)
        return found


def _page(found: dict[str, Any]) -> str:
    if not found["letters"]:
        return "There are no dead letters."
    groups = [
        (g["kind"], f"{g['count']}{'+' if g['count_is_capped'] else ''}", g["means"])
        for g in found["groups"]
    ]
    rows = [(str(x["id"]), x["kind"], str(x["times"]), to_minute(x["last_failed_at"]), x["url"],
             x["error"]) for x in found["letters"]]  # fmt: skip
    return "\n".join([
        "By cause", *table(("kind", "pages", "meaning"), groups, cut=("meaning",)),
        "", "The newest",
        *table(("id", "kind", "times", "given up", "url", "reason"), rows, cut=("url", "reason")),
    ])  # fmt: skip


def _settle(url: str | None, what: str, which: dict[str, Any], *, yes: bool, as_json: bool) -> None:
    path = f"/dead-letters/{what}"
    preview = run(_preview(url, path, which), doing="Counting dead letters")
    if preview["letters"] and not yes:
        _confirm(what, counted(preview["letters"], "dead letter",
                               capped=preview["letters_is_capped"]))  # fmt: skip
    done = run(_do(url, path, which), doing=f"{GERUND[what]} dead letters")
    if as_json:
        echo_json(done)
    else:
        again = f", {counted(done['pages'], 'page')} to fetch again" if what == "retry" else ""
        echo(f"{counted(done['letters'], 'dead letter')} {PAST[what]}{again}.")
        if what == "retry" and done["resolved"]:
            echo(f"{done['resolved']} of them only resolved: no job wants these pages any more.")


async def _preview(url: str | None, path: str, which: dict[str, Any]) -> dict[str, Any]:
    async with open_api(url) as api:
        preview: dict[str, Any] = await api.request("POST", path, body=which)
        return preview


async def _do(url: str | None, path: str, which: dict[str, Any]) -> dict[str, int]:
    """Repeats the request until nothing is left: the API handles a limited number per request."""
    done = {"letters": 0, "pages": 0, "resolved": 0}
    async with open_api(url) as api:
        left = 1
        while left:
            answer = await api.request("POST", path, body=which | {"preview": False})
            done = {name: done[name] + answer[name] for name in done}
            left = answer["left"] if answer["letters"] else 0
    return done


def _confirm(what: str, number: str) -> None:
    if not sys.stdin.isatty():
        raise WrongUsage(f"This would {what} {number}: without a terminal, confirm it with --yes.")
    require_yes(f"{what.capitalize()} {number}?")
