"""Builds the text of a page from its host and number: a title, paragraphs and two links."""

import hashlib
from zlib import crc32

_SENTENCES = (
    "The ferry left the small harbour a little before seven, with more parcels than people.",
    "Nobody at the market could remember a year in which the pears had ripened so late.",
    "A clock above the station door has been eleven minutes slow since the great storm.",
    "The librarian keeps a list of borrowed umbrellas, and most of them come back in spring.",
    "Two bridges cross the river here; the older one carries only carts and cyclists.",
    "Every house in the lane has a blue door, save the baker's, which is painted yellow.",
    "The survey counted forty kinds of moss on the northern wall and three on the southern.",
    "On clear evenings the lighthouse can be seen from the hill behind the school.",
    "The recipe asks for nine eggs, but the cook has always made do with seven.",
    "In the workshop they still bend the frames by hand, over steam, one rib at a time.",
    "The orchestra rehearses in the old tram shed, because nothing else is long enough.",
    "Snow closed the upper road for a week, and the post came down by sledge.",
    "A new well was dug beside the chapel; the water tastes faintly of iron.",
    "The mapmaker drew the island twice and sold the better copy to a schoolteacher.",
    "Goats have the right of way on the terrace, and they know it.",
    "The museum owns a single painting and changes its frame with the seasons.",
)
_PARAGRAPHS = tuple(
    " ".join(_SENTENCES[(start + step * 5) % len(_SENTENCES)] for step in range(6))
    for start in range(len(_SENTENCES))
)
_LATIN = "Déjà vu à la crêperie: la façade près du château coûte 5 £, où Zoë dîne à Besançon."
_FILLER = ("\n".join(_SENTENCES) + "\n").encode()
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_BINARY_BYTES = 1_024
_TAIL = "</body>\n</html>\n"


def page(host: str, n: int) -> bytes:
    """About 2 KB of HTML that no other host or number has."""
    mixed = crc32(f"{host}/{n}".encode())
    first, second, third = mixed & 15, mixed >> 8 & 15, mixed >> 16 & 15
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Page {n} of {host}</title></head>
<body>
<h1>Page {n}</h1>
<p class="price">{mixed % 9_000 / 100 + 10:.2f}</p>
<p>{_PARAGRAPHS[first]} This is entry {n}.</p>
<p>{_PARAGRAPHS[second]} It is kept at {host}.</p>
<p>{_PARAGRAPHS[third]} Its mark is {mixed:08x}.</p>
<p>{_PARAGRAPHS[(first + 1) & 15][:300]}...</p>
<nav><a href="/page/{n + 1}">Next</a> <a href="/page/{n + 2}">The one after</a></nav>
{_TAIL}""".encode()


def paragraphs(host: str, n: int, number: int) -> list[str]:
    """Paragraphs in an order that no other host or story has."""
    mixed = crc32(f"{host}/{n}/story".encode())
    return [_PARAGRAPHS[(mixed >> (3 * i)) & 15] for i in range(number)]


def sized(host: str, n: int, size: int) -> bytes:
    """The page, filled up or cut off to exactly `size` bytes."""
    body = page(host, n)
    room = size - len(body) - len("<pre></pre>")
    if room < 0:
        return body[:size].ljust(size)
    filler = (_FILLER * (room // len(_FILLER) + 1))[:room]
    head, tail = body[: -len(_TAIL)], body[-len(_TAIL) :]
    return b"".join((head, b"<pre>", filler, b"</pre>", tail))


def short(host: str, n: int) -> bytes:
    """A page of some sixty bytes, for slow delivery."""
    return f"<!doctype html><title>Drip {n}</title><p>{host} says {n}.</p>\n".encode()


def latin1(host: str, n: int) -> bytes:
    """A page that is not valid UTF-8 and has no `meta` charset."""
    title = f"Café {n} à {host}"
    text = f"<!doctype html><html><head><title>{title}</title></head><body><p>{_LATIN}</p></body>"
    return f"{text}</html>\n".encode("iso-8859-1")


def binary(host: str, n: int) -> bytes:
    return b"\x00\xff" + hashlib.shake_128(f"{host}/{n}".encode()).digest(_BINARY_BYTES - 2)


def etag(body: bytes) -> str:
    return f'"{crc32(body):08x}-{len(body):x}"'


def last_modified(n: int) -> str:
    """A second of January 2024 by the page's number; 1 January 2024 was a Monday."""
    day, second = divmod(n * 61 % (31 * 86_400), 86_400)
    hour, minute = second // 3_600, second // 60 % 60
    return f"{_DAYS[day % 7]}, {day + 1:02} Jan 2024 {hour:02}:{minute:02}:{second % 60:02} GMT"
