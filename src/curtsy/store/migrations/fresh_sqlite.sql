CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE alert_changes (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	rule TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	incident BIGINT NOT NULL, 
	phase TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	data TEXT NOT NULL, 
	UNIQUE (rule, subject, incident, phase)
);

CREATE TABLE alert_channels (
	name TEXT NOT NULL, 
	declared TEXT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID

;

CREATE TABLE alert_deliveries (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	change_seq BIGINT, 
	channel TEXT NOT NULL, 
	state TEXT DEFAULT 'waiting' NOT NULL, 
	attempts SMALLINT DEFAULT '0' NOT NULL, 
	next_at BIGINT, 
	status SMALLINT, 
	error TEXT, 
	created_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	UNIQUE (change_seq, channel)
);

CREATE TABLE alert_evaluations (
	id INTEGER NOT NULL, 
	turn BIGINT NOT NULL, 
	evaluated_at BIGINT, 
	clock_version BIGINT, 
	PRIMARY KEY (id)
);

CREATE TABLE alert_mutes (
	rule TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	until_at BIGINT NOT NULL, 
	PRIMARY KEY (rule, subject)
)
 WITHOUT ROWID

;

CREATE TABLE alert_rules (
	name TEXT NOT NULL, 
	declared TEXT NOT NULL, 
	described_as TEXT, 
	updated_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID

;

CREATE TABLE alerts (
	rule TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	phase TEXT NOT NULL, 
	held_ms BIGINT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	value DOUBLE, 
	incident BIGINT, 
	announced BOOLEAN DEFAULT false NOT NULL, 
	since_at BIGINT NOT NULL, 
	fired_at BIGINT, 
	resolved_at BIGINT, 
	PRIMARY KEY (rule, subject)
)
 WITHOUT ROWID

;

CREATE TABLE "api_keys" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	public_id TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	name TEXT, 
	role TEXT NOT NULL, 
	pages_per_hour INTEGER, 
	open_jobs INTEGER, 
	hour BIGINT, 
	pages_this_hour INTEGER DEFAULT 0 NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	revoked_at BIGINT, 
	used_at BIGINT, 
	UNIQUE (public_id)
);

CREATE TABLE attempts (
	page_id BIGINT NOT NULL, 
	turn BIGINT NOT NULL, 
	source_id BIGINT NOT NULL, 
	worker TEXT NOT NULL, 
	attempt SMALLINT NOT NULL, 
	url TEXT, 
	outcome TEXT NOT NULL, 
	kind TEXT, 
	status SMALLINT, 
	bytes BIGINT, 
	memory BIGINT, 
	error TEXT, 
	traceback TEXT, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	PRIMARY KEY (page_id, turn)
)
 WITHOUT ROWID

;

CREATE TABLE clock (
	id INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE cookie_jars (
	session TEXT NOT NULL, 
	source_id BIGINT NOT NULL, 
	cookies TEXT NOT NULL, 
	login TEXT DEFAULT '{}' NOT NULL, 
	job_id BIGINT, 
	updated_at BIGINT NOT NULL, 
	PRIMARY KEY (session, source_id)
)
 WITHOUT ROWID

;

CREATE TABLE crawled (
	job_id BIGINT NOT NULL, 
	fingerprint TEXT NOT NULL, subscription_id BIGINT, 
	PRIMARY KEY (job_id, fingerprint)
)
 WITHOUT ROWID

;

CREATE TABLE crawls (
	job_id INTEGER NOT NULL, 
	depth SMALLINT NOT NULL, 
	max_pages INTEGER NOT NULL, 
	admitted INTEGER NOT NULL, 
	priority SMALLINT NOT NULL, 
	scope TEXT NOT NULL, ranks TEXT DEFAULT '{}' NOT NULL, 
	PRIMARY KEY (job_id)
);

CREATE TABLE "dead_letters" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	page_id BIGINT NOT NULL, 
	turn BIGINT NOT NULL, 
	source_id BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	family TEXT NOT NULL, 
	error TEXT NOT NULL, 
	traceback TEXT, 
	attempts SMALLINT NOT NULL, 
	state TEXT DEFAULT 'open' NOT NULL, 
	retries SMALLINT DEFAULT '0' NOT NULL, 
	created_at BIGINT NOT NULL, final BOOLEAN DEFAULT false NOT NULL, times INTEGER DEFAULT '1' NOT NULL, last_failed_at BIGINT DEFAULT '0' NOT NULL, 
	UNIQUE (page_id, turn)
);

CREATE TABLE documents (
	page_id BIGINT NOT NULL, 
	version INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	hash TEXT NOT NULL, 
	content_type TEXT NOT NULL, 
	charset TEXT, 
	status SMALLINT NOT NULL, 
	url TEXT NOT NULL, 
	bytes BIGINT NOT NULL, 
	fetched_at BIGINT NOT NULL, 
	PRIMARY KEY (page_id, version)
);

CREATE TABLE events (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	xid BIGINT DEFAULT 0 NOT NULL, 
	job_id BIGINT NOT NULL, 
	n BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	name TEXT NOT NULL, 
	page_id BIGINT, 
	data TEXT, 
	UNIQUE (job_id, n)
);

CREATE TABLE firings (
	schedule_id BIGINT NOT NULL, 
	fire_at BIGINT NOT NULL, 
	fired_at BIGINT NOT NULL, 
	"trigger" TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	job_id BIGINT, 
	message TEXT, waited BOOLEAN DEFAULT false NOT NULL, 
	PRIMARY KEY (schedule_id, fire_at)
);

CREATE TABLE history (
	span SMALLINT NOT NULL, 
	source_id BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	band SMALLINT NOT NULL, 
	requests INTEGER DEFAULT 0 NOT NULL, 
	failures INTEGER DEFAULT 0 NOT NULL, 
	counts TEXT NOT NULL, 
	PRIMARY KEY (span, source_id, at, band)
)
 WITHOUT ROWID

;

CREATE TABLE history_batches (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	facts TEXT NOT NULL, 
	counted BOOLEAN DEFAULT false NOT NULL
);

CREATE TABLE history_state (
	id INTEGER NOT NULL, 
	totals_due_at BIGINT NOT NULL, 
	sources_due_at BIGINT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE hosts (
	host TEXT NOT NULL, 
	source_id BIGINT NOT NULL, 
	robots BLOB, 
	robots_status SMALLINT, 
	robots_expires_at BIGINT, 
	created_at BIGINT NOT NULL, 
	PRIMARY KEY (host)
)
 WITHOUT ROWID

;

CREATE TABLE items (
	job_id BIGINT NOT NULL, 
	position INTEGER NOT NULL, 
	page_id BIGINT NOT NULL, 
	state SMALLINT NOT NULL, 
	url TEXT, 
	source_label TEXT, 
	category TEXT, 
	priority SMALLINT NOT NULL, 
	depth SMALLINT DEFAULT '0' NOT NULL, 
	cached BOOLEAN DEFAULT false NOT NULL, 
	document_version INTEGER, 
	kind TEXT, 
	error TEXT, 
	fetched_at BIGINT, 
	ended_at BIGINT, uses SMALLINT DEFAULT '3' NOT NULL, 
	PRIMARY KEY (job_id, position)
)
 WITHOUT ROWID

;

CREATE TABLE job_tags (
	tag TEXT NOT NULL, 
	job_id BIGINT NOT NULL, 
	PRIMARY KEY (tag, job_id)
)
 WITHOUT ROWID

;

CREATE TABLE "jobs" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	public_id TEXT NOT NULL, 
	run_id TEXT, 
	door TEXT NOT NULL, 
	user_id TEXT, 
	name TEXT, 
	scraper TEXT NOT NULL, 
	params TEXT DEFAULT '{}' NOT NULL, 
	state TEXT NOT NULL, 
	paused_at BIGINT, 
	total INTEGER NOT NULL, 
	done INTEGER DEFAULT 0 NOT NULL, 
	failed INTEGER DEFAULT 0 NOT NULL, 
	cancelled INTEGER DEFAULT 0 NOT NULL, 
	cached INTEGER DEFAULT 0 NOT NULL, 
	last_event BIGINT DEFAULT '0' NOT NULL, 
	round INTEGER DEFAULT '1' NOT NULL, 
	"trigger" TEXT DEFAULT 'manual' NOT NULL, 
	schedule_id BIGINT, 
	message TEXT, 
	created_at BIGINT NOT NULL, 
	due_at BIGINT, 
	started_at BIGINT, 
	finished_at BIGINT, 
	updated_at BIGINT NOT NULL, 
	links_waiting INTEGER DEFAULT 0 NOT NULL, 
	webhook_url TEXT, 
	finish_by BIGINT, 
	capacity_ms BIGINT DEFAULT 0 NOT NULL, 
	politeness_ms BIGINT DEFAULT 0 NOT NULL, 
	closed_ms BIGINT DEFAULT 0 NOT NULL, 
	backoff_ms BIGINT DEFAULT 0 NOT NULL, 
	fetching_ms BIGINT DEFAULT 0 NOT NULL, 
	site_id BIGINT, 
	search TEXT, 
	gathered_at BIGINT, 
	UNIQUE (public_id), 
	UNIQUE (run_id)
);

CREATE TABLE "links" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	job_id BIGINT NOT NULL, 
	depth SMALLINT NOT NULL, 
	urls TEXT NOT NULL
);

CREATE TABLE lists (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	job_id BIGINT NOT NULL, 
	depth SMALLINT NOT NULL, 
	page_id BIGINT NOT NULL, 
	document_version INTEGER NOT NULL, 
	reached INTEGER DEFAULT '0' NOT NULL
);

CREATE TABLE offers (
	name TEXT NOT NULL, 
	offered_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID

;

CREATE TABLE "pages" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	fingerprint TEXT NOT NULL, 
	url TEXT NOT NULL, 
	host TEXT NOT NULL, 
	scraper TEXT NOT NULL, 
	options TEXT, 
	reference_count INTEGER DEFAULT 0 NOT NULL, 
	turn BIGINT DEFAULT '0' NOT NULL, 
	outcome TEXT, 
	kind TEXT, 
	error TEXT, 
	retry_count INTEGER DEFAULT 0 NOT NULL, 
	checked_at BIGINT, 
	fetched_at BIGINT, 
	etag TEXT, 
	last_modified TEXT, 
	document_version INTEGER DEFAULT 0 NOT NULL, 
	document_hash TEXT, 
	created_at BIGINT NOT NULL, 
	wire_bytes BIGINT, sent_turn BIGINT, 
	UNIQUE (fingerprint)
);

CREATE TABLE receipts (
	source_id BIGINT NOT NULL, 
	day INTEGER NOT NULL, 
	requests INTEGER DEFAULT 0 NOT NULL, 
	robots_requests INTEGER DEFAULT 0 NOT NULL, 
	robots_refusals INTEGER DEFAULT 0 NOT NULL, 
	smallest_gap_ms BIGINT, 
	rests_announced INTEGER DEFAULT 0 NOT NULL, 
	rests_of_our_own INTEGER DEFAULT 0 NOT NULL, 
	not_modified INTEGER DEFAULT 0 NOT NULL, 
	bytes BIGINT DEFAULT 0 NOT NULL, 
	bytes_saved BIGINT DEFAULT 0 NOT NULL, 
	PRIMARY KEY (source_id, day)
)
 WITHOUT ROWID

;

CREATE TABLE records (
	site_id BIGINT NOT NULL, 
	"key" TEXT NOT NULL, 
	data TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	first_seen_at BIGINT NOT NULL, 
	last_seen_at BIGINT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	PRIMARY KEY (site_id, "key")
)
 WITHOUT ROWID

;

CREATE TABLE schedulers (
	id TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	program TEXT NOT NULL, 
	started_at BIGINT NOT NULL, 
	ticked_at BIGINT NOT NULL, program_schema TEXT, 
	PRIMARY KEY (id)
);

CREATE TABLE schedules (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	public_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	user_id TEXT, 
	owner TEXT DEFAULT '' NOT NULL, 
	key_id BIGINT, 
	rule TEXT NOT NULL, 
	timezone TEXT DEFAULT 'UTC' NOT NULL, 
	payload TEXT NOT NULL, 
	overlap TEXT DEFAULT 'skip' NOT NULL, 
	catch_up TEXT DEFAULT 'latest' NOT NULL, 
	window_ms BIGINT NOT NULL, 
	not_before BIGINT, 
	enabled BOOLEAN DEFAULT true NOT NULL, 
	next_fire_at BIGINT, 
	waiting_fire_at BIGINT, 
	look_at BIGINT, 
	last_fire_at BIGINT, 
	first_job TEXT, 
	site_id BIGINT, 
	described_as TEXT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, of_site BOOLEAN DEFAULT false NOT NULL, 
	UNIQUE (owner, name), 
	UNIQUE (public_id)
);

CREATE TABLE schema_support (
	revision TEXT NOT NULL, 
	oldest_program TEXT NOT NULL, 
	PRIMARY KEY (revision)
)
 WITHOUT ROWID

;

CREATE TABLE secrets (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID

;

CREATE TABLE seen_entries (
	subscription_id BIGINT NOT NULL, 
	entry TEXT NOT NULL, 
	stamp TEXT NOT NULL, 
	job_id BIGINT NOT NULL, 
	position INTEGER NOT NULL, 
	found_in TEXT, 
	whole BOOLEAN DEFAULT false NOT NULL, 
	listed_at BIGINT NOT NULL, 
	PRIMARY KEY (subscription_id, entry)
)
 WITHOUT ROWID

;

CREATE TABLE sessions (
	hash TEXT NOT NULL, 
	key_id BIGINT NOT NULL, 
	csrf TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	PRIMARY KEY (hash)
)
 WITHOUT ROWID

;

CREATE TABLE sightings (
	job_id BIGINT NOT NULL, 
	"key" TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	change TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (job_id, "key")
)
 WITHOUT ROWID

;

CREATE TABLE sites (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	declared TEXT NOT NULL, 
	enabled BOOLEAN DEFAULT false NOT NULL, 
	described_as TEXT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	UNIQUE (name)
);

CREATE TABLE "sources" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	policy TEXT DEFAULT '{}' NOT NULL, 
	control_version INTEGER DEFAULT 0 NOT NULL, 
	paused BOOLEAN DEFAULT (false) NOT NULL, 
	band SMALLINT DEFAULT '2' NOT NULL, 
	ready_at BIGINT, 
	owner TEXT, 
	epoch BIGINT DEFAULT '0' NOT NULL, 
	next_fetch_at BIGINT, 
	delay_ms BIGINT DEFAULT '1000' NOT NULL, 
	pace TEXT, 
	ranks TEXT DEFAULT '{}' NOT NULL, 
	looks INTEGER DEFAULT 0 NOT NULL, 
	failing_since BIGINT, 
	fail_streak INTEGER DEFAULT 0 NOT NULL, 
	crash_streak INTEGER DEFAULT 0 NOT NULL, 
	suspect_page_id BIGINT, 
	created_at BIGINT NOT NULL, 
	paused_by TEXT, 
	described BOOLEAN DEFAULT (false) NOT NULL, 
	described_as TEXT, 
	hosts_moved_at BIGINT, 
	paced_at BIGINT, 
	unreported BOOLEAN DEFAULT (false) NOT NULL, 
	UNIQUE (name)
);

CREATE TABLE stored_reports (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	public_id TEXT NOT NULL, 
	"trigger" TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	since_at BIGINT NOT NULL, 
	until_at BIGINT NOT NULL, 
	ended BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	content BLOB NOT NULL, 
	UNIQUE (public_id)
);

CREATE TABLE submissions (
	"key" TEXT NOT NULL, 
	job TEXT NOT NULL, 
	request_hash TEXT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	PRIMARY KEY ("key")
)
 WITHOUT ROWID

;

CREATE TABLE subscriptions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"key" TEXT NOT NULL, 
	user_id TEXT, 
	schedule_id BIGINT, 
	url TEXT NOT NULL, 
	scraper TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	last_run_at BIGINT NOT NULL, 
	UNIQUE ("key")
);

CREATE TABLE visits (
	page_id INTEGER NOT NULL, 
	source_id BIGINT NOT NULL, 
	priority SMALLINT NOT NULL, 
	rank BIGINT NOT NULL, 
	due_at BIGINT, 
	turn BIGINT NOT NULL, 
	attempt SMALLINT DEFAULT '0' NOT NULL, 
	current_url TEXT, 
	hops SMALLINT DEFAULT '0' NOT NULL, 
	progress TEXT, 
	crashes SMALLINT DEFAULT '0' NOT NULL, 
	created_at BIGINT NOT NULL, links BOOLEAN DEFAULT false NOT NULL, refused SMALLINT DEFAULT '0' NOT NULL, repeats BOOLEAN DEFAULT false NOT NULL, 
	PRIMARY KEY (page_id)
);

CREATE TABLE "webhook_deliveries" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	job_id BIGINT NOT NULL, 
	round INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	state TEXT DEFAULT 'waiting' NOT NULL, 
	attempts SMALLINT DEFAULT 0 NOT NULL, 
	next_at BIGINT, 
	status SMALLINT, 
	error TEXT, 
	created_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	UNIQUE (job_id, round)
);

CREATE TABLE workers (
	id TEXT NOT NULL, 
	beat BIGINT NOT NULL, 
	lease_until BIGINT NOT NULL, 
	in_flight TEXT DEFAULT '[]' NOT NULL, 
	machine TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	program TEXT NOT NULL, 
	draining BOOLEAN DEFAULT false NOT NULL, 
	started_at BIGINT NOT NULL, slots INTEGER DEFAULT 0 NOT NULL, memory_bytes BIGINT, program_schema TEXT, 
	PRIMARY KEY (id)
);

CREATE INDEX alert_changes_by_age ON alert_changes (at);

CREATE INDEX alert_deliveries_next ON alert_deliveries (next_at) WHERE state = 'waiting';

CREATE INDEX alert_deliveries_of_channel ON alert_deliveries (channel, id);

CREATE INDEX cookie_jars_by_age ON cookie_jars (updated_at);

CREATE INDEX cookie_jars_of_job ON cookie_jars (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX dead_letters_in_state ON dead_letters (state, id);

CREATE INDEX dead_letters_of_kind ON dead_letters (kind, id) WHERE state = 'open';

CREATE INDEX dead_letters_of_source ON dead_letters (source_id, id) WHERE state = 'open';

CREATE UNIQUE INDEX dead_letters_open ON dead_letters (page_id) WHERE state = 'open';

CREATE INDEX firings_by_time ON firings (fired_at);

CREATE INDEX firings_of_job ON firings (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX history_batches_new ON history_batches (id) WHERE NOT counted;

CREATE INDEX history_by_failures ON history (span, at, failures, source_id) WHERE source_id > 0 AND failures > 0;

CREATE INDEX history_by_requests ON history (span, at, requests, source_id) WHERE source_id > 0;

CREATE INDEX hosts_source ON hosts (source_id);

CREATE INDEX items_failed ON items (page_id) WHERE state = 2;

CREATE INDEX items_waiting ON items (page_id) WHERE state = 0;

CREATE INDEX job_tags_of_job ON job_tags (job_id);

CREATE INDEX jobs_failed_in_part ON jobs (door, created_at, id) WHERE state = 'failed' AND done > 0;

CREATE INDEX jobs_failed_whole ON jobs (door, created_at, id) WHERE state = 'failed' AND done = 0;

CREATE INDEX jobs_in_state ON jobs (state, door, created_at, id);

CREATE INDEX jobs_newest ON jobs (created_at, id);

CREATE INDEX jobs_of_site ON jobs (site_id, created_at) WHERE site_id IS NOT NULL;

CREATE INDEX jobs_of_user ON jobs (user_id, created_at);

CREATE INDEX jobs_open_of_schedule ON jobs (schedule_id) WHERE finished_at IS NULL AND schedule_id IS NOT NULL;

CREATE INDEX jobs_open_of_site ON jobs (site_id) WHERE finished_at IS NULL AND site_id IS NOT NULL;

CREATE INDEX jobs_open_of_user ON jobs (user_id) WHERE finished_at IS NULL AND user_id IS NOT NULL;

CREATE INDEX jobs_to_gather ON jobs (finished_at) WHERE site_id IS NOT NULL AND gathered_at IS NULL AND finished_at IS NOT NULL;

CREATE INDEX links_of_job ON links (job_id);

CREATE INDEX lists_of_job ON lists (job_id);

CREATE INDEX receipts_by_day ON receipts (day);

CREATE INDEX records_by_sight ON records (site_id, last_seen_at);

CREATE INDEX schedules_named ON schedules (name);

CREATE INDEX schedules_of_user ON schedules (user_id, id);

CREATE INDEX schedules_to_look_at ON schedules (look_at) WHERE look_at IS NOT NULL;

CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE INDEX sightings_in_order ON sightings (job_id, position);

CREATE INDEX sources_described ON sources (name) WHERE described;

CREATE INDEX sources_left ON sources (hosts_moved_at) WHERE hosts_moved_at IS NOT NULL;

CREATE INDEX sources_owned ON sources (owner) WHERE owner IS NOT NULL;

CREATE INDEX sources_ready ON sources (band, ready_at) WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused;

CREATE UNIQUE INDEX stored_reports_in_turn ON stored_reports (since_at) WHERE trigger = 'schedule';

CREATE INDEX submissions_expiry ON submissions (expires_at);

CREATE INDEX subscriptions_by_run ON subscriptions (last_run_at);

CREATE INDEX visits_due ON visits (source_id, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX visits_ready ON visits (source_id, priority, rank, page_id) WHERE due_at IS NULL;

CREATE INDEX webhook_deliveries_next ON webhook_deliveries (next_at) WHERE state = 'waiting';

INSERT INTO alembic_version VALUES ('0022');

INSERT INTO alert_evaluations VALUES (1, 0, NULL, NULL);

INSERT INTO clock VALUES (1, 1);

INSERT INTO history_state VALUES (1, 0, 0);

INSERT INTO schema_support VALUES ('0014', '0013');

INSERT INTO schema_support VALUES ('0015', '0013');

INSERT INTO schema_support VALUES ('0016', '0013');

INSERT INTO schema_support VALUES ('0017', '0013');

INSERT INTO schema_support VALUES ('0018', '0013');

INSERT INTO schema_support VALUES ('0019', '0013');

INSERT INTO schema_support VALUES ('0020', '0013');

INSERT INTO schema_support VALUES ('0021', '0013');

INSERT INTO schema_support VALUES ('0022', '0013');

