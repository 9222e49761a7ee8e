"""Where the API is and who asks it, as a program or the environment says."""

import os
import re

import httpx

from curtsy.errors import BadSetting


def way_to(url: str, *, key: str | None, timeout: float) -> httpx.AsyncClient:
    """The key is that of `CURTSY_KEY`, if none is given. Raises `BadSetting`, which never says the
    key."""
    address = url.strip()
    if "://" not in address:
        address = f"http://{address}"
    if not address.lower().startswith(("http://", "https://")):
        raise BadSetting(f"The API's address is '{url}': it must begin with http:// or https://.")
    headers = _headers(key or os.environ.get("CURTSY_KEY", ""))
    try:
        return httpx.AsyncClient(base_url=address, timeout=timeout, headers=headers)
    except httpx.InvalidURL as error:
        raise BadSetting(f"The API's address is '{url}', which is none ({error}).") from None


def _headers(key: str) -> dict[str, str]:
    key = key.strip()
    if not re.fullmatch("[!-~]*", key):
        raise BadSetting("CURTSY_KEY holds no key: one begins with curtsy_ and is plain ASCII.")
    return {"Authorization": f"Bearer {key}"} if key else {}
