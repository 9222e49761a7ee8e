"""Counts what a cleanup has deleted, and says so in a sentence."""

from dataclasses import dataclass, fields

from curtsy.model.counts import counted


@dataclass(slots=True)
class Deleted:
    """What one cleanup has deleted so far."""

    jobs: int = 0
    pages: int = 0
    """Pages that no job has any more."""
    records: int = 0
    firings: int = 0
    attempts: int = 0
    versions: int = 0
    """Versions of documents that no job has and another one followed."""
    letters: int = 0
    """Dead letters that were retried or resolved."""
    receipts: int = 0
    entries: int = 0
    """Entries of feeds and sitemaps that nobody has to remember any more."""
    hosts: int = 0
    bytes_given_back: int = 0

    def sentence(self, keep_days: int) -> str:
        told = (
            f"Deleted {counted(self.jobs, 'job')} older than {counted(keep_days, 'day')}, and "
            f"{counted(self.records, 'record')} that no site has had for as long."
        )
        rest = [counted(number, noun) for number, noun in (
            (self.pages, "page"), (self.attempts, "old attempt"), (self.versions, "old version"),
            (self.letters, "settled dead letter"), (self.hosts, "unused host"),
        ) if number]  # fmt: skip
        if rest:
            told += f" With them {_listed(rest)}."
        if self.bytes_given_back >= 2**20:
            told += f" The file is {self.bytes_given_back / 2**20:,.0f} MiB smaller."
        return told

    def as_dict(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
