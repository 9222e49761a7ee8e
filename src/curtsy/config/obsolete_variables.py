"""Variables of the systems that curtsy takes the place of: they mean nothing here."""

from collections.abc import Mapping

REPLACED_BY: Mapping[str, str] = {
    "MONGO_URL": "CURTSY_DATABASE_URL",
    "MONGO_URI": "CURTSY_DATABASE_URL",
    "MONGO_DB_NAME": "CURTSY_DATABASE_URL",
    "RABBITMQ_URL": "nothing: the queue is in the database",
    "CELERY_": "nothing: workers are `curtsy worker`",
    "RQ_": "nothing: workers are `curtsy worker`",
}
"""A name that ends in _ stands for all that begin with it."""


def obsolete_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that are set, and what takes their place."""
    found = {}
    for name in sorted(environment):
        for old, instead in REPLACED_BY.items():
            if name == old or (old.endswith("_") and name.startswith(old)):
                found[name] = instead
    return found
