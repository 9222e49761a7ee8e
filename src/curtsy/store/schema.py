"""The tables. Instants are whole milliseconds since 1970 (`…_at`); see docs/explanation/tables.md.

The only definition of all tables. There are no foreign keys on purpose: their row locks on a hot
parent cost more than the orphans they would prevent.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")
_Key = Text(collation="C").with_variant(Text(), "sqlite")


def _id() -> Column[int]:
    """An id is never reused: workers, streams and other rows remember ids of deleted rows.
    PostgreSQL guarantees that; on SQLite each such table needs `sqlite_autoincrement`."""
    return Column("id", _Id, primary_key=True, autoincrement=True)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    return Index(
        name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where)
    )


clock = Table(
    "clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # grows when the database's clock jumped
)

schema_support = Table(
    "schema_support",
    metadata,
    Column("revision", _Key, primary_key=True),
    Column("oldest_program", _Key, nullable=False),  # the schema that its programs must know
    sqlite_with_rowid=False,
)

sources = Table(
    "sources",
    metadata,
    _id(),
    Column("name", _Key, nullable=False, unique=True),
    Column("policy", Text, nullable=False, server_default="{}"),  # JSON: overrides of the defaults
    _count("control_version"),  # grows with every change that a lane must notice
    _flag("paused"),
    Column("paused_by", Text),
    _flag("described"),  # by an operator: the source is stored and listed even without visits
    Column("hosts_moved_at", BigInteger),  # to another source; late visits are moved too
    Column("described_as", Text),  # hash of its entry in the sources file
    Column("band", SmallInteger, nullable=False, server_default="2"),
    Column("ready_at", BigInteger),  # null = parked: no visits
    Column("owner", _Key),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
    Column("next_fetch_at", BigInteger),
    Column("delay_ms", BigInteger, nullable=False, server_default="1000"),
    Column("pace", Text),  # JSON: state of the pace (spans), passed from owner to owner
    Column("paced_at", BigInteger),  # the last request, to which those spans are relative
    _flag("unreported"),  # its last owner may have sent requests that it did not report
    Column(
        "ranks", Text, nullable=False, server_default="{}"
    ),  # JSON: virtual time, floor by priority
    _count("looks"),  # how often it was leased and found empty since it last had work
    Column("failing_since", BigInteger),
    _count("fail_streak"),
    _count("crash_streak"),
    Column("suspect_page_id", BigInteger),  # the page being visited after owners of the source died
    Column("created_at", BigInteger, nullable=False),
    _partial(
        "sources_ready",
        "band",
        "ready_at",
        where="owner IS NULL AND ready_at IS NOT NULL AND NOT paused",
    ),
    _partial("sources_owned", "owner", where="owner IS NOT NULL"),
    _partial("sources_described", "name", where="described"),
    _partial("sources_left", "hosts_moved_at", where="hosts_moved_at IS NOT NULL"),
    sqlite_autoincrement=True,
)

hosts = Table(
    "hosts",
    metadata,
    Column("host", _Key, primary_key=True),
    Column("source_id", BigInteger, nullable=False),
    Column("robots", LargeBinary),
    Column("robots_status", SmallInteger),
    Column("robots_expires_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Index("hosts_source", "source_id"),
    sqlite_with_rowid=False,
)

receipts = Table(
    "receipts",
    metadata,
    Column("source_id", BigInteger, nullable=False),
    Column("day", Integer, nullable=False),  # since 1970, UTC
    _count("requests"),
    _count("robots_requests"),
    _count("robots_refusals"),
    Column("smallest_gap_ms", BigInteger),
    _count("rests_announced"),
    _count("rests_of_our_own"),
    _count("not_modified"),
    Column("bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("bytes_saved", BigInteger, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("source_id", "day"),
    Index("receipts_by_day", "day"),
    sqlite_with_rowid=False,
)

workers = Table(
    "workers",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("beat", BigInteger, nullable=False),  # grows with each heartbeat; other workers watch it
    Column("lease_until", BigInteger, nullable=False),  # for display only: never compared
    Column("in_flight", Text, nullable=False, server_default="[]"),  # for display: page ids
    _count("slots"),
    Column("machine", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("program", Text, nullable=False),
    _flag("draining"),
    Column("started_at", BigInteger, nullable=False),
    Column("memory_bytes", BigInteger),  # resident, with its scrapers' processes; null: unknown
    Column("program_schema", _Key),  # the newest that its program knows; null: before 0019
)

jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("public_id", _Key, nullable=False, unique=True),
    Column("run_id", _Key, unique=True),
    Column("door", Text, nullable=False),
    Column("user_id", _Key),
    Column("name", Text),
    Column("scraper", Text, nullable=False),
    Column("params", Text, nullable=False, server_default="{}"),
    Column("state", Text, nullable=False),
    Column("paused_at", BigInteger),
    Column("total", Integer, nullable=False),
    _count("done"),
    _count("failed"),
    _count("cancelled"),
    _count("cached"),
    _count(
        "links_waiting"
    ),  # pages whose links are not admitted yet; the job stays open until then
    Column("last_event", BigInteger, nullable=False, server_default="0"),
    Column("round", Integer, nullable=False, server_default="1"),
    Column("trigger", Text, nullable=False, server_default="manual"),
    Column("schedule_id", BigInteger),
    Column("site_id", BigInteger),
    Column("search", _Key),  # hash of the search parameters of a site's run
    Column("gathered_at", BigInteger),  # when its records were compared with earlier ones
    Column("message", Text),
    Column("webhook_url", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger),  # when a scheduled job is admitted
    Column("finish_by", BigInteger),  # the requested deadline
    *(
        Column(f"{what}_ms", BigInteger, nullable=False, server_default=text("0"))
        for what in ("capacity", "politeness", "closed", "backoff", "fetching")
    ),  # where the time of its pages went, summed
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("updated_at", BigInteger, nullable=False),
    Index("jobs_newest", "created_at", "id"),
    Index("jobs_of_user", "user_id", "created_at"),
    _partial("jobs_open_of_user", "user_id", where="finished_at IS NULL AND user_id IS NOT NULL"),
    _partial(
        "jobs_open_of_schedule",
        "schedule_id",
        where="finished_at IS NULL AND schedule_id IS NOT NULL",
    ),
    _partial("jobs_of_site", "site_id", "created_at", where="site_id IS NOT NULL"),
    _partial("jobs_open_of_site", "site_id", where="finished_at IS NULL AND site_id IS NOT NULL"),
    _partial(
        "jobs_to_gather",
        "finished_at",
        where="site_id IS NOT NULL AND gathered_at IS NULL AND finished_at IS NOT NULL",
    ),
    Index("jobs_in_state", "state", "door", "created_at", "id"),
    *(
        _partial(
            f"jobs_failed_{how}", "door", "created_at", "id", where=f"state = 'failed' AND {done}"
        )
        for how, done in (("in_part", "done > 0"), ("whole", "done = 0"))
    ),
    sqlite_autoincrement=True,
)

job_tags = Table(
    "job_tags",
    metadata,
    Column("tag", _Key, nullable=False),
    Column("job_id", BigInteger, nullable=False),
    PrimaryKeyConstraint("tag", "job_id"),
    Index("job_tags_of_job", "job_id"),
    sqlite_with_rowid=False,
)

items = Table(
    "items",
    metadata,
    Column("job_id", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("page_id", BigInteger, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("url", Text),  # as submitted, where that is not the page's canonical URL
    Column("source_label", Text),
    Column("category", Text),
    Column("priority", SmallInteger, nullable=False),
    Column("depth", SmallInteger, nullable=False, server_default="0"),
    Column("uses", SmallInteger, nullable=False, server_default="3"),  # model/page_use.py
    _flag("cached"),
    Column("document_version", Integer),  # set when the item ends, and then final, like these:
    Column("kind", Text),
    Column("error", Text),
    Column("fetched_at", BigInteger),
    Column("ended_at", BigInteger),
    PrimaryKeyConstraint("job_id", "position"),
    _partial("items_waiting", "page_id", where="state = 0"),
    _partial("items_failed", "page_id", where="state = 2"),
    sqlite_with_rowid=False,
)

pages = Table(
    "pages",
    metadata,
    _id(),
    Column("fingerprint", _Key, nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("host", _Key, nullable=False),
    Column("scraper", Text, nullable=False),
    Column("options", Text),
    _count("reference_count"),
    Column("turn", BigInteger, nullable=False, server_default="0"),  # the last turn that ended
    Column("outcome", Text),  # of the last turn: fetched, not_modified, failed…
    Column("kind", Text),
    Column("error", Text),
    _count("retry_count"),
    Column("checked_at", BigInteger),
    Column("fetched_at", BigInteger),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("wire_bytes", BigInteger),  # of the last fetched answer
    _count("document_version"),  # the current one; 0 = none yet
    Column("document_hash", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("sent_turn", BigInteger),  # in this turn a POST was about to be sent
    sqlite_autoincrement=True,
)

visits = Table(
    "visits",
    metadata,
    Column("page_id", _Id, primary_key=True, autoincrement=False),
    Column("source_id", BigInteger, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("rank", BigInteger, nullable=False),
    Column("due_at", BigInteger),  # null = as soon as possible
    Column("turn", BigInteger, nullable=False),  # only grows; a result names its turn
    Column("attempt", SmallInteger, nullable=False, server_default="0"),
    Column("current_url", Text),
    Column("hops", SmallInteger, nullable=False, server_default="0"),
    Column("progress", Text),
    Column("crashes", SmallInteger, nullable=False, server_default="0"),
    Column(
        "refused", SmallInteger, nullable=False, server_default="0"
    ),  # while other pages were answered
    _flag("links"),  # a crawl needs the links of the page
    Column("created_at", BigInteger, nullable=False),
    _flag("repeats"),  # after a redirect: with the page's own method and body
    _partial("visits_ready", "source_id", "priority", "rank", "page_id", where="due_at IS NULL"),
    _partial("visits_due", "source_id", "due_at", where="due_at IS NOT NULL"),
)

documents = Table(
    "documents",
    metadata,
    Column("page_id", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),  # zstd
    Column("hash", Text, nullable=False),
    Column("content_type", Text, nullable=False),
    Column("charset", Text),
    Column("status", SmallInteger, nullable=False),
    Column("url", Text, nullable=False),  # the final URL, after redirects
    Column("bytes", BigInteger, nullable=False),
    Column("fetched_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("page_id", "version"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("page_id", BigInteger, nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("source_id", BigInteger, nullable=False),
    Column("worker", Text, nullable=False),
    Column("attempt", SmallInteger, nullable=False),
    Column("url", Text),
    Column("outcome", Text, nullable=False),
    Column("kind", Text),
    Column("status", SmallInteger),
    Column("bytes", BigInteger),
    Column("memory", BigInteger),
    Column("error", Text),
    Column("traceback", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("page_id", "turn"),
    Index("attempts_by_age", "ended_at", postgresql_using="brin").ddl_if(dialect="postgresql"),
    sqlite_with_rowid=False,
)

history_batches = Table(
    "history_batches",
    metadata,
    _id(),
    Column("at", BigInteger, nullable=False),  # the earliest end of the results
    Column("facts", Text, nullable=False),  # JSON: an array for each result of a flush
    _flag("counted"),  # in all, but not yet by source
    _partial("history_batches_new", "id", where="NOT counted"),
    sqlite_autoincrement=True,
)

history_state = Table(  # its only row is the lock of the history
    "history_state",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("totals_due_at", BigInteger, nullable=False),
    Column("sources_due_at", BigInteger, nullable=False),
)

history = Table(
    "history",
    metadata,
    Column(
        "span", SmallInteger, nullable=False
    ),  # 0 all time, 1 minute, 2 ten minutes, 3 hour, 4 day
    Column("source_id", BigInteger, nullable=False),  # 0: all sources together
    Column("at", BigInteger, nullable=False),  # the beginning of the span
    Column("band", SmallInteger, nullable=False),  # 0: all bands together
    _count("requests"),
    _count("failures"),  # of requests
    Column("counts", Text, nullable=False),  # JSON
    PrimaryKeyConstraint("span", "source_id", "at", "band"),
    _partial("history_by_requests", "span", "at", "requests", "source_id", where="source_id > 0"),
    _partial(
        "history_by_failures",
        "span",
        "at",
        "failures",
        "source_id",
        where="source_id > 0 AND failures > 0",
    ),
    sqlite_with_rowid=False,
)

dead_letters = Table(
    "dead_letters",
    metadata,
    _id(),
    Column("page_id", BigInteger, nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("source_id", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("traceback", Text),
    Column("attempts", SmallInteger, nullable=False),
    Column("state", Text, nullable=False, server_default="open"),  # open, retried, resolved
    Column("retries", SmallInteger, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("final", Boolean, nullable=False, server_default=text("false")),  # a retry cannot help
    Column("times", Integer, nullable=False, server_default="1"),  # how often it was given up
    Column("last_failed_at", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("page_id", "turn"),
    Index("dead_letters_in_state", "state", "id"),
    _partial("dead_letters_open", "page_id", where="state = 'open'", unique=True),
    _partial("dead_letters_of_kind", "kind", "id", where="state = 'open'"),
    _partial("dead_letters_of_source", "source_id", "id", where="state = 'open'"),
    sqlite_autoincrement=True,
)

schedules = Table(
    "schedules",
    metadata,
    _id(),
    Column("public_id", _Key, nullable=False, unique=True),
    Column("name", _Key, nullable=False),
    Column("user_id", _Key),
    Column("owner", _Key, nullable=False, server_default=""),  # its user; names are unique per user
    Column("key_id", BigInteger),  # the key whose quotas its jobs use
    Column("rule", Text, nullable=False),  # JSON
    Column("timezone", Text, nullable=False, server_default="UTC"),  # for display
    Column("payload", Text, nullable=False),  # JSON: a job of a door, or a duty
    Column("overlap", Text, nullable=False, server_default="skip"),
    Column("catch_up", Text, nullable=False, server_default="latest"),
    Column(
        "window_ms", BigInteger, nullable=False
    ),  # older slots are missed, whatever `catch_up` says
    Column("not_before", BigInteger),
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    Column("next_fire_at", BigInteger),  # the next slot; null: none, or not computed yet
    Column("waiting_fire_at", BigInteger),  # a slot that waits for the previous run to end
    Column("look_at", BigInteger),  # when a scheduler has to check it; null: never
    Column("last_fire_at", BigInteger),
    Column("first_job", _Key),  # created with the schedule, for its first slot
    Column("site_id", BigInteger),
    Column("described_as", Text),  # hash of its entry in a file
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    _flag("of_site"),  # created, updated and deleted with its site
    UniqueConstraint("owner", "name"),
    _partial("schedules_to_look_at", "look_at", where="look_at IS NOT NULL"),
    Index("schedules_named", "name"),
    Index("schedules_of_user", "user_id", "id"),
    sqlite_autoincrement=True,
)

firings = Table(
    "firings",
    metadata,
    Column("schedule_id", BigInteger, nullable=False),
    Column("fire_at", BigInteger, nullable=False),
    Column("fired_at", BigInteger, nullable=False),
    Column("trigger", Text, nullable=False),  # schedule, manual
    Column("outcome", Text, nullable=False),  # fired, waiting, skipped, missed, refused
    Column("job_id", BigInteger),
    Column("message", Text),
    _flag("waited"),  # for the previous run to end
    PrimaryKeyConstraint("schedule_id", "fire_at"),
    Index("firings_by_time", "fired_at"),
    _partial("firings_of_job", "job_id", where="job_id IS NOT NULL"),
)

offers = Table(
    "offers",
    metadata,
    Column("name", _Key, primary_key=True),  # of a maintenance task whose schedule was created
    Column("offered_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

schedulers = Table(
    "schedulers",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("machine", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("program", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ticked_at", BigInteger, nullable=False),
    Column("program_schema", _Key),  # as that of workers
)

sites = Table(
    "sites",
    metadata,
    _id(),
    Column("name", _Key, nullable=False, unique=True),
    Column("declared", Text, nullable=False),  # JSON: its template, recipe, paging, pauses
    _flag("enabled"),
    Column("described_as", Text),  # hash of its entry in the sites file
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

records = Table(
    "records",
    metadata,
    Column("site_id", BigInteger, nullable=False),
    Column("key", _Key, nullable=False),
    Column("data", Text, nullable=False),  # JSON, as last seen
    Column("hash", Text, nullable=False),
    Column("first_seen_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("site_id", "key"),
    Index("records_by_sight", "site_id", "last_seen_at"),
    sqlite_with_rowid=False,
)

sightings = Table(
    "sightings",
    metadata,
    Column("job_id", BigInteger, nullable=False),
    Column("key", _Key, nullable=False),
    Column("position", Integer, nullable=False),
    Column("change", Text, nullable=False),  # new, changed, same, removed
    Column("data", Text, nullable=False),  # JSON, as this run saw it
    PrimaryKeyConstraint("job_id", "key"),
    Index("sightings_in_order", "job_id", "position"),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("seq", _Id, primary_key=True, autoincrement=True),
    Column("xid", BigInteger, nullable=False, server_default=text("0")),
    Column("job_id", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False),  # without gaps within the job, in order of commits
    Column("at", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("page_id", BigInteger),
    Column("data", Text),
    UniqueConstraint("job_id", "n"),
    Index("events_feed", "xid", "seq").ddl_if(dialect="postgresql"),
    sqlite_autoincrement=True,
)

crawls = Table(
    "crawls",
    metadata,
    Column("job_id", _Id, primary_key=True, autoincrement=False),
    Column("depth", SmallInteger, nullable=False),
    Column("max_pages", Integer, nullable=False),
    Column("admitted", Integer, nullable=False),  # raised only while this row is locked
    Column("priority", SmallInteger, nullable=False),
    Column("scope", Text, nullable=False),
    Column("ranks", Text, nullable=False, server_default="{}"),  # JSON: the last rank by source
)

crawled = Table(
    "crawled",
    metadata,
    Column("job_id", BigInteger, nullable=False),
    Column("fingerprint", _Key, nullable=False),
    Column("subscription_id", BigInteger),  # of a feed or sitemap: where its entries are remembered
    PrimaryKeyConstraint("job_id", "fingerprint"),
    sqlite_with_rowid=False,
)

links = Table(
    "links",
    metadata,
    _id(),
    Column("job_id", BigInteger, nullable=False),
    Column("depth", SmallInteger, nullable=False),  # of the linked pages
    Column("urls", Text, nullable=False),
    Index("links_of_job", "job_id"),
    sqlite_autoincrement=True,
)

cookie_jars = Table(
    "cookie_jars",
    metadata,
    Column("session", _Key, nullable=False),
    Column("source_id", BigInteger, nullable=False),  # 0: what came with the job
    Column("cookies", Text, nullable=False),  # JSON
    Column("login", Text, nullable=False, server_default="{}"),  # JSON: what is known of the login
    Column("job_id", BigInteger),  # the session ends with this job
    Column("updated_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("session", "source_id"),
    Index("cookie_jars_by_age", "updated_at"),
    _partial("cookie_jars_of_job", "job_id", where="job_id IS NOT NULL"),
    sqlite_with_rowid=False,
)

lists = Table(
    "lists",
    metadata,
    _id(),
    Column("job_id", BigInteger, nullable=False),
    Column("depth", SmallInteger, nullable=False),  # below 0: a list that other lists list
    Column("page_id", BigInteger, nullable=False),  # its document has the entries
    Column("document_version", Integer, nullable=False),
    Column("reached", Integer, nullable=False, server_default="0"),  # entries that are behind
    Index("lists_of_job", "job_id"),
    sqlite_autoincrement=True,
)

subscriptions = Table(
    "subscriptions",
    metadata,
    _id(),
    Column("key", _Key, nullable=False, unique=True),  # a hash of whose it is and what it follows
    Column("user_id", _Key),
    Column("schedule_id", BigInteger),  # null: of the user's jobs without a schedule
    Column("url", Text, nullable=False),  # of the feed or sitemap
    Column("scraper", Text, nullable=False),  # of the entries
    Column("created_at", BigInteger, nullable=False),
    Column("last_run_at", BigInteger, nullable=False),
    Index("subscriptions_by_run", "last_run_at"),
    sqlite_autoincrement=True,
)

seen_entries = Table(
    "seen_entries",
    metadata,
    Column("subscription_id", BigInteger, nullable=False),
    Column("entry", _Key, nullable=False),  # a hash of its guid or URL
    Column("stamp", Text, nullable=False),  # when it says that it changed; empty: it does not say
    Column("job_id", BigInteger, nullable=False),  # the item that it became, which may be purged
    Column("position", Integer, nullable=False),
    Column("found_in", _Key),  # a hash of the list that listed it; null: a start of the crawl
    _flag("whole"),  # of a sitemap within an index: all its entries were admitted
    Column("listed_at", BigInteger, nullable=False),  # the last time, to within a day
    PrimaryKeyConstraint("subscription_id", "entry"),
    sqlite_with_rowid=False,
)

api_keys = Table(
    "api_keys",
    metadata,
    _id(),
    Column("public_id", _Key, nullable=False, unique=True),
    Column("hash", Text, nullable=False),
    Column("user_id", _Key, nullable=False),
    Column("name", Text),
    Column("role", Text, nullable=False),  # read, submit, operate, admin
    Column("pages_per_hour", Integer),
    Column("open_jobs", Integer),
    Column("hour", BigInteger),  # the hour that pages_this_hour counts
    _count("pages_this_hour"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("used_at", BigInteger),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", _Key, primary_key=True),
    Column("key_id", BigInteger, nullable=False),
    Column("csrf", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("sessions_expiry", "expires_at"),
    sqlite_with_rowid=False,
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", _Key, primary_key=True),
    Column("value", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    _id(),
    Column("job_id", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="waiting"),  # waiting, delivered, failed
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("next_at", BigInteger),
    Column("status", SmallInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    UniqueConstraint("job_id", "round"),
    _partial("webhook_deliveries_next", "next_at", where="state = 'waiting'"),
    sqlite_autoincrement=True,
)

submissions = Table(
    "submissions",
    metadata,
    Column("key", _Key, primary_key=True),
    Column("job", _Key, nullable=False),  # public id
    Column("request_hash", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("submissions_expiry", "expires_at"),
    sqlite_with_rowid=False,
)

stored_reports = Table(
    "stored_reports",
    metadata,
    _id(),
    Column("public_id", _Key, nullable=False, unique=True),
    Column("trigger", Text, nullable=False),  # schedule, manual
    Column("created_at", BigInteger, nullable=False),
    Column("since_at", BigInteger, nullable=False),
    Column("until_at", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),  # pages, for lists
    Column("failed", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),  # JSON, zstd
    _partial("stored_reports_in_turn", "since_at", where="trigger = 'schedule'", unique=True),
    sqlite_autoincrement=True,
)

alert_rules = Table(
    "alert_rules",
    metadata,
    Column("name", _Key, primary_key=True),
    Column("declared", Text, nullable=False),  # JSON: its fields; for a built-in rule, changes
    Column("described_as", Text),  # hash of its section in the alerts file
    Column("updated_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

alert_channels = Table(
    "alert_channels",
    metadata,
    Column("name", _Key, primary_key=True),
    Column("declared", Text, nullable=False),  # JSON, with references in place of secrets
    Column("updated_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

alert_mutes = Table(
    "alert_mutes",
    metadata,
    Column("rule", _Key, nullable=False),
    Column("subject", _Key, nullable=False),  # empty: all alerts of the rule
    Column("until_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("rule", "subject"),
    sqlite_with_rowid=False,
)

alert_evaluations = Table(  # one row; every transaction that changes alerts raises its turn
    "alert_evaluations",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("turn", BigInteger, nullable=False),
    Column("evaluated_at", BigInteger),
    Column("clock_version", BigInteger),
)

alerts = Table(
    "alerts",
    metadata,
    Column("rule", _Key, nullable=False),
    Column("subject", _Key, nullable=False),  # empty: the whole system
    Column("phase", Text, nullable=False),  # pending, firing, resolved
    Column("held_ms", BigInteger, nullable=False),  # how long it has been pending
    Column("seen_at", BigInteger, nullable=False),  # when that time was last added to
    Column("value", Double),  # as last known
    Column("incident", BigInteger),  # the turn in which it last fired
    _flag("announced"),  # the messages about that firing exist
    Column("since_at", BigInteger, nullable=False),  # when this phase began
    Column("fired_at", BigInteger),
    Column("resolved_at", BigInteger),
    PrimaryKeyConstraint("rule", "subject"),
    sqlite_with_rowid=False,
)

alert_changes = Table(
    "alert_changes",
    metadata,
    Column("seq", _Id, primary_key=True, autoincrement=True),
    Column("rule", _Key, nullable=False),
    Column("subject", _Key, nullable=False),
    Column("incident", BigInteger, nullable=False),
    Column("phase", _Key, nullable=False),  # firing, resolved
    Column("at", BigInteger, nullable=False),
    Column("data", Text, nullable=False),  # JSON: value, severity, sentences
    UniqueConstraint("rule", "subject", "incident", "phase"),
    Index("alert_changes_by_age", "at"),
    sqlite_autoincrement=True,
)

alert_deliveries = Table(
    "alert_deliveries",
    metadata,
    _id(),
    Column("change_seq", BigInteger),  # null: a test message
    Column("channel", _Key, nullable=False),
    Column("state", Text, nullable=False, server_default="waiting"),  # waiting, delivered, failed
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("next_at", BigInteger),
    Column("status", SmallInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    UniqueConstraint("change_seq", "channel"),
    _partial("alert_deliveries_next", "next_at", where="state = 'waiting'"),
    Index("alert_deliveries_of_channel", "channel", "id"),
    sqlite_autoincrement=True,
)
