from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from curtsy.errors import BadSetting
from curtsy.fetch import parse_networks, resolver
from curtsy.fetch.guard import AddressRefused, blocked_port, refusal, refusal_by_name
from curtsy.fetch.resolver import addresses_of, permitted
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from curtsy.model.urls import canonical
from fetch.sites import Serve, get, page

REFUSED = """
168.63.129.16 ::ffff:168.63.129.16 64:ff9b::168.63.129.16
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.9 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1
198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:100.64.0.1 ::ffff:0:7f00:1
64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::8.8.8.8 100::1
2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
2002:7f00:1:: 2002:808:808::1 3fff::1 4000::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%1
fe80::1%eth0 2606:4700::1111%eth0 fec0::1 ff02::1 ff0e::1
example.org 1.2.3 1.2.3.4:80 0x7f.1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1
168.63.129.15 168.63.129.17
198.17.255.255 198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2606:4700::1111
2001:4860:4860::8888 2a00:1450:4001::1 2003::1
"""
HOME = parse_networks("127.0.0.0/8 10.1.0.0/16 fd00::/8")


@pytest.mark.parametrize("address", REFUSED.split())
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert refusal(address, ())


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address_is_not_refused(address: str) -> None:
    assert refusal(address, ()) is None


@given(st.ip_addresses())
def test_what_python_calls_not_global_is_refused_too(address: object) -> None:
    ip = ip_address(str(address))
    mapped = getattr(ip, "ipv4_mapped", None)
    if not (mapped or ip).is_global or ip.is_multicast:
        assert refusal(str(ip), ())


@given(st.ip_addresses(v=4))
def test_every_form_of_an_ipv4_address_is_judged_by_what_it_reaches(address: object) -> None:
    assert refusal(f"::ffff:{address}", HOME) == refusal(str(address), HOME)
    assert refusal(f"64:ff9b::{address}", HOME) == refusal(str(address), ())


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "fd00::1", "::ffff:10.1.2.3"])
def test_an_allowed_network_is_let_through(address: str) -> None:
    assert refusal(address, ())
    assert refusal(address, HOME) is None


@pytest.mark.parametrize("address", ["10.2.0.1", "fc00::1", "64:ff9b::10.1.2.3", "fd00::1%eth0"])
def test_what_is_beside_an_allowed_network_stays_refused(address: str) -> None:
    assert refusal(address, HOME)


def test_networks_are_read_from_a_list() -> None:
    assert parse_networks("") == ()
    assert [str(network) for network in parse_networks("10.0.0.0/8, ::1\n192.168.0.7")] == [
        "10.0.0.0/8",
        "::1/128",
        "192.168.0.7/32",
    ]


@pytest.mark.parametrize("text", ["10.0.0.1/8", "10.0.0.0/33", "localhost", "10.0.0.0/8;::1"])
def test_a_network_that_makes_no_sense_is_named(text: str) -> None:
    with pytest.raises(BadSetting, match=r"is not a network"):
        parse_networks(text)


def test_of_several_addresses_only_those_allowed_are_connected_to() -> None:
    assert permitted(["10.2.0.1", "10.1.0.1", "8.8.8.8", "::1"], HOME) == ["10.1.0.1", "8.8.8.8"]


def test_a_host_is_refused_when_all_its_addresses_are() -> None:
    with pytest.raises(AddressRefused, match=r"10\.2\.0\.1 is private"):
        permitted(["10.2.0.1", "::1"], HOME)


def test_the_system_is_asked_for_names() -> None:
    assert "127.0.0.1" in addresses_of("localhost")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"],
)
async def test_a_private_address_is_reached_only_with_leave(serve: Serve, host: str) -> None:
    site = await serve(page(b"inside"))
    url = canonical(f"http://{host}:{site.port}/").text

    refused = await get(url, allow="")
    assert isinstance(refused, Failed)
    assert refused.kind is Kind.ADDRESS_REFUSED
    assert refused.error.startswith("We may not connect to ")
    why = "its address is not public." if host == "localhost" else "it is this machine."
    assert refused.error.endswith(why)
    assert site.connections == 0

    reached = await get(url, allow="127.0.0.0/8 ::1")
    assert isinstance(reached, Reply), reached
    assert reached.body == b"inside"


async def test_an_ipv6_literal_is_reached_only_with_leave(serve: Serve) -> None:
    site = await serve(page(b"inside"), address="::1")
    url = f"http://[::1]:{site.port}/"
    refused = await get(url, allow="127.0.0.0/8")
    assert isinstance(refused, Failed)
    assert refused.kind is Kind.ADDRESS_REFUSED
    assert isinstance(await get(url, allow="::1"), Reply)


async def test_a_socket_is_refused_even_where_the_lookup_let_its_address_through(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "permitted", lambda addresses, _allow: addresses)
    site = await serve(page(b"inside"))
    refused = await get(site.url, allow="")
    assert isinstance(refused, Failed)
    assert refused.kind is Kind.ADDRESS_REFUSED
    assert site.connections == 0


async def test_a_redirect_to_a_private_address_is_judged_when_it_is_fetched(serve: Serve) -> None:
    inside = await serve(page(b"inside"))
    outside = await serve(
        page(b"", b"Location: " + inside.url.encode(), status=b"302 Found"), address="127.0.0.2"
    )
    moved = await get(f"http://127.0.0.2:{outside.port}/", allow="127.0.0.2")
    assert isinstance(moved, Reply)
    refused = await get(moved.headers["location"], allow="127.0.0.2")
    assert isinstance(refused, Failed)
    assert refused.kind is Kind.ADDRESS_REFUSED
    assert inside.connections == 0


PRIVATE = "10.11.12.13"


def refused_sentence(outcome: Reply | Failed) -> str:
    assert isinstance(outcome, Failed), outcome
    assert outcome.kind is Kind.ADDRESS_REFUSED
    return outcome.error


async def test_the_private_address_of_a_name_is_for_the_log_and_not_for_who_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: [PRIVATE])
    with capture_logs() as lines:
        sentence = refused_sentence(await get("http://intra.example/", allow=""))
    assert sentence == "We may not connect to intra.example: its address is not public."
    assert [line["address"] for line in lines] == [PRIVATE]
    spelt = refused_sentence(await get(f"http://{PRIVATE}/", allow=""))
    assert spelt == f"We may not connect to {PRIVATE}: it is private."


async def test_the_address_of_a_name_that_does_not_answer_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An address that the operator allows is private too."""
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: ["127.0.0.7", "127.0.0.8"])
    outcome = await get("http://intra.example:99/")
    assert isinstance(outcome, Failed)
    assert outcome.error == "No connection to intra.example:99: Connection refused."


@pytest.mark.parametrize("port", [22, 25, 6379, 6667, 10080])
async def test_the_ports_that_browsers_block_are_blocked(port: int) -> None:
    is_blocked = port != 6379
    for url in (f"http://127.0.0.1:{port}/", f"https://127.0.0.1:{port}/"):
        outcome = await get(url)
        assert isinstance(outcome, Failed)
        assert (outcome.kind is Kind.ADDRESS_REFUSED) is is_blocked, outcome
        if is_blocked:
            assert outcome.error.endswith(": browsers block its port too.")


@pytest.mark.parametrize(
    ("host", "port"),
    [("a.example:25", 25), ("[::1]:22", 22), ("[::1]", None), ("a.example", None),
     ("a.example:8080", None), ("10.0.0.1:0", 0), ("[2606:4700::25]", None)],
)  # fmt: skip
def test_a_blocked_port_is_seen_in_a_hosts_key(host: str, port: int | None) -> None:
    assert blocked_port(host) == port
    assert bool(refusal_by_name(host, parse_networks("0.0.0.0/0 ::/0"))) is (port is not None)
