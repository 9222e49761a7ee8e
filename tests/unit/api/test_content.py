from encodings.aliases import aliases

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.api.schemas.content import as_text
from curtsy.model.outcome import Reply
from curtsy.scrapers.raw import raw


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("žluťoučký".encode("cp1250"), "text/plain; charset=windows-1250", "žluťoučký"),
        ("\ufeffhello".encode(), "text/plain", "hello"),
        ("hello".encode("utf-16"), "text/plain; charset=utf-16", "hello"),
        (b"caf\xe9", "text/plain", "café"),
        (b"caf\xe9!", "text/plain; charset=utf-8", "caf\ufffd!"),
        (b"caf\xc3\xa9", "text/plain; charset=no-such-charset", "café"),
        (b"+2AA-", "text/plain; charset=utf-7", "+2AA-"),
        (b"68656c6c6f", "text/plain; charset=hex", "68656c6c6f"),
        (b"plain", "application/x-unknown; charset=us-ascii", "plain"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"<a/>", "image/svg+xml", "<a/>"),
        (b"", "text/html", ""),
        (b"%PDF", "application/pdf", None),
        (b"bytes", "", "bytes"),
        (b"by\0tes", "", None),
        (b"%PDF-1.7 ", "application/pdf; charset=utf-8", None),
        (b"\x89PNG\r\n\x1a\n", "image/png; charset=binary", None),
    ],
)
def test_text_is_decoded_by_its_charset_and_never_fails(
    body: bytes, content_type: str, text: str | None
) -> None:
    record = raw(Reply(200, "http://example.com/", {"content-type": content_type}, body, 0))
    assert as_text(record.content, record.content_type, record.charset) == text


@given(st.binary(), st.sampled_from(sorted({*aliases.values(), "idna", "utf-8", "x", "\0"})))
def test_no_bytes_in_no_charset_fail_and_all_of_it_is_json(body: bytes, charset: str) -> None:
    text = as_text(body, "text/plain", charset)
    assert text is not None
    orjson.dumps(text)
