"""Findings about this machine and its user: how well scrapers are confined, who may read what."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from curtsy.extract.confinement_check import MachineConfinement
from curtsy.reports.findings.finding import Finding, Severity


def of_machine(
    confinement: MachineConfinement, *, exposed: Iterable[str], missing_secrets: Iterable[str]
) -> Iterator[Finding]:
    """`exposed` and `missing_secrets` are sentences about files."""
    lacking = [name for name, refused in asdict(confinement.refused).items() if not refused]
    names = ", ".join(name.replace("_", " ") for name in lacking)
    if lacking:
        yield Finding(
            Severity.WARNING, "sandbox",
            "A scraper's process can do more here than it should, such as read any file that this "
            "user may read, if your own scrapers want to."
            if lacking == ["reading"]
            else f"A scraper's process is not kept here from all it should be: {names}.",
            "Linux 5.13 or later keeps it from all of that, with `landlock` among the LSMs that "
            "it starts with.",
        )  # fmt: skip
    if confinement.root:
        yield Finding(
            Severity.WARNING, "root", "This is root.",
            "run curtsy as a user of its own: then a hole in a parser, or in the kernel's "
            "confinement of scrapers, does not lead to everything.",
        )  # fmt: skip
    for code, sentences in (("secrets_exposed", exposed), ("secret_missing", missing_secrets)):
        for sentence in sentences:
            what, _, remedy = sentence.partition(": ")
            yield Finding(Severity.WARNING, code, f"{what}.", remedy)
