"""Documents are compressed in a thread, all of a batch by one call."""

import threading

import pytest
import zstandard

from curtsy.frontier.batch import Document, Result
from curtsy.frontier.take import Visit
from curtsy.model.outcome import Fetched, Record
from curtsy.worker.document_packer import DocumentPacker, unpacked

VISIT = Visit(1, 1, 1, 5, 1, None, 0, 0, "https://a.example/", None, 0, 0, "raw", None, None, None)
OUTCOME = Fetched(status=200, url="https://a.example/", etag=None, last_modified=None,
                  wire_bytes=1, memory=None)  # fmt: skip
CONTENTS = [b"one" * 1_000, b"", b"\0\xff", b"four" * 100_000]


def result_of(content: bytes) -> Result:
    document = unpacked(Record(content, "text/html", "utf-8"))
    return Result(VISIT, OUTCOME, 0, 0, document=document)


def document_of(result: Result) -> Document:
    assert result.document is not None
    return result.document


async def test_each_document_is_packed_with_its_own_content() -> None:
    results = [result_of(content) for content in CONTENTS]
    await DocumentPacker().pack([*results, Result(VISIT, OUTCOME, 0, 0)])
    read = zstandard.ZstdDecompressor()
    stored = [document_of(result) for result in results]
    assert [read.decompress(document.content) for document in stored] == CONTENTS
    assert [document.bytes for document in stored] == [len(content) for content in CONTENTS]
    assert len(stored[0].content) < 100


async def test_what_is_packed_is_not_packed_again() -> None:
    result, packer = result_of(b"once" * 100), DocumentPacker()
    await packer.pack([result])
    once = document_of(result).content
    await packer.pack([result])
    assert document_of(result).content is once


async def test_the_loops_thread_compresses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    packer = DocumentPacker()
    real = packer._compressed

    def noted(contents: list[bytes]) -> list[bytes]:
        threads.append(threading.current_thread())
        return real(contents)

    monkeypatch.setattr(packer, "_compressed", noted)
    await packer.pack([result_of(content) for content in CONTENTS])
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


def test_the_hash_tells_contents_and_kinds_apart() -> None:
    kinds = [(b"a", "text/html", "utf-8"), (b"b", "text/html", "utf-8"),
             (b"a", "text/plain", "utf-8"), (b"a", "text/html", "latin-1")]  # fmt: skip
    assert len({unpacked(Record(*kind)).hash for kind in kinds}) == len(kinds)


def test_what_the_child_says_is_compared_is_compared() -> None:
    one, other = (Record(content, "application/json", "utf-8", digest="d" * 22)
                  for content in (b'{"a":1,"b":2}', b'{"b":2,"a":1}'))  # fmt: skip
    assert unpacked(one).hash == unpacked(other).hash == "d" * 22
    assert unpacked(other).content == other.content
