"""The fields with which a request asks for a session, and the session that they become."""

import secrets
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from curtsy.errors import BadRequest
from curtsy.jobs.job_request import JobSession
from curtsy.model.masks import MASK
from curtsy.requests.cookie_file import BadCookies, cookies_for, parse_cookies


def _checked(text: str) -> str:
    """Raises ValueError with a sentence that has none of the cookies in it. The mask stands for
    cookies that are stored, if any are."""
    try:
        if text != MASK:
            parse_cookies(text)
    except BadCookies as bad:
        raise ValueError(str(bad).rstrip(".")) from None
    return text


Cookies = Annotated[str, AfterValidator(_checked), Field(min_length=1)]


def job_session(urls: Iterable[str], *, session: bool, cookies: str | None) -> JobSession | None:
    """The session of a job with these URLs; None: it has none. Raises `BadRequest`."""
    if not session and cookies is None:
        return None
    try:
        given = () if cookies is None else cookies_for(cookies, urls)
    except BadCookies as bad:
        raise BadRequest([str(bad)]) from None
    return JobSession(f"job_{secrets.token_hex(12)}", given)
