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
    "curtsy submit": {
        "curtsy submit https://example.com/ --wait": "watch until it has ended",
        "curtsy submit -f urls.txt --name Monday": "many, under a name",
        "curtsy submit -f urls.txt --url http://host:8000": "to a service elsewhere",
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
