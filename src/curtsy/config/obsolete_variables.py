"""Variables of the systems that curtsy replaces; curtsy ignores them."""

from collections.abc import Mapping

NO_REDIS = "nothing: no Redis is needed; rows, leases and NOTIFY of the database do its work"
NO_SCRAPYD_YET = "nothing yet: spiders on Scrapyd come with a later part, built-in spiders run here"
A_WORKER = "nothing: workers are `curtsy worker`"
REPLACED_BY: Mapping[str, str] = {
    "MONGO_URL": "CURTSY_DATABASE_URL",
    "MONGO_URI": "CURTSY_DATABASE_URL",
    "MONGO_DB_NAME": "CURTSY_DATABASE_URL",
    "PG_LOCAL_URI": "CURTSY_DATABASE_URL",
    "RABBITMQ_URL": "nothing: the queue is in the database",
    "REDIS_URL": NO_REDIS,
    "REDIS_HOST": NO_REDIS,
    "REDIS_PORT": NO_REDIS,
    "REDIS_DB": NO_REDIS,
    "CELERY_WORKER_CONCURRENCY": "CURTSY_WORKER_SLOTS",
    "CELERY_WORKER_MAX_TASKS_PER_CHILD": "CURTSY_EXTRACT_CHILD_PAGES; children are also replaced "
    "by memory (CURTSY_EXTRACT_CHILD_BYTES) and age (CURTSY_EXTRACT_CHILD_SECONDS)",
    "CELERY_WORKER_MAX_MEMORY_PER_CHILD": "CURTSY_EXTRACT_CHILD_BYTES, in bytes; of a whole worker "
    "CURTSY_WORKER_MEMORY_BYTES",
    "CELERY_TASK_SOFT_TIME_LIMIT": "CURTSY_SPIDER_SOFT_LIMIT",
    "CELERY_TASK_TIME_LIMIT": "CURTSY_SPIDER_HARD_LIMIT, CURTSY_RUN_TIMEOUT for runs of sites, "
    "CURTSY_SCRAPE_TIMEOUT and CURTSY_EXTRACT_SECONDS for a page",
    "CELERY_TRACE_ENABLES": "CURTSY_LOG_LEVEL=DEBUG",
    "CELERY_": A_WORKER,
    "RQ_JOB_TIMEOUT": "CURTSY_RUN_TIMEOUT",
    "RQ_RESULT_TTL": "CURTSY_RESULT_DAYS",
    "RQ_": A_WORKER,
    "SCRAPYD_": NO_SCRAPYD_YET,
}
"""A name that ends in _ is a prefix; the first that fits decides."""


def obsolete_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that are set, each with its replacement."""
    found = {}
    for name in sorted(environment):
        fitting = (old for old in REPLACED_BY if _fits(name, old))
        if old := next(fitting, None):
            found[name] = REPLACED_BY[old]
    return found


def _fits(name: str, old: str) -> bool:
    return name.startswith(old) if old.endswith("_") else name == old
