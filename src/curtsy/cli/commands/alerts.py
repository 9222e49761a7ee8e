"""`curtsy alerts`: shows what fires, the rules, mutes alerts, and tests their channels."""

import asyncio
from typing import Annotated, Any
from urllib.parse import quote

import typer

from curtsy.cli.console.api_connection import AsJson, Url, open_api
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.job_wait import warn_without_scheduler
from curtsy.cli.console.output import echo, echo_json
from curtsy.cli.console.runner import run
from curtsy.cli.console.table import table
from curtsy.cli.console.text import one_line, seconds_of, to_minute

LIST_COMMAND = "curtsy alerts rules"
TEST_SECONDS, TEST_POLL_SECONDS = 20, 0.5

RuleName = Annotated[
    str, typer.Argument(metavar="RULE", help="Its name; `curtsy alerts rules` shows them.")
]
Subject = Annotated[
    str,
    typer.Option(metavar="SUBJECT",
                 help="Only the alert about this source, site, schedule or worker."),
]  # fmt: skip


def alerts(context: typer.Context, as_json: AsJson = False, url: Url = None) -> None:
    """Show what is wrong: alerts that fire, that are pending, and those resolved in a day."""
    if context.invoked_subcommand is None:
        list(as_json, url)


def list(as_json: AsJson = False, url: Url = None) -> None:  # noqa: A001 - the command's name
    """Show what is wrong: the same as `curtsy alerts`."""
    found = run(_alerts(url), doing="Reading the alerts")
    if as_json:
        echo_json(found)
    elif not found["alerts"]:
        echo(f"Nothing fires.{_evaluated(found)}")
    else:
        echo("\n".join([*_alert_rows(found["alerts"]), "", *_advice(found["alerts"])])
             .rstrip() + _evaluated(found))  # fmt: skip


def rules(as_json: AsJson = False, url: Url = None) -> None:
    """List the rules: what they watch, when they fire, when they are resolved."""
    found = run(_request(url, "GET", "/alerts/rules"), doing="Reading the rules")
    if as_json:
        echo_json(found)
    else:
        headings = ("rule", "fires", "for", "resolved at", "severity", "state")
        echo("\n".join(table(headings, [_rule_row(one) for one in found["rules"]])))


def channels(as_json: AsJson = False, url: Url = None) -> None:
    """List the channels of alerts.toml, and whether the last message arrived."""
    found = run(_request(url, "GET", "/alerts/channels"), doing="Reading the channels")
    if as_json:
        echo_json(found)
    elif not found["channels"]:
        echo("There are no channels: declare one in alerts.toml, as [channels.team].")
    else:
        headings = ("channel", "kind", "leads to", "from severity", "last message")
        rows = [_channel_row(one) for one in found["channels"]]
        echo("\n".join(table(headings, rows, cut=("leads to", "last message"))))


def mute(
    rule: RuleName,
    until: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="Until a moment, such as 2030-01-01T12:00:00Z."),
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="SPAN", help="For a span, such as 2h.")
    ] = None,
    subject: Subject = "",
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Send no messages about a rule for a while; what still fires then is announced then."""
    if (until is None) == (for_ is None):
        raise WrongUsage("Say for how long: --for 2h, or --until 2030-01-01T12:00:00Z.")
    body: dict[str, Any] = {"subject": subject}
    if for_ is not None:
        if for_.strip().lower() == "never":
            raise WrongUsage("A mute has an end. `enabled = false` in alerts.toml ends a rule.")
        body["seconds"] = seconds_of(for_, "--for")
    else:
        body["until"] = until
    found = run(_request(url, "POST", _path(rule, "mute"), body), doing="Muting")
    if as_json:
        echo_json(found)
    else:
        echo(f"Muted {_what(found)} until {to_minute(found['until'])}.")


def unmute(rule: RuleName, subject: Subject = "", as_json: AsJson = False,
           url: Url = None) -> None:  # fmt: skip
    """Send messages about a rule again."""
    found = run(_request(url, "POST", _path(rule, "unmute"), {"subject": subject}),
                doing="Unmuting")  # fmt: skip
    if as_json:
        echo_json(found)
    else:
        echo(f"{_what(found)} is not muted any more.")


def test_(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Its name in alerts.toml.")],
    as_json: AsJson = False,  # noqa: PT028 - not a test
    url: Url = None,  # noqa: PT028
) -> None:
    """Send a test message to a channel, and say whether it arrived.

    Exit code 1 if the receiver refused it, or if no scheduler sent it in time.
    """
    found = run(_test(url, channel), doing="Sending a test message")
    if as_json:
        echo_json(found)
    elif found["state"] == "delivered":
        echo(f"{channel} has accepted a test message.")
    else:
        why = found["error"] or "No scheduler has sent it yet: `curtsy up` starts one."
        echo(f"{channel} has not accepted the test message: {one_line(why)}")
    if found["state"] != "delivered":
        raise typer.Exit(FAILED)


async def _test(url: str | None, channel: str) -> dict[str, Any]:
    async with open_api(url, list_command="curtsy alerts channels") as api:
        sent = await api.request("POST", "/alerts/test", body={"channel": channel})
        await warn_without_scheduler(api)
        loop = asyncio.get_running_loop()
        until = loop.time() + TEST_SECONDS
        while sent["state"] == "waiting" and not sent["error"] and loop.time() < until:
            await asyncio.sleep(TEST_POLL_SECONDS)
            known = (await api.request("GET", "/alerts/channels"))["channels"]
            last = {one["last"]["id"]: one["last"] for one in known if one["last"]}
            sent = last.get(sent["id"], sent)
        found: dict[str, Any] = sent
        return found


async def _alerts(url: str | None) -> Any:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        await warn_without_scheduler(api)
        return await api.request("GET", "/alerts")


async def _request(
    url: str | None, method: str, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    async with open_api(url, list_command=LIST_COMMAND) as api:
        found: dict[str, Any] = await api.request(method, path, body=body)
        return found


def _path(rule: str, action: str) -> str:
    return f"/alerts/{quote(rule, safe='')}/{action}"


def _what(found: dict[str, Any]) -> str:
    about = f" of {found['subject']}" if found["subject"] else ""
    return one_line(f"{found['rule']}{about}")


def _alert_rows(found: Any) -> Any:
    rows = [
        (one["phase"], one["severity"], one["rule"], one["subject"], to_minute(one["since"]),
         _says(one))
        for one in found
    ]  # fmt: skip
    headings = ("state", "severity", "rule", "about", "since", "what")
    return table(headings, rows, cut=("about", "what"))


def _says(one: dict[str, Any]) -> str:
    muted = f" (muted until {to_minute(one['muted_until'])})" if one["muted_until"] else ""
    return f"{one['says']}{muted}"


def _advice(found: Any) -> Any:
    """What to do, once for each rule that fires."""
    of_rule = {one["rule"]: one["to_do"] for one in found if one["phase"] == "firing"}
    return [f"{rule}: {one_line(to_do)}" for rule, to_do in of_rule.items() if to_do]


def _evaluated(found: dict[str, Any]) -> str:
    if found["evaluated_at"] is None:
        return "\nNo scheduler has evaluated the rules yet: `curtsy up` starts one."
    return f"\nThe rules were evaluated at {to_minute(found['evaluated_at'])}."


def _rule_row(one: dict[str, Any]) -> tuple[str, ...]:
    side, limit = ("above", one["above"]) if one["above"] is not None else ("below", one["below"])
    states = [
        *([] if one["enabled"] else ["off"]),
        *([f"muted until {to_minute(one['muted_until'])}"] if one["muted_until"] else []),
        *([] if one["builtin"] and not one["changed"] else
          ["changed" if one["builtin"] else "your own"]),
    ]  # fmt: skip
    fires = f"{one['metric']} {side} {limit:g} {one['unit']}".rstrip()
    return (one["name"], fires, f"{one['for']:g} s", f"{one['clear']:g}", one["severity"],
            ", ".join(states))  # fmt: skip


def _channel_row(one: dict[str, Any]) -> tuple[str, ...]:
    last = one["last"]
    told = "none yet" if last is None else f"{to_minute(last['created_at'])} {last['state']}"
    if last is not None and last["error"]:
        told = f"{told}: {last['error']}"
    severity = one["severity"] if one["enabled"] else "off"
    return one["name"], one["kind"], one["leads_to"], severity, told
