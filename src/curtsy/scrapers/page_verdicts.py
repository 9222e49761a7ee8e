"""Recognises pages with status 200 that are not articles: error pages and consent walls."""

import re
from collections.abc import Mapping
from typing import Any

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed

LEAST_TEXT = 60
"""Characters. A text shorter than a sentence or two is not an article."""
APOLOGY = 700
"""Characters. Error pages and consent walls are shorter; articles about them are longer."""


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


def no_article(found: Mapping[str, Any], status: int) -> Failed | None:
    """Returns why the page is not an article; None: it is one."""
    text, title = found.get("text") or "", found.get("title") or ""
    if len(text) < APOLOGY:
        if _NOT_FOUND.search(title) or (len(text) < APOLOGY // 2 and _NOT_FOUND.search(text)):
            sentence = f"The host answered {status}, but the page says that it does not exist."
            return Failed(Kind.GONE, sentence, status)
        if len({sign[0].lower() for sign in _CONSENT.finditer(text)}) >= _WALL_SIGNS:
            return Failed(Kind.EXTRACT_FAILED, "Only a request for consent is on the page.", status)
    if len(text) < LEAST_TEXT:
        return Failed(Kind.EXTRACT_FAILED, "No article was found on the page.", status)
    return None
