"""The layout of help texts: commands in groups, examples, exit codes."""

from collections import defaultdict
from typing import Any

from typer.core import TyperCommand, TyperGroup

from curtsy.cli.console.exit_codes import WRONG_USAGE
from curtsy.cli.console.help_examples import EXAMPLES
from curtsy.cli.console.output import echo

UNCUT = 1000
"""Longest first sentence: long ones wrap, none is cut."""
EXIT_CODES = {
    "0": "success; also a service that stopped on Ctrl-C or `curtsy stop`",
    "1": "an error; a sentence on stderr describes it",
    "2": "wrong arguments",
    "3, 4": "some pages failed, all pages failed (scrape, submit --wait)",
    "5": "a command that is not built yet",
    "130": "interrupted; finished pages are stored",
    "141": "the reader of the output, such as `head`, closed it",
}


class Command(TyperCommand):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Lists arguments by name, without their types."""
        records = [(p, p.get_help_record(ctx)) for p in self.get_params(ctx)]
        known = [(p.param_type_name, record) for p, record in records if record]
        rows = {
            "Arguments": [
                (n.split(" <")[0], text) for kind, (n, text) in known if kind != "option"
            ],
            "Options": [record for kind, record in known if kind == "option"],
        }
        for heading, lines in rows.items():
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _show_examples(ctx, formatter)


class Group(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Shows the help where no command is given, unless the group does something by itself."""
        if not args and not ctx.resilient_parsing and not self.invoke_without_command:
            echo(ctx.get_help())
            ctx.exit(WRONG_USAGE)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer calls it so
        groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        shown = {name: command for name, command in self.commands.items() if not command.hidden}
        width = max(map(len, shown))
        for name, command in shown.items():
            text = command.get_short_help_str(limit=UNCUT)
            heading = getattr(command, "rich_help_panel", None) or "Commands"
            groups[heading].append((f"{name:<{width}}", text))
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _show_examples(ctx, formatter)
        if ctx.parent is None:
            with formatter.section("Exit codes"):
                formatter.write_dl(list(EXIT_CODES.items()))


def _show_examples(ctx: Any, formatter: Any) -> None:
    if examples := EXAMPLES.get(_path(ctx)):
        with formatter.section("Examples"):
            for line, meaning in examples.items():
                formatter.write(f"  {line}\n      {meaning}\n")


def _path(ctx: Any) -> str:
    """The command's path, such as `curtsy db check`, also under `python -m curtsy`."""
    return "curtsy" if ctx.parent is None else f"{_path(ctx.parent)} {ctx.info_name}"
