"""Whose address a request has: a visitor cannot choose it, a listed proxy passes it on."""

import re
from pathlib import Path

import pytest
from django.test import RequestFactory

from accounts.sign_in.client_address import client_address, is_internal

ROOT = Path(__file__).resolve().parents[3]


def seen(settings, proxies, sender, forwarded=None):
    settings.TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    return client_address(RequestFactory().get("/", REMOTE_ADDR=sender, **headers))


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("forwarded", [None, "198.51.100.1", "198.51.100.1, 203.0.113.9", "", "nonsense"])
def test_nobody_chooses_their_address(settings, forwarded, mode):
    settings.LOCAL = mode
    assert seen(settings, [], "203.0.113.7", forwarded) == "203.0.113.7"
    assert seen(settings, ["10.0.0.0/8", "unix"], "203.0.113.7", forwarded) == "203.0.113.7"


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7, 10.0.0.6", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("198.51.100.1, nonsense", "10.0.0.5"),
        ("198.51.100.1, ", "10.0.0.5"),
        (None, "10.0.0.5"),
        ("10.0.0.7", "10.0.0.7"),
    ],
)
def test_a_listed_proxy_names_the_visitor_it_saw(settings, forwarded, expected):
    """What stands further left was written by the visitor."""
    assert seen(settings, ["10.0.0.0/24"], "10.0.0.5", forwarded) == expected


def test_a_proxy_on_a_socket_file_has_no_address(settings):
    assert seen(settings, ["unix"], "", "203.0.113.7") == "203.0.113.7"
    assert seen(settings, ["10.0.0.5"], "", "203.0.113.7") == ""
    assert seen(settings, ["unix"], "") == ""


@pytest.mark.parametrize(
    ("sender", "expected"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
    ],
)
def test_a_household_has_a_network_of_ipv6_addresses(settings, sender, expected):
    assert seen(settings, [], sender) == expected
    assert seen(settings, ["10.0.0.5"], "10.0.0.5", f"[{sender}]:4711") == expected


def test_addresses_of_the_servers_own_network_are_known():
    inside = ("", "127.0.0.1", "10.1.2.3", "192.168.0.9", "fd00::/64", "::/64")
    assert [is_internal(address) for address in inside] == [True] * 6
    assert not is_internal("8.8.8.8")
    assert not is_internal("2a00:1450:4001:80b::/64")


def test_nothing_else_reads_where_a_request_comes_from():
    """Whatever read a header of its own would believe everybody."""
    told = re.compile(r"REMOTE_ADDR|REMOTE_HOST|FORWARDED|X_REAL_IP|X-Forwarded|X-Real-IP|USE_X_FORWARDED")
    apps = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config")
    code = re.compile(r'("""|\'\'\').*?\1|#[^\n]*', re.DOTALL)
    readers = {
        str(file.relative_to(ROOT))
        for app in apps
        for file in (ROOT / app).rglob("*.py")
        if told.search(code.sub("", file.read_text(encoding="utf-8")))
    }
    assert readers == {"accounts/sign_in/client_address.py", "accounts/sign_in/forwarded_scheme.py"}
