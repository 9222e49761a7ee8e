"""Our scraper in a loop, in one process."""

from typing import Any

from bench.articles_pages import pages
from bench.children import contestant
from bench.spent import Spent
from curtsy.model.outcome import Record, Reply
from curtsy.scrapers.article import article


def measure(number: int) -> dict[str, Any]:
    """The scraper itself, so that both contestants do the same to a page."""
    replies = [Reply(200, url, {"content-type": "text/html"}, body, len(body))
               for url, body in pages(number)]  # fmt: skip
    article(replies[0])
    spent = Spent()
    found = sum(isinstance(article(reply), Record) for reply in replies)
    return {"pages": found, **spent.until_now()}


if __name__ == "__main__":
    contestant(measure)
