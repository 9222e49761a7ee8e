"""Finds the language of an article: what the page declares, else what its text looks like."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

SAMPLE = 2_000
"""Characters of the text that are looked at."""
MOST_BYTES = 1_500
"""Of the sample that the detector reads, after it has dropped repeats; its own default is 700."""
LEAST_TEXT = 40
"""Characters. In a shorter text any guess is a guess."""
LEAST_TO_DOUBT, SURE = 60, 0.95
"""Characters of a text that may prove a declared language wrong, and how sure the detector must
be."""
ENGLISH_EVERY = 200
"""Characters in which an English text has at least one of its commonest words."""
_CODE = re.compile(r"[a-z]{2,3}(?![a-z])")
_DECLARED = ("og:locale", "content-language", "dc.language", "dcterms.language", "language")
_ENGLISH = ("the ", " and ", " that ", " with ")
"""Words that no other language has so often."""
LEAST_LETTERS = 0.4
"""Share of a text. The detector finds a language in figures and signs, too. The rest of Hindi and
Thai are marks on letters."""
_OTHER_CODES = {"iw": "he", "in": "id", "ji": "yi", "no": "nb"}
"""Of the detector, by the codes of today. Its Norwegian is Bokmål."""
_NO_LANGUAGE = frozenset({"und", "mul", "zxx", "mis"})


class Language(NamedTuple):
    code: str | None
    """Two or three letters; None: neither declared nor detected."""
    source: str | None
    """`declared` or `detected`."""


def declared_by(
    tree: LexborHTMLParser, metas: Mapping[str, str], described: Iterable[Mapping[str, Any]]
) -> str | None:
    """Returns the language that the page itself declares."""
    root = tree.root
    attributes = root.attributes if root is not None else {}
    stated = [attributes.get("lang"), attributes.get("xml:lang")]
    stated += [thing.get("inLanguage") for thing in described]
    stated += [metas.get(name) for name in _DECLARED]
    return next((code for each in stated if (code := code_of(each)) is not None), None)


def code_of(declared: object) -> str | None:
    """Returns the first part of a declaration such as `pt-BR`; None: it names no language."""
    if isinstance(declared, list) and declared:
        declared = declared[0]
    if isinstance(declared, dict):
        declared = declared.get("alternateName") or declared.get("name")
    if not isinstance(declared, str):
        return None
    found = _CODE.match(declared[:60].strip().lower())
    return found[0] if found and found[0] not in _NO_LANGUAGE else None


def language_of(declared: str | None, text: str) -> Language:
    """The declaration is believed, but for `en` on a text that has none of the commonest English
    words: templates declare `en`, whatever is written on them."""
    sample = text[:SAMPLE]
    if declared is None:
        code = detected(sample)[0] if len(sample) >= LEAST_TEXT else None
        return Language(code, "detected" if code else None)
    if declared == "en" and len(sample) >= LEAST_TO_DOUBT and not _looks_english(sample):
        code, sureness = detected(sample)
        if code not in (None, declared) and sureness >= SURE:
            return Language(code, "detected")
    return Language(declared, "declared")


def _looks_english(sample: str) -> bool:
    enough = max(1, len(sample) // ENGLISH_EVERY)
    sample = sample.lower()
    found = 0
    for word in _ENGLISH:
        found += sample.count(word)
        if found >= enough:
            return True
    return False


def detected(sample: str) -> tuple[str | None, float]:
    """Returns the language, and how sure the detector is; None: it is not sure."""
    if sum(map(str.isalpha, sample)) < LEAST_LETTERS * len(sample):
        return None, 0.0
    found = _detector().FindLanguage(text=_without_surrogates(sample))
    if not found.is_reliable:
        return None, 0.0
    code = found.language.partition("-")[0]  # `ru-Latn` is Russian in Latin letters
    return _OTHER_CODES.get(code, code), found.probability


def _without_surrogates(text: str) -> str:
    return text.encode(errors="replace").decode()


@lru_cache(maxsize=1)
def _detector() -> Any:
    """Loaded by the first page that needs it, in its own process: most pages declare theirs."""
    from gcld3 import NNetLanguageIdentifier  # loads in milliseconds, but into every process

    return NNetLanguageIdentifier(min_num_bytes=0, max_num_bytes=MOST_BYTES)
