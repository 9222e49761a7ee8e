"""The rules that every installation has. `alerts.toml` and the API change or disable them.

The thresholds of the first four are those of the operations document. A source that runs at its
limit all day may be meant to: `limit_use` therefore has the severity `info`, which channels send
only if they ask for it.
"""

from collections.abc import Mapping

from curtsy.alerts.metric import Metric
from curtsy.alerts.rule import Rule, Severity
from curtsy.clock import HOUR, MINUTE

_RULES = (
    Rule(name="success_rate", metric=Metric.SUCCESS_RATE, below=80, clear=85, hold=5 * MINUTE),
    Rule(name="ready_pages", metric=Metric.READY_PAGES, above=100, clear=80, hold=5 * MINUTE),
    Rule(name="worker_memory", metric=Metric.WORKER_MEMORY, above=500, clear=450,
         hold=2 * MINUTE),
    Rule(name="limit_use", metric=Metric.LIMIT_USE, above=90, clear=80, hold=5 * MINUTE,
         severity=Severity.INFO),
    Rule(name="missed_slots", metric=Metric.MISSED_SLOTS, above=0, window=HOUR),
    Rule(name="silent_site", metric=Metric.SLOTS_WITHOUT_SUCCESS, above=2, clear=0),
    Rule(name="records_fell", metric=Metric.RECORDS, below=50, clear=70),
    Rule(name="no_worker", metric=Metric.LIVE_WORKERS, below=1, hold=2 * MINUTE,
         severity=Severity.CRITICAL),
    Rule(name="disk_low", metric=Metric.FREE_DISK, below=2_000, clear=3_000, hold=MINUTE,
         severity=Severity.CRITICAL),
    Rule(name="disk_fills", metric=Metric.HOURS_UNTIL_FULL, below=24, clear=36,
         hold=15 * MINUTE),
    Rule(name="wal_grows", metric=Metric.WAL_SIZE, above=2_000, clear=1_500, hold=10 * MINUTE),
    Rule(name="host_given_up", metric=Metric.HOSTS_GIVEN_UP, above=0),
)  # fmt: skip

BUILTIN: Mapping[str, Rule] = {rule.name: rule for rule in _RULES}
