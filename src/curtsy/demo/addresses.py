"""The loopback addresses of the hosts: 127.0.1.1, 127.0.1.2, … with 250 per octet."""

MOST_HOSTS = 5_000
_PER_OCTET = 250


def address(index: int) -> str:
    """The address of the host with this number; the first host is number 0."""
    if not 0 <= index < MOST_HOSTS:
        raise IndexError(f"host {index} is not between 0 and {MOST_HOSTS - 1}")
    octet, last = divmod(index, _PER_OCTET)
    return f"127.0.{octet + 1}.{last + 1}"


def url(index: int, port: int, path: str) -> str:
    return f"http://{address(index)}:{port}{path}"
