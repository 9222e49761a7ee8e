"""The charset of a page: by header, mark, declaration and looks, in that order; never a crash."""

import codecs
from encodings.aliases import aliases

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.scrapers.charset import text_of

HTML = "text/html"


@pytest.mark.parametrize(
    ("body", "content_type", "charset"),
    [
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "cp1252"),
        ("é".encode(), 'text/html; Charset="UTF-8"', "utf-8"),
        (codecs.BOM_UTF8 + "é".encode(), HTML, "utf-8"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), HTML, "utf-16-le"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), HTML, "utf-16-be"),
        (b'<meta charset="windows-1251">' + "é".encode("cp1252"), HTML, "cp1251"),
        (b'<meta http-equiv=Content-Type content="text/html; charset=big5">', HTML, "big5hkscs"),
        (b'<?xml version="1.0" encoding="koi8-r"?>', HTML, "koi8-r"),
        (b"<meta charset=utf-16>plain", HTML, "utf-8"),
        ("déjà vu".encode(), HTML, "utf-8"),
        (b"plain", HTML, "utf-8"),
        (b"", None, "utf-8"),
    ],
)
def test_the_charset_is_found(body: bytes, content_type: str | None, charset: str) -> None:
    assert text_of(body, content_type)[1] == charset


def test_the_header_goes_before_the_declaration_and_that_before_the_looks() -> None:
    body = b"<meta charset=windows-1251>" + "déjà".encode()
    assert text_of(body, "text/html; charset=utf-8")[0].endswith("déjà")
    assert text_of(body, HTML)[1] == "cp1251"


NO_CHARSETS = ["no-such-charset", "base64", "hex", "rot13", "utf-7", "", "x" * 99]


@pytest.mark.parametrize("name", NO_CHARSETS)
def test_a_charset_that_is_none_is_passed_over(name: str) -> None:
    text, charset = text_of("déjà vu".encode(), f"text/html; charset={name}")
    assert (text, charset) == ("déjà vu", "utf-8")


def test_what_nobody_declares_is_told_by_its_looks() -> None:
    russian = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20
    assert text_of(russian.encode("cp1251"), HTML)[0] == russian
    japanese = "いろはにほへと ちりぬるを わかよたれそ つねならむ " * 20
    assert text_of(japanese.encode("shift_jis"), HTML)[0] == japanese


def test_a_character_cut_by_the_sample_is_no_reason_to_doubt() -> None:
    body = b"a" * (64 * 1024 - 1) + "é".encode() * 10
    assert text_of(body, HTML)[1] == "utf-8"


@given(st.binary(max_size=500), st.text(max_size=60))
def test_any_bytes_become_text(body: bytes, content_type: str) -> None:
    text, charset = text_of(body, content_type)
    assert isinstance(text, str)
    codecs.lookup(charset)


CODECS = sorted(set(aliases.values()))


@given(st.binary(max_size=100), st.sampled_from(CODECS))
def test_every_codec_that_python_knows_may_be_named(body: bytes, name: str) -> None:
    assert isinstance(text_of(body, f"text/html; charset={name}")[0], str)
