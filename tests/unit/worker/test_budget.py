"""How long a lane holds its source."""

from collections import Counter
from random import Random

from curtsy.worker.budget import SPAN, SPREAD, VISITS, Budget


def _end(budget: Budget, begin: int = 0) -> int:
    return next(at for at in range(begin, begin + 2 * SPAN) if budget.is_spent(at))


def test_budgets_that_begin_together_do_not_end_together() -> None:
    rng = Random(7)
    ends = [_end(Budget(0, rng)) for _ in range(100)]
    assert min(ends) >= SPAN * (1 - SPREAD)
    assert max(ends) <= SPAN * (1 + SPREAD)
    assert max(Counter(end // 1000 for end in ends).values()) <= 20, "of a hundred in one second"


def test_a_budget_that_is_renewed_is_whole_again() -> None:
    budget = Budget(0, Random(7))
    for page in range(VISITS):
        budget.spend(page, 0)
    assert budget.is_spent(0)
    budget.renew(1_000_000)
    assert not budget.is_spent(1_000_000)
    assert _end(budget, 1_000_000) >= 1_000_000 + SPAN * (1 - SPREAD)
