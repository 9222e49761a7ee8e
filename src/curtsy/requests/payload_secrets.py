"""The secrets in a schedule's payload: header values and webhook URLs. They are stored to be sent,
masked where the payload is shown, and kept where a change sends the mask back."""

from collections.abc import Callable, Mapping
from typing import Any

from curtsy.errors import BadRequest
from curtsy.model.masks import MASK, masked_headers, masked_url
from curtsy.model.urls import BadUrl, origin

Payload = Mapping[str, Any]
NOT_BEHIND = (
    f"The header {{name}} is {MASK}, which only masks its value, and no such header is stored for "
    "these hosts: write the real value."
)


def masked(payload: Payload) -> dict[str, Any]:
    """The payload as it is shown to callers."""
    return _changed(payload, lambda _door, given: masked_headers(given),
                    lambda _door, given: masked_url(given))  # fmt: skip


def with_stored_secrets(given: Payload, stored: Payload) -> dict[str, Any]:
    """Puts the stored secrets in the place of their masks. Raises `BadRequest` for a mask without
    a secret behind it, and where the secret would be sent to another place than before."""

    def headers(door: str, sent: Mapping[str, str]) -> dict[str, str]:
        known = {name.lower(): value for name, value in _headers(stored, door).items()}
        masks = [name for name, value in sent.items() if value == MASK]
        for name in masks:
            if name.lower() not in known or not _leads_nowhere_else(given, stored, door):
                raise BadRequest([NOT_BEHIND.format(name=name)])
        return dict(sent) | {name: known[name.lower()] for name in masks}

    def webhook(door: str, sent: str) -> str:
        known = (stored.get(door) or {}).get("webhook_url")
        return known if known is not None and sent == masked_url(known) else sent

    return _changed(given, headers, webhook)


def _changed(
    payload: Payload,
    headers: Callable[[str, Mapping[str, str]], dict[str, str]],
    webhook: Callable[[str, str], str],
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
        params = new.get("params")
        if isinstance(params, Mapping) and params.get("headers"):
            new["params"] = dict(params) | {"headers": headers(door, params["headers"])}
    return copy


def _headers(payload: Payload, door: str) -> Mapping[str, str]:
    work = payload.get(door) or {}
    found: Mapping[str, str] = work.get("headers") or _params(work).get("headers") or {}
    return found


def _leads_nowhere_else(given: Payload, stored: Payload, door: str) -> bool:
    """Whether the headers are sent only where they were sent before: who may not read a secret
    must not send it to a server of their own either."""
    new, old = given[door], stored[door]
    same_scope = _params(new).get("scope", "host") == _params(old).get("scope", "host")
    return same_scope and _origins(new) <= _origins(old)


def _params(work: Mapping[str, Any]) -> Mapping[str, Any]:
    return work.get("params") or {}


def _origins(work: Mapping[str, Any]) -> set[str]:
    urls = work.get("start_urls") or [one["url"] for one in work.get("articles", ())]
    found = set()
    for url in urls:
        try:
            found.add(origin(url))
        except BadUrl:  # the payload is checked later, and refused
            found.add(url)
    return found
