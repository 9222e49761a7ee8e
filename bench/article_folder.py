"""The pages of a folder, or generated ones, for the benchmarks of articles."""

import gzip
from pathlib import Path

from bench.articles_pages import pages

GENERATED = 200


def article_pages(folder: Path | None) -> list[bytes]:
    """All pages of the folder, unpacked, in the order of their names."""
    if folder is None:
        return [body for _url, body in pages(GENERATED)]
    paths = sorted([*folder.glob("*.html"), *folder.glob("*.html.gz")])
    if not paths:
        raise FileNotFoundError(f"{folder} has no *.html and no *.html.gz")
    return [_unpacked(path) for path in paths]


def _unpacked(path: Path) -> bytes:
    packed = path.read_bytes()
    return gzip.decompress(packed) if path.suffix == ".gz" else packed
