"""The ways a job begins and is taken back: submit, cancel, retry of failures."""

from curtsy.submit.cancel import cancel
from curtsy.submit.request import JobRequest, PageRequest, SubmitLimits
from curtsy.submit.retry import retry_failures
from curtsy.submit.submit import Submitted, Submitter

__all__ = [
    "JobRequest",
    "PageRequest",
    "SubmitLimits",
    "Submitted",
    "Submitter",
    "cancel",
    "retry_failures",
]
