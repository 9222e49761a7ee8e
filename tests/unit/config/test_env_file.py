"""`.env` in the working folder: read by itself, after the environment and before `curtsy.toml`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from curtsy.config import load
from curtsy.config.exposed_files import exposed_files
from curtsy.config.loader import origins, remarks_on_env_file, unknown_variables, variables
from curtsy.config.obsolete_variables import obsolete_variables
from curtsy.env_file import MOST_BYTES, EnvFileUnreadable, parse_env_file, read_env_file
from curtsy.errors import BadSetting
from curtsy.references import Reference, SecretMissing

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("API_PORT", "MAX_RETRY_ATTEMPTS", "SCRAPE_TIMEOUT", "CRAWL_CACHE_TTL",
                 "LOG_LEVEL", "DATABASE_URL", "SHOP_TOKEN"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def _write(text: str, mode: int = 0o600) -> None:
    Path(".env").write_text(text)
    Path(".env").chmod(mode)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("export A=1", "1"),
        ("  A = 1  ", "1"),
        ("A=", ""),
        ("A=one two # a comment", "one two"),
        ("A=one#two", "one#two"),
        ('A="one # two"  # three', "one # two"),
        (r'A="say \"one\" \\ $HOME"', 'say "one" \\ $HOME'),
        (r"A='one \n # $two'", r"one \n # $two"),
        ("A=postgresql://u:p%40x@h/d?a=b#c", "postgresql://u:p%40x@h/d?a=b#c"),
        ("\ufeffA=1", "1"),
        ("A=1\r", "1"),
        ("A=1\nA=2", "2"),
        ("A=Привет", "Привет"),
    ],
)
def test_a_line_is_read_as_a_shell_reads_it_but_nothing_is_replaced(line: str, value: str) -> None:
    Path(".env").write_bytes(line.encode())
    assert read_env_file().variables == {"A": value}


@pytest.mark.parametrize(
    "line",
    ["nothing", "=1", "1A=2", "A B=1", 'A="open', "A='open", 'A="x" y', "A=\x00", "A=\x1b[2J",
     "A=\udcff"],
)  # fmt: skip
def test_a_wrong_line_is_named_and_the_others_have_their_effect(line: str) -> None:
    found = parse_env_file(f"API_PORT=81\n\n# fine\n{line}\nLOG_LEVEL=debug\n")
    assert found.variables == {"API_PORT": "81", "LOG_LEVEL": "debug"}
    assert found.wrong_lines == (4,)
    [sentence] = remarks_on_env_file(found)
    assert sentence == "Line 4 of .env is not NAME=value: it has no effect."


@pytest.mark.parametrize(
    "text",
    [b"API_PORT: 8005\n", b"export API_PORT\n", b'DATABASE_URL="postgresql://a\nb"\n',
     b"CURTSY_USER_AGENT=caf\xe9\n", b"API_PORT=1\rWORKER_SLOTS=2\r"],
)  # fmt: skip
def test_a_wrong_line_that_names_a_setting_stops_the_program(text: bytes) -> None:
    Path(".env").write_bytes(b"A=1\n" + text)
    name = text.removeprefix(b"export ").split(b"=")[0].split(b":")[0].split(b"\n")[0].decode()
    with pytest.raises(BadSetting, match=rf"Line 2 of .env begins with {name}, but"):
        load()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_a_file_in_another_encoding_stops_the_program(encoding: str) -> None:
    Path(".env").write_bytes("API_PORT=8005\n".encode(encoding))
    with pytest.raises(BadSetting, match="no UTF-8 text"):
        load()


def test_the_environment_comes_first_and_curtsy_toml_last(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("curtsy.toml").write_text("api_port = 1001\nworker_slots = 7\ndb_pool_size = 3\n")
    _write("API_PORT=1002\nCURTSY_WORKER_SLOTS=8\n")
    settings = load()
    assert (settings.api_port, settings.worker_slots, settings.db_pool_size) == (1002, 8, 3)
    assert origins()["api_port"] == "API_PORT in .env"
    _write("API_PORT=1002\nCURTSY_API_PORT=1003\n")
    assert load().api_port == 1003, "our own name before the short one"
    monkeypatch.setenv("API_PORT", "1004")
    assert load().api_port == 1004
    assert origins()["api_port"] == "API_PORT"
    assert load(api_port=1005).api_port == 1005


def test_an_empty_value_sets_nothing_and_capitals_do_not_matter() -> None:
    _write("CURTSY_API_PORT=\ncurtsy_worker_slots=9\n")
    assert (load().api_port, load().worker_slots) == (8000, 9)


def test_variables_of_others_have_no_effect_at_all() -> None:
    _write("PATH=/evil\nLD_PRELOAD=/evil.so\nDEBUG=maybe\nUSER_AGENT=other\nAPI_HOST=0.0.0.0\n")
    settings = load()
    assert settings.api_host == "127.0.0.1"
    assert "other" not in settings.user_agent
    assert os.environ.get("LD_PRELOAD") is None
    assert unknown_variables(variables()) == []


def test_a_misspelt_name_and_one_of_a_replaced_system_are_noticed() -> None:
    _write("CURTSY_WORKER_SLOT=9\nREDIS_URL=redis://localhost\n")
    load()
    assert unknown_variables(variables()) == ["CURTSY_WORKER_SLOT"]
    assert "no Redis is needed" in obsolete_variables(variables())["REDIS_URL"]


def test_a_wrong_value_is_refused_with_its_place() -> None:
    _write("API_PORT=many\n")
    with pytest.raises(BadSetting, match=r"API_PORT in /.*/\.env is 'many': it must be a whole"):
        load()


def test_a_file_does_not_choose_where_a_key_is_sent() -> None:
    _write("CURTSY_URL=http://evil.example\nCURTSY_KEY=x\n")
    assert remarks_on_env_file(read_env_file()) == [
        "CURTSY_URL in .env has no effect: set it in the environment.",
        "CURTSY_KEY in .env has no effect: set it in the environment.",
    ]


def test_a_reference_finds_its_secret_in_it_after_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SecretMissing):
        Reference("env", "SHOP_TOKEN").resolve()
    _write("SHOP_TOKEN=of-the-file\nCURTSY_DATABASE_URL=env:OTHER\nOTHER=postgresql://u:p@h/d\n")
    assert Reference("env", "SHOP_TOKEN").resolve() == "of-the-file"
    assert load().database_url == "postgresql://u:p@h/d"
    monkeypatch.setenv("SHOP_TOKEN", "of-the-environment")
    assert Reference("env", "SHOP_TOKEN").resolve() == "of-the-environment"


def test_secrets_that_others_may_read_are_noticed() -> None:
    _write("CURTSY_DATABASE_URL=postgresql://u:p@h/d\n", 0o644)
    [sentence] = exposed_files(load())
    assert sentence.startswith(".env contains secrets, and other users may read it: `chmod 600")
    Path(".env").chmod(0o600)
    assert exposed_files(load()) == []
    _write((ROOT / ".env.example").read_text(), 0o644)
    assert exposed_files(load()) == [], "the example has none, so it may be copied with cp"


def test_the_example_is_understood_and_names_no_database() -> None:
    _write((ROOT / ".env.example").read_text())
    found = read_env_file()
    assert found.variables
    assert not found.wrong_lines
    assert unknown_variables(found.variables) == []
    assert "DATABASE_URL" not in "".join(found.variables)
    assert load().database_url == "sqlite:///curtsy.db"


def test_what_is_no_file_is_not_read_and_what_cannot_be_read_is_not_passed_over(
    tmp_path: Path,
) -> None:
    Path(".env").mkdir()  # as some call their virtual environment
    assert read_env_file().variables == {}
    Path(".env").rmdir()
    os.mkfifo(".env")  # opening it would wait for a writer
    assert read_env_file().variables == {}
    Path(".env").unlink()
    _write("A=" + "x" * MOST_BYTES)
    with pytest.raises(BadSetting, match="more than 256 KiB"):
        load()
    with pytest.raises(SecretMissing, match="more than 256 KiB"):
        Reference("env", "SHOP_TOKEN").resolve()
    Path(".env").unlink()
    Path(".env").symlink_to(".env")
    with pytest.raises(EnvFileUnreadable, match="cannot be read"):
        read_env_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone may become another user")
def test_another_users_file_stops_the_program_with_a_sentence(tmp_path: Path) -> None:
    _write("CURTSY_DATABASE_URL=postgresql://u:p@h/d\n")
    tmp_path.chmod(0o755)
    found = tmp_path / ".env"
    reads = f"""
import os, pathlib
from curtsy.env_file import read_env_file
place = os.open({str(tmp_path)!r}, os.O_PATH)
os.setuid(10001)
os.fchdir(place)
read_env_file()
"""
    ended = subprocess.run(
        [sys.executable, "-c", reads], capture_output=True, text=True, check=False, timeout=60
    )
    assert f"{found} cannot be read (Permission denied, for UID 10001)." in ended.stderr
