"""The program `curtsy`: its commands, their groups and the headings of its help.

Only names stand here: a command's module is imported when the command runs or its help is shown.
"""

import sys

from curtsy import __version__

COMMANDS = {
    "Start here": ("demo.demo", "scrape.scrape", "try_page.try_", "demo.examples", "processes.up",
                   "processes.stop"),
    "Jobs": ("crawl.discover", "plan.plan", "jobs.submit", "crawl.crawl", "jobs.status",
             "why.why", "streams.logs", "streams.watch", "jobs.results", "jobs.jobs",
             "jobs.retry", "jobs.pause", "jobs.resume", "jobs.cancel"),
    "Schedules": ("schedule.schedule",),
    "Operation": ("doctor.doctor", "health.health", "health.metrics", "rate_limits.rate_limits",
                  "reports.generate_report", "maintenance.process_dlq", "maintenance.cleanup",
                  "backup.backup", "backup.restore", "processes.api", "processes.worker",
                  "processes.scheduler"),
}  # fmt: skip
"""By heading of the help: the module and the function of each command."""
NOT_BUILT = ("not_built.export",)
"""They answer by name, but no help lists them."""
ACTIVE_GROUPS = {
    "dead-letters": ("Jobs", ("dead_letters.dead_letters", "dead_letters.show")),
    "alerts": ("Operation", ("alerts.alerts", "alerts.list", "alerts.rules", "alerts.channels",
                             "alerts.mute", "alerts.unmute", "alerts.test_")),
}  # fmt: skip
"""Groups that do something by themselves: the heading of the help, what they do, their commands."""
GROUPS = {
    "schedules": ("Create, list, change and run schedules: jobs that start at set times.",
                  ("schedules.list", "schedules.show", "schedules.add", "schedules.edit",
                   "schedules.pause", "schedules.resume", "schedules.run", "schedules.remove")),
    "sites": ("List and show declared sites, scrape them, print their records.",
              ("sites.list", "sites.show", "sites.run", "sites.records")),
    "sources": ("Describe what each site allows, show its state, pause it.",
                ("sources.list", "sources.show", "sources.set", "sources.pause",
                 "sources.resume", "sources.remove", "sources.apply", "sources.receipt")),
    "reports": ("List the stored reports, and show them.", ("reports.list", "reports.show")),
    "keys": ("Create, list, rotate and revoke the keys of API users.",
             ("keys.add", "keys.list", "keys.rotate", "keys.revoke", "keys.webhook_secret")),
    "db": ("Upgrade or check the database's schema, or make its file smaller.",
           ("db.upgrade", "db.check", "db.downgrade", "db.vacuum")),
    "config": ("Check the settings.", ("config.check",)),
}  # fmt: skip


def main() -> None:
    """Runs the command line and ends the process."""
    if sys.argv[1:] == ["--version"]:
        sys.exit(_show_version())
    from curtsy.cli.console.error_output import run_command_line
    from curtsy.cli.program import build, hasten_imports

    hasten_imports()
    run_command_line(build(*sys.argv[1:2]))


def _show_version() -> int:
    """Prints the version without loading the rest; returns the exit code."""
    try:
        sys.stdout.write(f"curtsy {__version__}\n")
        sys.stdout.flush()
    except OSError as error:
        from curtsy.cli.console.error_output import code_of_output_error

        return code_of_output_error(error)
    return 0
