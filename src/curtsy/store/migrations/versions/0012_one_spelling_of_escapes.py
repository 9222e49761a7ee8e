"""Pages are found under the spelling of percent-escapes that their URLs have now.

Of several pages that were spellings of one, the newest is the page from now on; the others keep
their spelling, for the jobs that have them, and no new job finds them.
"""

import re

import sqlalchemy as sa
from alembic import op

from curtsy.model.urls import BadUrl, canonical, fingerprint

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

BATCH = 5_000
_MAY_CHANGE = re.compile(r"[%|^`{}\\]")

_TEMPORARY = sa.text(
    """
    CREATE TEMPORARY TABLE respelled
    (id bigint PRIMARY KEY, url text NOT NULL, fingerprint text NOT NULL UNIQUE)
    """
)
_PAGES = sa.text(
    """
    SELECT id, url, scraper, options FROM pages WHERE id < CAST(:before AS bigint)
    ORDER BY id DESC LIMIT :most
    """
)
_NEWEST = sa.text("SELECT max(id) FROM pages")
_RESPELL = sa.text(
    """
    INSERT INTO respelled (id, url, fingerprint)
    SELECT CAST(:id AS bigint), CAST(:url AS text), CAST(:fingerprint AS text)
    WHERE NOT EXISTS (SELECT 1 FROM pages WHERE fingerprint = CAST(:fingerprint AS text))
    ON CONFLICT DO NOTHING
    """
)
_KEEP_AS_SUBMITTED = sa.text(
    """
    UPDATE items SET url = (SELECT p.url FROM pages p WHERE p.id = items.page_id)
    WHERE url IS NULL AND page_id IN (SELECT id FROM respelled)
    """
)
_UPDATE = sa.text(
    """
    UPDATE pages SET (url, fingerprint) =
        (SELECT r.url, r.fingerprint FROM respelled r WHERE r.id = pages.id)
    WHERE id IN (SELECT id FROM respelled)
    """
)
_DROP = sa.text("DROP TABLE respelled")


def upgrade() -> None:
    connection = op.get_bind()
    newest = connection.execute(_NEWEST).scalar()
    if newest is None:
        return
    connection.execute(_TEMPORARY)
    before = int(newest) + 1
    while rows := connection.execute(_PAGES, {"before": before, "most": BATCH}).all():
        before = rows[-1].id
        if new := [page for row in rows if (page := _respelled(row)) is not None]:
            connection.execute(_RESPELL, new)
    connection.execute(_KEEP_AS_SUBMITTED)
    connection.execute(_UPDATE)
    connection.execute(_DROP)


def _respelled(row: sa.Row[tuple[int, str, str, str | None]]) -> dict[str, object] | None:
    if not _MAY_CHANGE.search(row.url):
        return None
    try:
        url = canonical(row.url).text
    except BadUrl:
        return None
    if url == row.url:
        return None
    return {
        "id": row.id,
        "url": url,
        "fingerprint": fingerprint(url, row.scraper, row.options or ""),
    }
