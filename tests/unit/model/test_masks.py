"""What is shown in place of secrets."""

import pytest

from curtsy.model.masks import (
    masked_database_url,
    masked_headers,
    masked_url,
    without_credentials,
)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hush@db:5432/d", "postgresql://me:***@db:5432/d"),
        ("postgresql://me:hush:hush@db/d", "postgresql://me:***@db/d"),
        ("postgresql://me:hush@hush@db/d", "postgresql://me:***@db/d"),
        ("postgresql://me:@hush@db/d", "postgresql://me:***@db/d"),
        ("postgresql://me:hush/hush@db/d", "postgresql://me:***@db/d"),
        ("postgresql://me:hush#hush@db/d", "postgresql://me:***@db/d"),
        ("postgresql://me:hush?hush@db/d", "postgresql://***"),
        ("postgresql://me:hush%40hush@db/d", "postgresql://me:***@db/d"),
        ("postgresql://:hush@db/d", "postgresql://:***@db/d"),
        ("postgresql://db/d?user=me&password=hush", "postgresql://db/d?user=me&password=***"),
        ("postgresql://db/d?password=hush@hush", "postgresql://***"),
        ("postgresql://db/d?password=hush&hush", "postgresql://db/d?password=***&***"),
        ("postgresql://db/d?sslpassword=hush&sslmode=require",
         "postgresql://db/d?sslpassword=***&sslmode=require"),
        ("postgresql://me:hush@db/d?password=hush", "postgresql://me:***@db/d?password=***"),
        ("postgresql://me:hu,sh@a:1,b:2/d?target_session_attrs=read-write",
         "postgresql://me:***@a:1,b:2/d?target_session_attrs=read-write"),
        ("mysql://me:hush@db/d", "mysql://me:***@db/d"),
        ("postgresql://me@db/d", "postgresql://me@db/d"),
        ("postgresql://db/d", "postgresql://db/d"),
        ("sqlite:////var/a@b:c.db", "sqlite:////var/a@b:c.db"),
        ("curtsy.db", "curtsy.db"),
    ],
)  # fmt: skip
def test_no_part_of_a_database_password_is_shown(url: str, shown: str) -> None:
    assert masked_database_url(url) == shown
    assert "hush" not in shown


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:p%40ss-word@db/d", "no login with p@ss-word or p%40ss-word"),
        ("postgresql://me:one@secret@db/d", "cannot look up secret@db"),
        ("postgresql://db/d?password=secret", "unknown option secret"),
        ("postgresql://me:secret@db/d", "cannot parse postgresql://me:secret@db/d"),
    ],
)
def test_what_a_driver_says_has_no_password_in_it(url: str, said: str) -> None:
    clean = without_credentials(said, url)
    assert "***" in clean
    assert not any(part in clean for part in ("ss-word", "secret"))


def test_what_a_driver_says_stays_where_there_is_no_password() -> None:
    assert without_credentials("a: b", "sqlite:///a.db") == "a: b"
    assert without_credentials("postgresql is away", "postgresql://me@db/d") == "postgresql is away"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h.example/hush", "https://h.example/***"),
        ("https://h.example:8443/a/hush?x=hush#hush", "https://h.example:8443/***"),
        ("https://h.example?hush", "https://h.example/***"),
        ("https://me:hush@h.example/", "https://h.example/"),
        ("HTTP://me@hush@h.example/x", "HTTP://h.example/***"),
        ("https://h.example", "https://h.example/"),
        ("hush", "***"),
    ],
)
def test_of_a_webhook_only_its_host_is_shown(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_the_value_of_every_header_is_masked() -> None:
    assert masked_headers({"Authorization": "a", "Accept": "b"}) == {
        "Authorization": "***", "Accept": "***",
    }  # fmt: skip
