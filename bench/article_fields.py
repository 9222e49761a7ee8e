"""`python -m bench.article_fields PAGES`: processor time of the article scraper on saved pages,
apart for those that declare their language.

Compare two revisions by running it on both in turns; PAGES is as for `bench.article_score`.
"""

import json
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

from bench.article_contestants import SavedPage, saved_pages, scraper

_DECLARES = re.compile(rb"<html[^>]*\slang=")


def main(folder: Path) -> None:
    truths = json.loads((folder / "ground-truth.json").read_bytes())
    pages = list(saved_pages(folder, truths))
    for page in pages:
        scraper(page)  # loads, compiles and caches what later pages share
    spent = defaultdict(list)
    for page in pages:
        began = time.process_time()
        scraper(page)
        spent[_group(page)].append(1_000 * (time.process_time() - began))
    for group, each in sorted(spent.items()):
        print(f"{group}: {sum(each) / len(each):.3f} ms a page, {len(each)} pages")


def _group(page: SavedPage) -> str:
    return "language declared" if _DECLARES.search(page.body[:4_000]) else "no language"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
