"""Tells whether a page keeps its article, or the rest of it, for those who pay."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from curtsy.scrapers.articles import json_ld
from curtsy.scrapers.articles.outline import Outline

TEASER = 1_500
"""Characters of writing with spaces. A longer text is no teaser, whatever stands around it."""
MOST_TEXT = 30_000
"""Characters of the page in which a prompt to pay is looked for."""
MOST_NAMED = 5_000
_TIERS = frozenset({"locked", "metered", "paid", "premium", "subscriber"})
_NAMES = re.compile(
    r"pay-?wall|reg-?wall|metered|subscri(?:ber|ption)s?-?(?:only|wall|required|prompt|offer|gate)"
    r"|(?:^|[\s_-])piano(?:[\s_-]|$)|tp-(?:modal|backdrop|container)|meter-?(?:wall|prompt)"
    r"|members?-?only|premium-?(?:wall|only|gate|overlay|content)|article-?(?:gate|locked|limit)"
    r"|locked-?(?:article|content)|content-?(?:gate|locked)|plus-?(?:wall|paywall|offer)",
    re.IGNORECASE,
)
_PROMPTS = (
    "subscribe to continue", "subscribe to read", "subscribe to keep reading",
    "subscribe now to read", "to continue reading", "to keep reading", "to read the full",
    "to read this article in full", "already a subscriber", "for subscribers only",
    "subscribers only", "exclusive to subscribers", "exclusively for subscribers",
    "for paying readers", "for paid subscribers", "free articles left",
    "reached your limit of free", "log in or subscribe", "start your free trial to",
    "jetzt weiterlesen", "weiterlesen mit", "um weiterzulesen", "nur für abonnent",
    "exklusiv für abonnent", "mit abo weiterlesen", "sie sind bereits abonnent",
    "bereits abonnent", "nur für mitglieder", "diesen artikel weiterlesen", "abonnez-vous pour",
    "réservé aux abonnés", "réservée aux abonnés", "pour lire la suite", "il vous reste",
    "déjà abonné", "la suite est réservée", "suscríbete para", "suscríbase para",
    "solo para suscriptores", "exclusivo para suscriptores", "para seguir leyendo",
    "ya eres suscriptor", "ya soy suscriptor", "assine para", "exclusivo para assinantes",
    "para continuar lendo", "já é assinante", "conteúdo exclusivo para", "abbonati per",
    "riservato agli abbonati", "sei già abbonato", "per continuare a leggere",
    "alleen voor abonnees", "verder lezen", "al abonnee", "lees verder met", "för prenumeranter",
    "läs hela artikeln", "redan prenumerant", "for abonnenter", "kun for abonnent",
    "allerede abonnent", "vain tilaajille", "tilaajille", "dla prenumeratorów",
    "dla subskrybentów", "aby czytać dalej", "pro předplatitele", "jen pro předplatitele",
    "csak előfizetők", "doar pentru abonați", "только для подписчиков", "чтобы читать дальше",
    "оформите подписку", "лише для передплатників", "abonelere özel", "okumaya devam etmek için",
    "μόνο για συνδρομητές", "للمشتركين فقط", "למנויים בלבד", "会員限定", "有料会員",
    "続きを読むには", "この記事は有料", "付费内容", "订阅后",
    "仅限订阅", "구독자 전용", "구독하고", "유료 회원",
    "chỉ dành cho", "khusus pelanggan",
)  # fmt: skip
"""What pages say where the teaser ends, in lower case."""
_CUT_OFF = re.compile(r"(?:…|\.\.\.|\[…\]|\[\.\.\.\]|\(…\))\W*$")


def declared_price(metas: Mapping[str, str], described: Sequence[Mapping[str, Any]]) -> bool | None:
    """Returns whether the page says that its article costs something; None: it does not say."""
    tier = metas.get("article:content_tier", "").lower()
    if tier in _TIERS or any(map(json_ld.is_not_free, _own(described))):
        return True
    is_free = any(
        str(thing.get("isAccessibleForFree")).lower() == "true" for thing in described[:1]
    )
    return False if tier == "free" or is_free else None


def _own(described: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Returns the object of the page's article and that of the page; others are of other pages."""
    return [*described[:1], *(one for one in described[1:] if one.get("@type") == "WebPage")]


def is_teaser(outline: Outline, text: str, scale: float) -> bool:
    """Whether a short text is the beginning of an article that has to be paid for: two of being cut
    off, a prompt to pay, and an element with such a name. Free pages have empty boxes for
    paywalls, and summaries that end in dots."""
    if len(text) > TEASER * scale:
        return False
    is_cut_off, is_asked = _CUT_OFF.search(text[-40:]) is not None, _has_prompt(outline)
    return (is_cut_off or is_asked) and ((is_cut_off and is_asked) or _has_named(outline))


def _has_named(outline: Outline) -> bool:
    named = (each for each in outline.attributes if each)
    return any(
        _NAMES.search(f"{each.get('class') or ''} {each.get('id') or ''}"[:300]) is not None
        for each in islice(named, MOST_NAMED)
    )


def _has_prompt(outline: Outline) -> bool:
    pieces: list[str] = []
    length = 0
    for text in outline.texts:
        if text and not text.isspace():
            pieces.append(text[:MOST_TEXT])
            length += len(pieces[-1])
            if length > MOST_TEXT:
                break
    said = " ".join(" ".join(pieces).lower().split())
    return any(prompt in said for prompt in _PROMPTS)
