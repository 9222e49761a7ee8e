"""Recognises pages with status 200 that are not articles: error pages, consent walls, logins,
paywalls without a teaser, and pages that only scripts fill."""

import re
from collections.abc import Mapping
from typing import Any

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from curtsy.scrapers.articles.login_page import is_login_form, led_to_login
from curtsy.scrapers.articles.script_shell import words_without_scripts
from curtsy.scrapers.depth_check import is_too_deep

LEAST_TEXT = 60
"""Characters. A text shorter than a sentence or two is not an article."""
APOLOGY = 700
"""Characters. Error pages, consent walls and logins are shorter; articles about them are longer."""


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE)


_NOT_FOUND = _any_of(
    r"\b404\b", r"not found", r"could(n.t| not) (be found|find)", r"does(n.t| not) exist",
    r"no longer (exists|available|here)", r"is(n.t| not) available",
    r"nicht gefunden", r"existiert nicht", r"introuvable", r"n.existe (pas|plus)",
    r"no encontrad[ao]", r"no existe", r"non trovat[ao]", r"non esiste", r"não encontrad[ao]",
    r"niet gevonden", r"nie znaleziono", r"не найден",
)  # fmt: skip
_CONSENT = _any_of(
    r"(accept|allow|reject|manage|use)[^.]{0,40}cookies",
    r"cookie (policy|settings|preferences|consent)", r"our( \d+)? partners", r"your privacy",
    r"privacy settings", r"(give|withdraw|your) consent", r"legitimate interest",
    r"zustimmung", r"einwilligung", r"datenschutz", r"cookies? (akzeptieren|zulassen)",
    r"accepter (les|et)", r"consentement", r"aceptar (todas|las cookies)", r"accetta",
)  # fmt: skip
_WALL_SIGNS = 2


def no_article(found: Mapping[str, Any], reply: Reply, page: str) -> Failed | None:
    """Returns why the page is not an article; None: it is one. `page` is its HTML; empty: the
    page is plain text."""
    text, status = found.get("text") or "", reply.status
    if len(text) >= APOLOGY:
        return None
    if _is_gone(text, found.get("title") or ""):
        sentence = f"The host answered {status}, but the page says that it does not exist."
        return Failed(Kind.GONE, sentence, status)
    if (login := _login(reply, page)) is not None:
        return Failed(Kind.LOGIN_REQUIRED, f"The site asks for a login: {login}.", status)
    if _asks_for_consent(text):
        return Failed(Kind.EXTRACT_FAILED, "Only a request for consent is on the page.", status)
    if not found.get("paywall") and (words := _words_of_shell(text, page)) is not None:
        said = "1 word" if words == 1 else f"{words} words"
        sentence = f"This page needs JavaScript: its HTML has {said} of text."
        return Failed(Kind.NEEDS_JAVASCRIPT, sentence, status)
    if len(text) >= LEAST_TEXT:
        return None
    if found.get("paywall"):
        sentence = "The article has to be paid for, and the page shows no text of it."
        return Failed(Kind.PAYWALL, sentence, status)
    return Failed(Kind.EXTRACT_FAILED, "No article was found on the page.", status)


def _is_gone(text: str, title: str) -> bool:
    return bool(_NOT_FOUND.search(title) or (len(text) < APOLOGY // 2 and _NOT_FOUND.search(text)))


def _asks_for_consent(text: str) -> bool:
    return len({sign[0].lower() for sign in _CONSENT.finditer(text)}) >= _WALL_SIGNS


def _login(reply: Reply, page: str) -> str | None:
    """Returns how the page asks for a login; None: it does not."""
    if (place := led_to_login(reply.url, reply.asked_url)) is not None:
        return f"the page led to {place}"
    if not is_too_deep(page) and is_login_form(page):
        return "the page is a form for a name and a password"
    return None


def _words_of_shell(text: str, page: str) -> int | None:
    return words_without_scripts(page, text) if page and not is_too_deep(page) else None
