"""Generates pages to extract: as large and cluttered as newspaper pages, each different."""

import random
from collections.abc import Iterator

_WORDS = (
    "council", "harbour", "plan", "river", "morning", "minister", "report", "evidence", "budget",
    "summer", "season", "museum", "city", "railway", "district", "market", "company", "worker",
    "school", "hospital", "bridge", "winter", "weather", "public", "private",
)  # fmt: skip


def pages(number: int) -> Iterator[tuple[str, bytes]]:
    for n in range(number):
        yield f"http://paper-{n % 50}.example/news/{n}", _page(random.Random(n)).encode()


def _page(rng: random.Random) -> str:
    title = _sentence(rng, 7).rstrip(".")
    paragraphs = "".join(f"<p>{_paragraph(rng)}</p>" for _ in range(rng.randint(8, 30)))
    menu = "".join(f'<li><a href="/{w}">{w.title()}</a></li>' for w in rng.sample(_WORDS, 20))
    teasers = "".join(
        f'<div class="teaser"><a href="/news/{rng.randint(1, 999)}">'
        f"<h3>{_sentence(rng, 6)}</h3></a><p>{_sentence(rng, 12)}</p></div>"
        for _ in range(25)
    )
    scripts = f"<script>var data = {{{','.join(f'a{i}:{i}' for i in range(300))}}}</script>" * 4
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{title} - The Paper</title>'
        f'<meta name="author" content="A. Writer"><meta property="og:title" content="{title}">'
        f'<meta property="article:published_time" content="2025-0{rng.randint(1, 9)}-11T08:00:00Z">'
        f"{scripts}</head><body><header><nav><ul>{menu}</ul></nav></header><main><article>"
        f"<h1>{title}</h1>{paragraphs}</article><aside>{teasers}</aside></main>"
        f"<footer><ul>{menu}</ul><p>All rights reserved.</p></footer></body></html>"
    )


def _sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words)).capitalize() + "."


def _paragraph(rng: random.Random) -> str:
    return " ".join(_sentence(rng, rng.randint(8, 20)) for _ in range(rng.randint(2, 6)))
