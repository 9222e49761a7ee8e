"""Log lines about runs of sites, with the words by which they are looked for."""

from curtsy.logs import logger
from curtsy.sites.runs import task_id

log = logger("schedule")


def log_run(event: str, site: str, run: str, status: str) -> None:
    log.info(event, site_name=site, run_id=run, task_id=task_id(run), status=status)
