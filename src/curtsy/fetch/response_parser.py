"""Parses a response with llhttp while it arrives, and checks its size before storing any of it."""

from dataclasses import dataclass

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from curtsy.fetch.fetch_errors import Dropped, FetchError, NotHttp, TooLarge, Truncated

MAX_HEADERS = 256
ERROR_BODY_BYTES = 64 * 1024
"""An error page is read only so that its connection can be reused."""
SWITCHING_PROTOCOLS = 101
SET_COOKIE, BETWEEN_COOKIES = "set-cookie", "\n"
"""The values of Set-Cookie cannot be joined by a comma, because their dates contain commas."""


@dataclass(frozen=True, slots=True)
class Caps:
    header_bytes: int
    body_bytes: int
    """As transferred, without the framing of chunks, which may take as much again."""


class ResponseParser:
    """llhttp calls the methods `on_…`; the connection calls `feed` and `end`."""

    __slots__ = (
        "_body",
        "_cap",
        "_caps",
        "_fed",
        "_head_bytes",
        "_head_complete",
        "_header_count",
        "_interim",
        "_parser",
        "_stays_open",
        "_surplus",
        "answered_at",
        "complete",
        "error",
        "headers",
        "sent_at",
        "status",
    )  # fmt: skip

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(  # browsers accept these too, and they are harmless
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self.status = 0
        """0 until the headers are complete."""
        self.headers: dict[str, str] = {}
        """By lower-case name; the values of repeated headers are joined."""
        self.complete = False
        self.error: FetchError | None = None
        self.sent_at = self.answered_at = 0.0
        """By the loop's clock: when the request was sent, and when the headers were complete."""
        self._body: bytes | bytearray = b""
        self._cap = 0
        self._fed = self._head_bytes = self._header_count = 0
        self._head_complete = self._interim = self._surplus = self._stays_open = False

    def is_done(self) -> bool:
        """The response is complete or has failed."""
        return self.complete or self.error is not None

    @property
    def body(self) -> bytes:
        """The body as transferred; empty unless the response is complete."""
        if not self.complete or self.error is not None:
            return b""
        return bytes(self._body)

    @property
    def answered_ms(self) -> int:
        """At least 1: 0 would mean that there was no answer."""
        return max(1, round((self.answered_at - self.sent_at) * 1000))

    @property
    def is_error_status(self) -> bool:
        """The status is not 2xx: an error in the body must not hide it."""
        return self._head_complete and self.status // 100 != 2

    @property
    def leaves_connection_usable(self) -> bool:
        return (
            self.complete
            and self.error is None
            and not self._surplus
            and self.status != SWITCHING_PROTOCOLS
            and self._stays_open
        )

    # Called by the connection.

    def feed(self, data: bytes) -> None:
        """Parses more data; afterwards `is_done` may be true."""
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.complete = True
        except HttpParserError as error:
            self._malformed(error)
        if not self.is_done():
            self._check_fed_bytes()

    def end(self, error: Exception | None) -> None:
        """The connection was closed by the host, or lost with an error."""
        if not self._head_complete:
            self.error = Dropped(str(error) if error else "before its answer")
        elif error is None and self._ends_with_connection():
            self.complete = True
        else:
            self.error = Truncated(str(error) if error else "the connection ended within it")

    def close(self) -> None:
        """Drops llhttp's parser, which refers back to this object: the body would else stay in
        memory until the next full garbage collection, which is rare. Nothing may be fed then."""
        del self._parser

    # Called by llhttp.

    def on_message_begin(self) -> None:
        self._surplus = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_complete:
            return  # a trailer
        self._head_bytes += len(name) + len(value) + 4
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self.error = TooLarge(f"it has more than {MAX_HEADERS} headers")
        elif self._head_bytes > self._caps.header_bytes:
            self.error = self._head_too_large()
        else:
            key, text = name.decode("latin-1").lower(), _text(value)
            if key in self.headers:
                text = f"{self.headers[key]}{BETWEEN_COOKIES if key == SET_COOKIE else ', '}{text}"
            self.headers[key] = text

    def on_headers_complete(self) -> None:
        if self.is_done():
            return
        status = self._parser.get_status_code()
        if status < 100:
            self.error = NotHttp(f"its status is {status:03}")
            return
        self._interim = status // 100 == 1 and status != SWITCHING_PROTOCOLS
        if self._interim:
            return
        self.status, self._head_complete = status, True
        self._cap = ERROR_BODY_BYTES if self.is_error_status else self._caps.body_bytes
        length = self.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._cap:
            self.error = self._body_too_large()

    def on_body(self, piece: bytes) -> None:
        if self.is_done():
            return
        if len(self._body) + len(piece) > self._cap:
            self.error = self._body_too_large()
        elif not self._body:
            self._body = piece
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += piece

    def on_message_complete(self) -> None:
        if self._interim:
            self.headers.clear()
            self._interim = False
        elif not self.is_done():
            self.complete = True
            self._stays_open = self._parser.should_keep_alive()

    # Private.

    def _malformed(self, error: HttpParserError) -> None:
        if self.complete:  # the response is intact; the data behind it spoils the connection
            self._surplus = True
        elif self.error is None:
            reason = str(error)
            self.error = Truncated(reason) if self._head_complete else NotHttp(reason)

    def _check_fed_bytes(self) -> None:
        """Limits data for which llhttp calls no method: an endless line, or empty chunks."""
        if not self._head_complete:
            if self._fed > self._caps.header_bytes:
                self.error = self._head_too_large()
        elif self._fed > self._caps.header_bytes + 2 * self._cap:
            self.error = self._body_too_large()

    def _ends_with_connection(self) -> bool:
        coding = self.headers.get("transfer-encoding")
        if coding is not None:
            return not coding.lower().endswith("chunked")
        return "content-length" not in self.headers

    def _head_too_large(self) -> TooLarge:
        return TooLarge(f"its headers are larger than {self._caps.header_bytes} bytes")

    def _body_too_large(self) -> TooLarge:
        return TooLarge(f"its body is larger than {self._cap} bytes")


def _text(value: bytes) -> str:
    """Decodes as UTF-8, else as Latin-1, and removes NUL, so that the text can be stored."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text.replace("\0", "") if "\0" in text else text
