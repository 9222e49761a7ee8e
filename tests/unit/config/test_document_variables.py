"""The environment variables of the five documents: each has an effect, or is named as one that has
none."""

import re
from pathlib import Path

import pytest

from curtsy.config import load
from curtsy.config.loader import origins
from curtsy.config.obsolete_variables import REPLACED_BY, obsolete_variables
from curtsy.config.settings import Settings

EFFECTIVE: dict[str, tuple[str, str, object]] = {
    "API_PORT": ("8123", "api_port", 8123),
    "MAX_RETRY_ATTEMPTS": ("5", "max_retry_attempts", 5),
    "SCRAPE_TIMEOUT": ("12", "scrape_timeout", 12.0),
    "CRAWL_CACHE_TTL": ("60", "crawl_cache_ttl", 60.0),
    "LOG_LEVEL": ("info", "log_level", "INFO"),
    "DATABASE_URL": ("postgresql+asyncpg://user:pass@localhost/dbname", "database_url", None),
}
"""By variable: a value as its document spells it, the setting, and the setting's value."""
NAMED = {
    "REDIS_URL": "redis://localhost:6379", "REDIS_HOST": "localhost", "REDIS_PORT": "6379",
    "REDIS_DB": "0", "MONGO_URL": "mongodb://localhost:27017", "MONGO_DB_NAME": "job_scheduler",
    "MONGO_URI": "mongodb://db", "RABBITMQ_URL": "amqp://mq", "SCRAPYD_URL": "http://scrapyd:6800",
    "RQ_QUEUE_NAME": "scraping", "RQ_RESULT_TTL": "3600", "RQ_JOB_TIMEOUT": "900",
    "PG_LOCAL_URI": "db:pg://user:pass@localhost:5432/trainium",
    "CELERY_BROKER_URL": "redis://localhost:6379/0", "CELERY_RESULT_BACKEND": "redis://localhost",
    "CELERY_WORKER_MAX_TASKS_PER_CHILD": "25", "CELERY_TRACE_ENABLES": "1",
    "CELERY_WORKER_CONCURRENCY": "2", "CELERY_WORKER_PREFETCH_MULTIPLIER": "1",
    "CELERY_ALWAYS_EAGER": "False",
}  # fmt: skip
"""The variables of systems that are not here, or not yet."""


@pytest.fixture(autouse=True)
def _all_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = NAMED | {name: value for name, (value, _setting, _means) in EFFECTIVE.items()}
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name", EFFECTIVE)
def test_a_variable_of_a_setting_has_its_effect_without_the_prefix(name: str) -> None:
    _value, setting, means = EFFECTIVE[name]
    assert origins()[setting] == name
    found = getattr(load(), setting)
    assert found == means if means is not None else "localhost/dbname" in found


@pytest.mark.parametrize("name", NAMED)
def test_any_other_variable_is_named_with_what_does_its_work(name: str) -> None:
    found = obsolete_variables(NAMED)
    assert len(found[name]) > len("nothing: ")
    assert name not in origins().values()


def test_the_warning_says_that_nothing_needs_redis_and_what_does_its_work() -> None:
    found = obsolete_variables(NAMED)
    for name in ("REDIS_URL", "REDIS_HOST", "REDIS_PORT", "REDIS_DB"):
        assert "no Redis is needed" in found[name]
        assert "leases" in found[name]


def test_a_name_of_its_own_comes_before_its_prefix() -> None:
    found = obsolete_variables(NAMED)
    assert found["RQ_JOB_TIMEOUT"] == "CURTSY_RUN_TIMEOUT"
    assert "curtsy worker" in found["RQ_QUEUE_NAME"]
    assert found["RQ_RESULT_TTL"] == "CURTSY_RESULT_DAYS"
    assert found["CELERY_WORKER_MAX_TASKS_PER_CHILD"].startswith("CURTSY_EXTRACT_CHILD_PAGES")
    assert found["CELERY_TRACE_ENABLES"] == "CURTSY_LOG_LEVEL=DEBUG"


def test_every_setting_that_replaces_a_variable_exists() -> None:
    named = re.findall(r"CURTSY_([A-Z_]+)", " ".join(REPLACED_BY.values()))
    assert {name.lower() for name in named} <= set(Settings.model_fields)
    assert len(named) > 10
