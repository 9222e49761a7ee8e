import os
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from curtsy.config import load, worker_settings
from curtsy.config.loader import unknown_variables
from curtsy.errors import BadSetting

Set = Callable[..., None]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("API_PORT", "MAX_RETRY_ATTEMPTS", "SCRAPE_TIMEOUT", "CRAWL_CACHE_TTL",
                 "LOG_LEVEL", "DATABASE_URL"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def set_(monkeypatch: pytest.MonkeyPatch) -> Set:
    def to(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return to


def _refused() -> str:
    with pytest.raises(BadSetting) as refused:
        load()
    return str(refused.value)


def test_nothing_needs_to_be_set() -> None:
    settings = load()
    assert settings.database_url == "sqlite:///curtsy.db"
    assert (settings.api_host, settings.api_port) == ("127.0.0.1", 8000)
    made = worker_settings(settings)
    assert (made.slots, made.lease_ttl, made.max_redirects) == (100, 15_000, 10)
    assert (made.policy.min_delay, made.policy.concurrency) == (1_000, 1)
    assert (made.policy.max_retries, made.policy.retry_base) == (3, 60_000)
    assert (made.policy.retry_cap, made.policy.give_up_after) == (600_000, 3_600_000)
    assert (made.limits.connect_seconds, made.limits.total_seconds) == (10, 30)
    assert made.limits.body_bytes == 10 * 2**20
    assert made.allow == ()


def test_seconds_become_milliseconds(set_: Set) -> None:
    set_(CURTSY_MIN_DELAY_SECONDS="0.25", CURTSY_LEASE_SECONDS="2.5")
    made = worker_settings(load())
    assert (made.policy.min_delay, made.lease_ttl) == (250, 2_500)


def test_a_flag_wins_over_the_environment_and_that_over_the_file(set_: Set) -> None:
    Path("curtsy.toml").write_text('api_port = 1001\nworker_slots = 7\nuser_agent = "ours/1"\n')
    assert (load().api_port, load().worker_slots) == (1001, 7)
    set_(API_PORT="1002")
    assert load().api_port == 1002
    set_(CURTSY_API_PORT="1003")
    assert load().api_port == 1003
    assert load(api_port=1004).api_port == 1004
    assert load(api_port=None).user_agent == "ours/1"


def test_the_documents_names_work_and_no_others_do_without_the_prefix(set_: Set) -> None:
    set_(API_PORT="1", MAX_RETRY_ATTEMPTS="2", SCRAPE_TIMEOUT="3", LOG_LEVEL="debug",
         DATABASE_URL="postgres://u:p@db/jobs", USER_AGENT="other", API_HOST="0.0.0.0")  # fmt: skip
    settings = load()
    assert (settings.api_port, settings.max_retry_attempts, settings.scrape_timeout) == (1, 2, 3)
    assert settings.log_level == "DEBUG"
    assert settings.database_url == "postgresql://u:p@db/jobs"
    assert settings.api_host == "127.0.0.1"
    assert "other" not in settings.user_agent


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("sqlite:////var/a b.db", "sqlite:////var/a b.db"),
        ("postgresql+asyncpg://u:p@h:5432/d", "postgresql://u:p@h:5432/d"),
        ("postgres://h/d", "postgresql://h/d"),
        ("postgresql://u:p@a:5432,[::1]:5433/d", "postgresql://u:p@a:5432,[::1]:5433/d"),
        ("postgresql://u:p@s,w@a,b/d", "postgresql://u:p%40s,w@a,b/d"),
    ],
)
def test_each_database_url_has_one_spelling(set_: Set, given: str, meant: str) -> None:
    set_(CURTSY_DATABASE_URL=given)
    assert load().database_url == meant


def test_an_empty_variable_is_as_good_as_none(set_: Set) -> None:
    set_(CURTSY_API_PORT="", CURTSY_USER_AGENT="")
    assert load().api_port == 8000


def test_worker_processes_are_a_number_or_one_for_each_core(set_: Set) -> None:
    assert load().worker_processes == 1
    set_(CURTSY_WORKER_PROCESSES="3")
    assert load().worker_processes == 3
    set_(CURTSY_WORKER_PROCESSES="auto")
    assert load().worker_processes == len(os.sched_getaffinity(0))
    assert load(worker_processes="2").worker_processes == 2


def test_children_are_replaced_by_pages_age_and_memory(set_: Set) -> None:
    set_(CURTSY_EXTRACT_CHILD_PAGES="25", CURTSY_EXTRACT_CHILD_SECONDS="60",
         CURTSY_EXTRACT_CHILD_BYTES="100000000")  # fmt: skip
    limits = worker_settings(load()).extract
    assert limits.pages_per_process == 25
    assert limits.seconds_per_process == 60
    assert limits.keep_below_bytes == 100_000_000


def test_the_memory_of_a_worker_is_a_number_or_follows_from_its_parts(set_: Set) -> None:
    set_(CURTSY_EXTRACT_PROCESSES="4", CURTSY_EXTRACT_CHILD_BYTES=str(2**28))
    assert worker_settings(load()).memory_bytes == 2 * 2**30
    set_(CURTSY_WORKER_MEMORY_BYTES="500000000")
    assert worker_settings(load()).memory_bytes == 500_000_000


def test_allowed_addresses_are_networks(set_: Set) -> None:
    set_(CURTSY_ALLOW_ADDRESSES="127.0.0.1, 10.0.0.0/8,fd00::/8")
    assert worker_settings(load()).allow == tuple(
        ip_network(n) for n in ("127.0.0.1/32", "10.0.0.0/8", "fd00::/8")
    )


def test_allowed_proxies_are_addresses_with_a_port_or_networks(set_: Set) -> None:
    set_(CURTSY_ALLOW_PROXIES="127.0.0.1:3128, [::1]:8080,10.0.0.0/8 fd00::1")
    assert worker_settings(load()).allow_proxies == (
        (ip_network("127.0.0.1"), 3128), (ip_network("::1"), 8080),
        (ip_network("10.0.0.0/8"), None), (ip_network("fd00::1"), None),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("API_PORT", "65536", "a whole number from 0 to 65535"),
        ("API_PORT", "http", "a whole number from 0 to 65535"),
        ("WORKER_PROCESSES", "0", "auto or a whole number from 1 to 256"),
        ("WORKER_PROCESSES", "257", "auto or a whole number from 1 to 256"),
        ("WORKER_PROCESSES", "many", "auto or a whole number from 1 to 256"),
        ("WORKER_MEMORY_BYTES", "0", "auto or a whole number from 67108864 to 1125899906842624"),
        ("WORKER_MEMORY_BYTES", "500 MB", "auto or a whole number from 67108864"),
        ("EXTRACT_CHILD_PAGES", "0", "a whole number from 1 to 1000000"),
        ("EXTRACT_CHILD_SECONDS", "0", "a number from 1 to 2592000"),
        ("EXTRACT_CHILD_BYTES", "1", "a whole number from 1048576 to 68719476736"),
        ("WORKER_SLOTS", "0", "a whole number from 1 to 10000"),
        ("WORKER_SLOTS", "1.5", "a whole number from 1 to 10000"),
        ("MIN_DELAY_SECONDS", "-1", "a number from 0 to 86400"),
        ("MIN_DELAY_SECONDS", "nan", "a number from 0 to 86400"),
        ("RETRY_CAP", "inf", "a number from 0 to 604800"),
        ("RUN_TIMEOUT", "0", "a number from 1 to 604800"),
        ("RUN_TIMEOUT", "15 min", "a number from 1 to 604800"),
        ("SCRAPE_TIMEOUT", "0", "a number from 0.1 to 3600"),
        ("MIN_DELAY_SECONDS", "5e-324", "0 or at least 0.001 seconds"),
        ("SCRAPER_DATA", "/nowhere/at/all", "/nowhere/at/all does not exist"),
        ("LOG_LEVEL", "loud", "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        ("LOG_FORMAT", "xml", "one of auto, text, json"),
        ("DATABASE_URL", "mysql://h/d", "sqlite:///FILE or postgresql://"),
        ("DATABASE_URL", "curtsy.db", "sqlite:///FILE or postgresql://"),
        ("DATABASE_URL", "sqlite://", "sqlite:///FILE or postgresql://"),
        ("DATABASE_URL", "sqlite:///:memory:", "sqlite:///FILE or postgresql://"),
        ("DATABASE_URL", "postgresql://h:port/d", "sqlite:///FILE or postgresql://"),
        ("DATABASE_URL", "postgresql://a:5432,,b/d", "server 2 has no name"),
        ("DATABASE_URL", "sqlite:///curtsy.db?mode=ro", "takes no options"),
        ("USER_AGENT", "café", "1 to 500 printable ASCII characters"),
        ("USER_AGENT", "a\r\nX: y", "1 to 500 printable ASCII characters"),
        ("ALLOW_ADDRESSES", "10.0.0.1/8", "addresses or networks such as 10.0.0.0/8"),
        ("ALLOW_PROXIES", "localhost:3128", "addresses such as 127.0.0.1:3128 or networks"),
        ("ALLOW_PROXIES", "127.0.0.1:99999", "addresses such as 127.0.0.1:3128 or networks"),
        ("ALLOW_PROXIES", "10.0.0.1/8", "addresses such as 127.0.0.1:3128 or networks"),
        ("ALLOW_ADDRESSES", "localhost", "addresses or networks such as 10.0.0.0/8"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_is_allowed(
    set_: Set, name: str, value: str, allowed: str
) -> None:
    set_(**{f"CURTSY_{name}": value})
    sentence = _refused()
    assert sentence.startswith(f"CURTSY_{name} is {value!r}: it must be ")
    assert allowed in sentence
    assert sentence.endswith(".")


def test_a_wrong_value_is_named_as_it_was_set(set_: Set) -> None:
    set_(API_PORT="x")
    assert _refused().startswith("API_PORT is 'x'")


def test_a_wrong_value_in_the_file_is_named_with_the_file() -> None:
    Path("curtsy.toml").write_text('worker_slots = "many"\n')
    assert _refused().startswith(f"worker_slots in {Path('curtsy.toml').absolute()} is 'many'")


def test_all_wrong_values_are_told_at_once(set_: Set) -> None:
    set_(CURTSY_API_PORT="x", CURTSY_WORKER_SLOTS="0")
    sentence = _refused()
    assert "CURTSY_API_PORT" in sentence
    assert "CURTSY_WORKER_SLOTS" in sentence


def test_a_name_that_is_no_setting_is_refused_in_the_file() -> None:
    Path("curtsy.toml").write_text("worker_slot = 5\n")
    assert _refused() == "curtsy.toml has no setting 'worker_slot' (did you mean 'worker_slots'?)."


def test_a_file_that_is_not_toml_is_refused() -> None:
    Path("curtsy.toml").write_text("port: 5\n")
    assert _refused().startswith("curtsy.toml cannot be read")


def test_a_name_that_is_no_setting_is_noticed_in_the_environment() -> None:
    names = {"CURTSY_API_PROT": "1", "CURTSY_API_PORT": "1", "PATH": "/"}
    assert unknown_variables(names) == ["CURTSY_API_PROT"]


def test_a_first_wait_longer_than_the_longest_is_refused(set_: Set) -> None:
    set_(CURTSY_RETRY_BASE="700")
    assert (
        _refused() == "CURTSY_RETRY_BASE is 700: it must be at most CURTSY_RETRY_CAP, which is 600."
    )


@pytest.mark.parametrize("soft", ["3600", "4000"])
def test_a_spider_is_asked_to_end_before_it_is_ended(set_: Set, soft: str) -> None:
    assert (load().spider_soft_limit, load().spider_hard_limit) == (3300, 3600)
    set_(CURTSY_SPIDER_SOFT_LIMIT=soft)
    assert _refused() == (
        f"CURTSY_SPIDER_SOFT_LIMIT is {soft}: it must be less than CURTSY_SPIDER_HARD_LIMIT, "
        "which is 3600."
    )


def test_a_password_is_not_told(set_: Set) -> None:
    set_(CURTSY_DATABASE_URL="mysql://user:secret@host/d")
    assert "secret" not in _refused()
