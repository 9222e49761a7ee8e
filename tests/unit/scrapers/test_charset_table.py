"""Pages in many charsets, declared in every way, come out alike from every scraper."""

import codecs
from collections.abc import Callable
from itertools import product

import orjson
import pytest

from curtsy.api.schemas.content import as_text
from curtsy.model.outcome import Record, Reply
from curtsy.scrapers import Page
from curtsy.scrapers.article import article
from curtsy.scrapers.charset import text_of
from curtsy.scrapers.charset_labels import CODECS
from curtsy.scrapers.links import links
from curtsy.scrapers.listing import listing
from curtsy.scrapers.raw import raw

RUSSIAN = "Совет города принял план гавани во вторник."
JAPANESE = "港の計画は火曜日に市議会で承認されました。"
CHINESE = "市议会周二批准了港口计划。"
TAIWANESE = "市議會週二批准了港口計劃。"
KOREAN = "시의회가 화요일 항구 계획을 승인했습니다."
GREEK = "Το συμβούλιο ενέκρινε το σχέδιο."
HEBREW = "המועצה אישרה את התוכנית."
ARABIC = "وافق المجلس على الخطة."
TURKISH = "Şehir meclisi planı onayladı, ığüşöç."
POLISH = "Rada przyjęła żółty łódź plan."
FRENCH = "L’été déjà, “cœur” – 5 €."
THAI = "สภาอนุมัติแผนแล้ว"

ENCODINGS = [
    ("windows-1251", "cp1251", RUSSIAN), ("koi8-r", "koi8-r", RUSSIAN),
    ("ISO-8859-5", "iso8859-5", RUSSIAN), ("ibm866", "cp866", RUSSIAN),
    ("x-mac-cyrillic", "mac-cyrillic", RUSSIAN), ("koi8-u", "koi8-u", RUSSIAN),
    ("Shift_JIS", "cp932", JAPANESE + "①～"), ("x-sjis", "cp932", JAPANESE),
    ("EUC-JP", "euc_jp", JAPANESE), ("EUC-JP", "euc_jis_2004", JAPANESE + "①②"),
    ("ISO-2022-JP", "iso2022_jp", JAPANESE),
    ("GBK", "gbk", CHINESE), ("gb2312", "gbk", CHINESE + "镕"),
    ("gb18030", "gb18030", "𠀀" + CHINESE),
    ("Big5", "big5", TAIWANESE), ("big5-hkscs", "big5hkscs", TAIWANESE + "嘅"),
    ("EUC-KR", "euc_kr", KOREAN), ("ks_c_5601-1987", "cp949", KOREAN + "햏"),
    ("ISO-8859-1", "cp1252", FRENCH), ("us-ascii", "cp1252", FRENCH), ("latin1", "cp1252", FRENCH),
    ("ISO-8859-9", "cp1254", TURKISH + "“”"), ("windows-1250", "cp1250", POLISH),
    ("ISO-8859-2", "iso8859-2", POLISH), ("ISO-8859-15", "iso8859-15", "été 5 €"),
    ("windows-1253", "cp1253", GREEK), ("ISO-8859-7", "iso8859-7", GREEK),
    ("windows-1255", "cp1255", HEBREW), ("ISO-8859-8-I", "iso8859-8", HEBREW),
    ("windows-1256", "cp1256", ARABIC), ("ISO-8859-6", "iso8859-6", ARABIC),
    ("TIS-620", "cp874", THAI), ("ISO-8859-11", "cp874", THAI + "…"),
    ("macintosh", "mac-roman", "déjà vu"), ("windows-1257", "cp1257", "ąčęėįšųūž"),
    ("windows-1258", "cp1258", "đơư"), ("utf-8", "utf-8", RUSSIAN + "𠀀"),
    ("UTF8", "utf-8", JAPANESE), ("unicode-1-1-utf-8", "utf-8", KOREAN),
]  # fmt: skip
Way = Callable[[str, str, str], tuple[bytes, str]]


def _page(head: str, text: str) -> str:
    return (f"{head}<html><body><div class=list><article><p class=t>{text}</p>"
            f"<p>{text * 30}</p></article></div></body></html>")  # fmt: skip


def by_header(label: str, codec: str, text: str) -> tuple[bytes, str]:
    return _page("", text).encode(codec), f"text/html; charset={label}"


def by_quoted_header(label: str, codec: str, text: str) -> tuple[bytes, str]:
    return _page("", text).encode(codec), f'text/html;x=y;Charset = "{label.upper()}" ; z'


def by_repeated_header(label: str, codec: str, text: str) -> tuple[bytes, str]:
    return _page("", text).encode(codec), f"text/html, text/html; charset={label}"


def by_header_against_meta(label: str, codec: str, text: str) -> tuple[bytes, str]:
    other = "<meta charset=windows-1258>"
    return _page(other, text).encode(codec), f"text/html; charset={label}"


def by_meta(label: str, codec: str, text: str) -> tuple[bytes, str]:
    return _page(f"<meta charset={label}>", text).encode(codec), "text/html"


def by_quoted_meta(label: str, codec: str, text: str) -> tuple[bytes, str]:
    head = f"<!doctype html><META name='a>b' CharSet = ' {label.upper()} ' />"
    return _page(head, text).encode(codec), "text/html"


def by_http_equiv(label: str, codec: str, text: str) -> tuple[bytes, str]:
    head = f'<meta content="text/html; charset={label}" http-equiv="Content-Type">'
    return _page(head, text).encode(codec), "text/html"


def by_late_meta(label: str, codec: str, text: str) -> tuple[bytes, str]:
    head = f"<script>{'x' * 900}</script><title>t</title><meta charset='{label}'>"
    return _page(head, text).encode(codec), "text/html"


def by_second_meta(label: str, codec: str, text: str) -> tuple[bytes, str]:
    head = ('<!-- <meta charset="windows-1258"> --><meta name=description '
            'content="charset=windows-1258"><meta charset=no-such><a title="<meta charset=big5>">'
            f"<meta charset={label}>")  # fmt: skip
    return _page(head, text).encode(codec), "text/html"


def by_meta_under_an_unknown_header(label: str, codec: str, text: str) -> tuple[bytes, str]:
    return _page(f"<meta charset={label}>", text).encode(codec), "text/html; charset=none-such"


def by_meta_without_a_header(label: str, codec: str, text: str) -> tuple[bytes, str]:
    return _page(f"<!DOCTYPE html><meta charset={label}>", text).encode(codec), ""


def by_xml(label: str, codec: str, text: str) -> tuple[bytes, str]:
    head = f'<?xml version="1.0" encoding="{label}"?>'
    return _page(head, text).encode(codec), "application/xhtml+xml"


WAYS: list[Way] = [
    by_header, by_quoted_header, by_repeated_header, by_header_against_meta, by_meta,
    by_quoted_meta, by_http_equiv, by_late_meta, by_second_meta, by_meta_under_an_unknown_header,
    by_meta_without_a_header, by_xml,
]  # fmt: skip
RECIPE = {"record": "article", "fields": {"t": ".t"}}


def reply(body: bytes, content_type: str) -> Reply:
    headers = {"content-type": content_type} if content_type else {}
    return Reply(200, "http://a.example/x", headers, body, len(body))


def shown_raw(page: Reply) -> str:
    record = raw(page)
    return as_text(record.content, record.content_type, record.charset) or ""


def shown_by_article(page: Reply) -> str:
    record = article(page)
    assert isinstance(record, Record), record
    text: str = orjson.loads(record.content)["text"]
    return text


def shown_by_listing(page: Reply) -> str:
    record = listing(page, {"recipe": RECIPE})
    assert isinstance(record, Record), record
    text: str = orjson.loads(record.content)["records"][0]["fields"]["t"]
    return text


def shown_by_own(page: Reply) -> str:
    own = Page(page)
    node = own.css_first(".t")
    assert node is not None
    assert node.text() in own.text
    return node.text()


@pytest.mark.parametrize(("label", "codec", "text"), ENCODINGS)
def test_a_charset_is_read_however_it_is_declared_by_every_scraper(
    label: str, codec: str, text: str
) -> None:
    for way in WAYS:
        page = reply(*way(label, codec, text))
        for shown in (shown_raw, shown_by_listing, shown_by_own):
            assert text in shown(page), (way.__name__, shown.__name__)


@pytest.mark.parametrize(("label", "codec", "text"), ENCODINGS)
def test_an_article_is_read_in_its_charset(label: str, codec: str, text: str) -> None:
    for way in (by_header, by_meta):
        assert text.split()[0] in shown_by_article(reply(*way(label, codec, text))), way.__name__


MARKS = [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
         (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_LE, "utf-32-le")]  # fmt: skip


@pytest.mark.parametrize(("mark", "codec"), MARKS)
def test_the_byte_order_mark_beats_header_and_meta(mark: bytes, codec: str) -> None:
    body = mark + _page("<meta charset=windows-1251>", JAPANESE).encode(codec)
    for content_type in (
        "text/html",
        "text/html; charset=windows-1252",
        "text/html; charset=x",
        "",
    ):
        for shown in (shown_raw, shown_by_listing, shown_by_own, shown_by_article):
            text = shown(reply(body, content_type))
            assert JAPANESE in text, (content_type, shown.__name__)
            assert "\ufeff" not in text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [RUSSIAN, JAPANESE, "一一一一 plan", FRENCH])
def test_utf16_without_a_mark_is_known_by_header_or_by_its_looks(codec: str, text: str) -> None:
    body = _page("", text).encode(codec)
    for label in ("utf-16", codec.replace("16-", "16"), "unicode", None):
        content_type = f"text/html; charset={label}" if label else "text/html"
        assert text in shown_raw(reply(body, content_type)), label
        assert text == shown_by_listing(reply(body, content_type)), label


@pytest.mark.parametrize("label", ["utf-16", "UTF-16LE", "utf-16be", "unicode", "utf-32"])
def test_utf16_in_a_meta_or_xml_declaration_means_utf8(label: str) -> None:
    for head in (f"<meta charset={label}>", f"<?xml version='1.0' encoding='{label}'?>"):
        assert JAPANESE in shown_raw(reply(_page(head, JAPANESE).encode(), "text/html"))


def test_x_user_defined_is_windows_1252_in_a_meta_and_private_characters_in_a_header() -> None:
    body = _page("<meta charset=x-user-defined>", "été").encode("cp1252")
    assert "été" in shown_raw(reply(body, "text/html"))
    assert "\uf7e9t\uf7e9" in shown_raw(reply(body, "text/html; charset=x-user-defined"))


def test_bytes_that_a_windows_charset_leaves_out_are_control_characters_as_in_browsers() -> None:
    assert text_of(b"\x81\x9d\x80", "text/html; charset=latin1")[0] == "\x81\x9d€"
    assert text_of(b"\xaa", "text/html; charset=windows-1253")[0] == "\ufffd"


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "text/css"])
def test_only_html_declares_its_charset_by_meta(kind: str) -> None:
    body = f'{{"a": "<meta charset=windows-1251> {JAPANESE}"}}'.encode()
    assert JAPANESE in shown_raw(reply(body, kind))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (orjson.dumps({"a": RUSSIAN}), "application/json"),
        (orjson.dumps({"a": RUSSIAN}), ""),
        (codecs.BOM_UTF8 + orjson.dumps({"a": RUSSIAN}), "application/json; charset=latin1"),
        (orjson.dumps({"a": RUSSIAN}).decode().encode("cp1251"), "text/json; charset=windows-1251"),
        (orjson.dumps({"a": RUSSIAN}).decode().encode("utf-16"), "application/json"),
        (orjson.dumps({"a": RUSSIAN}).decode().encode("utf-16-le"), "application/json"),
    ],
)
def test_json_is_read_by_the_same_rule(body: bytes, content_type: str) -> None:
    assert Page(reply(body, content_type)).json() == {"a": RUSSIAN}
    assert RUSSIAN in shown_raw(reply(body, content_type))


@pytest.mark.parametrize(("codec", "text"), [("cp1251", RUSSIAN), ("cp932", JAPANESE)])
def test_links_are_read_in_the_charset_of_the_page(codec: str, text: str) -> None:
    label = {"cp1251": "windows-1251", "cp932": "Shift_JIS"}[codec]
    word = text[:2]
    body = f"<meta charset={label}><a href='/{word}'>x</a>".encode(codec)
    found = links(reply(body, "text/html"))
    assert found == (f"http://a.example/{''.join(f'%{b:02X}' for b in word.encode())}",)


def test_every_label_of_the_encoding_standard_has_a_codec() -> None:
    for label, codec in CODECS.items():
        text, used = text_of(b"plain", f"text/html; charset={label}")
        assert used.startswith(codec), label
        if not codec.startswith(("utf-16", "utf-32")):
            assert text == "plain"
    assert len(CODECS) >= 220


def test_what_is_declared_wins_over_what_it_looks_like() -> None:
    body = RUSSIAN.encode("koi8-r") * 20
    assert text_of(body, "text/plain; charset=windows-1251")[1] == "cp1251"
    assert text_of(body, "text/plain; charset=none-such")[1] == "koi8-r"
    assert text_of(RUSSIAN.encode("cp1251"), "text/html; charset=utf-8")[0].count("\ufffd") > 20


def test_the_table_has_a_way_for_each_place_of_a_declaration() -> None:
    assert len(list(product(ENCODINGS, WAYS))) > 400
