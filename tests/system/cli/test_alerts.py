"""`curtsy alerts` on a terminal: what fires, the rules, mutes and tests."""

from pathlib import Path

from cli.conftest import Curtsy

FILE = """
[rules.wal_grows]
enabled = false

[channels.team]
kind = "slack"
url = "https://hooks.example.com/T0/s3cret"
"""


def test_without_a_scheduler_it_says_that_nothing_was_evaluated(curtsy: Curtsy) -> None:
    assert curtsy("db", "upgrade").exit_code == 0
    for command in (["alerts"], ["alerts", "list"]):
        told = curtsy(*command)
        assert told.exit_code == 0
        assert told.out.splitlines() == [
            "Nothing fires.",
            "No scheduler has evaluated the rules yet: `curtsy up` starts one."]  # fmt: skip
    assert curtsy("alerts", "--json").json["alerts"] == []


def test_the_rules_are_listed_and_the_file_is_checked(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    [line] = [one for one in curtsy("alerts", "rules").out.splitlines() if "wal_grows" in one]
    assert line.split() == ["wal_grows", "wal_size", "above", "2000", "MB", "600", "s", "1500",
                            "warning"]  # fmt: skip
    assert curtsy("alerts", "channels").out.startswith("There are no channels")
    Path("alerts.toml").write_text(FILE)
    told = curtsy("config", "check")
    assert "alerts.toml describes 1 rule and 1 channel." in told.out
    assert "s3cret" not in told.out
    Path("alerts.toml").write_text("[rules.no_worker]\nfro = 1\n")
    assert "did you mean 'for'?" in curtsy("config", "check").sentence()


def test_a_mute_has_an_end(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    assert "--for 2h" in curtsy("alerts", "mute", "no_worker").sentence(2)
    never = curtsy("alerts", "mute", "no_worker", "--for", "never")
    assert "A mute has an end" in never.sentence(2)
    told = curtsy("alerts", "mute", "no_worker", "--for", "2h", "--subject", "a")
    assert told.out.startswith("Muted no_worker of a until ")
    assert curtsy("alerts", "unmute", "no_worker", "--subject", "a").exit_code == 0
    assert "not muted" in curtsy("alerts", "unmute", "no_worker").sentence()
    unknown = curtsy("alerts", "mute", "nothing", "--for", "1h")
    assert "There is no rule 'nothing'" in unknown.sentence()
