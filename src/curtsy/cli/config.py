"""`curtsy config`: what every setting is, and who said so."""

import os

from curtsy.cli.saying import note, say, say_json
from curtsy.cli.table import table
from curtsy.cli.talking import AsJson


def check(as_json: AsJson = False) -> None:
    """Every setting with its value and where that came from.

    Exit code 1 if one is wrong, and a sentence that says which.
    """
    from curtsy.config import load
    from curtsy.config.obsolete import obsolete_variables
    from curtsy.config.reading import origins, shown, unknown_variables

    settings = load()
    came_from = origins()
    rows = [(name.upper(), shown(name, value), came_from[name]) for name, value in settings]
    if as_json:
        say_json([{"name": n, "value": getattr(settings, n.lower()) if n != "DATABASE_URL" else v,
                   "from": origin} for n, v, origin in rows])  # fmt: skip
    else:
        say("\n".join(table(("setting", "value", "from"), rows, cut=("value", "from"))))
    tell = note if as_json else say
    for name in unknown_variables(os.environ):
        tell(f"\n{name} is set, but there is no such setting: it has no effect.")
    for name, instead in obsolete_variables(os.environ).items():
        tell(f"\n{name} is set, but means nothing here. In its place: {instead}.")
