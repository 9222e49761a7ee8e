"""A source's proxy is no way round the address guard."""

import pytest

from curtsy.fetch import parse_allowed_proxies
from curtsy.fetch.proxy import AllowedProxies
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.politeness.policy import Policy
from support.both_schemes import BothSchemes
from support.engine import Engine, settings

ONCE = Policy(min_delay=5, retry_base=10, retry_cap=10, max_retries=0, give_up_probes=1)


@pytest.mark.parametrize("allowed", ["", "127.0.0.1:1", "127.0.0.1"])
async def test_a_service_of_this_machine_is_reached_as_a_proxy_only_where_the_operator_says_so(
    curtsy: Engine, allowed: str
) -> None:
    """Neither its answers come back, nor does it get the source's headers."""
    allow: tuple[AllowedProxies, ...] = parse_allowed_proxies(allowed)
    async with BothSchemes() as inside:
        policy = {"proxy": f"http://127.0.0.1:{inside.port}", "headers": {"X-Api-Key": "hush"}}
        context = PolicyContext(ONCE, 3_000, curtsy.clock.now())
        wanted = Description("127.0.0.9", policy, ["127.0.0.9"])
        await curtsy.store.write(lambda c: describe(c, wanted, context))
        async with curtsy.worker(settings(ONCE, allow_proxies=allow)):
            job = await curtsy.submit("http://127.0.0.9/")
            await curtsy.ended(job)
        [item] = await curtsy.items(job)
        if allowed == "127.0.0.1":
            assert (item.kind, len(inside.asked)) == (None, 1)
        else:
            assert inside.asked == []
            assert item.kind == "connect"
            assert "ALLOW_PROXIES does not name it" in item.error
