"""`curtsy keys`: creates, lists, rotates and revokes API keys, directly in the database; shows and
rotates the secrets that sign webhooks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run, settings_for
from curtsy.cli.console.table import table
from curtsy.cli.console.text import finite, in_utf8, to_minute
from curtsy.clock import HOUR, rfc3339
from curtsy.model.roles import ROLES

if TYPE_CHECKING:
    from curtsy.access.keys import Key
    from curtsy.events.webhook_secrets import SigningSecret
    from curtsy.store import Connection

T = TypeVar("T")
Work = Callable[["Connection", int], T]
"""A transaction, given the connection and the time."""

RoleWord = Literal["read", "submit", "operate", "admin"]
KeyId = Annotated[
    str, typer.Argument(metavar="KEY", help="The key's id, as `curtsy keys list` shows it.")
]
DAY = 24 * HOUR
LARGEST = 2**31 - 1
SHOWN_ONCE = """\
Key {id} of {user} ({role}):

  {key}

It is shown only this once: store it where only {user} can read it. Send it as
`Authorization: Bearer KEY`, or put it into CURTSY_KEY for `curtsy`."""


def add(
    user: Annotated[
        str, typer.Option(metavar="NAME", help="User who owns the jobs submitted with the key.")
    ],
    role: Annotated[
        RoleWord,
        typer.Option(
            metavar="ROLE",
            help="read (see own jobs), submit (also submit jobs), operate (see all jobs, handle "
            "failures) or admin (everything).",
        ),
    ] = "submit",
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Name of the key in the list.")
    ] = None,
    pages_per_hour: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST, metavar="N", help="Maximum of pages submitted per hour."),
    ] = None,
    open_jobs: Annotated[
        int | None, typer.Option(min=1, max=LARGEST, metavar="N", help="Maximum of open jobs.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, metavar="N", help="Days until the key expires.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an API key and print it; it is shown only once.

    As soon as one key exists, the API accepts no request without a key.
    """
    from curtsy.access.keys import NewKey, create_key

    def work(connection: "Connection", now: int) -> "tuple[Key, str]":
        until = now + days * DAY if days is not None else None
        key = NewKey(in_utf8(user), ROLES[role], in_utf8(name) if name else None, pages_per_hour,
                     open_jobs, until)  # fmt: skip
        return create_key(connection, key, now=now)

    _show_once(*_on_database(work, create=True), as_json=as_json)


def list(as_json: AsJson = False) -> None:  # noqa: A001 - the command's name
    """List all keys, also expired and revoked ones, without their secrets."""
    from curtsy.access.keys import list_keys

    found = _on_database(lambda connection, now: [_facts(k, now) for k in list_keys(connection)])
    if as_json:
        echo_json(found)
    elif not found:
        echo("There are no keys: `curtsy keys add --user NAME` creates one.")
    else:
        headings = ("key", "user", "role", "state", "pages/h", "open jobs", "created", "ends",
                    "used", "name")  # fmt: skip
        echo("\n".join(table(headings, [_row(facts) for facts in found], cut=("name",))))


def rotate(
    key: KeyId,
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            max=8_760,
            metavar="HOURS",
            callback=finite,
            help="Hours for which the old secret still works.",
        ),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Give a key a new secret; the old one stops working at once, or after --grace."""
    from curtsy.access.keys import rotate_key

    changed = _on_database(lambda c, now: rotate_key(c, key, grace=round(grace * HOUR), now=now))
    _show_once(*changed, as_json=as_json)


def revoke(key: KeyId, as_json: AsJson = False) -> None:
    """Revoke a key within a second, with all browser sessions that were opened with it."""
    from curtsy.access.keys import revoke_key

    facts = _on_database(lambda connection, now: _facts(revoke_key(connection, key, now=now), now))
    if as_json:
        echo_json(facts)
    else:
        echo(f"Key {facts['id']} of {facts['user_id']} is revoked.")


def webhook_secret(
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="User of the jobs; without it, jobs that no user owns."),
    ] = None,
    rotate: Annotated[bool, typer.Option("--rotate", help="Replace the secret.")] = False,
    grace: Annotated[
        float,
        typer.Option(
            min=0, max=720, metavar="HOURS", help="Hours for which the old secret signs, too."
        ),
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """Show the secret that signs the webhooks of a user's jobs, or replace it.

    Each user has a secret of its own. After --rotate, webhooks have two signatures for a while.
    """
    from curtsy.events.webhook_secrets import rotate_secret, signing_secret

    whose = in_utf8(user) if user else None

    def work(connection: "Connection", now: int) -> "SigningSecret":
        if rotate:
            return rotate_secret(connection, whose, grace=round(grace * HOUR), now=now)
        return signing_secret(connection, whose, now=now)

    found = _on_database(work)
    until = rfc3339(found.old_until) if found.old_until is not None else None
    if as_json:
        echo_json({"user_id": whose, "secret": found.secret, "old_secret_until": until})
    else:
        echo(found.secret + (f"\nThe old secret signs, too, until {until}." if until else ""))


def _on_database(work: Work[T], *, create: bool = False) -> T:
    settings = settings_for(log_level="WARNING")
    if not create:
        require_file(settings)

    async def on_store() -> T:
        from curtsy.processes.startup import ready

        async with ready(settings, upgrades_sqlite=True) as (store, clock):
            return await store.write(lambda c: work(c, clock.now()), durable=True)

    return run(on_store(), doing="Reading the keys")


def _show_once(key: "Key", text: str, *, as_json: bool) -> None:
    if as_json:
        echo_json({"key": text} | _facts(key, key.created_at))
    else:
        fields = {"id": key.public_id, "user": key.user_id, "role": key.role.word, "key": text}
        echo(SHOWN_ONCE.format(**fields))


def _facts(key: "Key", now: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": key.public_id, "user_id": key.user_id, "role": key.role.word, "name": key.name,
        "state": key.state(now), "pages_per_hour": key.pages_per_hour, "open_jobs": key.open_jobs,
    }  # fmt: skip
    for name in ("created_at", "expires_at", "revoked_at", "used_at"):
        instant = getattr(key, name)
        facts[name] = rfc3339(instant) if instant is not None else None
    return facts


def _row(facts: dict[str, Any]) -> tuple[str, ...]:
    quotas = (str(facts[name] or "") for name in ("pages_per_hour", "open_jobs"))
    ends = facts["revoked_at"] or facts["expires_at"]
    moments = (to_minute(at) if at else "" for at in (facts["created_at"], ends, facts["used_at"]))
    return (facts["id"], facts["user_id"], facts["role"], facts["state"], *quotas, *moments,
            facts["name"] or "")  # fmt: skip
