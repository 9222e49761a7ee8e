"""Lists of URLs as people have them: tables, JSON, odd encodings, lines that are no URLs."""

import io
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Curtsy
from curtsy.cli.console import url_arguments
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.url_arguments import MOST_URLS, read_articles
from curtsy.cli.inputs import text_lines
from curtsy.demo.process import PracticeProcess
from curtsy.errors import BadRequest
from curtsy.jobs.job_request import MAX_URLS

A, B, C = (f"http://a.example/{n}" for n in "abc")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _read(name: str, text: str | bytes, column: str | None = None, **more: Any) -> list[str]:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [one["url"] for one in read_articles(None, Path(name), column, **more)]


TABLES = {
    "commas": f'title,url\n"One, two",{A}\n"He said ""x""",{B}\n',
    "semicolons": f"titel;URL;n\r\nEins, zwei;{A};1\r\nDrei;{B};2\r\n",
    "tabs": f"url\ttitle\n{A}\tOne\n{B}\tTwo\n",
    "bars": f"n|url\n1|{A}\n2|{B}\n",
    "no header": f"1,{A}\n2,{B}\n",
    "one column": f"url\n{A}\n{B}\n",
    "a mark of order": f"\ufeffurl,n\n{A},1\n{B},2\n",
    "a line end in quotes": f'text,url\n"two\nlines",{A}\n"x",{B}\n',
    "blank lines and cells": f"url,n\n\n{A},1\n,2\n{B},3\n\n",
    "another name": f"n,where it is\n1,{A}\n2,{B}\n",
}


@pytest.mark.parametrize("form", TABLES)
def test_a_table_is_read_by_the_column_that_is_urls(form: str) -> None:
    assert _read("table.csv", TABLES[form]) == [A, B]


def test_commas_and_semicolons_in_urls_stay_there() -> None:
    odd = [f"{A}?x=1,2", f"{A};v=1,3", C]
    assert _read("one.csv", "url\n" + "\n".join(odd)) == odd
    assert _read("two.csv", "n;url\n" + "\n".join(f'{n};"{u}"' for n, u in enumerate(odd))) == odd


def test_a_column_is_named_or_numbered() -> None:
    table = f"url,other,n\n{A},{B},1\n"
    assert _read("t.csv", table, "other") == [B]
    assert _read("t.csv", table, " URL ") == [A]
    assert _read("t.txt", table, "2") == [B], "a table, since a column is named"
    assert _read("t.txt", f"{A},{B}\n{B},{C}\n", "2") == [B, C], "without a header"
    with pytest.raises(WrongUsage, match=r"has no column 'link': it has url, other, n\."):
        _read("t.csv", table, "link")
    with pytest.raises(WrongUsage, match="has no column '4'"):
        _read("t.csv", table, "4")
    with pytest.raises(WrongUsage, match="--column names a column of a table"):
        read_articles([A], None, "url")


def test_a_table_without_an_obvious_column_is_asked_about() -> None:
    with pytest.raises(WrongUsage, match=r"More than one column .* --column; there are from, to"):
        _read("t.csv", f"from,to\n{A},{B}\n")
    with pytest.raises(WrongUsage, match=r"No column .* is obviously the URLs"):
        _read("t.csv", "name,age\nann,3\n")
    assert _read("t.csv", f"url,image\n{A},{B}\n") == [A], "a name decides"


def test_rows_that_are_too_short_are_told_by_their_line() -> None:
    with pytest.raises(BadRequest, match=r"t\.csv line 3: 'x' has no column 2"):
        _read("t.csv", f"n,url\n1,{A}\nx\n2,{B}\n3,{C}\n", "url")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_and_said(encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    for name in ("t.csv", "t.txt"):
        assert _read(name, f"{mark}{A}\r\n{B}\r\n".encode(encoding)) == [A, B]
        assert f"{name} is read as UTF-16." in capsys.readouterr().err


def test_latin_1_is_read_and_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    table = f"name,url\nMüller,{A}\nKöhler,{B}\n".encode("latin-1")
    assert _read("t.csv", table) == [A, B]
    said = "t.csv is not UTF-8 (line 2): what is not, is read as Latin-1.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_ends_of_lines_end_lines(end: str) -> None:
    """Other programs, and `scrape --json`, leave such characters in their texts."""
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    lines = [f'{{"url": "{A}", "title": "{odd}"}}'.replace("\x0b", "").replace("\x0c", "")
             .replace("\x1c", ""), f'{{"url": "{B}"}}']  # fmt: skip
    assert _read("t.jsonl", end.join(lines) + end) == [A, B]
    assert _read("t.csv", f"name,url{end}{odd},{A}{end}x,{B}{end}") == [A, B]
    table = f"name,url{end}wait\x85,{A}{end}".encode("latin-1")
    assert _read("t.csv", table) == [A]


@pytest.mark.parametrize("content", [b"PK\x03\x04\0\0", b"\xff\xfe\x00", b"\0" * 2**21])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(BadRequest, match=r"t\.csv .*save it as"):
        _read("t.csv", content)


def test_json_lines_bring_their_labels() -> None:
    lines: list[dict[str, Any]] = [
        {"url": A, "source": "S", "category": "c", "priority": 2, "title": "not used"},
        {"url": B, "source": None},
    ]
    Path("pages.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    first, second = read_articles(None, Path("pages.jsonl"))
    assert first == {"url": A, "source": "S", "category": "c", "priority": 2}
    assert second == {"url": B}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"url": 5}', 'is no object with a "url"'),
        ("[1]", 'is no object with a "url"'),
        ("{", "is not JSON"),
        (f'{{"url": "{A}", "priority": 11}}', "has a priority that is not from 1 to 10"),
        (f'{{"url": "{A}", "priority": true}}', "has a priority that is not from 1 to 10"),
        (f'{{"url": "{A}", "source": 1}}', "has a source that is no text of at most 300"),
        ('{"url": "a.example"}', "is not a URL .did you mean https://a.example.*"),
    ],
)
def test_json_lines_that_name_no_page_are_told(line: str, problem: str) -> None:
    with pytest.raises(BadRequest, match=f"pages.jsonl line 2: .*{problem}"):
        _read("pages.jsonl", f'{{"url": "{B}"}}\n{line}\n')


def test_a_json_document_with_a_list_is_read_too() -> None:
    assert _read("a.json", json.dumps([A, {"url": B}], indent=1)) == [A, B]
    assert _read("b.json", json.dumps({"articles": [{"url": A}]}, indent=1)) == [A]
    assert _read("c.json", json.dumps({"articles": [{"url": A}]})) == [A]
    for wrong in ("{\n}", "[1", "[" * 100_000, '{\n"a": 1}'):
        with pytest.raises(BadRequest, match="is not JSON with URLs"):
            _read("d.json", wrong)


def test_invalid_pages_are_left_out_and_told(curtsy: Curtsy) -> None:
    Path("urls.txt").write_text(f"{A}\nexample.com\n{A}#top\n" + "nonsense\n" * 6 + B)
    told = curtsy("submit", "-f", "urls.txt", "--skip-invalid", "--json")
    assert told.json["total_articles"] == 2
    lines = told.err.splitlines()
    assert lines[0] == (
        "urls.txt line 2: 'example.com' is not a URL (did you mean https://example.com?)."
    )
    assert lines[1:7] == [
        *(f"urls.txt line {n}: 'nonsense' is not a URL." for n in range(4, 8)),
        "and 2 more.", "7 of 10 left out as invalid, 1 duplicate merged.",
    ]  # fmt: skip
    assert curtsy("submit", "-f", "urls.txt").exit_code == 1


def test_nothing_but_invalid_pages_is_wrong_usage(curtsy: Curtsy) -> None:
    told = curtsy("scrape", "nonsense", "ftp://a/", "--skip-invalid")
    assert told.exit_code == 2
    assert told.err.endswith("curtsy: No valid URL is left of the 2 given.\n")


def test_addresses_that_the_guard_refuses_are_left_out_of_a_scrape(
    quick: Curtsy, pages: PracticeProcess
) -> None:
    good = pages.url(0, "/page/7")
    told = quick("scrape", good, "http://10.0.0.1/", "http://127.0.0.1:25/", "--skip-invalid")
    assert told.exit_code == 0, told
    assert "'http://10.0.0.1/' leads to 10.0.0.1, which is private: ALLOW_ADDRESSES" in told.err
    assert "which is on port 25, which browsers block too." in told.err


def _from(monkeypatch: pytest.MonkeyPatch, stream: io.RawIOBase | io.BytesIO) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))  # type: ignore[type-var]


def test_a_dash_is_standard_input(curtsy: Curtsy, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (("-",), ("-f", "-"), ("-", "-f", "-")):
        _from(monkeypatch, io.BytesIO(f"{A}\n{B}\n".encode()))
        assert curtsy("submit", *arguments, C, "--json").json["total_articles"] == 3
    Path("urls.txt").write_text(A)
    assert "give one of them" in curtsy("submit", "-", "-f", "urls.txt").sentence(2)
    _from(monkeypatch, io.BytesIO(f"n;url\n1;{A}\n".encode()))
    assert curtsy("submit", "-", "--column", "url", "--json").json["total_articles"] == 1


def test_the_limit_is_that_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_URLS == MAX_URLS
    monkeypatch.setattr(url_arguments, "MOST_URLS", 3)
    assert len(_read("urls.txt", "\n".join([A, B, C] * 3))) == 3
    with pytest.raises(BadRequest, match="One job takes 3 URLs, and there are more"):
        _read("urls.txt", "\n".join([A, B, C, f"{A}/d"]))


class _Endless(io.RawIOBase):
    """Lines without end, each another one; it counts what is read."""

    def __init__(self, line: str) -> None:
        self._bytes = itertools.chain.from_iterable(self._lines(line))
        self.read_bytes = 0

    def _lines(self, line: str) -> Iterator[bytes]:
        return ((line.format(n) + "\n").encode() for n in itertools.count())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = bytes(itertools.islice(self._bytes, len(buffer)))
        buffer[: len(piece)] = piece
        self.read_bytes += len(piece)
        return len(piece)


@pytest.mark.parametrize(
    ("line", "said"),
    [("http://a.example/{}", "One job takes 100 URLs"), ("# comment {}", "more than 500 lines"),
     ("http://a.example/", "more than 500 lines")],
)  # fmt: skip
def test_a_stream_without_end_is_not_read_without_end(
    monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.setattr(url_arguments, "MOST_URLS", 100)
    monkeypatch.setattr(text_lines, "MOST_LINES", 500)
    stream = _Endless(line)
    _from(monkeypatch, io.BufferedReader(stream))  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=said):
        read_articles(["-"], None)
    assert stream.read_bytes < 100_000


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(BadRequest, match="line 2 is longer than"):
        _read("urls.txt", f"{A}\n" + "a" * 2**21)
