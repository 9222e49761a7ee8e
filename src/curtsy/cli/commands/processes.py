"""`curtsy api`, `curtsy worker` and `curtsy scheduler`: one part alone, for several machines."""

from curtsy.cli.commands.up import Host, Port, Scrapers, Slots, join_paths
from curtsy.cli.console.startup import run, settings_for


def api(host: Host = None, port: Port = None, scrapers: Scrapers = None) -> None:
    """Serve the API alone, where workers run elsewhere.

    It prints log lines only, on stderr; CURTSY_LOG_FORMAT=json makes those JSON.
    """
    from curtsy.processes.api import serve_api

    run(serve_api(settings_for(api_host=host, api_port=port, scrapers=join_paths(scrapers))))


def worker(slots: Slots = None, scrapers: Scrapers = None) -> None:
    """Fetch pages until told to stop; run as many as you like.

    It prints log lines only, on stderr; CURTSY_LOG_FORMAT=json makes those JSON.
    """
    from curtsy.processes.worker import run_worker

    run(run_worker(settings_for(worker_slots=slots, scrapers=join_paths(scrapers))))


def scheduler() -> None:
    """Do what is due, until told to stop; run as many as you like.

    For now that is to let go of what has expired; schedules are to come. It prints log lines only,
    on stderr; CURTSY_LOG_FORMAT=json makes those JSON.
    """
    from curtsy.processes.scheduler import run_scheduler

    run(run_scheduler(settings_for()))
