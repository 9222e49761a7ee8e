"""Examples for the OpenAPI document: those of the five API documents, with curtsy's own fields."""

from typing import Any

Example = dict[str, Any]

JOB = "job_a1b2c3d4e5f6"

CLEANUP: Example = {"days": 30}

ARTICLES_REQUEST: Example = {
    "articles": [
        {"url": "https://example.com/article1", "source": "TechNews", "category": "AI",
         "priority": 1},
        {"url": "https://example.com/article2", "source": "TechNews", "category": "ML",
         "priority": 2},
    ]
}  # fmt: skip
ARTICLES_CREATED: Example = {
    "job_id": JOB, "status": "IN_PROGRESS", "total_articles": 2, "new_articles": 2,
    "cached_articles": 0, "message": "Job submitted successfully",
}  # fmt: skip
ARTICLES_STATUS: Example = {
    "job_id": JOB, "status": "IN_PROGRESS", "total_articles": 10, "completed": 7, "failed": 1,
    "pending": 2, "created_at": "2024-02-04T10:30:00Z", "updated_at": "2024-02-04T10:35:00Z",
    "door": "articles", "state": "running", "cancelled": 0, "cached_articles": 0, "tags": [],
}  # fmt: skip
ARTICLES_RESULTS: Example = {
    "job_id": JOB, "status": "COMPLETED", "total_articles": 10, "successful": 9, "failed": 1,
    "door": "articles", "state": "partial", "next_cursor": "5",
    "results": [
        {"article_id": "art_001", "url": "https://example.com/article1", "source": "TechNews",
         "category": "AI", "title": "Understanding Large Language Models",
         "content": "Full scraped article content here...", "scraped_at": "2024-02-04T10:32:00Z",
         "cached": False},
        {"article_id": "art_002", "url": "https://example.com/article2", "source": "TechNews",
         "category": "ML", "title": "Deep Learning Fundamentals",
         "content": "Full scraped article content here...", "scraped_at": "2024-02-01T08:15:00Z",
         "cached": True},
    ],
    "failed_articles": [
        {"article_id": "art_005", "url": "https://example.com/article5", "source": "TechNews",
         "category": "AI", "error": "The host answered 404 Not Found.", "kind": "gone",
         "attempted_at": "2024-02-04T10:33:00Z"},
    ],
}  # fmt: skip
CANCELLED: Example = {
    "job_id": JOB, "status": "CANCELLED", "message": "Job cancelled. Removed 5 pending tasks.",
}  # fmt: skip

CRAWL_LATER: Example = {
    "user_id": "abc123", "spider": "seo", "start_urls": ["https://example.com"], "depth": 2,
    "schedule_at": "2025-06-01T09:00:00Z", "interval": "0 9 * * *", "ignore_cache": False,
    "params": {},
}  # fmt: skip
CRAWL_NOW: Example = {
    "user_id": "abc123", "spider": "article", "start_urls": ["https://example.com"], "depth": 2,
    "ignore_cache": False, "params": {"scope": "host", "max_pages": 500},
}  # fmt: skip
"""First in the list, since its spider is built: trying it out works."""
DISCOVER_REQUEST: Example = {"url": "https://example.com/"}
CRAWL_CREATED: Example = {
    "job_id": JOB, "scheduled": False, "cached": True, "cached_at": "2025-06-01T09:00:00Z",
    "logs_url": f"/jobs/{JOB}/logs", "status_url": f"/jobs/{JOB}/status",
}  # fmt: skip
CRAWL_SCHEDULED: Example = {
    "job_id": JOB, "scheduled": True, "next_run": "2025-06-01T09:00:00Z",
    "schedule_id": "sch_a1b2c3d4e5f6", "cached": True, "cached_at": "2025-05-31T12:00:00Z",
    "logs_url": f"/jobs/{JOB}/logs", "status_url": f"/jobs/{JOB}/status",
}  # fmt: skip
CRAWL_STATUS: Example = {
    "job_id": JOB, "status": "running", "started_at": "2025-06-01T09:00:05Z",
    "spider_job_id": JOB, "spider": "article", "total_pages": 3, "completed": 1, "failed": 0,
    "cancelled": 0, "pending": 2, "created_at": "2025-06-01T09:00:00Z",
    "updated_at": "2025-06-01T09:00:07Z", "user_id": "abc123", "tags": [], "door": "crawl",
    "state": "running",
}  # fmt: skip

SCRAPE_ASYNC: Example = {
    "site_name": "indeed", "search_term": "python developer", "location": "remote",
    "is_remote": True, "results_wanted": 50,
}  # fmt: skip
SCRAPE_SYNC: Example = {
    "site_name": "indeed", "search_term": "python developer", "results_wanted": 15,
}  # fmt: skip
RUN_STARTED: Example = {
    "task_id": "run_a1b2c3d4", "run_id": "manual_a1b2c3d4", "status": "queued",
    "execution_mode": "async",
}  # fmt: skip

FETCH_REQUEST: Example = {"url": "https://google.com/"}
FETCH_CREATED: Example = {"id": JOB, "url": "https://google.com/", "status": "queued"}
FETCH_COMPLETED: Example = FETCH_CREATED | {
    "status": "completed", "content": "...", "door": "fetch", "state": "succeeded",
}  # fmt: skip

LETTERS_PREVIEWED: Example = {"kind": "timeout", "source": "example.com", "preview": True}
LETTERS_DONE: Example = {"all": True, "preview": False}
SOURCE_DESCRIBED: Example = {
    "hosts": ["travel.state.gov"], "requests_per_hour": 60, "burst_limit": 10,
    "min_delay_seconds": 1.5,
    "respectful_hours": {"start": 9, "end": 17, "timezone": "America/New_York", "slowdown": 2},
}  # fmt: skip
SOURCE_CHANGED: Example = {"requests_per_hour": 80, "min_delay_seconds": 2.0}
SCHEDULE: Example = {
    "name": "front page", "cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin",
    "payload": {"crawl": {"spider": "article", "start_urls": ["https://example.com"], "depth": 1}},
}  # fmt: skip
SCHEDULE_OF_DUTY: Example = {
    "name": "dead letters", "every_minutes": 60, "payload": {"duty": "dead_letters"},
}  # fmt: skip
SCHEDULE_CHANGED: Example = {"cron": "30 8 * * MON-FRI", "overlap": "queue_one"}
SITE: Example = {
    "search_url": "https://example.com/jobs?q={search_term}&l={location}&page={page}",
    "results_per_page": 25, "interval_minutes": 60,
    "defaults": {"search_term": "python developer"},
    "recipe": {"list": "#results", "record": "li.job", "key": ["url"],
               "fields": {"title": "h2", "url": {"css": "a", "attribute": "href", "kind": "url"}}},
}  # fmt: skip
KEY_GIVEN: Example = {"key": "curtsy_…"}
ROTATION: Example = {"grace_hours": 24}


RULE = {"above": 95, "clear": 90, "for": 600, "severity": "warning", "except": ["shop.example"]}
MUTE = {"subject": "shop.example", "seconds": 3600}
UNMUTE = {"subject": "shop.example"}
ALERT_TEST = {"channel": "team"}


def shown(*examples: Example) -> Example:
    """Returns the `json_schema_extra` of a model."""
    return {"examples": list(examples)}
