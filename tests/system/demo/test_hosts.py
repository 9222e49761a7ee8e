"""Many loopback addresses play the hosts, all on one port number."""

import asyncio
import errno
import socket

import pytest

from curtsy.demo.addresses import address
from curtsy.demo.listeners import listen
from curtsy.demo.practice_site import PracticeSite


def test_addresses_roll_over_after_250_hosts():
    assert [address(index) for index in (0, 249, 250, 4_999)] == [
        "127.0.1.1",
        "127.0.1.250",
        "127.0.2.1",
        "127.0.20.250",
    ]
    assert len({address(index) for index in range(5_000)}) == 5_000
    with pytest.raises(IndexError):
        address(5_000)


async def test_every_host_answers_for_itself_and_no_other_address_does(client):
    async with PracticeSite(hosts=260) as site:
        for host in (0, 259):
            async with client.get(site.url(host, "/page/1")) as reply:
                assert f"of {address(host)}<" in await reply.text()
        for other in ("127.0.0.1", address(260)):
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(other, site.port)


async def test_two_sites_run_side_by_side():
    async with PracticeSite(hosts=5) as one, PracticeSite(hosts=5) as two:
        assert one.port != two.port


async def test_a_taken_port_is_said_to_be_taken_and_nothing_stays_open():
    with socket.create_server((address(2), 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} is taken on 127.0.1.1") as caught:
            async with PracticeSite(hosts=3, port=port):
                pass
        assert caught.value.errno == errno.EADDRINUSE
    for one in listen([address(index) for index in range(3)], port):
        one.close()


@pytest.mark.parametrize("hosts", [0, 5_001])
def test_a_site_has_between_one_and_5000_hosts(hosts):
    with pytest.raises(ValueError, match=f"{hosts} hosts"):
        PracticeSite(hosts=hosts)
