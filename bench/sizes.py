"""Sizes of the benchmarks: the usual ones, small for a smoke test, or long; and what
the command line chose."""

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int = 3
    page_rounds: int = 5
    pages: int = 5_000
    page_hosts: int = 100
    process_pages: int = 20_000
    process_rounds: int = 5
    frontier_visits: int = 50_000
    frontier_sources: int = 1_000
    small_backlog: int = 10_000
    large_backlog: int = 1_000_000
    backlog_sources: int = 10_000
    backlog_rounds: int = 5
    submit_urls: int = 100_000
    submit_hosts: int = 1_000
    articles: int = 1_000
    pool_pages: int = 2_000
    requests: int = 2_000
    polite_hosts: int = 20
    polite_pages: int = 50
    few_jobs: int = 1_000
    many_jobs: int = 1_000_000
    few_lines: int = 10_000
    many_lines: int = 100_000
    clients: int = 1_000
    heard: int = 20
    pairs: int = 5
    followed_pages: int = 800
    latency_samples: int = 100
    statement_pairs: int = 10
    statement_calls: int = 1_000
    one_url_submits: int = 300
    count_samples: int = 10
    startup_pairs: int = 10
    growth_pages: tuple[int, ...] = (5_000, 20_000, 80_000)
    growth_backlog: int = 1_000_000
    growth_rounds: int = 3
    memory_marks: tuple[int, ...] = (2_000, 20_000, 40_000)
    article_marks: tuple[int, ...] = (2_000, 10_000, 20_000)
    few_schedules: int = 100
    many_schedules: int = 100_000
    ticks: int = 100
    tick_rounds: int = 5
    year_days: int = 365
    recorded_pages: int = 20_000
    recorded_pairs: int = 10
    counted_sources: int = 10_000
    year_sources: int = 500
    counted_days: int = 365
    old_visits: int = 1_000_000
    pages_an_hour: int = 2_000
    cleanup_pairs: int = 12
    cleanup_seconds: float = 5.0
    body_bytes: int = 10 * 2**20
    hostile_bytes: int = 200_000
    hostile_seconds: int = 20
    """The processor time of a page: then it is killed, as in a worker."""
    article_folder: Path | None = None
    """Article pages, `*.html` or `*.html.gz`; None: generated ones."""
    beside: str = "b243596"
    """The revision that this one is compared with."""


USUAL = Sizes()
LONG = replace(USUAL, article_marks=(10_000, 50_000, 100_000), hostile_bytes=10 * 2**20)
QUICK = Sizes(
    rounds=1,
    old_visits=20_000,
    pages_an_hour=200,
    cleanup_pairs=2,
    cleanup_seconds=2.0,
    page_rounds=1,
    pages=300,
    page_hosts=20,
    process_pages=600,
    process_rounds=1,
    frontier_visits=2_000,
    frontier_sources=100,
    small_backlog=1_000,
    large_backlog=10_000,
    backlog_sources=1_000,
    backlog_rounds=1,
    submit_urls=5_000,
    submit_hosts=100,
    articles=60,
    pool_pages=40,
    requests=300,
    polite_hosts=10,
    polite_pages=10,
    few_jobs=100,
    many_jobs=5_000,
    few_lines=500,
    many_lines=2_000,
    clients=50,
    heard=3,
    pairs=1,
    followed_pages=200,
    latency_samples=10,
    statement_pairs=2,
    statement_calls=100,
    one_url_submits=30,
    count_samples=3,
    startup_pairs=1,
    growth_pages=(200, 400, 800),
    growth_backlog=5_000,
    growth_rounds=1,
    recorded_pages=500,
    recorded_pairs=1,
    counted_sources=200,
    year_sources=20,
    counted_days=5,
    memory_marks=(200, 500, 1_000),
    article_marks=(40, 80, 120),
    few_schedules=100,
    many_schedules=2_000,
    ticks=10,
    tick_rounds=1,
    year_days=20,
    body_bytes=2**20,
    hostile_bytes=20_000,
    hostile_seconds=5,
)
