"""Formats how a job went, for `curtsy status --details`."""

from typing import Any

from curtsy.cli.console.text import counted, one_line, span
from curtsy.model.counts import megabytes


def performance_lines(found: dict[str, Any]) -> list[str]:
    """One line of figures, then the newest failures with their tracebacks. Of a job that goes on,
    the duration is that so far."""
    seconds, memory = found["duration_seconds"], found["peak_memory_bytes"]
    parts = [
        "has not started" if seconds is None else f"took {_exact(seconds)}",
        counted(found["attempts"], "request"),
        f"{found['retries']} of them retries",
        "no page was parsed" if memory is None else f"peak memory {megabytes(memory)}",
    ]
    lines = [", ".join(parts) + (" (of its first 1,000 pages)" if found["is_capped"] else "")]
    for failure in found["failures"]:
        what = f"{failure['kind']}: {one_line(failure['error'] or '')}"
        lines.append(f"{failure['page']} {one_line(failure['url'] or '')}: {what}")
        lines += [f"  {one_line(line)}" for line in (failure["traceback"] or "").splitlines()]
    return lines


def _exact(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else span(seconds)
