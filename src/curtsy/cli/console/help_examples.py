"""What the help of each command shows: how it is used, and what for."""

EXAMPLES: dict[str, dict[str, str]] = {
    "curtsy": {
        "curtsy demo": "see it work, without the internet",
        "curtsy scrape https://example.com/": "an article, now",
        "curtsy up": "a service for everyone else",
    },
    "curtsy scrape": {
        "curtsy scrape https://example.com/": "an article, to read",
        "curtsy scrape -f urls.txt --out articles.jsonl": "many, a line of JSON each",
        "grep -o 'https://[^ ]*' notes.txt | curtsy scrape -f -": "whatever another program finds",
    },
    "curtsy try": {
        "curtsy try https://example.com/ --scrapers my_site.py": "what it finds there",
        "curtsy try saved.html --url https://example.com/ --scrapers my_site.py": "without asking",
        "curtsy try https://example.com/list --recipe recipe.toml": "a listing, by a recipe",
    },
    "curtsy submit": {
        "curtsy submit https://example.com/ --wait": "watch until it has ended",
        "curtsy submit -f urls.txt --name Monday": "many, under a name",
        "curtsy submit -f urls.txt --url http://host:8000": "to a service elsewhere",
    },
    "curtsy plan": {
        "curtsy plan -f urls.txt": "how many, and until when",
        "curtsy plan -f urls.txt --finish-by 2030-01-01T12:00:00Z": "in time? what would make it?",
        "curtsy plan --next 7d": "what the schedules will do",
    },
    "curtsy why": {
        "curtsy why job_0d45a0376e21": "what a job waits for",
        "curtsy why example.com": "what the next request to a site waits for",
    },
    "curtsy status": {
        "curtsy status job_0d45a0376e21": "a line",
        "curtsy status job_0d45a0376e21 --wait": "watch until it has ended",
    },
    "curtsy crawl": {
        "curtsy crawl https://example.com/blog/ --depth 2 --scope prefix --wait": "a blog",
        "curtsy crawl https://example.com/ --exclude '*/tag/*' --max-pages 500": "most of a site",
    },
    "curtsy logs": {
        "curtsy logs job_0d45a0376e21": "what happened so far",
        "curtsy logs -f job_0d45a0376e21": "and what happens until it has ended",
    },
    "curtsy watch": {
        "curtsy watch": "everything",
        "curtsy watch job_0d45a0376e21": "one job, until it has ended",
    },
    "curtsy results": {
        "curtsy results job_0d45a0376e21": "to read",
        "curtsy results job_0d45a0376e21 --out a.jsonl": "to a file, a line of JSON each",
    },
    "curtsy cancel": {
        "curtsy cancel job_0d45a0376e21": "fetch no more for it",
        "curtsy cancel job_0d45a0376e21 --purge": "and forget it",
    },
    "curtsy retry": {"curtsy retry job_0d45a0376e21": "what failed may work now"},
    "curtsy pause": {"curtsy pause job_0d45a0376e21": "until `curtsy resume`"},
    "curtsy resume": {"curtsy resume job_0d45a0376e21": "where it was paused"},
    "curtsy jobs": {
        "curtsy jobs --status failed": "those that went wrong",
        "curtsy jobs --tag news --json": "for a program",
    },
    "curtsy dead-letters": {
        "curtsy dead-letters": "which, and why",
        "curtsy dead-letters --retry --kind timeout": "try these again",
        "curtsy dead-letters --resolve --source example.com --yes": "lay these aside",
    },
    "curtsy rate-limits": {
        "curtsy rate-limits": "of every source",
        "curtsy rate-limits --source us_state_dept --json": "of one, for a program",
    },
    "curtsy schedule": {
        "curtsy schedule": "all that is on",
        "curtsy schedule --source us_state_dept": "what is scheduled for one source",
    },
    "curtsy schedules list": {"curtsy schedules list": "when, what comes next, what came last"},
    "curtsy schedules show": {"curtsy schedules show morning": "what comes, and what came of it"},
    "curtsy schedules add": {
        "curtsy schedules add news --every 2h --articles urls.txt": "every two hours",
        "curtsy schedules add blog --cron '0 9 * * MON-FRI' --crawl https://a.com/": "weekdays",
        "curtsy schedules add jp --cron @daily --timezone Japan --fetch https://a.jp/": "daily",
        "curtsy schedules add once --at 2030-01-01T12:00:00Z --fetch https://a.com/": "once",
        "curtsy schedules add tidy --cron @daily --duty cleanup": "what curtsy does for itself",
    },
    "curtsy schedules edit": {
        "curtsy schedules edit news --every 90m": "only the rule",
        "curtsy schedules edit news --overlap queue_one --catch-up none": "what if it is late",
        "curtsy schedules edit blog --depth 3": "of a crawl, how far",
    },
    "curtsy schedules pause": {"curtsy schedules pause news": "until `curtsy schedules resume`"},
    "curtsy schedules resume": {"curtsy schedules resume news": "at its next slot"},
    "curtsy schedules run": {
        "curtsy schedules run news": "now, and at its slots too",
        "curtsy schedules run news --wait": "watch until it has ended",
    },
    "curtsy schedules remove": {
        "curtsy schedules remove news": "it asks first",
        "curtsy schedules remove news --yes": "it does not",
    },
    "curtsy sources list": {
        "curtsy sources list": "all that were ever asked",
        "curtsy sources list --described": "those that somebody described",
    },
    "curtsy sources show": {"curtsy sources show example.com": "what it allows, how it stands"},
    "curtsy sources set": {
        "curtsy sources set example.com --min-delay 2": "two seconds between requests",
        "curtsy sources set news --hosts a.com,b.com --requests-per-hour 60": "one budget for both",
        "curtsy sources set news --hours 9-17 --timezone Europe/London --slowdown 2": "by day",
        "curtsy sources set news --reset min-delay": "as the settings have it again",
    },
    "curtsy sources pause": {"curtsy sources pause example.com": "until `curtsy sources resume`"},
    "curtsy sources resume": {"curtsy sources resume example.com": "at its pace"},
    "curtsy sources remove": {"curtsy sources remove news": "its hosts are as any other"},
    "curtsy sources receipt": {
        "curtsy sources receipt example.com": "the last seven days",
        "curtsy sources receipt example.com --days 30 --json": "for programs",
    },
    "curtsy sources apply": {
        "curtsy sources apply examples/travel_advisories.toml": "all that the file describes",
        "curtsy sources apply sources.toml --url http://host:8000": "in a service elsewhere",
    },
    "curtsy up": {
        "curtsy up": "until Ctrl-C",
        "curtsy up --detach --port 8080": "in the background",
    },
    "curtsy stop": {"curtsy stop": "in the folder where `curtsy up` was started"},
    "curtsy api": {"curtsy api --host 0.0.0.0": "for other machines too; put a proxy before it"},
    "curtsy worker": {"curtsy worker --slots 20": "with at most 20 requests open"},
    "curtsy scheduler": {"curtsy scheduler": "beside `curtsy api` and `curtsy worker`"},
    "curtsy demo": {"curtsy demo": "half a minute"},
    "curtsy doctor": {
        "curtsy doctor": "of the database",
        "curtsy doctor --url http://host:8000": "of a service elsewhere",
    },
    "curtsy health": {
        "curtsy health": "of the database here",
        "curtsy health --url http://host:8000": "of a service elsewhere",
    },
    "curtsy metrics": {"curtsy metrics": "what waits, and how fast it goes"},
    "curtsy process-dlq": {"curtsy process-dlq": "now, not only on a schedule"},
    "curtsy cleanup": {
        "curtsy cleanup": "what is older than RESULT_DAYS",
        "curtsy cleanup --days 90 --yes": "of what ended 90 days ago; it does not ask",
    },
    "curtsy generate-report": {"curtsy generate-report --hours 6": "of the last six hours"},
    "curtsy export": {"curtsy export job_0d45a0376e21": "as a table"},
    "curtsy discover": {"curtsy discover https://example.com/": "its feeds, maps and lists"},
    "curtsy keys add": {
        "curtsy keys add --user ann": "for one who submits jobs and sees her own",
        "curtsy keys add --user ann --pages-per-hour 10000 --days 90": "with a quota and an end",
        "curtsy keys add --user boss --role admin": "for one who may do everything",
    },
    "curtsy keys list": {"curtsy keys list": "whose, and when they were used last"},
    "curtsy keys rotate": {
        "curtsy keys rotate 3f9c0a1b2d4e": "the old secret ends at once",
        "curtsy keys rotate 3f9c0a1b2d4e --grace 24": "it holds for another day",
    },
    "curtsy keys revoke": {"curtsy keys revoke 3f9c0a1b2d4e": "within a second"},
    "curtsy db upgrade": {"curtsy db upgrade": "before a new version starts on PostgreSQL"},
    "curtsy db check": {"curtsy db check && curtsy worker": "start only if it is current"},
    "curtsy config check": {"curtsy config check": "before a start"},
}
