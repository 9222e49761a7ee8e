"""What a job does with a page that it fetches."""

from enum import IntFlag


class PageUse(IntFlag):
    KEPT = 1
    """The page is a result of the job."""
    FOLLOWED = 2
    """The job follows the links of the page, as far as its depth allows."""
    LISTS = 4
    """The page is a feed or a sitemap: the job fetches the entries that its document lists."""


ORDINARY = PageUse.KEPT | PageUse.FOLLOWED
ONLY_LISTS = PageUse.KEPT | PageUse.LISTS
"""The feed or sitemap itself is a result, and what it names is read, but no entry is fetched."""


def is_kept(uses: int) -> bool:
    return bool(uses & PageUse.KEPT)


def is_followed(uses: int) -> bool:
    return bool(uses & PageUse.FOLLOWED)


def lists_pages(uses: int) -> bool:
    return bool(uses & PageUse.LISTS)
