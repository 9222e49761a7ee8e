"""The login of a source as users write and read it."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from curtsy.errors import BadRequest
from curtsy.model.masks import MASK, masked_headers
from curtsy.model.origins import is_downgrade
from curtsy.model.urls import BadUrl, canonical
from curtsy.references import ONLY_IN_FILES, as_stored, reference_in

OWN_FILE = object()
"""The context in which a section of the sources file is validated: it may refer to secrets."""
MOST_FIELDS = 50


def _checked_url(text: str) -> str:
    try:
        return canonical(text).text
    except BadUrl as problem:
        raise ValueError(f"is not a URL that can be fetched: it {problem}") from None


def _checked_form(given: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    for name, value in given.items():
        if reference_in(value) is not None and info.context is not OWN_FILE:
            raise ValueError(f"{name[:100]} {ONLY_IN_FILES}")
    if MASK in given.values():
        raise ValueError(f"a field is {MASK}, which only masks its value: write the real value")
    return given


def _checked_selector(text: str) -> str:
    from curtsy.scrapers.selectors import problem_of  # the parser, for those who use selectors

    if (problem := problem_of(text)) is not None:
        raise ValueError(problem)
    return text


Url = Annotated[str, AfterValidator(_checked_url), Field(max_length=4_000)]
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Status = Annotated[int, Field(ge=100, le=599)]
Statuses = Annotated[
    list[Status],
    BeforeValidator(
        lambda given: [given] if isinstance(given, int) else given,
        json_schema_input_type=int | list[int],
    ),
    Field(min_length=1, max_length=20),
]


class SignFields(BaseModel):
    """What a response is recognised by."""

    model_config = ConfigDict(extra="forbid", strict=True)

    status: Statuses | None = None
    url: Text | None = None
    """The whole URL of the response, or of where it redirects to; `*` stands for any characters."""
    text: Text | None = None
    """Occurs in the body, exactly so."""
    selector: Annotated[Text, AfterValidator(_checked_selector)] | None = None
    """A CSS selector that matches an element."""

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if not any(getattr(self, name) is not None for name in type(self).model_fields):
            raise ValueError(f"give at least one of {', '.join(type(self).model_fields)}")
        return self


class SuccessFields(SignFields):
    """What shows that a login succeeded: all of the given signs."""

    cookie: Text | None = None
    """The name of a cookie that gets a new value."""


class LoginFields(BaseModel):
    """A login: the request that a session begins with, and how its success shows."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: Url
    """Where the form is sent: on one of the hosts of the source."""
    method: Literal["POST", "GET"] = "POST"
    form: Annotated[dict[Text, Annotated[str, Field(max_length=8_000)]],
                    AfterValidator(_checked_form)] = Field(
        default_factory=dict, max_length=MOST_FIELDS, repr=False)  # fmt: skip
    """The fields of the form. Their values are shown as ***."""
    send_as: Literal["form", "json"] = "form"
    form_from: Url | None = None
    """A page that is fetched first: the hidden fields of its form are sent along."""
    success: SuccessFields
    """What shows that it succeeded: all of these."""
    lost: SignFields | None = None
    """What shows that a page was fetched without the session: any of these. Default: status 401, or
    a redirect to `url` or `form_from`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.method == "GET" and self.form:
            raise ValueError("a login with GET has no form: its values would be in URLs")
        if self.form_from is not None:
            if canonical(self.form_from).host != canonical(self.url).host:
                raise ValueError("form_from and url are on different hosts")
            if is_downgrade(self.url, from_url=self.form_from):
                raise ValueError("the form of an https page would be sent in clear: url is http")
        return self

    def stored(self) -> dict[str, Any]:
        stored = self.model_dump(exclude_none=True)
        return stored | {"form": dict(self.form)}


def with_references(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The login of a section of the sources file as it is stored."""
    return dict(stored) | {"form": {name: as_stored(v) for name, v in stored["form"].items()}}


def masked_login(stored: Mapping[str, Any] | None) -> LoginFields | None:
    """The stored login as it is shown. Every value of the form is masked: whether one is a secret
    does not show in its name."""
    if stored is None:
        return None
    lost = stored.get("lost")
    return LoginFields.model_construct(**{
        **stored, "form": masked_headers(stored.get("form", {})),
        "success": SuccessFields.model_construct(**stored["success"]),
        "lost": None if lost is None else SignFields.model_construct(**lost),
    })  # fmt: skip


def check_login(stored: Mapping[str, Any] | None, name: str, hosts: Collection[str]) -> None:
    """Raises BadRequest for a login at a host that is not of the source: its requests would not be
    counted where they go."""
    if stored is None:
        return
    host = canonical(stored["url"]).host
    own = {*hosts, name}
    if not any(host == one or host.endswith(f".{one}") for one in own):
        raise BadRequest(
            [f"The login is at {host}, which is not a host of this source: add it to hosts."]
        )
