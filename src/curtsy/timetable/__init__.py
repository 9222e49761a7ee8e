"""Rules and their slots. Pure: no clock, no database.

A slot is an instant at which a rule is due. Slots depend only on the rule and a seed, so every
process computes the same slots, and the database can store each slot at most once.
"""

from curtsy.timetable.description import LocalSlot, in_words, shown
from curtsy.timetable.intervals import slot_after_end
from curtsy.timetable.rule_json import from_json, to_json
from curtsy.timetable.rules import BadRule, Cron, Every, Once, Rule
from curtsy.timetable.slots import checked, slot_after, slots
from curtsy.timetable.zones import checked_zone

__all__ = [
    "BadRule",
    "Cron",
    "Every",
    "LocalSlot",
    "Once",
    "Rule",
    "checked",
    "checked_zone",
    "from_json",
    "in_words",
    "shown",
    "slot_after",
    "slot_after_end",
    "slots",
    "to_json",
]
