"""Quantiles from fixed buckets are as exact as the buckets are narrow."""

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from curtsy.history.histogram import BOUNDS, BUCKETS, Histogram, bucket_of
from curtsy.reports.throughput import percentile

durations = st.lists(st.integers(0, 2 * BOUNDS[-1]), min_size=1, max_size=50)
parts = st.floats(0.01, 1.0)


def of(values: list[int]) -> Histogram:
    counts = [0] * BUCKETS
    for ms in values:
        counts[bucket_of(ms)] += 1
    return Histogram.of(counts, sum(values))


def test_the_bounds_rise_and_never_change() -> None:
    """Stored rows number the buckets: a bound that is changed changes what they say."""
    assert list(BOUNDS) == sorted(set(BOUNDS))
    assert BOUNDS[:8] == (5, 7, 10, 15, 20, 30, 50, 70)
    assert (len(BOUNDS), BOUNDS[-1]) == (36, 7 * 24 * 3_600_000)


@given(durations, parts)
def test_a_quantile_is_in_the_bucket_of_the_true_one(values: list[int], part: float) -> None:
    exact, found = percentile(sorted(values), part), of(values).quantile(part)
    assert found is not None
    bucket = min(bucket_of(exact), len(BOUNDS) - 1)
    assert (BOUNDS[bucket - 1] if bucket else 0) <= found <= BOUNDS[bucket]


@given(durations)
def test_quantiles_rise_with_their_part(values: list[int]) -> None:
    found = [of(values).quantile(part / 20) or 0 for part in range(1, 21)]
    assert found == sorted(found)


@given(durations)
def test_cumulative_counts_are_those_up_to_each_bound(values: list[int]) -> None:
    for bound, count in of(values).cumulative():
        assert count == (len(values) if bound is None else bisect_left(sorted(values), bound + 1))


def test_without_durations_there_is_no_quantile_and_no_mean() -> None:
    assert (Histogram().quantile(0.5), Histogram().mean, Histogram().number) == (None, None, 0)
