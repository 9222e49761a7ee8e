import asyncio
import errno
import gzip
import socket
import ssl
import struct
from pathlib import Path

import brotli
import pytest
import zstandard

from curtsy.fetch import Request
from curtsy.fetch.failures import failure
from curtsy.fetch.fetch_errors import NameUnknown, NoConnection
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from fetch.sites import Script, Serve, Site, fetcher, get, once, page

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SELF_SIGNED = Path(__file__).with_name("self_signed.pem")


async def silent(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    await reader.read()


def reset_after(answer: bytes) -> Script:
    async def script(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        writer.write(answer)
        await asyncio.sleep(0.02)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return script


def failed(outcome: object, kind: Kind) -> Failed:
    assert isinstance(outcome, Failed), outcome
    assert outcome.kind is kind, outcome
    assert outcome.error.endswith("."), outcome.error
    assert "\n" not in outcome.error
    return outcome


async def test_a_name_that_does_not_exist_is_final() -> None:
    outcome = failed(await get(f"http://{'a' * 70}.example/"), Kind.DNS)
    assert outcome.final


def test_a_name_server_that_does_not_answer_is_not_final() -> None:
    error = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    trouble = NameUnknown(error.strerror)
    trouble.__cause__ = error
    outcome = failed(failure(trouble, "example.org"), Kind.DNS)
    assert not outcome.final
    assert outcome.error == (
        "The name example.org could not be looked up: Temporary failure in name resolution."
    )


async def test_a_closed_port_is_no_connection() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        outcome = failed(await get(f"http://127.0.0.1:{port}/"), Kind.CONNECT)
    assert f"No connection to 127.0.0.1:{port}: " in outcome.error


async def test_a_host_that_never_finishes_connecting_is_no_connection(serve: Serve) -> None:
    site = await serve(silent)
    url = site.url.replace("http:", "https:")
    failed(await get(url, connect_seconds=0.05), Kind.CONNECT)


async def test_running_out_of_files_is_our_fault_and_not_the_hosts() -> None:
    trouble = NoConnection("Too many open files")
    trouble.__cause__ = OSError(errno.EMFILE, "Too many open files")
    assert failure(trouble, "example.org").kind is Kind.INTERNAL


def test_an_unknown_error_keeps_its_traceback() -> None:
    outcome = failure(ZeroDivisionError("by zero"), "example.org")
    assert outcome.kind is Kind.INTERNAL
    assert outcome.traceback is not None
    assert "ZeroDivisionError" in outcome.traceback


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(serve: Serve) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(SELF_SIGNED)
    site = await serve(page(b"secret"), tls=tls)
    failed(await get(site.url), Kind.TLS)
    assert site.requests == []


async def test_a_port_that_does_not_speak_tls_is_not_trusted(serve: Serve) -> None:
    async def plain(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(page(b"plain"))

    site = await serve(plain)
    failed(await get(site.url.replace("http:", "https:")), Kind.TLS)


async def test_a_host_that_does_not_answer_runs_out_of_time(serve: Serve) -> None:
    failed(await get((await serve(silent)).url, total_seconds=0.05), Kind.TIMEOUT)


async def test_a_body_that_drips_runs_out_of_time(serve: Serve) -> None:
    async def drip(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.heard(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    failed(await get((await serve(drip)).url, total_seconds=0.1), Kind.TIMEOUT)


async def test_headers_that_drip_run_out_of_time(serve: Serve) -> None:
    async def drip(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.heard(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            writer.write(b"X-A: b\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    failed(await get((await serve(drip)).url, total_seconds=0.1), Kind.TIMEOUT)


@pytest.mark.parametrize(
    "script",
    [once(), once(b"HTTP/1.1 200 OK\r\nContent-"), once(b"HTTP/1.1"), reset_after(b"")],
    ids=["before the answer", "within a header", "within the status", "by a reset"],
)
async def test_a_connection_broken_off_before_the_body_is_a_reset(
    serve: Serve, script: object
) -> None:
    site = await serve(script)
    failed(await get(site.url), Kind.RESET)
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    "script",
    [
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"),
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"cut"),
        once(CHUNKED + b"3\r\nabc\r\n"),
        once(CHUNKED, b"3\r\nabc\r\n", b"9\r\ncut"),
        once(CHUNKED + b"3\r\nabc\r\nxyz\r\n"),
        once(CHUNKED, b"3\r\nabc\r\n", b"xyz\r\n"),
        once(CHUNKED, b"3\r\nabcdef", b"\r\n"),
        reset_after(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"),
        reset_after(b"HTTP/1.1 200 OK\r\n\r\ncut"),
    ],
    ids=[
        "length",
        "length, late",
        "chunk",
        "chunk, late",
        "size",
        "size, late",
        "frame",
        "reset",
        "reset without a length",
    ],
)
async def test_a_body_that_is_not_complete_is_truncated(serve: Serve, script: object) -> None:
    failed(await get((await serve(script)).url, total_seconds=5), Kind.TRUNCATED)


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\0\1\2\3" * 9, b"<html>\r\n\r\n"])
async def test_an_answer_that_is_not_http_is_the_servers_error(serve: Serve, answer: bytes) -> None:
    failed(await get((await serve(once(answer))).url), Kind.SERVER_ERROR)


@pytest.mark.parametrize(
    "answer",
    [
        page(b"a" * 1001),
        CHUNKED + b"1f5\r\n" + b"a" * 501 + b"\r\n1f4\r\n" + b"a" * 500 + b"\r\n0\r\n\r\n",
        page(gzip.compress(b"a" * 1001), b"Content-Encoding: gzip"),
        page(gzip.compress(b"a" * 10_000_000), b"Content-Encoding: gzip"),
        page(brotli.compress(b"a" * 10_000_000), b"Content-Encoding: br"),
        page(zstandard.compress(b"a" * 10_000_000), b"Content-Encoding: zstd"),
        page(gzip.compress(gzip.compress(b"a" * 10_000_000)), b"Content-Encoding: gzip, gzip"),
    ],
    ids=[
        "declared",
        "chunked",
        "just over when unpacked",
        "a bomb",
        "a bomb of brotli",
        "a bomb of zstd",
        "a bomb in a bomb",
    ],
)
async def test_a_body_over_the_cap_is_too_large(serve: Serve, answer: bytes) -> None:
    outcome = await get((await serve(answer)).url, body_bytes=1000, wire_bytes=20_000)
    failed(outcome, Kind.TOO_LARGE)


async def test_a_body_at_the_cap_is_not_too_large(serve: Serve) -> None:
    site = await serve(page(gzip.compress(b"a" * 1000), b"Content-Encoding: gzip"))
    assert not isinstance(await get(site.url, body_bytes=1000), Failed)


async def test_a_declared_length_over_the_cap_is_not_even_read(serve: Serve) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    failed(await get((await serve(head)).url, total_seconds=5), Kind.TOO_LARGE)


async def test_a_compressed_body_over_the_cap_on_the_wire_is_too_large(serve: Serve) -> None:
    async def endless(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        while not writer.is_closing():
            writer.write(gzip.compress(b"") * 100)
            await writer.drain()

    outcome = await get((await serve(endless)).url, wire_bytes=100_000, total_seconds=10)
    failed(outcome, Kind.TOO_LARGE)


@pytest.mark.parametrize(
    "headers",
    [
        [b"X-A: " + b"a" * 5000],
        [b"X-%d: " % n + b"a" * 1000 for n in range(5)],
        [b"X-%d: a" % n for n in range(300)],
    ],
    ids=["one long", "long together", "too many"],
)
async def test_headers_over_the_cap_are_too_large(serve: Serve, headers: list[bytes]) -> None:
    failed(await get((await serve(page(b"", *headers))).url, header_bytes=4096), Kind.TOO_LARGE)


async def test_a_header_that_never_ends_is_too_large(serve: Serve) -> None:
    async def endless(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
        while not writer.is_closing():
            writer.write(b"a" * 10_000)
            await writer.drain()

    failed(await get((await serve(endless)).url, total_seconds=10), Kind.TOO_LARGE)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"gzip", b"not gzip at all"),
        (b"gzip", gzip.compress(b"words" * 99)[:-9]),
        (b"gzip", b"\x1f"),
        (b"deflate", b"\xff\xff\xff"),
        (b"br", b"anything"),
        (b"br", brotli.compress(b"words" * 99)[:-3]),
        (b"zstd", b"anything"),
        (b"zstd", zstandard.compress(b"words" * 99)[:-3]),
        (b"compress", b"anything"),
        (b"gzip, gzip, gzip, gzip", gzip.compress(b"often")),
    ],
    ids=[
        "not gzip",
        "cut gzip",
        "one byte",
        "not deflate",
        "not brotli",
        "cut brotli",
        "not zstd",
        "cut zstd",
        "unknown",
        "too often",
    ],
)
async def test_a_body_that_cannot_be_decompressed_is_badly_encoded(
    serve: Serve, encoding: bytes, body: bytes
) -> None:
    site = await serve(page(body, b"Content-Encoding: " + encoding))
    failed(await get(site.url), Kind.BAD_ENCODING)


async def test_an_empty_body_needs_no_decoder(serve: Serve) -> None:
    site = await serve(page(b"", b"Content-Encoding: br"))
    assert not isinstance(await get(site.url), Failed)


async def test_a_connection_with_trouble_is_not_used_again(serve: Serve) -> None:
    site = await serve(page(b"a" * 5_000_000))
    async with fetcher(wire_bytes=1000) as open_fetcher:
        failed(await open_fetcher.fetch(Request(site.url)), Kind.TOO_LARGE)
        await site.left()
        failed(await open_fetcher.fetch(Request(site.url)), Kind.TOO_LARGE)
    assert site.connections == 2


async def test_cancelling_is_let_through_and_closes_the_connection(serve: Serve) -> None:
    site = await serve(silent)
    async with fetcher() as open_fetcher:
        fetching = asyncio.ensure_future(open_fetcher.fetch(Request(site.url)))
        await site.arrived.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await site.left()
