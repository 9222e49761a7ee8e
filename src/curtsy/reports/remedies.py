"""What an operator can do about each kind of failure: one sentence each."""

from collections.abc import Mapping

from curtsy.model.failure_kinds import Kind

REMEDIES: Mapping[str, str] = {
    Kind.DNS: "Check the spelling of the host, and the resolver of the workers.",
    Kind.CONNECT: "See whether the site is up; if it refuses only you, look for a firewall or ban.",
    Kind.TLS: "Open the site in a browser; its certificate may have expired.",
    Kind.TIMEOUT: "Raise the timeout of the source, or give it a longer delay.",
    Kind.RESET: "Give the source a longer delay: some sites cut off hasty visitors.",
    Kind.TRUNCATED: "Nothing, if it stays rare; else look at the proxy in between.",
    Kind.TOO_LARGE: "Raise MAX_BODY_BYTES if you need such files.",
    Kind.BAD_ENCODING: "Look at the page with `curtsy try`; the site sends broken data.",
    Kind.REDIRECT_LOOP: "The site may want a cookie or a login; open the page in a browser.",
    Kind.ROBOTS_DENIED: "Leave these pages out, or ask the owner of the site.",
    Kind.ADDRESS_REFUSED: "If the address is yours, add it to ALLOW_ADDRESSES.",
    Kind.UNAUTHORIZED: "Give the source a login, or add headers to it.",
    Kind.LOGIN_FAILED: "Check the login of the source: its URL, form and signs of success.",
    Kind.FORBIDDEN: "Slow down and name a contact in USER_AGENT; the site may block you.",
    Kind.GONE: "Remove these pages from the jobs that request them.",
    Kind.CLIENT_ERROR: "Compare the request with a browser's: headers and parameters.",
    Kind.RATE_LIMITED: "Give the source a longer delay or a limit per hour.",
    Kind.SERVER_ERROR: "Wait: the site is in trouble. If it lasts, request it less often.",
    Kind.NOT_SUPPORTED: "Choose a scraper for this kind of content, such as raw.",
    Kind.LOGIN_REQUIRED: "Give the source a login, and the job a session; or give the job cookies.",
    Kind.PAYWALL: "Leave these pages out, or give the source a subscriber's login.",
    Kind.NEEDS_JAVASCRIPT: "Look for the site's feed or API: curtsy runs no scripts of pages.",
    Kind.UNKNOWN_OUTCOME: "Look at the site what came of it; a retry sends the POST again.",
    Kind.EXTRACT_FAILED: "Look at a page with `curtsy try`: the site may have a new layout.",
    Kind.EXTRACT_TIMEOUT: "Make the scraper faster, or raise EXTRACT_SECONDS.",
    Kind.EXTRACT_MEMORY: "Make the scraper hold less of the page at once.",
    Kind.SPIDER_FAILED: "Read the log of the run: the error is the spider's own.",
    Kind.BUDGET_SPENT: "Raise the limit of the job, or split the job.",
    Kind.CANCELLED: "Nothing: somebody cancelled the job.",
    Kind.INTERNAL: "Read the traceback with `curtsy dead-letters show`, and report it.",
}


def remedy_of(kind: str) -> str:
    """Also of a kind that a newer version wrote."""
    return REMEDIES.get(kind, "")
