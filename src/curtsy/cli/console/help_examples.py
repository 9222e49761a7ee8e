"""The examples in the help of each command, each with its purpose."""

EXAMPLES: dict[str, dict[str, str]] = {
    "curtsy": {
        "curtsy demo": "scrape practice newspapers, without the internet",
        "curtsy scrape https://example.com/": "print an article",
        "curtsy up": "start a service with an API",
    },
    "curtsy scrape": {
        "curtsy scrape https://example.com/": "print an article",
        "curtsy scrape -f urls.txt --out articles.jsonl": "write many, one JSON line each",
        "grep -o 'https://[^ ]*' notes.txt | curtsy scrape -": "URLs from another program",
        "curtsy scrape -f shops.csv --column website --skip-invalid": "URLs of a table",
        "curtsy scrape -f urls.txt --new-only --json": "stream what was never scraped, as JSON",
        "curtsy scrape --feed https://example.com/rss": "print what is new in a feed",
        "curtsy scrape -f urls.txt --give-up 5m": "wait longer for hosts that do not answer",
    },
    "curtsy try": {
        "curtsy try https://example.com/ --scrapers my_site.py": "run your own scraper on a page",
        "curtsy try saved.html --url https://example.com/ --scrapers my_site.py": "on a saved page",
        "curtsy try https://example.com/list --recipe recipe.toml": "read a listing with a recipe",
    },
    "curtsy submit": {
        "curtsy submit https://example.com/ --wait": "show progress until it has ended",
        "curtsy submit -f urls.txt --name Monday": "submit many pages as a job with a name",
        "curtsy submit -f urls.txt --url http://host:8000": "submit to an API elsewhere",
    },
    "curtsy plan": {
        "curtsy plan -f urls.txt": "show how many pages it would fetch, and until when",
        "curtsy plan -f urls.txt --finish-by 2030-01-01T12:00:00Z": "check a deadline",
        "curtsy plan --next 7d": "preview the schedules of the next week",
    },
    "curtsy why": {
        "curtsy why job_0d45a0376e21": "explain what a job waits for",
        "curtsy why example.com": "explain what the next request to a site waits for",
    },
    "curtsy status": {
        "curtsy status job_0d45a0376e21": "print one line",
        "curtsy status job_0d45a0376e21 --wait": "show progress until it has ended",
    },
    "curtsy crawl": {
        "curtsy crawl https://example.com/blog/ --depth 2 --scope prefix --wait": "crawl a blog",
        "curtsy crawl https://example.com/ --exclude '*/tag/*' --max-pages 500": "most of a site",
        "curtsy crawl --sitemap https://example.com/sitemap.xml": "what is new in a sitemap",
    },
    "curtsy logs": {
        "curtsy logs job_0d45a0376e21": "print the log so far",
        "curtsy logs -f job_0d45a0376e21": "follow the log until the job has ended",
    },
    "curtsy watch": {
        "curtsy watch": "watch all jobs",
        "curtsy watch job_0d45a0376e21": "watch one job until it has ended",
    },
    "curtsy results": {
        "curtsy results job_0d45a0376e21": "print the articles",
        "curtsy results job_0d45a0376e21 --out a.jsonl": "write them to a file, as JSON",
    },
    "curtsy cancel": {
        "curtsy cancel job_0d45a0376e21": "fetch no more of its pages",
        "curtsy cancel job_0d45a0376e21 --purge": "also delete the job and its data",
    },
    "curtsy retry": {
        "curtsy retry job_0d45a0376e21": "fetch its failed pages again",
        "curtsy retry job_0d45a0376e21 --wait": "show progress until they have ended",
    },
    "curtsy pause": {"curtsy pause job_0d45a0376e21": "start no page until `curtsy resume`"},
    "curtsy resume": {"curtsy resume job_0d45a0376e21": "continue where it was paused"},
    "curtsy jobs": {
        "curtsy jobs --status failed": "list failed jobs",
        "curtsy jobs --tag news --json": "list jobs with a tag, as JSON",
    },
    "curtsy dead-letters": {
        "curtsy dead-letters": "show which pages failed, and why",
        "curtsy dead-letters --retry --kind timeout": "fetch pages again that timed out",
        "curtsy dead-letters --resolve --source example.com --yes": "close those of one source",
    },
    "curtsy dead-letters show": {
        "curtsy dead-letters show 17": "show one with every attempt at its page"
    },
    "curtsy alerts": {
        "curtsy alerts": "show what is wrong now",
        "curtsy alerts mute limit_use --subject shop.example --for 8h": "silence one alert",
    },
    "curtsy alerts list": {"curtsy alerts list --json": "show what is wrong, as JSON"},
    "curtsy alerts rules": {"curtsy alerts rules": "show when each rule fires"},
    "curtsy alerts channels": {"curtsy alerts channels": "show where messages go"},
    "curtsy alerts mute": {
        "curtsy alerts mute no_worker --for 2h": "during maintenance",
        "curtsy alerts mute limit_use --subject shop.example --for 8h": "only one source",
    },
    "curtsy alerts unmute": {"curtsy alerts unmute no_worker": "send messages again"},
    "curtsy alerts test": {"curtsy alerts test team": "send a test message to [channels.team]"},
    "curtsy sites list": {"curtsy sites list": "show all sites with their next and last run"},
    "curtsy sites show": {"curtsy sites show job_board": "show its declaration"},
    "curtsy sites run": {
        "curtsy sites run job_board --search-term 'python developer' --wait": "scrape it now",
        "curtsy sites run uk_foreign_office --country france": "scrape one country's page",
    },
    "curtsy sites records": {"curtsy sites records job_board": "print what its runs found"},
    "curtsy rate-limits": {
        "curtsy rate-limits": "show all sources",
        "curtsy rate-limits --source us_state_dept --json": "show one source, as JSON",
    },
    "curtsy schedule": {
        "curtsy schedule": "run all schedules that are on",
        "curtsy schedule --source us_state_dept": "run the schedules of one source",
        "curtsy schedule --source us_state_dept --priority 9": "as urgent as can be",
    },
    "curtsy schedules list": {
        "curtsy schedules list": "show all schedules with their next and last run"
    },
    "curtsy schedules show": {
        "curtsy schedules show morning": "show its next slots and its last runs"
    },
    "curtsy schedules add": {
        "curtsy schedules add news --every 2h --articles urls.txt": "every two hours",
        "curtsy schedules add feed --every 2h --feed https://a.com/rss": "what is new in a feed",
        "curtsy schedules add blog --cron '0 9 * * MON-FRI' --crawl https://a.com/": "on weekdays",
        "curtsy schedules add jp --cron @daily --timezone Japan --fetch https://a.jp/": "daily",
        "curtsy schedules add once --at 2030-01-01T12:00:00Z --fetch https://a.com/": "once",
        "curtsy schedules add tidy --cron @daily --duty cleanup": "delete old jobs daily",
    },
    "curtsy schedules edit": {
        "curtsy schedules edit news --every 90m": "change the interval",
        "curtsy schedules edit news --overlap queue_one --catch-up none": "how to treat late slots",
        "curtsy schedules edit blog --depth 3": "change the depth of a crawl",
    },
    "curtsy schedules pause": {
        "curtsy schedules pause news": "skip its slots until `curtsy schedules resume`"
    },
    "curtsy schedules resume": {"curtsy schedules resume news": "continue with its next slot"},
    "curtsy schedules run": {
        "curtsy schedules run news": "run it now; its slots stay as they are",
        "curtsy schedules run news --wait": "show progress until the run has ended",
    },
    "curtsy schedules remove": {
        "curtsy schedules remove news": "remove it, after a question",
        "curtsy schedules remove news --yes": "remove it without a question",
    },
    "curtsy sources list": {
        "curtsy sources list": "list all sources",
        "curtsy sources list --described": "list the described ones",
    },
    "curtsy sources show": {"curtsy sources show example.com": "show its policy and state"},
    "curtsy sources set": {
        "curtsy sources set example.com --min-delay 2": "at least two seconds between requests",
        "curtsy sources set news --hosts a.com,b.com --requests-per-hour 60": "one budget for both",
        "curtsy sources set news --hours 9-17 --timezone Europe/London --slowdown 2": "by day",
        "curtsy sources set news --reset min-delay": "set the delay back to its default",
    },
    "curtsy sources pause": {
        "curtsy sources pause example.com": "send no requests until `curtsy sources resume`"
    },
    "curtsy sources resume": {"curtsy sources resume example.com": "continue, at its own pace"},
    "curtsy sources remove": {
        "curtsy sources remove news": "treat its hosts like any others again"
    },
    "curtsy sources receipt": {
        "curtsy sources receipt example.com": "show the last seven days",
        "curtsy sources receipt example.com --days 30 --json": "show 30 days, as JSON",
    },
    "curtsy sources apply": {
        "curtsy sources apply examples/travel_advisories.toml": "describe all sources of the file",
        "curtsy sources apply sources.toml --url http://host:8000": "the same on another API",
    },
    "curtsy up": {
        "curtsy up": "run until Ctrl-C",
        "curtsy up --detach --port 8080": "run in the background, on another port",
        "curtsy up --processes auto": "fetch with all cores",
    },
    "curtsy stop": {"curtsy stop": "run it in the folder where `curtsy up` was started"},
    "curtsy api": {
        "curtsy api --host 0.0.0.0": "serve other machines too; put a proxy in front of it"
    },
    "curtsy worker": {
        "curtsy worker --slots 20": "run with at most 20 open requests",
        "curtsy worker --processes 4": "run four workers, which share the slots",
    },
    "curtsy scheduler": {"curtsy scheduler": "run it beside `curtsy api` and `curtsy worker`"},
    "curtsy demo": {"curtsy demo": "takes half a minute"},
    "curtsy examples": {
        "curtsy examples": "list the examples",
        "curtsy examples travel": "write sources.toml, sites.toml and schedules.toml",
    },
    "curtsy doctor": {
        "curtsy doctor": "examine the local database",
        "curtsy doctor --url http://host:8000": "examine an API elsewhere",
    },
    "curtsy health": {
        "curtsy health": "check the local database",
        "curtsy health --url http://host:8000": "check an API elsewhere",
        "curtsy health --ready": "whether the API of this machine can serve",
    },
    "curtsy metrics": {
        "curtsy metrics": "show waiting pages and speed",
        "curtsy metrics --hours 24": "show what happened in the last day",
    },
    "curtsy process-dlq": {"curtsy process-dlq": "retry once, now"},
    "curtsy cleanup": {
        "curtsy cleanup": "delete jobs older than RESULT_DAYS",
        "curtsy cleanup --days 90 --yes": "delete jobs that ended 90 days ago, without a question",
        "curtsy cleanup --url http://host:8000": "let the API there do it",
    },
    "curtsy generate-report": {
        "curtsy generate-report": "summarize the last six hours",
        "curtsy generate-report --hours 24 --out day.html": "write a page with charts",
    },
    "curtsy reports list": {"curtsy reports list": "show the stored reports"},
    "curtsy reports show": {
        "curtsy reports show": "summarize the newest report",
        "curtsy reports show rep_4f1c9a7be021 --out r.html": "write one as a page with charts",
    },
    "curtsy export": {"curtsy export job_0d45a0376e21": "export its results as a table"},
    "curtsy discover": {
        "curtsy discover https://example.com/": "list its feeds and sitemaps",
        "curtsy discover https://example.com/ --json": "with their parts, as JSON",
    },
    "curtsy keys add": {
        "curtsy keys add --user ann": "for a user who submits jobs and sees only her own",
        "curtsy keys add --user ann --pages-per-hour 10000 --days 90": "with a quota, for 90 days",
        "curtsy keys add --user boss --role admin": "for a user who may do everything",
    },
    "curtsy keys list": {"curtsy keys list": "show users and last uses"},
    "curtsy keys rotate": {
        "curtsy keys rotate 3f9c0a1b2d4e": "the old secret stops working at once",
        "curtsy keys rotate 3f9c0a1b2d4e --grace 24": "the old secret works for another day",
    },
    "curtsy keys revoke": {"curtsy keys revoke 3f9c0a1b2d4e": "it stops working within a second"},
    "curtsy keys webhook-secret": {
        "curtsy keys webhook-secret --user ann": "show the secret that signs her webhooks",
        "curtsy keys webhook-secret --user ann --rotate": "replace it; the old one signs for a day",
    },
    "curtsy backup": {
        "curtsy backup monday.db": "copy the database while the service runs",
        "curtsy backup --force latest.db": "replace the last copy when the new one is complete",
    },
    "curtsy restore": {
        "curtsy restore monday.db --force": "replace the database; stop the service before",
    },
    "curtsy db vacuum": {"curtsy stop && curtsy db vacuum": "after a large cleanup"},
    "curtsy db upgrade": {
        "curtsy db upgrade": "run it before a new version starts on PostgreSQL",
        "curtsy db upgrade --force": "end the processes that the new schema does not work with",
        "curtsy db upgrade --wait 30": "give up sooner where tables are locked",
    },
    "curtsy db downgrade": {"curtsy db downgrade": "read how to go back to an older version"},
    "curtsy db check": {
        "curtsy db check && curtsy worker": "start a worker only if it works with the schema"
    },
    "curtsy config check": {"curtsy config check": "run it before a start"},
}
