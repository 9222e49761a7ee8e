"""URLs from arguments, files and standard input, as people and Windows leave them."""

import io
import sys
from pathlib import Path

import pytest

from cli.conftest import Curtsy

A, B = "http://a.example/1", "http://a.example/2"


def _submitted(curtsy: Curtsy, *arguments: str) -> int:
    number: int = curtsy("submit", *arguments, "--json").json["total_articles"]
    return number


def test_a_file_from_windows_is_read(curtsy: Curtsy) -> None:
    Path("urls.txt").write_bytes(f"\ufeff{A}\r\n\r\n  \t\r\n# mine\r\n  {B}  \r\n".encode())
    assert _submitted(curtsy, "--file", "urls.txt") == 2


def test_standard_input_is_read_like_a_file(
    curtsy: Curtsy, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.TextIOWrapper(io.BytesIO(f"\ufeff{A}\r\n{B}\n".encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", given)
    assert _submitted(curtsy, "--file", "-", f"{B}#again") == 2


def test_what_is_no_url_is_told_with_its_line(curtsy: Curtsy) -> None:
    Path("urls.txt").write_text(f"# mine\n{A}\n\nexample.com/x\nftp://a/\n3\n4\n5\n")
    assert curtsy("submit", "-f", "urls.txt").sentence() == (
        "curtsy: urls.txt line 4: 'example.com/x' is not a URL "
        "(did you mean https://example.com/x?); "
        "urls.txt line 5: 'ftp://a/' is neither http nor https; "
        "urls.txt line 6: '3' is not a URL; and 2 more."
    )


def test_an_argument_that_is_no_utf8_is_told_or_made_readable(curtsy: Curtsy) -> None:
    assert "is not UTF-8 text" in curtsy("submit", "http://a.example/\udcff").sentence()
    curtsy("submit", A, "--name", "caf\udce9", "--tag", "t\udcff")
    [job] = curtsy("jobs", "--json").json["jobs"]
    assert (job["name"], job["tags"]) == ("caf\ufffd", ["t\ufffd"])


def test_a_url_with_an_emoji_is_taken(curtsy: Curtsy) -> None:
    assert _submitted(curtsy, "http://a.example/🎩", "http://a.example/%F0%9F%8E%A9") == 1
