"""robots.txt: what the standard says, what people write, and what a hostile host sends."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from curtsy.politeness.robots import READ_BYTES, robots_of, token_of

US = "curtsy"
TWICE = "User-agent: curtsy\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: curtsy\n"
LONG = "/" + "q" * 7_000


def allowed(file: str | bytes, path: str) -> bool:
    return robots_of(file.encode() if isinstance(file, str) else file, US).allows(path)


@pytest.mark.parametrize(
    ("file", "path", "expected"),
    [
        ("", "/", True),
        ("User-agent: *\nDisallow: /", "/", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow:", "/any", True),
        ("Disallow: /", "/before/any/agent", True),
        # groups
        ("User-agent: curtsy\nDisallow: /\n\nUser-agent: *\nAllow: /", "/", False),
        ("User-agent: other\nDisallow: /", "/", True),
        ("User-agent: CURTSY\nDisallow: /", "/", False),
        ("User-agent: curtsy/1.0 (we)\nDisallow: /", "/", False),
        ("User-agent: curtsy-images\nDisallow: /", "/", True),
        ("User-agent: cur\nDisallow: /", "/", True),
        ("User-agent: a\nUser-agent: curtsy\nDisallow: /", "/", False),
        ("User-agent: curtsy\nSitemap: /s\nUser-agent: a\nDisallow: /", "/", False),
        ("User-agent: curtsy\nAllow: /x\nUser-agent: a\nDisallow: /", "/", True),
        (f"{TWICE}Disallow: /c", "/c", False),
        ("User-agent: curtsy\n\nUser-agent: *\nDisallow: /", "/", False),
        ("User-agent: curtsy\nDisallow:\n\nUser-agent: *\nDisallow: /", "/", True),
        ("User-agent: * (all of you)\nDisallow: /", "/", False),
        # which rule wins
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", False),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /a*c\nAllow: /ab", "/abc", False),
        ("User-agent: *\nDisallow: /a*\nAllow: /ab", "/abc", True),
        ("User-agent: *\nAllow: /a*\nDisallow: /ab", "/abc", True),
        # patterns
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: *.pdf", "/x/y.pdf?z", False),
        ("User-agent: *\nDisallow: /x$", "/x", False),
        ("User-agent: *\nDisallow: /x$", "/xy", True),
        ("User-agent: *\nDisallow: /a**b", "/a-b", False),
        ("User-agent: *\nDisallow: /*/b$", "/b", True),
        ("User-agent: *\nDisallow: /ab*ba$", "/aba", True),
        ("User-agent: *\nDisallow: /ab*b*a$", "/abba", False),
        ("User-agent: *\nDisallow: /x$y", "/x$yz", False),
        ("User-agent: *\nDisallow: /?q=", "/?q=1", False),
        ("User-agent: *\nDisallow: /A", "/a", True),
        # spellings
        ("User-agent: *\nDisallow: /%7Ejoe", "/~joe/", False),
        ("User-agent: *\nDisallow: /~joe", "/%7ejoe/", False),
        ("User-agent: *\nDisallow: /a%2fb", "/a/b", True),
        ("User-agent: *\nDisallow: /a%2fb", "/a%2Fb", False),
        ("User-agent: *\nDisallow: /ツ", "/%E3%83%84", False),
        ("User-agent: *\nDisallow: /a b", "/a%20b", False),
        ("User-agent: *\nDisallow: /a|b", "/a%7Cb", False),
        ("User-agent: *\nDisallow: /a%7cb", "/a|b", False),
        # how people write them
        ("\ufeffUser-agent: *\nDisallow: /", "/", False),
        ("User-agent: *\rDisallow: /", "/", False),
        ("User-agent: *\r\nDisallow: /\r\n", "/", False),
        ("USER-AGENT:*\nDISALLOW:/", "/", False),
        ("  User-agent :  *  # all\n  Disallow : /x # no", "/x", False),
        ("User agent: *\nDisalow: /", "/", False),
        ("User-agent *\nDisallow /", "/", False),
        ("User-agent: *\nDisallow: /x # y", "/x", False),
        ("<html><body>Not found</body></html>", "/", True),
    ],
)  # fmt: skip
def test_it_says_what_we_may_ask_for(file: str, path: str, expected: bool) -> None:
    assert allowed(file, path) is expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("User-agent: *\nCrawl-delay: 2", 2_000),
        ("User-agent: *\nCrawl-delay: 0.5", 500),
        ("User-agent: *\nCrawl-delay: 2\nUser-agent: curtsy\nCrawl-delay: 7", 7_000),
        ("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 5", 5_000),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: nan", None),
        ("User-agent: *\nCrawl-delay: 1e300", None),
        ("User-agent: *\nCrawl-delay: 99999999999999", None),
        ("User-agent: *\nCrawl-delay: soon", None),
        ("User-agent: *\nDisallow: /x", None),
    ],
)
def test_it_may_ask_for_a_delay(file: str, expected: int | None) -> None:
    assert robots_of(file.encode(), US).crawl_delay == expected


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("curtsy/0.1 (contact: a@b)", "curtsy"),
        ("my-bot", "my-bot"),
        ("Mozilla/5.0", "Mozilla"),
        ("7up", ""),
    ],
)
def test_we_go_by_the_name_our_user_agent_begins_with(user_agent: str, token: str) -> None:
    assert token_of(user_agent) == token


def test_what_follows_after_500_kib_is_not_read() -> None:
    head = b"User-agent: *\n"
    rule = b"Disallow: /x\n"
    filler = b"#" * (READ_BYTES - len(head) - 1) + b"\n"
    assert allowed(head + filler + rule, "/x")
    assert not allowed(head + filler[len(rule) :] + rule, "/x")


def _many_agents() -> str:
    return "".join(f"User-agent: a{i:x}\n" for i in range(12_000)) + "Disallow: /*a\n" * 17_000


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("User-agent: *\nDisallow: /" + "*a" * 200_000 + "*b", "/" + "a" * 7_000),
        ("User-agent: *\n" + "".join(f"Disallow: /*{i:x}z$\n" for i in range(30_000)), LONG),
        ("User-agent: *\n" + "".join(f"Disallow: /{'q' * i}z\n" for i in range(900)), LONG),
        (_many_agents(), "/a"),
        ("User-agent: *\n" * 35_000 + "Disallow: /x", "/x"),
        ("\0\xff" * 250_000, "/"),
    ],
)  # fmt: skip
def test_a_hostile_file_costs_little(file: str, path: str) -> None:
    """As regular expressions, or with all agents' rules kept, these take minutes and gigabytes."""
    began = time.process_time()
    robots = robots_of(file.encode(), US)
    read = time.process_time() - began
    robots.allows(path)
    assert read < 2.0
    assert time.process_time() - began - read < 0.1


PIECES = st.text("ab/*", min_size=0, max_size=8)


@given(
    rules=st.lists(st.tuples(st.booleans(), PIECES, st.booleans()), max_size=6),
    path=st.text("ab/", max_size=10),
)
def test_it_judges_as_the_best_known_library_does(
    rules: list[tuple[bool, str, bool]], path: str
) -> None:
    lines = ["User-agent: *"]
    for allows, piece, anchored in rules:
        lines.append(f"{'Allow' if allows else 'Disallow'}: /{piece}{'$' * anchored}")
    file = "\n".join(lines)
    theirs = Protego.parse(file).can_fetch(f"http://a.example/{path}", US)
    assert allowed(file, f"/{path}") == theirs, file


@given(file=st.binary(max_size=300), path=st.text(max_size=30))
def test_no_file_and_no_path_breaks_it(file: bytes, path: str) -> None:
    assert robots_of(file, US).allows(f"/{path}") in (True, False)


LINES = st.sampled_from(
    ["User-agent: *", "User-agent: curtsy", "User-agent: other", "Allow: /a", "Disallow: /a",
     "Disallow: /", "Allow: /ab", "Sitemap: /s", "Crawl-delay: 3", "", "# nothing"]
)  # fmt: skip


@given(lines=st.lists(LINES, max_size=14))
def test_it_finds_our_group_as_the_best_known_library_does(lines: list[str]) -> None:
    file = "\n".join(lines)
    theirs = Protego.parse(file)
    for path in ("/a", "/ab", "/b"):
        assert allowed(file, path) == theirs.can_fetch(f"http://a.example{path}", US), file
