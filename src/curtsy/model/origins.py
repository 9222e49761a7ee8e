"""The origin of a URL, and where headers that were meant for one origin may go."""


def origin_of(url: str) -> str:
    """The scheme, host and port of a canonical URL, as it spells them."""
    return url[: url.index("/", len("https://"))]


def may_follow(url: str, *, from_url: str) -> bool:
    """Whether headers meant for one canonical URL may go along to another one: to the same origin,
    or to the same host and port with https in place of http."""
    return origin_of(url) in reach_of(origin_of(from_url))


def reach_of(origin: str) -> tuple[str, str]:
    """The origins that headers meant for this one may go to."""
    return origin, origin.replace("http://", "https://", 1)


def is_downgrade(url: str, *, from_url: str) -> bool:
    """Whether what was sent encrypted to one URL would go to the other in clear."""
    return from_url.startswith("https://") and url.startswith("http://")
