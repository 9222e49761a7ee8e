"""One HTTP/1.1 connection: reads requests one after the other and responds in their order."""

import asyncio
import socket
from typing import assert_never, cast

from curtsy.demo.access_log import arrived_ns, monotonic_ns
from curtsy.demo.answers import Answer, Delivery, matches, not_modified, plain
from curtsy.demo.request_head import LARGEST_HEAD, BadHead, Request, parse
from curtsy.demo.shared_state import SharedState
from curtsy.demo.site_pages import Place

_METHODS = (b"GET", b"HEAD")
_NOT_ALLOWED = plain(405, ("Allow", "GET, HEAD"))
_CLOSE = b"Connection: close\r\n"


class Connection(asyncio.Protocol):
    """Handles one request at a time; later requests wait unread."""

    def __init__(self, place: Place, shared: SharedState) -> None:
        self._place = place
        self._shared = shared
        self._log = shared.log
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport = cast("asyncio.Transport", None)
        self._socket: socket.socket = cast("socket.socket", None)
        self._peer_port = 0
        self._unread = b""
        self._arrived_at = 0  # when the bytes being read arrived
        self._idle_since = monotonic_ns()
        self._body_left = 0  # bytes of a request's body, which is discarded
        self._request_number: int | None = None  # number of the open request
        self._last = False  # read nothing after this response
        self._full = False  # the client reads too slowly
        self._timer: asyncio.TimerHandle | None = None

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._socket = transport.get_extra_info("socket")
        peer = transport.get_extra_info("peername")
        self._peer_port = peer[1] if peer else 0
        self._shared.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio names it
        if self._timer is not None:
            self._timer.cancel()
        if self._request_number is not None:
            self._log.ended(self._request_number, None)
            self._request_number = None
        self._last = True
        self._unread = b""
        self._shared.disconnected(self)

    def data_received(self, data: bytes) -> None:
        if self._last:
            return
        if not self._unread:
            self._unread = data
            self._arrived_at = arrived_ns(self._socket)
        else:
            self._unread += data
            if self._request_number is None:
                self._arrived_at = arrived_ns(self._socket)
        self._read()
        if len(self._unread) > LARGEST_HEAD and not self._last:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """Drops the rest of the response: the client was killed or gave up."""
        self._last = True
        if self._timer is not None:
            self._timer.cancel()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._continue_reading()

    # Called by the site

    def close_if_idle(self, since: int) -> None:
        """Closes the connection if it has been idle since that instant."""
        if self._request_number is None and self._idle_since < since:
            self.abort()

    def abort(self) -> None:
        self._last = True
        self._transport.abort()

    # Reading

    def _continue_reading(self) -> None:
        if not self._last:
            self._transport.resume_reading()
            self._read()

    def _read(self) -> None:
        """Handles complete requests, one after the response to the other."""
        while self._unread and self._request_number is None and not (self._last or self._full):
            if self._body_left:
                discarded = min(self._body_left, len(self._unread))
                self._unread = self._unread[discarded:]
                self._body_left -= discarded
                continue
            end = self._unread.find(b"\r\n\r\n")
            if end > LARGEST_HEAD or (end < 0 and len(self._unread) > LARGEST_HEAD):
                return self._refuse(431)
            if end < 0:
                return None
            head, self._unread = self._unread[:end], self._unread[end + 4 :]
            try:
                request = parse(head.lstrip(b"\r\n"))
            except BadHead as bad:
                return self._refuse(bad.status)
            self._answer(request)
        return None

    def _refuse(self, status: int) -> None:
        refusal = plain(status)
        self._last = True
        self._unread = b""
        self._transport.write(refusal.head + _CLOSE + b"\r\n" + refusal.body)
        self._transport.close()

    # Answering

    def _answer(self, request: Request) -> None:
        self._request_number = self._log.began(
            self._arrived_at, self._place.host, request.target, self._peer_port
        )
        self._body_left = request.body_length
        answer = self._choose(request)
        if answer.wait_ms:
            self._timer = self._loop.call_later(
                answer.wait_ms / 1000, self._send_delayed, answer, request
            )
        else:
            self._send(answer, request)

    def _choose(self, request: Request) -> Answer:
        if request.method not in _METHODS:
            return _NOT_ALLOWED
        answer = self._shared.answer(self._place, request.target)
        tags = request.if_none_match
        if tags is not None and answer.etag is not None and matches(answer.etag, tags):
            return not_modified(answer)
        return answer

    def _send_delayed(self, answer: Answer, request: Request) -> None:
        self._send(answer, request)
        self._continue_reading()

    def _send(self, answer: Answer, request: Request) -> None:
        self._timer = None
        ending = b"\r\n" if request.keep_alive else _CLOSE + b"\r\n"
        if answer.delivery is Delivery.DROPPED:
            return self.abort()
        if request.method == b"HEAD":
            self._transport.write(answer.head + ending)
            return self._done(answer, request.keep_alive)
        match answer.delivery:
            case Delivery.WHOLE:
                self._transport.write(answer.head + ending + answer.body)
                self._done(answer, request.keep_alive)
            case Delivery.TRUNCATED:
                self._transport.write(answer.head + ending + answer.body)
                self._done(answer, keep_alive=False)
            case Delivery.DRIP:
                self._transport.write(answer.head + ending)
                self._drip(answer, request.keep_alive, self._loop.time(), 0)
            case _:
                assert_never(answer.delivery)
        return None

    def _drip(self, answer: Answer, keep_alive: bool, began: float, sent: int) -> None:
        """Sends the byte numbered `sent` and schedules the next one."""
        self._transport.write(answer.body[sent : sent + 1])
        sent += 1
        if sent == len(answer.body):
            self._timer = None
            self._done(answer, keep_alive)
            return self._continue_reading()
        due = began + answer.span_ms / 1000 * sent / (
            len(answer.body) - 1
        )  # the last byte is sent at the end
        self._timer = self._loop.call_at(due, self._drip, answer, keep_alive, began, sent)
        return None

    def _done(self, answer: Answer, keep_alive: bool) -> None:
        assert self._request_number is not None
        self._idle_since = self._log.ended(self._request_number, answer.status)
        self._request_number = None
        if not keep_alive:
            self._last = True
            self._transport.close()
