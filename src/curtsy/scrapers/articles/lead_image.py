"""Chooses the picture that stands for an article."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from curtsy.scrapers.articles import tags
from curtsy.scrapers.articles.outline import Outline

MOST_LOOKED_AT = 200
LEAST_SIDE = 100
"""Pixels, where the element states its size."""
_NAMES = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src",
          "parsely-image-url", "sailthru.image.full")  # fmt: skip
_LOGO_WORD = r"(?:site|default|share|social|og|large|small|square|white|black|dark|light)"
_NO_PICTURE = re.compile(
    r"(?:^|[/_.-])(?:favicon|sprites?|pixel|spacer|blank|placeholder|1x1|transparent|avatar|"
    r"gravatar|icons?|emoji|badge)(?=[/_.\-\d?]|$)"
    rf"|/(?:[a-z\d]+[-_])?{_LOGO_WORD}?[-_.]?logo(?:[-_.]?(?:\d+(?:x\d+)?|{_LOGO_WORD}))*\.\w+$"
    r"|//(?:pixel|stats?|analytics|track(?:ing|er)?|b)\.",
    re.IGNORECASE,
)
"""Tracking pixels, logos and signs, by their names."""

WebUrl = Callable[[str | None], str | None]


def lead_image(
    metas: Mapping[str, str],
    described: Iterable[Mapping[str, Any]],
    outline: Outline,
    at: int,
    web_url: WebUrl,
) -> str | None:
    """Returns the picture that the page names, else the first of some size in the article's
    element `at`. `web_url` returns None for what is no URL of http or https."""
    for stated in _stated(metas, described):
        if (url := web_url(stated)) is not None and is_picture(url):
            return url
    for attributes in islice(_images(outline, at), MOST_LOOKED_AT):
        for name in ("src", "data-src", "data-original"):
            url = web_url(attributes.get(name))
            if url is not None and is_picture(url):
                return url
    return None


def is_picture(url: str) -> bool:
    return _NO_PICTURE.search(url.partition("?")[0]) is None


def _stated(metas: Mapping[str, str], described: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for name in _NAMES:
        if name in metas:
            yield metas[name]
    for thing in described:
        for key in ("image", "thumbnailUrl"):
            yield from _addresses(thing.get(key))


def _addresses(value: Any) -> Iterator[str]:
    """Returns the addresses of an image that is given as text, object or list."""
    for each in value[:10] if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            each = each.get("url") or each.get("contentUrl")
        if isinstance(each, str):
            yield each


def _images(outline: Outline, at: int) -> Iterator[Mapping[str, str | None]]:
    """Returns the attributes of the images in the element that are not stated to be small."""
    end = outline.ends[at]
    while at < end:
        if outline.is_noise[at]:
            at = outline.ends[at]
            continue
        if outline.tags[at] == tags.IMG and not _is_small(outline.attributes[at]):
            yield outline.attributes[at]
        at += 1


def _is_small(attributes: Mapping[str, str | None]) -> bool:
    sides = ((attributes.get(side) or "").removesuffix("px") for side in ("width", "height"))
    return any(side.isdecimal() and len(side) < 6 and int(side) < LEAST_SIDE for side in sides)
