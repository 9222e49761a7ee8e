"""The options for pages that are requested with POST or PUT, and the API's fields for them."""

from typing import Annotated, Any, Literal

import orjson
import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.text import in_utf8

MethodOption = Annotated[
    Literal["GET", "POST", "PUT"] | None,
    typer.Option(metavar="WORD", help="GET, POST or PUT; POST by default where there is a body."),
]
Form = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Field of a form to send; may be repeated."),
]
BodyJson = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="JSON to send with each URL, such as '{\"q\": 1}'."),
]


def body_fields(
    method: str | None, form: list[str] | None, body_json: str | None
) -> dict[str, Any]:
    """The fields of an article that is requested so; none for a GET."""
    fields: dict[str, Any] = {"method": method} if method else {}
    if form:
        fields["form"] = _form(form)
    if body_json is not None:
        fields["json"] = _json(body_json)
    return fields


def _form(pairs: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = in_utf8(pair).partition("=")
        if not equals:
            raise WrongUsage(f"--form takes NAME=VALUE; {name[:80]!r} has no =.")
        found.setdefault(name, []).append(value)
    return found


def _json(text: str) -> Any:
    try:
        found = orjson.loads(in_utf8(text))
    except orjson.JSONDecodeError as error:
        raise WrongUsage(f"--body-json is not JSON: {error}.") from None
    if not isinstance(found, dict | list):
        raise WrongUsage("--body-json takes an object or a list, such as '{\"q\": 1}'.")
    return found
