"""Reads the secrets that the policy of a source refers to, when a request needs them."""

from dataclasses import replace

from curtsy.fetch import parse_proxy
from curtsy.model.options import checked_headers
from curtsy.politeness.policy import Policy
from curtsy.references import Reference, resolved


def with_secrets(policy: Policy) -> Policy:
    """Raises `ValueError`, with a sentence, for a secret that is missing or cannot be sent."""
    if not policy.headers and not policy.all_proxies:
        return policy
    secrets = [*policy.all_proxies, *(value for _name, value in policy.headers)]
    if not any(isinstance(secret, Reference) for secret in secrets):
        return policy
    headers = checked_headers({name: resolved(value) for name, value in policy.headers})
    proxy = None if policy.proxy is None else resolved(policy.proxy)
    proxies = tuple(resolved(one) for one in policy.proxies)
    for one in (*proxies, *([proxy] if proxy is not None else [])):
        parse_proxy(one)
    return replace(policy, headers=tuple(headers.items()), proxy=proxy, proxies=proxies)
