"""URLs of databases, as people write them."""

import pytest

from curtsy.errors import BadSetting
from curtsy.store.database_url import DatabaseUrl, parse_database_url


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///curtsy.db", "curtsy.db"),
        ("sqlite:////var/lib/curtsy.db", "/var/lib/curtsy.db"),
        ("sqlite:///folder with spaces/a%20b.db", "folder with spaces/a%20b.db"),
    ],
)
def test_a_file_is_named_as_it_is(url: str, path: str) -> None:
    parsed = parse_database_url(url)
    assert (parsed.is_sqlite, parsed.database, parsed.host) == (True, path, None)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://db/jobs", (None, None, "db", None, "jobs", {})),
        ("postgresql+asyncpg://me:p@db:5433/jobs", ("me", "p", "db", 5433, "jobs", {})),
        ("postgresql://me:a%40b%2Fc@db/jobs", ("me", "a@b/c", "db", None, "jobs", {})),
        ("postgresql://me:a/b?c@db/jobs", ("me", "a/b?c", "db", None, "jobs", {})),
        ("postgresql://me:@db/jobs", ("me", "", "db", None, "jobs", {})),
        ("postgresql://[::1]:5432/jobs", (None, None, "::1", 5432, "jobs", {})),
        ("postgresql:///jobs?host=/run/pg", (None, None, None, None, "jobs", {"host": "/run/pg"})),
        ("postgresql://db/j?a=1&a=2&b=", (None, None, "db", None, "j", {"a": "2", "b": ""})),
        ("postgresql://db/j?password=a@b", (None, None, "db", None, "j", {"password": "a@b"})),
    ],
)
def test_each_part_of_a_server_is_found(url: str, parts: tuple[object, ...]) -> None:
    assert parse_database_url(url)[1:] == parts


@pytest.mark.parametrize("url", ["", "curtsy.db", "postgresql:/db", "postgresql://db:port/jobs"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(BadSetting, match="no URL"):
        parse_database_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:a%40b@db:5432/jobs?sslmode=require",
        "postgresql://[::1]/jobs",
        "postgresql://db/jobs?options=-c%20x%3D1",
    ],
)
def test_the_text_of_a_url_is_parsed_to_the_same_parts(url: str) -> None:
    parsed = parse_database_url(url)
    assert isinstance(parsed, DatabaseUrl)
    assert parsed.text() == url
    assert parse_database_url(parsed.text()) == parsed
