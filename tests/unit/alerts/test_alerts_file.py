"""The alerts file: all problems at once, each as a sentence, and none with a secret in it."""

from pathlib import Path

import pytest

from curtsy.config import load
from curtsy.config.alerts_file import AlertSections, read_alerts
from curtsy.config.exposed_files import exposed_files, missing_secrets
from curtsy.errors import BadSetting

WHOLE = """
[rules.worker_memory]
above = 800
for = 600

[rules.shop_fails]
metric = "source_success_rate"
below = 95
only = ["shop.*"]
channels = ["mail"]

[channels.team]
kind = "slack"
url = "env:SLACK_URL"

[channels.mail]
kind = "mail"
host = "smtp.example.com"
username = "curtsy"
password = "file:/nowhere/smtp"
from = "curtsy@example.com"
to = ["ops@example.com"]
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str) -> AlertSections:
    Path("alerts.toml").write_text(text)
    found = read_alerts(load())
    assert found is not None
    return found


def test_without_a_file_there_is_nothing_to_apply_unless_a_setting_names_one() -> None:
    assert read_alerts(load()) is None
    with pytest.raises(BadSetting, match="to describe the alerts"):
        read_alerts(load(alerts_file="mine.toml"))


def test_a_whole_file_is_read_and_its_references_stay_references() -> None:
    found = read(WHOLE)
    assert found.rules["worker_memory"].declared() == {"above": 800.0, "for": 600.0}
    assert found.channels["team"].declared()["url"] == {"env": "SLACK_URL"}
    assert found.channels["mail"].declared()["password"] == {"file": "/nowhere/smtp"}


@pytest.mark.parametrize(("text", "says"), [
    ("[rules.mine]\nabove = 1\n", "needs a metric, one of success_rate"),
    ("[rules.no_worker]\nfro = 1\n", "has no field 'fro' (did you mean 'for'?)"),
    ("[rules.no_worker]\nfor = -1\n", "for: Input should be greater than or equal to 0"),
    ("[rules.no_worker]\nabove = 1\nbelow = 2\n", "needs exactly one of above and below"),
    ("[rules.no_worker]\nchannels = [\"team\"]\n", "there is no [channels.team]"),
    ("[alerts]\n", "'alerts' is neither [rules.NAME] nor [channels.NAME]"),
    ("rules = 1\n", "start with [rules.NAME]"),
    ("[rules]\nno_worker = 1\n", "[rules.no_worker] is no table"),
    ("[channels.a]\nkind = \"slack\"\n", "slack needs url"),
    ("[channels.a]\nkind = \"fax\"\n", "kind"),
    ("[channels.\"A B\"]\nkind = \"slack\"\nurl = \"env:X\"\n", "is not a valid name"),
    ("[channels.a]\nkind = \"slack\"\nurl = \"https://x.example/s3cret\"\ntoken = \"t\"\n",
     "slack has no token"),
    ("[channels.a]\nkind = \"slack\"\nurl = \"https://10.1.2.3/s3cret\"\n", "private = true"),
    ("[channels.a]\nkind = \"slack\"\nurl = \"http://x.example:25/s3cret\"\nprivate = true\n",
     "port 25"),
    ("[channels.a]\nkind = \"slack\"\nurl = \"s3cret\"\n", "is not valid: the url"),
    ("[channels.a]\nkind = \"ntfy\"\nurl = \"https://ntfy.example/\"\n", "ends with the topic"),
    (("[channels.a]\nkind = \"mail\"\nhost = \"h\"\nfrom = \"a@b.example\"\n"
      "to = [\"x\\nBcc: y\"]\n"),
     "plain mail address"),
    (("[channels.a]\nkind = \"mail\"\nhost = \"h\"\nfrom = \"a@b.example\"\n"
      "to = [\"c@d.example\"]\n"
     "username = \"u\"\npassword = \"s3cret\"\ntls = \"none\"\n"), "a password needs tls"),
])  # fmt: skip
def test_a_wrong_file_is_refused_with_a_sentence(text: str, says: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read(text)
    assert says in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert str(refused.value).startswith("In alerts.toml, ")


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(BadSetting) as refused:
        read('[rules.a]\nabove = 1\n[rules.b]\nabove = 1\n[channels.c]\nkind = "json"\n')
    assert str(refused.value).count("In alerts.toml, ") == 3


def test_secrets_that_others_may_read_and_references_to_nothing_are_told() -> None:
    read(WHOLE)
    Path("alerts.toml").chmod(0o644)
    assert exposed_files(load()) == [], "references are no secrets"
    assert len(missing_secrets(load())) == 2
    read(WHOLE.replace("env:SLACK_URL", "https://hooks.example.com/T0/s3cret"))
    [sentence] = exposed_files(load())
    assert "chmod 600 alerts.toml" in sentence
    assert "s3cret" not in sentence
