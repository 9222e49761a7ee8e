"""`curtsy api`, `curtsy worker` and `curtsy scheduler`: one process each, for several machines."""

from curtsy.cli.commands.up import Host, Port, Scrapers, Slots, join_paths
from curtsy.cli.console.runner import run, settings_for


def api(host: Host = None, port: Port = None, scrapers: Scrapers = None) -> None:
    """Run the API alone; workers and schedulers run elsewhere.

    It prints only log lines, on stderr; CURTSY_LOG_FORMAT=json prints them as JSON.
    """
    from curtsy.processes.api import serve_api

    run(serve_api(settings_for(api_host=host, api_port=port, scrapers=join_paths(scrapers))))


def worker(slots: Slots = None, scrapers: Scrapers = None) -> None:
    """Run a worker, which fetches pages; run as many as you like.

    It prints only log lines, on stderr; CURTSY_LOG_FORMAT=json prints them as JSON.
    """
    from curtsy.processes.worker import run_worker

    run(run_worker(settings_for(worker_slots=slots, scrapers=join_paths(scrapers))))


def scheduler() -> None:
    """Run a scheduler, which starts scheduled jobs; run as many as you like.

    A scheduler also compares the records that runs of sites found, ends runs that take too long,
    and deletes expired data. It prints only log lines, on stderr; CURTSY_LOG_FORMAT=json prints
    them as JSON.
    """
    from curtsy.processes.scheduler import run_scheduler

    run(run_scheduler(settings_for()))
