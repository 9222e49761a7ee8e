"""Sends a message by SMTP, in a thread: TLS by STARTTLS or from the start, login if declared.

The socket comes from the guard's connector. At the deadline the connection is shut down, so that a
server that hangs, or sends a byte now and then, holds a thread no longer than that.
"""

import asyncio
import contextlib
import smtplib
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from functools import partial
from typing import Any

from curtsy.alerts.channel import Channel
from curtsy.alerts.message import Message
from curtsy.fetch.connector import ANYWHERE, Connector
from curtsy.fetch.failures import failure
from curtsy.fetch.guard import Network
from curtsy.logs import logger

log = logger("alerts")

TOTAL_SECONDS, CONNECT_SECONDS, STEP_SECONDS = 20.0, 5.0, 10.0
MAILS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Server:
    host: str
    port: int
    tls: str
    login: tuple[str, str] | None = field(repr=False)


class Mailer:
    """`async with` it: has its own threads, which other work does not share."""

    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        self._allow = allow

    async def __aenter__(self) -> "Mailer":
        self._threads = ThreadPoolExecutor(MAILS_AT_ONCE, thread_name_prefix="mail")
        self._guarded = Connector(allow=self._allow)
        self._anywhere = Connector(allow=ANYWHERE)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._guarded.close()
        self._anywhere.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def send(self, channel: Channel, message: Message) -> tuple[int | None, str | None]:
        """Returns the server's code, and why it did not accept the message. Raises
        `SecretMissing`."""
        username, password = channel.field("username"), channel.secret("password")
        login = None if username is None else (username, password or "")
        server = Server(channel.field("host"), channel.port,
                        channel.field("tls") or "starttls", login)  # fmt: skip
        loop = asyncio.get_running_loop()
        until = loop.time() + TOTAL_SECONDS
        connector = self._anywhere if channel.is_private else self._guarded
        try:
            sock = await connector.open_socket(server.host, server.port,
                                               loop.time() + CONNECT_SECONDS)  # fmt: skip
        except Exception as error:
            return None, failure(error, host=server.host).error
        with sock.dup() as connection:  # TLS takes the socket apart, and closes it
            sending = loop.run_in_executor(
                self._threads, _send, sock, server, mail(channel, message)
            )
            sending.add_done_callback(partial(_close_unused, sock))
            try:
                async with asyncio.timeout_at(until):
                    return await asyncio.shield(sending)
            except TimeoutError:
                return None, f"The mail server {server.host} did not answer in time."
            finally:
                if not sending.done():
                    _shut(connection)


def mail(channel: Channel, message: Message) -> EmailMessage:
    """The mail. `EmailMessage` refuses line ends in headers; `Message` has none."""
    built = EmailMessage(policy=SMTP_POLICY)
    sender: str = channel.field("from")
    built["From"], built["To"] = sender, ", ".join(channel.field("to"))
    built["Subject"] = message.title
    built["Date"] = format_datetime(datetime.fromtimestamp(message.at / 1000, UTC))
    built["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2]}>"
    built["Auto-Submitted"] = "auto-generated"
    lines = [message.says, message.to_do or "", f"{message.severity}, {message.id}"]
    built.set_content("\n\n".join(line for line in lines if line))
    return built


class _Client(smtplib.SMTP):
    """Speaks over a socket that is connected already."""

    def __init__(self, sock: socket.socket, server: Server) -> None:
        self._connected = sock
        address = sock.getsockname()[0]
        own_name = f"[IPv6:{address}]" if ":" in address else f"[{address}]"
        super().__init__(server.host, server.port, local_hostname=own_name, timeout=STEP_SECONDS)

    def _get_socket(self, *_: Any) -> socket.socket:
        return self._connected


def _send(
    sock: socket.socket, server: Server, built: EmailMessage
) -> tuple[int | None, str | None]:
    """Blocks. Returns errors as sentences; those of the server without control characters."""
    client = None
    try:
        sock.settimeout(STEP_SECONDS)
        if server.tls == "implicit":
            sock = _context().wrap_socket(sock, server_hostname=server.host)
        client = _Client(sock, server)
        if server.tls == "starttls":
            client.starttls(context=_context())
        if server.login is not None:
            client.login(*server.login)
        refused = client.send_message(built)
    except smtplib.SMTPAuthenticationError as error:
        return error.smtp_code, "The mail server refused the login."
    except smtplib.SMTPResponseException as error:
        if error.smtp_code < 0:  # smtplib could not read the reply
            return None, "The mail server does not speak SMTP."
        return error.smtp_code, f"The mail server answered {error.smtp_code}."
    except smtplib.SMTPRecipientsRefused as error:
        return None, f"The mail server refused {', '.join(error.recipients)}."
    except smtplib.SMTPNotSupportedError:
        return None, "The mail server does not support what the channel needs: TLS, or the login."
    except ssl.SSLError as error:
        return None, f"The TLS certificate of the mail server is not trusted ({error.reason})."
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return None, f"The mail server could not be used ({type(error).__name__})."
    else:
        with contextlib.suppress(OSError, smtplib.SMTPException):
            client.putcmd("quit")  # whatever it answers: it has the mail
        if refused:  # the others have it: they must not get it again with each attempt
            log.warning("mail_receivers_refused", server=server.host, receivers=sorted(refused))
        return 250, None
    finally:
        if client is not None:
            client.close()
        sock.close()


def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _shut(connection: socket.socket) -> None:
    """Ends the connection for every socket object of it: wakes the thread that waits for one."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _close_unused(sock: socket.socket, sending: asyncio.Future[Any]) -> None:
    """Closes the socket of a mail that no thread began to send. Reads the error of one that nobody
    waits for any more."""
    if sending.cancelled():
        sock.close()
    else:
        sending.exception()
