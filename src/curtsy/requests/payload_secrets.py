"""The secrets in a schedule's payload: header values, cookies and webhook URLs. They are stored to
be sent, masked where the payload is shown, and kept where a change sends the mask back. In the
schedules file headers and URLs may be references, which are read when a slot fires."""

from collections.abc import Callable, Mapping
from typing import Any

from curtsy.errors import BadRequest
from curtsy.model.masks import MASK, masked_headers, masked_url
from curtsy.model.urls import BadUrl, origin
from curtsy.references import (
    ONLY_IN_FILES,
    SecretMissing,
    as_stored,
    from_stored,
    reference_in,
    resolved,
)

Payload = Mapping[str, Any]
NOT_BEHIND = (
    "The header {name} is {shown}, which only stands for its value, and no such header is stored "
    "for these hosts: write the real value."
)
NO_COOKIES_BEHIND = (
    "The cookies are ***, which only stands for them, and none are stored for these hosts: send "
    "the cookies.txt."
)


def masked(payload: Payload) -> dict[str, Any]:
    """The payload as it is shown to callers."""
    return _changed(payload, lambda _door, given: masked_headers(given),
                    lambda _door, given: masked_url(given), lambda _door, _given: MASK)  # fmt: skip


def with_references(payload: Payload) -> dict[str, Any]:
    """The payload of a section of the schedules file as it is stored: references are objects, as no
    text that comes through the API can be."""
    return _changed(payload, lambda _door, given: {n: as_stored(v) for n, v in given.items()},
                    lambda _door, given: as_stored(given))  # fmt: skip


def with_secrets(payload: Payload) -> dict[str, Any]:
    """The stored payload with the secrets that it refers to. Raises `BadRequest`."""

    def read(value: Any) -> str:
        return resolved(from_stored(value))

    try:
        return _changed(payload, lambda _door, stored: {n: read(v) for n, v in stored.items()},
                        lambda _door, stored: read(stored))  # fmt: skip
    except SecretMissing as missing:
        raise BadRequest([str(missing)]) from None


def require_no_references(payload: Payload) -> None:
    """Raises `BadRequest` for a reference that a caller of the API has sent."""

    def refuse(what: str, given: Any) -> Any:
        if isinstance(given, str) and reference_in(given) is not None:
            raise BadRequest([f"{what} {ONLY_IN_FILES}."])
        return given

    _changed(payload, lambda _door, given: {n: refuse(n, v) for n, v in given.items()},
             lambda _door, given: refuse("webhook_url", given))  # fmt: skip


def with_stored_secrets(given: Payload, stored: Payload) -> dict[str, Any]:
    """Puts the stored secrets in the place of their masks. Raises `BadRequest` for a mask without
    a secret behind it, and where the secret would be sent to another place than before."""

    def headers(door: str, sent: Mapping[str, Any]) -> dict[str, Any]:
        known = {name.lower(): value for name, value in _headers(stored, door).items()}
        shown = masked_headers(known)
        masks = [name for name, value in sent.items() if value == MASK
                 or (reference_in(value) and value == shown.get(name.lower()))]  # fmt: skip
        for name in masks:
            if name.lower() not in known or not _leads_nowhere_else(given, stored, door):
                raise BadRequest([NOT_BEHIND.format(name=name, shown=sent[name])])
        return dict(sent) | {name: known[name.lower()] for name in masks}

    def webhook(door: str, sent: str) -> Any:
        known = (stored.get(door) or {}).get("webhook_url")
        return known if known is not None and sent == masked_url(known) else sent

    def cookies(door: str, sent: str) -> str:
        if sent != MASK:
            return sent
        known: str | None = _cookies(stored, door)
        if known is None or not _leads_nowhere_else(given, stored, door):
            raise BadRequest([NO_COOKIES_BEHIND])
        return known

    return _changed(given, headers, webhook, cookies)


def _changed(
    payload: Payload,
    headers: Callable[[str, Mapping[str, Any]], dict[str, Any]],
    webhook: Callable[[str, Any], Any],
    cookies: Callable[[str, str], str] = lambda _door, given: given,
) -> dict[str, Any]:
    """A copy of the payload, with each secret replaced by what a function makes of it."""
    copy = dict(payload)
    for door, work in payload.items():
        if not isinstance(work, Mapping):
            continue
        copy[door] = new = dict(work)
        if new.get("webhook_url"):
            new["webhook_url"] = webhook(door, new["webhook_url"])
        if new.get("headers"):
            new["headers"] = headers(door, new["headers"])
        if isinstance(new.get("cookies"), str):
            new["cookies"] = cookies(door, new["cookies"])
        params = new.get("params")
        if not isinstance(params, Mapping):
            continue
        if params.get("headers"):
            new["params"] = params = dict(params) | {"headers": headers(door, params["headers"])}
        if isinstance(params.get("cookies"), str):
            new["params"] = dict(params) | {"cookies": cookies(door, params["cookies"])}
    return copy


def _headers(payload: Payload, door: str) -> Mapping[str, Any]:
    work = payload.get(door) or {}
    found: Mapping[str, Any] = work.get("headers") or _params(work).get("headers") or {}
    return found


def _cookies(payload: Payload, door: str) -> Any:
    work = payload.get(door) or {}
    return work.get("cookies") or _params(work).get("cookies")


def _leads_nowhere_else(given: Payload, stored: Payload, door: str) -> bool:
    """Whether the headers are sent only where they were sent before: who may not read a secret
    must not send it to a server of their own either."""
    new, old = given[door], stored[door]
    same_scope = _params(new).get("scope", "host") == _params(old).get("scope", "host")
    return same_scope and _origins(new) <= _origins(old)


def _params(work: Mapping[str, Any]) -> Mapping[str, Any]:
    return work.get("params") or {}


def _origins(work: Mapping[str, Any]) -> set[str]:
    urls = [*work.get("start_urls", ()), *(one["url"] for one in work.get("articles", ()))]
    urls += [work["url"]] if isinstance(work.get("url"), str) else []
    for given in (work.get("start") or {}).values():
        urls += [given] if isinstance(given, str) else given if isinstance(given, list) else []
    found = set()
    for url in urls:
        try:
            found.add(origin(url))
        except BadUrl:  # the payload is checked later, and refused
            found.add(url)
    return found
