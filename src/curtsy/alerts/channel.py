"""A channel: where messages about alerts go, as the operator declares it in `alerts.toml`.

Only the operator's file declares channels; the API cannot. The addresses of channels pass the
guard like those of any request. `private = true` exempts one channel, and thereby exactly its host
and port.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from curtsy.fetch.guard import blocked_port, refusal_by_name
from curtsy.model.masks import masked_url
from curtsy.model.urls import BadUrl, as_given
from curtsy.references import SecretMissing, as_stored, from_stored, reference_in, resolved

Kind = Literal["json", "slack", "discord", "teams", "ntfy", "mail"]
Tls = Literal["starttls", "implicit", "none"]
PORTS: dict[str, int] = {"starttls": 587, "implicit": 465, "none": 25}
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}")
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}|\[?[0-9a-fA-F:.]{2,45}\]?")


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("it must be a plain mail address such as ops@example.com")
    return text


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("it must be the name or the address of a host")
    return text.strip("[]")


Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"^[^\x00-\x1f]+$")]
MailAddress = Annotated[str, AfterValidator(_address)]


class ChannelFields(BaseModel):
    """A table `[channels.NAME]` of `alerts.toml`."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    severity: Literal["info", "warning", "critical"] = "warning"
    """The least severity of the alerts whose messages it gets."""
    private: bool = False
    """The host may have an address that is not public."""
    enabled: bool = True
    url: Text | None = None
    """A secret, or a reference to one."""
    token: Text | None = None
    """For ntfy: an access token; a secret."""
    host: Annotated[str, AfterValidator(_host)] | None = None
    port: int | None = Field(None, ge=1, le=65_535)
    tls: Tls = "starttls"
    username: Text | None = None
    password: Text | None = None
    sender: MailAddress | None = Field(None, alias="from")
    to: list[MailAddress] | None = Field(None, min_length=1, max_length=50)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        mail = ("host", "port", "username", "password", "sender", "to")
        if self.kind == "mail":
            self._require("host", "sender", "to")
            self._refuse("url", "token")
            if (self.username is None) != (self.password is None):
                raise ValueError("username and password belong together")
            if self.password is not None and self.tls == "none" and not self.private:
                raise ValueError("a password needs tls: starttls or implicit")
        else:
            self._require("url")
            self._refuse(*mail, *(() if self.kind == "ntfy" else ("token",)))
            _check_url(self.kind, self.url or "", private=self.private)
        return self

    def _require(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) is None:
                raise ValueError(f"{self.kind} needs {_toml_name(name)}")

    def _refuse(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise ValueError(f"{self.kind} has no {_toml_name(name)}")

    def declared(self) -> dict[str, Any]:
        """The channel as it is stored: references are objects."""
        values = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        secrets = {name: as_stored(values[name]) for name in _SECRETS if name in values}
        return values | secrets


_SECRETS = ("url", "token", "password")


def _toml_name(name: str) -> str:
    return "from" if name == "sender" else name


def _check_url(kind: str, text: str, *, private: bool) -> None:
    """Checks a URL that the file spells; one behind a reference is checked when it is used."""
    if reference_in(text) is None:
        web_url(kind, text, private=private)


def web_url(kind: str, text: str, *, private: bool) -> str:
    """Returns the URL in the spelling that is sent. Raises `ValueError` with a sentence that does
    not show the URL."""
    try:
        url = as_given(text)
    except BadUrl as problem:
        raise ValueError(f"the url {problem}") from None
    if (port := blocked_port(url.host)) is not None:
        raise ValueError(f"port {port} of the url is one that no request may go to")
    if not private and (means := refusal_by_name(url.host, ())):
        raise ValueError(f"the host of the url is {means}: `private = true` allows exactly it")
    if kind == "ntfy" and not url.text.partition("://")[2].partition("/")[2].strip("/"):
        raise ValueError("the url of ntfy ends with the topic, as in https://ntfy.sh/my-topic")
    return url.text


class Channel:
    """A stored channel."""

    def __init__(self, name: str, declared: dict[str, Any]) -> None:
        self.name, self._declared = name, declared
        self.kind: str = declared["kind"]
        self.severity: str = declared.get("severity", "warning")
        self.is_private: bool = declared.get("private", False)
        self.is_enabled: bool = declared.get("enabled", True)

    def secret(self, name: str) -> str | None:
        """Raises `SecretMissing`."""
        value = self._declared.get(name)
        return None if value is None else resolved(from_stored(value))

    def url(self) -> str:
        """Raises `SecretMissing`, also for a secret that is no URL."""
        text = self.secret("url") or ""
        try:
            return web_url(self.kind, text, private=self.is_private)
        except ValueError as wrong:
            raise SecretMissing(f"Channel {self.name}: {wrong}.") from None

    def field(self, name: str) -> Any:
        return self._declared.get(name)

    @property
    def port(self) -> int:
        """Of the mail server."""
        return int(self._declared.get("port") or PORTS[self._declared.get("tls", "starttls")])

    @property
    def shown(self) -> str:
        """Where it leads, without secrets."""
        if self.kind == "mail":
            return f"{', '.join(self.field('to'))} by {self.field('host')}:{self.port}"
        return masked_url(self.field("url"))
