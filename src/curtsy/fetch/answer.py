"""What came back: headers and body, both read under caps."""

from aiohttp import ClientError, ClientResponse

from curtsy.fetch.encodings import BadEncoding, TooLarge, decoded

# All that reading a body can end in.
UNREADABLE = (ClientError, TimeoutError, BadEncoding, TooLarge)


def headers_of(response: ClientResponse, cap: int) -> dict[str, str]:
    """Names in lower case; a name that came twice has its values joined by a comma."""
    headers: dict[str, str] = {}
    size = 0
    for name, value in response.headers.items():
        size += len(name) + len(value) + 4
        key = name.lower()
        if not value.isascii():
            value = _readable(value)
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    if size > cap:
        raise TooLarge(f"its headers are larger than {cap} bytes")
    return headers


def _readable(value: str) -> str:
    """UTF-8 or, failing that, Latin-1: text that can be stored, whatever a host sends."""
    raw = value.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


async def body_of(
    response: ClientResponse, encoding: str | None, wire_cap: int, body_cap: int
) -> tuple[bytes, int]:
    """The body, decompressed, and how many bytes it was on the wire."""
    content = response.content
    # A small page has mostly arrived with its headers: no need to wait for anything.
    wire = content.read_nowait() if content.is_eof() else await _collected(response, wire_cap)
    if len(wire) > wire_cap:
        raise _over(wire_cap)
    if encoding is None and len(wire) <= body_cap:
        return wire, len(wire)
    return decoded(encoding or "", wire, body_cap), len(wire)


async def _collected(response: ClientResponse, cap: int) -> bytes:
    if (response.content_length or 0) > cap:
        raise _over(cap)
    pieces: list[bytes] = []
    size = 0
    while piece := await response.content.readany():
        size += len(piece)
        if size > cap:
            raise _over(cap)
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _over(cap: int) -> TooLarge:
    return TooLarge(f"its body is larger than {cap} bytes")
