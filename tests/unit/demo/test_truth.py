"""Questions to the access log, on logs small enough to answer by hand."""

from curtsy.demo import truth
from curtsy.demo.truth import Entry

MS = 1_000_000


def entry(n: int, at: int, host: str = "a", *, path: str = "/", until: int | None = None) -> Entry:
    return Entry(n, at * MS, at * MS, host, path, 1, None if until is None else until * MS, 200)


def test_the_smallest_gap_is_that_of_one_hosts_starts_in_order_of_time():
    entries = [entry(1, 900), entry(2, 100), entry(3, 350), entry(4, 360, "b"), entry(5, 1_000)]
    assert truth.smallest_gap(entries, "a") == 0.1
    assert truth.smallest_gap(entries, "b") is None
    assert truth.smallest_gaps(entries) == {"a": 0.1}
    assert truth.smallest_gaps([]) == {}


def test_counts_are_by_host_and_path():
    entries = [entry(1, 1), entry(2, 2), entry(3, 3, "b"), entry(4, 4, path="/x")]
    assert truth.counts(entries) == {("a", "/"): 2, ("b", "/"): 1, ("a", "/x"): 1}


def test_the_most_at_once_counts_overlaps_and_those_without_an_end():
    entries = [entry(1, 0, until=10), entry(2, 10, until=20), entry(3, 5, "b", until=15)]
    assert truth.most_at_once(entries) == 2
    assert truth.most_at_once(entries, "a") == 1
    assert truth.most_at_once([*entries, entry(4, 1), entry(5, 2)]) == 4
    assert truth.most_at_once([]) == 0


def test_a_log_that_is_being_written_is_read_up_to_its_last_whole_line():
    start = b'{"n":1,"at":5,"seen_at":6,"host":"a","path":"/","port":9}\n'
    end = b'{"end":1,"at":8,"status":null}\n'
    assert truth.parse(b"") == []
    assert truth.parse(start + end[:-1]) == [Entry(1, 5, 6, "a", "/", 9, None, None)]
    assert truth.parse(start + end) == [Entry(1, 5, 6, "a", "/", 9, 8, None)]
