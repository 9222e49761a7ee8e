"""Messages about alerts reach real receivers: signed, masked, guarded, retried; and one that hangs
holds up nobody."""

import asyncio
import hashlib
import hmac
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_string
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from curtsy.alerts import mail, notifier, outbox
from curtsy.alerts.channel import ChannelFields
from curtsy.alerts.evaluation import Announcement, Change, Plan
from curtsy.alerts.notifier import AT_ONE_CHANNEL, Notifier
from curtsy.alerts.outbox import insert_test
from curtsy.alerts.state_machine import Phase
from curtsy.alerts.stored_alerts import read_standing, write_plan
from curtsy.alerts.stored_channels import apply_channels
from curtsy.clock import Clock
from curtsy.events import delivery_attempts
from curtsy.events.webhook_secrets import signing_secret
from curtsy.store import Store
from support.engine import Engine, until
from support.mail_server import MailServer, mail_server
from support.patience import PATIENCE

CERTIFICATE = Path(__file__).parents[1] / "fetch/self_signed.pem"
MAIL = {"kind": "mail", "host": "127.0.0.1", "private": True, "tls": "none",
        "from": "curtsy@example.com", "to": ["ops@example.com", "night@example.com"]}  # fmt: skip


@dataclass
class Receiver:
    port: int = 0
    answers: list[int] = field(default_factory=list)
    """The statuses of the first answers; then 200."""
    held: asyncio.Event | None = None
    """Answers nobody until it is set."""
    heard: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def answer(self, request: web.Request) -> web.Response:
        self.heard.append((request.path, dict(request.headers), await request.read()))
        if self.held is not None:
            await self.held.wait()
        return web.Response(status=self.answers.pop(0) if self.answers else 200)


@asynccontextmanager
async def listening() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/{any:.*}", receiver.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        if receiver.held is not None:
            receiver.held.set()
        await runner.cleanup()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with listening() as one:
        yield one


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(delivery_attempts, "FIRST_WAIT", 50)


@dataclass
class Office:
    store: Store
    clock: Clock
    ask: Engine

    async def declare(self, **channels: dict[str, Any]) -> None:
        sections = {name: ChannelFields.model_validate({"severity": "info"} | fields)
                    for name, fields in channels.items()}  # fmt: skip
        await self.store.write(lambda c: apply_channels(c, sections, now=self.clock.now()))

    async def change(
        self, *channels: str, phase: Phase = Phase.FIRING, incident: int = 1,
        rule: str = "no_worker", subject: str = "", says: str = "No worker.",
    ) -> None:  # fmt: skip
        data = {"value": 0.0, "fired_at": self.clock.now(), "severity": "critical", "says": says,
                "to_do": "Start one.", "metric": "live_workers", "threshold": 1.0}  # fmt: skip
        plan = Plan(changes=[Change(rule, subject, incident, phase, data)])
        if phase is Phase.FIRING:
            plan.announcements.extend(
                Announcement(rule, subject, incident, channel) for channel in channels
            )
        now, version = self.clock.now(), self.clock.version
        standing = await self.store.read(read_standing)
        assert await self.store.write(
            lambda c: write_plan(c, standing, plan, now=now, clock_version=version)
        )

    @asynccontextmanager
    async def sending(self, processes: int = 1) -> AsyncIterator[None]:
        notifiers = [Notifier(store=self.store, clock=self.clock, user_agent="test", allow=())
                     for _ in range(processes)]  # fmt: skip
        tasks = []
        for one in notifiers:
            await one.__aenter__()
            tasks.append(asyncio.create_task(one.run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for one in notifiers:
                await one.__aexit__()

    async def states(self) -> list[str]:
        rows = await self.ask.query("SELECT channel, state FROM alert_deliveries ORDER BY id")
        return [f"{row.channel} {row.state}" for row in rows]

    async def all_are(self, state: str) -> None:
        async def done() -> bool:
            return all(one.endswith(state) for one in await self.states())

        await until(done, 20, lambda: f"not all are {state}")

    async def errors(self) -> list[str]:
        async def tried() -> bool:
            rows = await self.ask.query("SELECT error FROM alert_deliveries")
            return all(row.error for row in rows)

        await until(tried, 20, lambda: "not all were tried")
        return [row.error for row in await self.ask.query("SELECT error FROM alert_deliveries")]


@pytest.fixture
def office(store: Store, clock: Clock, ask: Engine) -> Office:
    return Office(store, clock, ask)


async def test_each_kind_of_receiver_gets_its_own_form(office: Office, receiver: Receiver) -> None:
    kinds = ("json", "slack", "discord", "teams", "ntfy")
    await office.declare(**{
        kind: {"kind": kind, "url": f"{receiver.url}/{kind}", "private": True} for kind in kinds
    })  # fmt: skip
    says = "A <!channel> of [shop](http://x) & more"
    await office.change(*kinds, subject="shop\nBcc: x", says=says)
    async with office.sending():
        await office.all_are("delivered")
    told = {path: json.loads(body) for path, _headers, body in receiver.heard}
    assert told["/hook/json"]["says"] == says
    assert told["/hook/json"]["id"] == "alert-1"
    assert told["/hook/json"]["phase"] == "firing"
    assert "A &lt;!channel&gt; of" in told["/hook/slack"]["text"]
    assert told["/hook/discord"]["allowed_mentions"] == {"parse": []}
    assert told["/hook/discord"]["embeds"][0]["title"] == "[FIRING] no_worker (shop Bcc: x)"
    card = told["/hook/teams"]["attachments"][0]["content"]
    assert "\\[shop\\](http://x)" in card["body"][1]["text"]
    assert told["/hook"]["topic"] == "ntfy"
    assert told["/hook"]["priority"] == 5
    ids = {headers["Curtsy-Delivery"] for _path, headers, _body in receiver.heard}
    assert ids == {"alert-1"}, "the change has one name everywhere"


async def test_plain_json_is_signed_like_other_webhooks(office: Office, receiver: Receiver) -> None:
    await office.declare(a={"kind": "json", "url": receiver.url, "private": True})
    await office.change("a")
    async with office.sending():
        await office.all_are("delivered")
    [(_path, headers, body)] = receiver.heard
    secret = await office.store.write(lambda c: signing_secret(c, None, now=office.clock.now()))
    parts = dict(part.split("=") for part in headers["Curtsy-Signature"].split(","))
    expected = hmac.new(secret.secret.encode(), f"{parts['t']}.".encode() + body, hashlib.sha256)
    assert parts["v1"] == expected.hexdigest()


async def test_a_receiver_that_hangs_holds_up_nothing(office: Office, receiver: Receiver) -> None:
    receiver.held = asyncio.Event()
    async with listening() as other, mail_server(MailServer(held=asyncio.Event())) as post:
        await office.declare(
            hangs={"kind": "slack", "url": receiver.url, "private": True},
            mail=MAIL | {"port": post.port},
            works={"kind": "slack", "url": other.url, "private": True},
        )
        for incident in range(30):
            await office.change("hangs", "mail", "works", incident=incident, subject=str(incident))
        async with office.sending(2):

            async def heard() -> bool:
                return len(other.heard) == 30

            await until(heard, 30, lambda: f"heard {len(other.heard)}")
            assert len(receiver.heard) <= 2 * AT_ONE_CHANNEL, "of each of the two senders"


async def test_a_message_that_is_refused_is_sent_again_and_given_up_in_the_end(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_attempts, "MOST_ATTEMPTS", 3)
    receiver.answers = [500, 404, 200, 500, 500, 500]
    await office.declare(a={"kind": "discord", "url": receiver.url, "private": True})
    await office.change("a")
    async with office.sending():
        await office.all_are("delivered")
        await office.change("a", incident=2)

        async def given_up() -> bool:
            return await office.states() == ["a delivered", "a failed"]

        await until(given_up, 20, lambda: "it is not given up")
    assert len(receiver.heard) == 6
    assert await office.ask.query("SELECT error FROM alert_deliveries WHERE state = 'failed'") == [
        ("The receiver answered 500.",)]  # fmt: skip


async def test_a_resolution_waits_until_its_firing_arrived(
    office: Office, receiver: Receiver
) -> None:
    receiver.answers = [500, 500]
    await office.declare(a={"kind": "json", "url": receiver.url, "private": True})
    await office.change("a")
    await office.change(phase=Phase.RESOLVED)
    async with office.sending(2):
        await office.all_are("delivered")
    phases = [json.loads(body)["phase"] for _path, _headers, body in receiver.heard]
    assert phases == ["firing", "firing", "firing", "resolved"]


async def test_a_channel_goes_nowhere_that_is_not_public_unless_exactly_it_may(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="private = true"):
        ChannelFields.model_validate({"kind": "json", "url": receiver.url})
    monkeypatch.setenv("HOOK", receiver.url)
    async with mail_server(MailServer()) as post:
        await office.declare(
            hook={"kind": "json", "url": "env:HOOK"},
            name={"kind": "slack", "url": f"http://a.localhost.example:{receiver.port}/"},
            mail=MAIL | {"private": False, "port": post.port},
        )
        await office.change("hook", "mail")
        async with office.sending():
            errors = await office.errors()
        assert post.commands == []
    assert receiver.heard == []
    assert sorted(errors) == [
        "Channel hook: the host of the url is this machine: `private = true` allows exactly it.",
        "We may not connect to 127.0.0.1: it is this machine.",
    ]


async def test_a_redirect_is_not_followed(office: Office, receiver: Receiver) -> None:
    receiver.answers = [307]
    await office.declare(a={"kind": "json", "url": receiver.url, "private": True})
    await office.change("a")
    async with office.sending():
        assert await office.errors() == ["The receiver answered 307."]


async def test_a_missing_secret_is_named_and_its_message_waits_for_it(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await office.declare(a={"kind": "slack", "url": "env:HOOK", "private": True})
    await office.change("a")
    async with office.sending():
        assert await office.errors() == ["The secret env:HOOK is not set or empty."]
        monkeypatch.setenv("HOOK", receiver.url)
        await office.all_are("delivered")
    [stored] = await office.ask.query("SELECT declared FROM alert_channels")
    assert receiver.url not in stored.declared


async def test_a_channel_that_left_the_file_is_given_up(office: Office) -> None:
    await office.declare(a={"kind": "slack", "url": "https://hooks.example.com/x"})
    await office.change("a")
    await office.declare()
    async with office.sending():
        await office.all_are("failed")


async def test_a_message_of_a_killed_sender_is_sent_by_another_with_the_same_id(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "CLAIM_FOR", 300)
    receiver.held = asyncio.Event()
    await office.declare(a={"kind": "json", "url": receiver.url, "private": True})
    await office.change("a")

    async def heard() -> bool:
        return bool(receiver.heard)

    async with office.sending():
        await until(heard, 20, lambda: "nothing was sent")
    receiver.held.set()
    async with office.sending():
        await office.all_are("delivered")
    assert len({json.loads(body)["id"] for _path, _headers, body in receiver.heard}) == 1
    assert len(receiver.heard) == 2


async def test_a_test_message_says_that_nothing_is_wrong(
    office: Office, receiver: Receiver
) -> None:
    await office.declare(a={"kind": "slack", "url": receiver.url, "private": True})
    await office.store.write(lambda c: insert_test(c, "a", now=office.clock.now()))
    async with office.sending():
        await office.all_are("delivered")
    assert b"Nothing is wrong" in receiver.heard[0][2]


@pytest.fixture
def tls(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return context


@pytest.mark.parametrize("how", ["none", "starttls", "implicit"])
async def test_a_mail_is_sent_by_smtp_with_login_and_tls(
    office: Office, tls: ssl.SSLContext, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "s3cret")
    server = MailServer(tls=None if how == "none" else tls, implicit=how == "implicit",
                        login=("curtsy", "s3cret"))  # fmt: skip
    async with mail_server(server):
        await office.declare(a=MAIL | {
            "port": server.port, "tls": how, "username": "curtsy", "password": "env:SMTP_PASSWORD",
        })  # fmt: skip
        await office.change("a", subject="shop\r\nBcc: all@example.com", says="A.\r\n.\r\nB.")
        async with office.sending():
            await office.all_are("delivered")
    assert ("STARTTLS" in server.commands) == (how == "starttls")
    [(sender, receivers, text)] = server.mails
    assert sender.lower().startswith("mail from:<curtsy@example.com>")
    assert len(receivers) == 2
    found = message_from_string(text.removesuffix(".\r\n"), policy=default)
    assert found["Subject"] == "[FIRING] no_worker (shop Bcc: all@example.com)"
    assert found["Bcc"] is None
    assert found["Message-ID"] == "<alert-1@example.com>"
    assert "Start one." in found.get_content()


@pytest.mark.parametrize(("answers", "says"), [
    ({"RCPT": "550 unknown"}, "The mail server refused ops@example.com, night@example.com."),
    ({"MAIL": "451 later"}, "The mail server answered 451."),
    ({"EHLO": "500 \x1b[31mwhat"}, "The mail server answered 500."),
    ({"DATA": "garbage"}, "The mail server does not speak SMTP."),
])  # fmt: skip
async def test_what_a_mail_server_refuses_is_a_sentence(
    office: Office, answers: dict[str, str], says: str
) -> None:
    if "EHLO" in answers:
        answers |= {"HELO": answers["EHLO"]}
    async with mail_server(MailServer(answers=answers)) as server:
        await office.declare(a=MAIL | {"port": server.port})
        await office.change("a")
        async with office.sending():
            [error] = await office.errors()
    assert error.startswith(says), error
    assert "\x1b" not in error


async def test_a_mail_that_one_receiver_refuses_is_not_sent_again_to_the_others(
    office: Office,
) -> None:
    async with mail_server(MailServer(unknown="night@example.com")) as server:
        await office.declare(a=MAIL | {"port": server.port})
        await office.change("a")
        async with office.sending():
            await office.all_are("delivered")
    [(_, receivers, _)] = server.mails
    assert ["ops@example.com" in one for one in receivers] == [True]


@pytest.mark.parametrize("reply", ["421 too many mails", "250 fine", "garbage", None])
async def test_a_mail_that_was_taken_is_delivered_whatever_the_server_says_at_the_end(
    office: Office, monkeypatch: pytest.MonkeyPatch, reply: str | None
) -> None:
    monkeypatch.setattr(mail, "TOTAL_SECONDS", 2.0)
    async with mail_server(MailServer(answers={"QUIT": reply})) as server:
        await office.declare(a=MAIL | {"port": server.port})
        await office.change("a")
        async with office.sending():
            await office.all_are("delivered")
    assert len(server.mails) == 1


async def test_a_channel_that_was_disabled_gets_nothing_of_what_waited_for_it(
    office: Office, receiver: Receiver
) -> None:
    fields = {"kind": "json", "url": receiver.url, "private": True}
    await office.declare(a=fields)
    await office.change("a")
    await office.declare(a=fields | {"enabled": False})
    async with office.sending():
        await office.all_are("failed")
        assert await office.errors() == ["The channel a is disabled, or declared no longer."]
    assert receiver.heard == []


async def test_a_password_is_never_sent_without_the_tls_that_the_channel_wants(
    office: Office,
) -> None:
    stranger = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    stranger.load_cert_chain(CERTIFICATE)
    plain, not_trusted = MailServer(login=("a", "b")), MailServer(tls=stranger, login=("a", "b"))
    for server in (plain, not_trusted):
        async with mail_server(server):
            await office.declare(a=MAIL | {"port": server.port, "tls": "starttls",
                                           "username": "a", "password": "b"})  # fmt: skip
            await office.store.write(lambda c: insert_test(c, "a", now=office.clock.now()))
            async with office.sending():
                await office.errors()
        assert "AUTH" not in server.commands
        assert server.mails == []


async def test_a_mail_server_that_hangs_is_given_up_in_time(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "TOTAL_SECONDS", 0.3)
    async with mail_server(MailServer(held=asyncio.Event())) as server:
        await office.declare(a=MAIL | {"port": server.port})
        await office.change("a")
        async with office.sending():
            assert await office.errors() == ["The mail server 127.0.0.1 did not answer in time."]


@pytest.mark.parametrize("how", ["starttls", "implicit"])
async def test_a_mail_server_that_answers_without_end_within_tls_holds_no_thread(
    office: Office, tls: ssl.SSLContext, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "TOTAL_SECONDS", 0.5)
    server = MailServer(tls=tls, implicit=how == "implicit", drips=True)
    async with mail_server(server), asyncio.timeout(PATIENCE):
        await office.declare(a=MAIL | {"port": server.port, "tls": how})
        await office.change("a")
        async with office.sending():
            assert await office.errors() == ["The mail server 127.0.0.1 did not answer in time."]
            await server.left.wait()
