"""What a message about a change says, and its body in the form of each kind of receiver."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from curtsy.clock import rfc3339, rfc3339_or_none
from curtsy.terminal import STEERING

LONGEST_TEXT = 1_500
COLOURS: Mapping[str, int] = {"critical": 0xC0392B, "warning": 0xD68910, "info": 0x2E86C1}
RESOLVED_COLOUR = 0x1E8449
_PRIORITIES: Mapping[str, int] = {"critical": 5, "warning": 4, "info": 3}


@dataclass(frozen=True, slots=True)
class Message:
    """One change of one alert, or a test."""

    id: str
    """Names the change, the same in every attempt and on every channel: a receiver that knows it
    has the message already."""
    rule: str
    subject: str
    phase: str
    """firing, resolved, or test"""
    severity: str
    says: str
    at: int
    to_do: str | None = None
    value: float | None = None
    threshold: float | None = None
    incident: int | None = None
    fired_at: int | None = None

    @property
    def title(self) -> str:
        about = f" ({self.subject})" if self.subject else ""
        return one_line(f"[{self.phase.upper()}] {self.rule}{about}", 200)

    @property
    def text(self) -> str:
        return one_line(" ".join(part for part in (self.says, self.to_do) if part), LONGEST_TEXT)

    @property
    def colour(self) -> int:
        return RESOLVED_COLOUR if self.phase == "resolved" else COLOURS[self.severity]


def one_line(text: str, most: int) -> str:
    """The text on one line, without control characters."""
    line = " ".join(STEERING.sub(" ", text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def as_json(message: Message) -> dict[str, Any]:
    """The message as programs get it: on channels of kind json, and among the events."""
    return {
        "type": "alert", "id": message.id, "rule": message.rule, "subject": message.subject,
        "phase": message.phase, "severity": message.severity, "incident": message.incident,
        "says": message.says, "to_do": message.to_do, "value": message.value,
        "threshold": message.threshold, "at": rfc3339(message.at),
        "fired_at": rfc3339_or_none(message.fired_at),
    }  # fmt: skip


def _slack(message: Message, _url: str) -> dict[str, Any]:
    text = _slack_escaped(message.text)
    title = _slack_escaped(message.title)
    return {
        "text": f"{title}: {text}",
        "attachments": [{"color": f"#{message.colour:06x}", "title": title, "text": text,
                         "fallback": f"{title}: {text}", "footer": f"curtsy {message.id}",
                         "ts": message.at // 1000}],
    }  # fmt: skip


def _slack_escaped(text: str) -> str:
    """Slack reads `<!channel>` as a mention of everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _discord(message: Message, _url: str) -> dict[str, Any]:
    return {
        "username": "curtsy",
        "allowed_mentions": {"parse": []},  # a page's text mentions nobody
        "embeds": [{"title": message.title, "description": message.text, "color": message.colour,
                    "timestamp": rfc3339(message.at), "footer": {"text": message.id}}],
    }  # fmt: skip


def _teams(message: Message, _url: str) -> dict[str, Any]:
    """An adaptive card, as the webhooks of Teams workflows take it."""
    colours = {"critical": "Attention", "warning": "Warning", "info": "Accent"}
    colour = "Good" if message.phase == "resolved" else colours[message.severity]
    body = [
        {"type": "TextBlock", "text": _plain(message.title), "weight": "Bolder", "size": "Medium",
         "color": colour, "wrap": True},
        {"type": "TextBlock", "text": _plain(message.text), "wrap": True},
        {"type": "TextBlock", "text": f"{rfc3339(message.at)} · {message.id}", "isSubtle": True,
         "size": "Small", "wrap": True},
    ]  # fmt: skip
    card = {"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.4",
            "type": "AdaptiveCard", "body": body}  # fmt: skip
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [
        {"contentType": content_type, "contentUrl": None, "content": card}]}  # fmt: skip


def _plain(text: str) -> str:
    """Takes the links out of a text that Teams reads as Markdown."""
    return text.replace("[", "\\[").replace("]", "\\]")


def _ntfy(message: Message, url: str) -> dict[str, Any]:
    tag = "white_check_mark" if message.phase == "resolved" else "warning"
    priority = 3 if message.phase == "resolved" else _PRIORITIES[message.severity]
    return {"topic": urlsplit(url).path.strip("/").rpartition("/")[2], "title": message.title,
            "message": message.text, "priority": priority, "tags": [tag]}  # fmt: skip


_TEMPLATES: Mapping[str, Callable[[Message, str], dict[str, Any]]] = {
    "json": lambda message, _url: as_json(message), "slack": _slack,
    "discord": _discord, "teams": _teams, "ntfy": _ntfy,
}  # fmt: skip


def body_of(kind: str, message: Message, url: str) -> bytes:
    """The JSON body of a POST to a receiver of this kind."""
    return orjson.dumps(_TEMPLATES[kind](message, url))


def address_of(kind: str, url: str) -> str:
    """Where the body goes: ntfy takes JSON at its root, and the topic in it."""
    if kind != "ntfy":
        return url
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{parts.path.strip('/').rpartition('/')[0]}"
