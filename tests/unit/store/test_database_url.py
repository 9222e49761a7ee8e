"""URLs of databases, as people write them."""

import pytest

from curtsy.errors import BadSetting
from curtsy.store.database_url import (
    BadDatabaseUrl,
    DatabaseUrl,
    Server,
    parse_database_url,
    require_servers,
)


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
    assert (parsed.is_sqlite, parsed.database, parsed.hosts) == (True, path, (Server(),))


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://db/jobs", (None, None, "db", None, "jobs", {})),
        ("postgresql+asyncpg://me:p@db:5433/jobs", ("me", "p", "db", 5433, "jobs", {})),
        ("postgresql://me:a%40b%2Fc@db/jobs", ("me", "a@b/c", "db", None, "jobs", {})),
        ("postgresql://me:a/b?c@db/jobs", ("me", "a/b?c", "db", None, "jobs", {})),
        ("postgresql://me:a,b@db/jobs", ("me", "a,b", "db", None, "jobs", {})),
        ("postgresql://me:@db/jobs", ("me", "", "db", None, "jobs", {})),
        ("postgresql://[::1]:5432/jobs", (None, None, "::1", 5432, "jobs", {})),
        ("postgresql://%2Frun%2Fpg/jobs", (None, None, "/run/pg", None, "jobs", {})),
        ("postgresql:///jobs?host=/run/pg", (None, None, None, None, "jobs", {"host": "/run/pg"})),
        ("postgresql://db/j?a=1&a=2&b=", (None, None, "db", None, "j", {"a": "2", "b": ""})),
        ("postgresql://db/j?password=a@b", (None, None, "db", None, "j", {"password": "a@b"})),
    ],
)
def test_each_part_of_a_server_is_found(url: str, parts: tuple[object, ...]) -> None:
    parsed = parse_database_url(url)
    ((host, port),) = parsed.hosts
    found = (parsed.user, parsed.password, host, port, parsed.database, parsed.options)
    assert found == parts


@pytest.mark.parametrize(
    ("place", "servers"),
    [
        ("a:5432,b:5433/d", [("a", 5432), ("b", 5433)]),
        ("me:p,w@a,b,c/d", [("a", None), ("b", None), ("c", None)]),
        ("[::1]:1,[fe80::2],a:3/d", [("::1", 1), ("fe80::2", None), ("a", 3)]),
        ("/d?host=a,b", [("a", None), ("b", None)]),
        ("/d?host=a,b&port=5432", [("a", 5432), ("b", 5432)]),
        ("/d?host=[::1],/run/pg&port=1,2", [("::1", 1), ("/run/pg", 2)]),
        ("a,b/d?port=1,2", [("a", 1), ("b", 2)]),
        ("%2Frun%2Fa:1,%2Frun%2Fb:2/d", [("/run/a", 1), ("/run/b", 2)]),
        ("a:1,b:2/d?target_session_attrs=read-write", [("a", 1), ("b", 2)]),
    ],
)
def test_several_servers_may_be_named_as_with_psql(
    place: str, servers: list[tuple[str, int | None]]
) -> None:
    parsed = parse_database_url(f"postgresql://{place}")
    assert list(parsed.servers) == servers
    require_servers(parsed)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("a,,b/d", "server 2 has no name: write HOST:PORT,HOST:PORT"),
        ("a:1,b:1,/d", "server 3 has no name"),
        ("/d?host=a,", "server 2 has no name"),
        ("a:1,b:secret/d", "the port of server 2 is no number from 1 to 65535"),
        ("a:0/d", "the port of server 1 is no number from 1 to 65535"),
        ("a,b:65536/d", "the port of server 2 is no number from 1 to 65535"),
        ("::1/d", "brackets around an IPv6 address"),
        ("a,[::1/d", "server 2 is not HOST:PORT"),
        ("a:1;b:2/d", "commas stand between servers"),
        ("a;b/d", "server 1 has characters that no name of a server has"),
        ("a, b/d", "server 2 has characters that no name of a server has"),
        ("a:1,b,a:1/d", "server 1 is named twice"),
        ("/d?host=a,b&port=1,2,3", "it names 3 ports for 2 servers"),
        ("a,b,c,d,e,f,g,h,i/d", "it names 9 servers; at most 8 are asked"),
        ("a,b/d?target_session_attrs=standby", "target_session_attrs must be read-write"),
        ("a,b/d?connect_timeout=soon", "connect_timeout must be whole seconds, at least 1"),
        ("a,b/d?connect_timeout=0", "connect_timeout must be whole seconds, at least 1"),
    ],
)
def test_each_typo_in_a_list_of_servers_has_its_sentence(place: str, why: str) -> None:
    with pytest.raises(BadDatabaseUrl) as refused:
        require_servers(parse_database_url(f"postgresql://me:hush@{place}"))
    assert why in str(refused.value)
    assert "secret" not in str(refused.value), "it may be a misplaced password"


@pytest.mark.parametrize("url", ["", "curtsy.db", "postgresql:/db", "postgresql://db:port/jobs"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(BadSetting, match="no URL"):
        parse_database_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:a%40b@db:5432/jobs?sslmode=require",
        "postgresql://[::1]/jobs",
        "postgresql://a:1,[::1]:2,%2Frun%2Fpg/jobs",
        "postgresql://db/jobs?options=-c%20x%3D1",
    ],
)
def test_the_text_of_a_url_is_parsed_to_the_same_parts(url: str) -> None:
    parsed = parse_database_url(url)
    assert isinstance(parsed, DatabaseUrl)
    assert parsed.text() == url
    assert parse_database_url(parsed.text()) == parsed
