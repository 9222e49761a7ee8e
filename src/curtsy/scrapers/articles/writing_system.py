"""How much a character says: writing without spaces between words needs fewer of them."""

import re

_DENSE = re.compile("[\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
SAMPLE = 5_000
DENSE_SHARE = 0.3
DENSE_SCALE = 0.4
"""Chinese, Japanese and Korean need about this share of the characters of English."""


def scale_of(texts: list[str]) -> float:
    """Returns the factor for limits that are stated in characters."""
    sample: list[str] = []
    length = 0
    for text in texts:
        if len(text) > 20:
            sample.append(text[:500])
            length += len(sample[-1])
            if length > SAMPLE:
                break
    if not length:
        return 1.0
    return DENSE_SCALE if len(_DENSE.findall("".join(sample))) > DENSE_SHARE * length else 1.0
