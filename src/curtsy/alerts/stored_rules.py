"""The stored rules and mutes: changes of the built-in rules, own rules, and what is muted."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from curtsy.alerts.builtin_rules import BUILTIN
from curtsy.alerts.rule import Rule
from curtsy.alerts.rule_fields import NAME, RuleFields, rule_of
from curtsy.clock import DAY
from curtsy.errors import BadRequest, NotFound, WrongState
from curtsy.logs import logger
from curtsy.sources.file import Applied, hash_of
from curtsy.store import Connection, Statement

log = logger("alerts")

MOST_RULES = 200
"""Own rules and changed built-in ones."""

RAISE_TURN = Statement("UPDATE alert_evaluations SET turn = turn + 1 WHERE id = 1")
"""The first statement of every transaction that changes what an evaluation reads: it waits for an
evaluation that is being written, and one that read before writes nothing."""
_READ = Statement("SELECT name, declared, described_as FROM alert_rules ORDER BY name")
_PUT = Statement(
    """
    INSERT INTO alert_rules (name, declared, described_as, updated_at)
    VALUES (:name, :declared, :described_as, :now)
    ON CONFLICT (name) DO UPDATE SET declared = excluded.declared,
        described_as = coalesce(excluded.described_as, alert_rules.described_as),
        updated_at = excluded.updated_at
    """
)
_REPLACE = Statement(
    """
    UPDATE alert_rules SET declared = :instead, described_as = CASE WHEN :of_file
        THEN NULL ELSE described_as END
    WHERE name = :name AND (:of_file OR declared <> 'null')
    """
)
DELETED, UNCHANGED = "null", "{}"
"""In place of the fields of a rule that was deleted: an own one, whose alerts end with the next
evaluation, and a built-in one, which is again as it came. The row stays while its section stands in
the file unchanged."""
_MUTES = Statement("SELECT rule, subject, until_at FROM alert_mutes ORDER BY rule, subject")
_MUTED_RULES = Statement(
    "SELECT rule, until_at FROM alert_mutes WHERE subject = '' AND until_at > :now"
)
_MUTE = Statement(
    """
    INSERT INTO alert_mutes (rule, subject, until_at) VALUES (:rule, :subject, :until)
    ON CONFLICT (rule, subject) DO UPDATE SET until_at = excluded.until_at
    """
)
_UNMUTE = Statement("DELETE FROM alert_mutes WHERE rule = :rule AND subject = :subject")
_PRUNE_MUTES = Statement("DELETE FROM alert_mutes WHERE until_at < :now")
_PRUNE_DELETED = Statement(
    """
    DELETE FROM alert_rules WHERE described_as IS NULL AND (declared = '{{}}'
        OR declared = 'null' AND NOT EXISTS (
            SELECT 1 FROM alerts a WHERE a.rule = alert_rules.name AND a.phase <> 'resolved'))
    """
)
_MUTE_COUNT = Statement("SELECT count(*) FROM alert_mutes WHERE until_at > :now")
MOST_MUTES = 10_000
LONGEST_MUTE = 366 * DAY


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule with what made it so."""

    rule: Rule
    is_builtin: bool
    changed: Mapping[str, object]
    """The stored fields; empty for a built-in rule as it came."""
    is_of_file: bool
    """Its section stands in `alerts.toml`."""


def listed_rules(connection: Connection) -> dict[str, ListedRule]:
    """All rules by name. Leaves out stored rules that this version cannot read, and logs them."""
    found = {name: ListedRule(rule, True, {}, False) for name, rule in BUILTIN.items()}
    for row in _READ(connection):
        if row.declared == DELETED:
            continue
        declared = orjson.loads(row.declared)
        try:
            rule = rule_of(row.name, RuleFields.model_validate(declared))
        except (ValidationError, BadRequest) as wrong:
            log.warning("alert_rule_unreadable", rule=row.name, reason=str(wrong).split("\n")[0])
            continue
        is_of_file = row.described_as is not None
        found[row.name] = ListedRule(rule, row.name in BUILTIN, declared, is_of_file)
    return found


def deleted_rules(connection: Connection) -> list[str]:
    return [row.name for row in _READ(connection) if row.declared == DELETED]


def rule_named(connection: Connection, name: str) -> ListedRule:
    found = listed_rules(connection).get(name)
    if found is None:
        raise NotFound("rule", name[:100])
    return found


def put_rule(
    connection: Connection, name: str, fields: RuleFields, *, now: int,
    described_as: str | None = None,
) -> ListedRule:  # fmt: skip
    """Stores a rule in place of the one of that name. Raises `BadRequest`."""
    rule_of(name, fields)
    RAISE_TURN(connection)
    stored = [row.name for row in _READ(connection) if row.declared != DELETED]
    if name not in stored and len(stored) >= MOST_RULES:
        raise WrongState("The number of stored rules", f"at its limit of {MOST_RULES}", "raised")
    declared = orjson.dumps(fields.declared()).decode()
    _PUT(connection, name=name, declared=declared, described_as=described_as, now=now)
    return rule_named(connection, name)


def delete_rule(connection: Connection, name: str) -> bool:
    """Deletes an own rule; a built-in rule becomes again what it was. Returns whether it is a
    built-in one. Raises `NotFound`."""
    if not NAME.fullmatch(name):
        raise NotFound("rule", name[:100])
    RAISE_TURN(connection)
    if not _delete(connection, name, of_file=False) and name not in BUILTIN:
        raise NotFound("rule", name[:100])
    return name in BUILTIN


def _delete(connection: Connection, name: str, *, of_file: bool) -> bool:
    """`of_file`: its section is gone, too. Returns whether there was something to delete."""
    instead = UNCHANGED if name in BUILTIN else DELETED
    return _REPLACE(connection, name=name, instead=instead, of_file=of_file).rowcount > 0


def apply_rules(connection: Connection, sections: Mapping[str, RuleFields], *, now: int) -> Applied:
    """Stores each section that differs from its last application, and deletes the rules whose
    section is gone from the file; leaves rules alone that came through the API. Of processes that
    apply the same file at once, the later ones wait for the first and find nothing to do."""
    RAISE_TURN(connection)
    known = {row.name: row.described_as for row in _READ(connection)}
    removed = [name for name, hashed in known.items() if hashed and name not in sections]
    changed = {name: hashed for name, fields in sorted(sections.items())
               if known.get(name) != (hashed := hash_of(fields))}  # fmt: skip
    for name in removed:
        _delete(connection, name, of_file=True)
    for name, hashed in changed.items():
        put_rule(connection, name, sections[name], now=now, described_as=hashed)
    return Applied(list(changed), removed)


def mute(connection: Connection, name: str, subject: str, *, until: int, now: int) -> None:
    """Holds back messages about firings of the rule (or of one of its alerts) until that
    instant. Raises `BadRequest` for one that is past, or too far away."""
    if not now < until <= now + LONGEST_MUTE:
        raise BadRequest(["A mute ends in the future, at most 366 days from now."])
    RAISE_TURN(connection)
    rule_named(connection, name)
    if _MUTE_COUNT(connection, now=now).scalar_one() >= MOST_MUTES:
        raise WrongState("The number of mutes", f"at its limit of {MOST_MUTES}", "raised")
    _MUTE(connection, rule=name, subject=subject, until=until)


def unmute(connection: Connection, name: str, subject: str) -> None:
    RAISE_TURN(connection)
    rule_named(connection, name)
    if not _UNMUTE(connection, rule=name, subject=subject).rowcount:
        what = f"The alert {name} of {subject}" if subject else f"The rule {name}"
        raise WrongState(what, "not muted", "unmuted")


def mutes_of_rules(connection: Connection, *, now: int) -> dict[str, int]:
    """Until when whole rules are muted now."""
    return {row.rule: row.until_at for row in _MUTED_RULES(connection, now=now)}


def stored_mutes(connection: Connection) -> dict[tuple[str, str], int]:
    return {(row.rule, row.subject): row.until_at for row in _MUTES(connection)}


def prune_rules(connection: Connection, *, now: int) -> None:
    """Deletes mutes that have ended, and deleted rules whose alerts have ended."""
    _PRUNE_MUTES(connection, now=now)
    _PRUNE_DELETED(connection)
