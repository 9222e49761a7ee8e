"""The API's address and key, as the program or the environment gives them."""

import os
import re
import ssl
from typing import TYPE_CHECKING

from curtsy.errors import BadSetting

if TYPE_CHECKING:
    import httpx


def open_http(url: str, *, key: str | None, timeout: float) -> "httpx.AsyncClient":
    """Returns an HTTP client for the API at `url`.

    Without a `key` it sends the one in `CURTSY_KEY`. Raises `BadSetting` for a wrong address or
    key; the sentence never contains the key.
    """
    import httpx  # here, because it takes longer to load than all of our own client

    address = url.strip()
    if "://" not in address:
        address = f"http://{address}"
    if not address.lower().startswith(("http://", "https://")):
        raise BadSetting(f"The API's address is '{url}': it must begin with http:// or https://.")
    headers = _headers(key or os.environ.get("CURTSY_KEY", ""))
    # Reading the certificates takes 20 ms, and http needs none: a context without any trusts nobody
    is_plain = address.lower().startswith("http://")
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True
    try:
        return httpx.AsyncClient(base_url=address, timeout=timeout, headers=headers, verify=verify)
    except httpx.InvalidURL as error:
        raise BadSetting(f"The API's address '{url}' is not a URL ({error}).") from None


def _headers(key: str) -> dict[str, str]:
    key = key.strip()
    if not re.fullmatch("[!-~]*", key):
        raise BadSetting("CURTSY_KEY is not a key: a key begins with curtsy_ and is plain ASCII.")
    return {"Authorization": f"Bearer {key}"} if key else {}
