"""Variables of the systems that curtsy replaces; curtsy ignores them."""

from collections.abc import Mapping

REPLACED_BY: Mapping[str, str] = {
    "MONGO_URL": "CURTSY_DATABASE_URL",
    "MONGO_URI": "CURTSY_DATABASE_URL",
    "MONGO_DB_NAME": "CURTSY_DATABASE_URL",
    "RABBITMQ_URL": "nothing: the queue is in the database",
    "CELERY_": "nothing: workers are `curtsy worker`",
    "RQ_": "nothing: workers are `curtsy worker`",
}
"""A name that ends in _ is a prefix."""


def obsolete_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that are set, each with its replacement."""
    found = {}
    for name in sorted(environment):
        for old, instead in REPLACED_BY.items():
            if name == old or (old.endswith("_") and name.startswith(old)):
                found[name] = instead
    return found
