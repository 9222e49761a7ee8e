"""`curtsy dead-letters`: pages that were given up, and what to do about them."""

from typing import Annotated, Any

import orjson
import typer

from curtsy.cli.starting import run
from curtsy.cli.table import table
from curtsy.cli.talking import AsJson, Url, talk
from curtsy.errors import BadRequest

Kind = Annotated[str | None, typer.Option(help="Only this cause, as timeout.")]
Source = Annotated[str | None, typer.Option(help="Only this source, as example.com.")]


def dead_letters(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 20,
    kind: Kind = None,
    source: Source = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try these again.")] = False,
    resolve: Annotated[bool, typer.Option("--resolve", help="Lay these aside.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Pages that were given up, by cause; with --retry or --resolve, do something about them."""
    if retry and resolve:
        raise BadRequest(["--retry and --resolve exclude each other."])
    which = {"kind": kind, "source": source}
    if retry or resolve:
        what = "retry" if retry else "resolve"
        run(
            _settle(url, what, {n: v for n, v in which.items() if v} or {"all": True}, yes, as_json)
        )
    else:
        run(_show(url, which | {"limit": limit}, as_json))


async def _show(url: str | None, query: dict[str, Any], as_json: bool) -> None:
    async with talk(url) as api:
        found = await api.ask("GET", "/dead-letters", query=query)
    if as_json:
        print(orjson.dumps(found).decode())
        return
    groups = [
        (g["kind"], f"{g['count']}{'+' if g['count_is_capped'] else ''}", g["means"])
        for g in found["groups"]
    ]
    rows = [(str(x["id"]), x["kind"], x["created_at"], x["url"], x["error"])
            for x in found["letters"]]  # fmt: skip
    print("\n".join([
        "By cause", *table(("kind", "pages", "it means that"), groups),
        "", "The newest", *table(("id", "kind", "given up", "url", "because"), rows),
    ]))  # fmt: skip


async def _settle(
    url: str | None, what: str, which: dict[str, Any], yes: bool, as_json: bool
) -> None:
    async with talk(url) as api:
        preview = await api.ask("POST", f"/dead-letters/{what}", body=which)
        number = f"{preview['letters']}{'+' if preview['letters_is_capped'] else ''}"
        if not yes:
            typer.confirm(f"{what} {number} dead letters?", abort=True, err=True)
        done = {"letters": 0, "pages": 0}
        left = preview["letters"]
        while left:
            answer = await api.ask("POST", f"/dead-letters/{what}", body=which | {"preview": False})
            done = {name: done[name] + answer[name] for name in done}
            left = answer["left"] if answer["letters"] else 0
    if as_json:
        print(orjson.dumps(done).decode())
    else:
        tried = f", {done['pages']} pages wait again" if what == "retry" else ""
        print(
            f"{done['letters']} dead letters {'retried' if what == 'retry' else 'resolved'}{tried}."
        )
