"""Jobs: submit, cancel, pause, retry, purge, and read them."""

from curtsy.jobs.cancel import cancel
from curtsy.jobs.dead_letters import (
    LetterSelection,
    Settled,
    resolve_letter,
    resolve_letters,
    retry_letter,
    retry_letters,
)
from curtsy.jobs.idempotency import Submitted
from curtsy.jobs.job_request import Claim, JobOrigin, JobRequest, PageRequest, SubmitLimits
from curtsy.jobs.pause import pause, resume
from curtsy.jobs.purge import purge_some
from curtsy.jobs.retry import retry_failures
from curtsy.jobs.submitter import Submitter

__all__ = [
    "Claim",
    "JobOrigin",
    "JobRequest",
    "LetterSelection",
    "PageRequest",
    "Settled",
    "SubmitLimits",
    "Submitted",
    "Submitter",
    "cancel",
    "pause",
    "purge_some",
    "resolve_letter",
    "resolve_letters",
    "resume",
    "retry_failures",
    "retry_letter",
    "retry_letters",
]
