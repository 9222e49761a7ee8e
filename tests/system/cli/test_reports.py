"""`curtsy generate-report` and `curtsy reports`: a summary, a file, a list."""

import json
from pathlib import Path

from cli.conftest import Curtsy
from cli.running import running
from curtsy.demo.process import PracticeProcess


def test_a_report_is_summarized_stored_and_written(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    quick("scrape", pages.url(0, "/page/1"), pages.url(0, "/nosuch"), "-q")
    told = quick("generate-report", "--hours", "1", "--out", "day.html")
    assert told.exit_code == 0, told
    assert "Pages ended" in told.out
    assert "50.0\N{NO-BREAK SPACE}%" in told.out
    assert told.out.endswith("Written to day.html.\n")
    page = (tmp_path / "day.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>")
    [row] = quick("reports", "list", "--json").json["reports"]
    assert quick("reports", "show", "--json").json["id"] == row["id"]
    shown = quick("reports", "show", row["id"], "--out", "same.json")
    assert shown.out.startswith(f"{row['id']}: ")
    stored = json.loads((tmp_path / "same.json").read_text())
    assert stored["figures"]["failed"] == 1
    assert row["id"] in quick("reports", "list").out


def test_an_empty_database_has_an_empty_report(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    assert curtsy("reports", "list").out.startswith("There is no report yet")
    assert "There is no report yet" in curtsy("reports", "show").sentence(1)
    told = curtsy("generate-report", "--json")
    assert (told.exit_code, told.json["figures"]["succeeded"]) == (0, 0)
    assert "nothing was fetched" in curtsy("generate-report").out
    assert len(curtsy("reports", "list").out.splitlines()) == 3


def test_wrong_usage_is_a_sentence_and_makes_no_report(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    for out in ("x.pdf", "report", "x.html.zip"):
        assert "--out does not write" in curtsy("generate-report", "--out", out).sentence(2)
    assert "nowhere/x.html" in curtsy("generate-report", "--out", "nowhere/x.html").sentence()
    assert "--hours" in curtsy("generate-report", "--hours", "0").sentence(2)
    assert curtsy("reports", "list", "--json").json["reports"] == []
    assert "no report 'rep_x'" in curtsy("reports", "show", "rep_x").sentence()
    assert not Path("x.html").exists()


def test_an_api_elsewhere_makes_the_report(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    with running(tmp_path, "up") as up:
        quick("submit", pages.url(0, "/page/1"), "--wait", "--url", up.url)
        told = quick("generate-report", "--url", up.url, "--out", "far.html")
        assert told.exit_code == 0, told
        assert "What needs attention" not in told.out, "a worker is up, and all went well"
        assert "Nothing does." in (tmp_path / "far.html").read_text()
        assert quick("reports", "show", "--url", up.url, "--json").json["workers_alive"] == 1
