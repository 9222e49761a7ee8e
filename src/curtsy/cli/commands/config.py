"""`curtsy config check`: every setting, its value and its origin."""

from collections.abc import Iterator

from curtsy.cli.console.api_connection import AsJson
from curtsy.cli.console.output import echo, echo_json, note
from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted


def check(as_json: AsJson = False) -> None:
    """Check the settings and show each with its value and origin.

    Also checks the files of sources, sites, schedules and alerts and your own scrapers. Exit code
    1 and a sentence if one of them is wrong.
    """
    from curtsy.config import load, read_sources
    from curtsy.config.alerts_file import read_alerts
    from curtsy.config.declared_files import read_schedules, read_sites
    from curtsy.config.exposed_files import exposed_files, missing_secrets
    from curtsy.config.loader import origins, shown
    from curtsy.processes.startup import own_scrapers

    settings = load()
    files = (
        (settings.sources_file, read_sources(settings), "source"),
        (settings.sites_file, read_sites(settings), "site"),
        (settings.schedules_file, read_schedules(settings), "schedule"),
    )
    alerts = read_alerts(settings)
    own = own_scrapers(settings)
    came_from = origins()
    rows = [(name.upper(), shown(name, value), came_from[name]) for name, value in settings]
    if as_json:
        echo_json([{"name": n, "value": getattr(settings, n.lower()) if n != "DATABASE_URL" else v,
                   "from": origin} for n, v, origin in rows])  # fmt: skip
    else:
        echo("\n".join(table(("setting", "value", "from"), rows, cut=("value", "from"))))
    print_line = note if as_json else echo
    for file, sections, what in files:
        if sections is not None:
            print_line(f"\n{file} describes {counted(len(sections), what)}.")
    if alerts is not None:
        print_line(f"\n{settings.alerts_file} describes {counted(len(alerts.rules), 'rule')} and "
                   f"{counted(len(alerts.channels), 'channel')}.")  # fmt: skip
    if own.docs:
        print_line(f"\nScrapers of your own: {', '.join(sorted(own.docs))}.")
    for sentence in (*exposed_files(settings), *missing_secrets(settings), *_remarks()):
        print_line(f"\n{sentence}")


def _remarks() -> Iterator[str]:
    """Yields a sentence for everything in the environment and in `.env` that has no effect."""
    from curtsy.config.loader import remarks_on_env_file, unknown_variables, variables
    from curtsy.config.obsolete_variables import obsolete_variables
    from curtsy.env_file import read_env_file

    yield from remarks_on_env_file(read_env_file())
    for name in unknown_variables(variables()):
        yield f"{name} is set, but there is no such setting: it has no effect."
    for name, instead in obsolete_variables(variables()).items():
        yield f"{name} is set, but curtsy ignores it. Its replacement: {instead}."
