"""The ways a job begins, is taken back and goes on: submit, cancel, retry of failures."""

from curtsy.submit.cancel import cancel
from curtsy.submit.letters import (
    Letters,
    Settled,
    resolve_letter,
    resolve_letters,
    retry_letter,
    retry_letters,
)
from curtsy.submit.pause import pause, resume
from curtsy.submit.purge import purge_some
from curtsy.submit.repeats import Submitted
from curtsy.submit.request import Claim, JobRequest, Origin, PageRequest, SubmitLimits
from curtsy.submit.retry import retry_failures
from curtsy.submit.submit import Submitter

__all__ = [
    "Claim",
    "JobRequest",
    "Letters",
    "Origin",
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
