"""Triggers that testify: what must never be written is noted in the moment it is written."""

from curtsy.store import Connection
from support.sql import run, text

_TABLE = "CREATE TABLE witness (what text NOT NULL, detail text)"
_POSTGRESQL = (
    """
    CREATE FUNCTION see_source() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.epoch < OLD.epoch OR (NEW.owner IS NOT NULL AND NEW.owner IS DISTINCT FROM OLD.owner
            AND (OLD.owner IS NOT NULL OR NEW.epoch <= OLD.epoch)) THEN
            INSERT INTO witness VALUES ('a source changed hands without a new epoch',
                concat_ws(' ', NEW.name, OLD.owner, OLD.epoch, NEW.owner, NEW.epoch));
        END IF;
        RETURN NULL; END $$
    """,
    """
    CREATE TRIGGER see_source AFTER UPDATE ON sources FOR EACH ROW EXECUTE FUNCTION see_source()
    """,
    """
    CREATE FUNCTION see_attempt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM sources WHERE id = NEW.source_id AND owner = NEW.worker) THEN
            INSERT INTO witness VALUES ('a result was recorded by a worker that does not own its '
                'source', concat_ws(' ', NEW.url, NEW.turn, NEW.worker));
        END IF;
        RETURN NULL; END $$
    """,
    """
    CREATE TRIGGER see_attempt AFTER INSERT ON attempts
    FOR EACH ROW EXECUTE FUNCTION see_attempt()
    """,
)
_SQLITE = (
    """
    CREATE TRIGGER see_source AFTER UPDATE ON sources
    WHEN NEW.epoch < OLD.epoch OR (NEW.owner IS NOT NULL AND NEW.owner IS NOT OLD.owner
        AND (OLD.owner IS NOT NULL OR NEW.epoch <= OLD.epoch))
    BEGIN
        INSERT INTO witness VALUES ('a source changed hands without a new epoch', NEW.name);
    END
    """,
    """
    CREATE TRIGGER see_attempt AFTER INSERT ON attempts
    WHEN NOT EXISTS (SELECT 1 FROM sources WHERE id = NEW.source_id AND owner = NEW.worker)
    BEGIN
        INSERT INTO witness VALUES ('a result was recorded by a worker that does not own its '
            || 'source', NEW.url);
    END
    """,
)


def call_witness(connection: Connection) -> None:
    statements = _POSTGRESQL if connection.engine == "postgresql" else _SQLITE
    for statement in (_TABLE, *statements):
        run(connection, text(statement))


def testimony(connection: Connection) -> list[str]:
    rows = run(connection, text("SELECT what, detail FROM witness")).all()
    kinds = sorted({row.what for row in rows})
    return [f"{sum(r.what == k for r in rows)} times: {k}, as {_of(rows, k)}" for k in kinds]


def _of(rows: object, kind: str) -> str:
    return str(next(row.detail for row in rows if row.what == kind))  # type: ignore[attr-defined]
