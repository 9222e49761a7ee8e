"""A job's results, written as they are read; what failed is told afterwards."""

from dataclasses import dataclass, field

from curtsy.cli.console.progress import Tells
from curtsy.cli.console.text import one_line
from curtsy.cli.views.articles import Form, Writer, is_record
from curtsy.client import AsyncJob


@dataclass(slots=True)
class Written:
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    """Never tried, so neither results nor failures: they are left out."""
    failures: list[str] = field(default_factory=list)
    """For people. Lines of JSON hold them already."""


async def write_all(job: AsyncJob, writer: Writer, tells: Tells) -> Written:
    written = Written()
    async for found in job.results():
        if not is_record(found) and found.get("kind") == "cancelled":
            written.cancelled += 1
            continue
        writer.write(found)
        if is_record(found) or "error" not in found:
            written.done += 1
        else:
            written.failed += 1
            if writer.form is not Form.JSON:
                written.failures.append(f"{one_line(found['url'])}: {found['error']}")
        tells(written.done, written.failed)
    return written
