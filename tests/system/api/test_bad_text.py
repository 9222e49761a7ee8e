"""Letters of every kind, everywhere a client can write some: kept exactly, or refused."""

from typing import Any
from urllib.parse import quote

from api.front import Answer, Front, assert_problem

STRANGE = [
    "Grüße, 世界, שלום, नमस्ते",
    "🎩 👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "e\u0301 is not \u00e9",
    "\u202eright to left\u202c and \u200bnothing\u200b",
    "tab\tnew line\nreturn\rbell\x07delete\x7f",
    "\ufeffmark \ufffd not a character \uffff \U0010ffff",
    "'; DROP TABLE jobs; -- %s %(x)s {x} :x ? $1 \\ \" ` \\u0000",
    "%_*[a-z]",
]
URLS = [
    "http://bücher.example/straße?q=ü#ß",
    "http://例え.テスト/パス",
    "http://☃.example/🎩?👒=🎓",
    "http://example.com/%F0%9F%8E%A9/%ff%00%zz%",
    "http://EXAMPLE.com/e\u0301/\u00e9/\u202e",
]
WITH_NUL: list[dict[str, Any]] = [
    {"name": "a\0b"},
    {"tags": ["fine", "a\0b"]},
    {"articles": [{"url": "http://example.com/", "source": "a\0b"}]},
    {"articles": [{"url": "http://example.com/", "category": "\0"}]},
    {"articles": [{"url": "http://example.com/\0"}]},
    {"headers": {"X-A": "a\0b"}},
    {"a\0b": 1},
]
JSON = {"Content-Type": "application/json"}


async def submit(door: Front, **fields: Any) -> Answer:
    body = {"articles": [{"url": "http://example.com/"}], **fields}
    return await door.ask("POST", "/jobs/submit", json=body)


async def test_names_tags_and_labels_come_back_as_they_were_given(door: Front) -> None:
    for text in STRANGE:
        article = {"url": "http://example.com/", "source": text, "category": text}
        made = await submit(door, articles=[article], name=text, tags=[text])
        assert made.status == 201, made
        shown = (await door.get(f"/jobs/{made.json['job_id']}")).json
        assert (shown["name"], shown["tags"]) == (text, [text])
        for query in (f"tag={quote(text)}", f"q={quote(text[1:])}"):
            found = (await door.get(f"/jobs?{query}")).json["jobs"]
            assert [job["name"] for job in found] == [text], query
    labels = await door.engine.query("SELECT source_label, category FROM items ORDER BY job_id")
    assert [tuple(row) for row in labels] == [(text, text) for text in STRANGE]


async def test_urls_come_back_as_they_were_given(door: Front) -> None:
    for url in URLS:
        made = await door.submit(url)
        assert (made.status, made.json["url"]) == (201, url)
        assert (await door.get(f"/jobs/{made.json['id']}")).json["url"] == url


async def test_a_nul_character_is_refused_by_whichever_engine(door: Front) -> None:
    for fields in WITH_NUL:
        assert_problem(await submit(door, **fields), 422, "bad_request")
    for verb in ("retry", "resolve"):
        answer = await door.ask("POST", f"/dead-letters/{verb}", json={"source": "a\0b"})
        assert_problem(answer, 422, "bad_request")
    for path in ("/jobs?tag=a%00b", "/jobs?q=%00", "/dead-letters?source=%00"):
        assert_problem(await door.get(path), 422, "bad_request")
    assert (await door.get("/jobs")).json["total"] == 0


async def test_half_a_character_is_refused(door: Front) -> None:
    for half in (
        b"\\ud800",
        b"\\udfff",
        b"\\ud83c",
        b"\\udca9\\ud83d",
        b"\xed\xa0\x80",
        b"\xf0\x9f",
    ):
        for where in (b'"name": "%b"', b'"tags": ["%b"]', b'"%b": 1'):
            field = where % half
            body = b'{"articles": [{"url": "http://example.com/"}], %b}' % field
            answer = await door.ask("POST", "/jobs/submit", data=body, headers=JSON)
            assert_problem(answer, 422, "bad_request")


async def test_text_is_measured_in_characters(door: Front) -> None:
    assert (await submit(door, name="🎩" * 300, tags=["🎩" * 100])).status == 201
    assert_problem(await submit(door, name="🎩" * 301), 422, "bad_request")
