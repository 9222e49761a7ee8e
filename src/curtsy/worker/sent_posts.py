"""Keeps a POST from being sent twice: what was sent and has no known answer is for a person to
decide."""

from dataclasses import replace

from curtsy.errors import StoreAway, StoreFull
from curtsy.frontier.batch import Result
from curtsy.frontier.fence import mark_sent
from curtsy.frontier.take import Visit
from curtsy.logs import logger
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from curtsy.store import Store

log = logger("worker")

NOT_AGAIN = (
    "The POST was not sent again, because it may have changed the site; a retry of the job or of "
    "its dead letter sends it again."
)
_NOT_SENT = frozenset({Kind.DNS, Kind.CONNECT, Kind.TLS, Kind.ADDRESS_REFUSED})
"""The site has received nothing."""
_NO_ANSWER = frozenset({Kind.TIMEOUT, Kind.RESET, Kind.TRUNCATED})


class SentMarks:
    """Marks POSTs in the store before they are sent; other requests cost nothing."""

    def __init__(self, *, store: Store, worker: str) -> None:
        self._store, self._worker = store, worker

    async def mark(self, visit: Visit) -> bool:
        """Returns whether the POST may be sent now. If not, it has a mark, or the visit is gone or
        belongs to another worker, or the store cannot be reached."""
        page_id, turn = visit.page_id, visit.turn
        try:
            return await self._store.write(
                lambda c: mark_sent(c, page_id, turn, worker=self._worker)
            )
        except (StoreAway, StoreFull) as away:
            log.warning("post_waits_for_store", url=visit.url, reason=str(away))
            return False


def already_sent(visit: Visit) -> Failed | None:
    """The end of a visit whose POST was about to be sent in this turn, and has no result."""
    body = visit.body
    if visit.sent_turn != visit.turn or body is None or not body.is_sent_once:
        return None
    sentence = "The POST may have reached the site, but its answer was lost: its worker died, or "
    sentence += f"the visit was aborted. {NOT_AGAIN}"
    return Failed(Kind.UNKNOWN_OUTCOME, sentence, final=True)


def not_repeated(result: Result) -> Result:
    """Ends the visit of a POST that was sent, where the failure of a GET would be retried."""
    failed, body = result.outcome, result.visit.body
    if body is None or not body.is_sent_once or not isinstance(failed, Failed):
        return result
    lost = failed.kind in _NO_ANSWER and failed.status is None
    if result.again_at is None and not lost:
        return result
    if failed.kind in _NOT_SENT or _was_declined(failed):
        return result
    kind = Kind.UNKNOWN_OUTCOME if lost else failed.kind
    ended = replace(failed, kind=kind, error=f"{failed.error} {NOT_AGAIN}", final=True)
    return replace(result, outcome=ended, again_at=None, spends_attempt=False, refused=False)


def _was_declined(failed: Failed) -> bool:
    """The site says that it has not processed the request, and when to send it again."""
    return failed.status == 429 or (failed.status == 503 and failed.retry_after is not None)
