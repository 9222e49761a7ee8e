"""The fields of a page that is requested with a method of its own: POST or PUT, with a body."""

import hashlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlencode

import orjson
from pydantic import BaseModel, Field, model_validator

from curtsy.model.page_body import MOST_BODY_BYTES, Method, PageBody, checked_body

MOST_FORM_FIELDS = 1_000
BODY_FIELDS = frozenset({"method", "json", "form", "body", "content_type", "idempotent"})
_JSON_TYPE = "application/json"
_FORM_TYPE = "application/x-www-form-urlencoded"
_TEXT_TYPE = "text/plain; charset=utf-8"

FormValue = str | Annotated[list[str], Field(max_length=MOST_FORM_FIELDS)]

with warnings.catch_warnings():
    # The field has the word that everyone expects; it hides an outdated method of BaseModel.
    warnings.filterwarnings("ignore", 'Field name "json"')

    class BodyFields(BaseModel):
        """Checked together: a page has at most one body, and only with POST or PUT."""

        method: Literal["GET", "POST", "PUT"] | None = None
        """Default: POST with a body, GET without one."""
        json: dict[str, Any] | list[Any] | None = None  # type: ignore[assignment]
        """A body of JSON."""
        form: Annotated[dict[str, FormValue], Field(max_length=MOST_FORM_FIELDS)] | None = None
        """A body as HTML forms send it; a list stands for several fields of one name."""
        body: Annotated[str, Field(max_length=MOST_BODY_BYTES)] | None = None
        """A body as it is, in UTF-8."""
        content_type: str | None = Field(None, max_length=200)
        """Of `body`; default: plain text."""
        idempotent: bool = False
        """A POST may be sent again if its answer was lost, like a GET. Without this it is not: it
        may have changed the site."""

        @model_validator(mode="after")
        def _check_body(self) -> Self:
            if self.model_fields_set & BODY_FIELDS:
                _require_sense(self)
                self.page_body()
            return self

        def page_body(self) -> PageBody | None:
            """None: the page is requested with GET. Raises `ValueError`."""
            if not self.model_fields_set & BODY_FIELDS or (method := _method(self)) is None:
                return None
            text, content_type = _encoded(self)
            try:
                return checked_body(PageBody(method, text, content_type, self.idempotent))
            except ValueError as wrong:
                raise ValueError(f"The body {wrong}.") from None


def request_hash(without: Mapping[str, Any], bodies: Sequence[PageBody | None]) -> str:
    """The hash of a parsed request, not of its spelling. One whose pages have no bodies has the
    hash that it had before there were any."""
    packed = orjson.dumps(without, option=orjson.OPT_SORT_KEYS)
    if any(body is not None for body in bodies):
        packed += orjson.dumps([body.stored() if body else None for body in bodies])
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


def hashed(body: BaseModel, newer: Collection[str], dump: dict[str, Any]) -> dict[str, Any]:
    """The dump of the body without those of its newer fields that have their default: a request
    has the hash that programs gave it which did not know them, also across an upgrade."""
    defaults = {name: type(body).model_fields[name].get_default(call_default_factory=True)
                for name in newer}  # fmt: skip
    return {name: value for name, value in dump.items()
            if name not in defaults or value != defaults[name]}  # fmt: skip


def _method(given: BodyFields) -> Method | None:
    if given.method is None:
        return Method.POST if _kinds(given) else None
    return None if given.method == "GET" else Method(given.method)


def _kinds(given: BodyFields) -> list[str]:
    return [name for name in ("json", "form", "body") if getattr(given, name) is not None]


def _require_sense(given: BodyFields) -> None:
    kinds, method = _kinds(given), _method(given)
    if len(kinds) > 1:
        raise ValueError(f"A page has one body, not {' and '.join(kinds)}.")
    if kinds and method is None:
        raise ValueError(f"A GET has no body: leave out {kinds[0]}, or the method.")
    if given.content_type is not None and kinds != ["body"]:
        raise ValueError("content_type belongs to body: json and form have their own.")
    if given.idempotent and method is not Method.POST:
        raise ValueError("idempotent belongs to a POST: any other request may be sent again.")


def _encoded(given: BodyFields) -> tuple[str, str | None]:
    if given.json is not None:
        try:
            return orjson.dumps(given.json).decode(), _JSON_TYPE
        except TypeError as error:
            raise ValueError(f"The body is not JSON that can be sent: {error}.") from None
    if given.form is not None:
        try:
            return urlencode(given.form, doseq=True), _FORM_TYPE
        except UnicodeEncodeError:
            raise ValueError("The form is not UTF-8 text.") from None
    if given.body is not None:
        return given.body, given.content_type or _TEXT_TYPE
    return "", None
