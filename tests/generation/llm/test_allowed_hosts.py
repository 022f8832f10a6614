"""Which hosts may be called and which keys sent: how addresses and settings are read, and what counts as public."""

import ipaddress

import pytest

from core.errors import UserError
from generation.llm.protocol.allowed_hosts import (
    BadAddress,
    HostRefused,
    Kind,
    Origin,
    Reach,
    kind_of,
    origin_of,
    read_hosts,
    read_keys,
    rule_for,
)

ANYWHERE = Reach()


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://API.example.com./v1", Origin("https", "api.example.com", 443)),
        ("http://10.0.0.5:8000/v1", Origin("http", "10.0.0.5", 8000)),
        ("http://[FD00::5]:8000", Origin("http", "fd00::5", 8000)),
        ("http://vllm_1/v1", Origin("http", "vllm_1", 80)),
    ],
)
def test_an_address_has_one_origin(address, origin):
    assert origin_of(address) == origin


@pytest.mark.parametrize(
    "address",
    [
        "ftp://host/v1",
        "http://",
        "http://user:secret@host/v1",
        "http://host@127.0.0.1/v1",
        "http://a#@127.0.0.1/",
        "http://a\\@127.0.0.1/",
        "http://a?@127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://a..b/",
        "http://host:0/",
        "http://host:70000/",
        "http://①②⑦.0.0.1/",
        "http://ſite/",
        "http://host/v1\n",
        "http://host /v1",
        "http://[fe80::1%eth0]/",
        "http://[127.0.0.1]/",
        "http://host/v1?x=1",
    ],
)
def test_what_two_libraries_could_read_as_two_hosts_is_no_address(address):
    with pytest.raises(BadAddress):
        origin_of(address)


@pytest.mark.parametrize(
    ("kind", "addresses"),
    [
        (Kind.PUBLIC, "8.8.8.8 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808"),
        (Kind.PRIVATE, "10.1.2.3 172.31.0.1 192.168.1.1 100.100.100.200 fd00:ec2::254 ::ffff:10.0.0.1 64:ff9b::a00:1"),
        (Kind.LOOPBACK, "127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: ::ffff:127.0.0.1 64:ff9b::7f00:1"),
        (
            Kind.SPECIAL,
            "169.254.169.254 ::ffff:169.254.169.254 fe80::1 224.0.0.1 ff02::1 255.255.255.255 192.0.0.192 198.18.0.1 "
            "168.63.129.16 2002:7f00:1:: 2001:0:1:: ::7f00:1 fec0::1 64:ff9b:1::1 240.0.0.1 0.1.2.3",
        ),
    ],
)
def test_what_an_address_is_to_others(kind, addresses):
    for address in addresses.split():
        assert kind_of(ipaddress.ip_address(address)) is kind, address


def test_public_hosts_may_be_called_and_no_others():
    ANYWHERE.check(origin_of("https://8.8.8.8/v1"))
    for address in (
        "http://127.0.0.1:8000",
        "http://10.0.0.5",
        "http://[::1]",
        "http://localhost",
        "http://a.localhost",
    ):
        with pytest.raises(HostRefused):
            ANYWHERE.check(origin_of(address))
        if "a." not in address:
            Reach(nearby=True).check(origin_of(address))
    with pytest.raises(HostRefused):
        Reach(nearby=True).check(origin_of("http://169.254.169.254/latest"))


def test_the_refusal_says_which_line_to_add_and_the_line_helps():
    for address in (
        "http://10.0.0.5:8000/v1",
        "http://[fd00::5]:8000/v1",
        "http://127.0.0.1:9/v1",
        "https://10.1.1.1/v1",
    ):
        with pytest.raises(HostRefused) as refused:
            ANYWHERE.check(origin_of(address))
        line = str(refused.value).partition("PLUMBLINE_MODEL_HOSTS=")[2]
        Reach(read_hosts([line])).check(origin_of(address))


def test_a_name_is_judged_by_every_address_that_it_resolves_to():
    assert ANYWHERE.checked("api.example.com", 443, ["8.8.8.8"]) == ["8.8.8.8"]
    for mixed in (["8.8.8.8", "10.0.0.1"], ["127.0.0.1"], ["8.8.8.8", "fe80::1%eth0"]):
        with pytest.raises(HostRefused, match=r"PLUMBLINE_MODEL_HOSTS=api\.example\.com:443") as refused:
            ANYWHERE.checked("api.example.com", 443, mixed)
        assert not any(address in str(refused.value) for address in mixed)


def test_a_listed_name_may_be_private_but_neither_this_machine_nor_link_local():
    reach = Reach(read_hosts(["vllm.lab:8000"]))
    assert reach.checked("VLLM.lab.", 8000, ["10.0.0.5"]) == ["10.0.0.5"]
    for port, address in ((8001, "10.0.0.5"), (8000, "127.0.0.1"), (8000, "169.254.169.254")):
        with pytest.raises(HostRefused):
            reach.checked("vllm.lab", port, [address])
    Reach(read_hosts(["localhost:8000"])).check(origin_of("http://localhost:8000"))


def test_networks_and_ports():
    reach = Reach(read_hosts(["10.1.0.0/16:8000", "192.168.1.7", "[fd00::/64]:8000"]))
    for address in ("http://10.1.9.9:8000", "http://192.168.1.7", "https://192.168.1.7", "http://[fd00::9]:8000"):
        reach.check(origin_of(address))
        assert reach.lists(origin_of(address))
    for address in ("http://10.1.9.9:22", "http://10.2.0.1:8000", "http://192.168.1.7:8000", "http://[fd01::9]:8000"):
        with pytest.raises(HostRefused):
            reach.check(origin_of(address))
    reach.check(origin_of("http://[::ffff:10.1.9.9]:8000"))


@pytest.mark.parametrize(
    "entry",
    [
        "http://10.0.0.5:8000",
        "10.0.0.5:",
        "10.0.0.5:0",
        "fd00::5",
        "10.0.0.5/24",
        "0.0.0.0/0:80",
        "127.1",
        "a b",
        "*.lab",
        "[::1",
    ],
)
def test_a_host_that_makes_no_sense_is_refused_by_name(entry):
    with pytest.raises(UserError) as refused:
        read_hosts([entry])
    assert repr(entry) in str(refused.value)


def test_a_key_goes_to_one_host_and_port_over_https_unless_said_otherwise():
    (rule,) = read_keys(["OPENAI_API_KEY@api.openai.com/chemistry+physics"])
    right = origin_of("https://api.openai.com/v1")
    assert rule.allows("OPENAI_API_KEY", right, "physics")
    assert not rule.allows("OPENAI_API_KEY", right, "history")
    assert not rule.allows("OTHER_KEY", right, "physics")
    for address in (
        "http://api.openai.com/v1",
        "http://api.openai.com:443/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.evil.example/v1",
    ):
        assert not rule.allows("OPENAI_API_KEY", origin_of(address), "physics")
    (rule,) = read_keys(["LAB_KEY@http://10.0.0.5:8000/all"])
    assert rule.allows("LAB_KEY", origin_of("http://10.0.0.5:8000/v1"), "any")


@pytest.mark.parametrize(
    "entry",
    [
        "OPENAI_API_KEY",
        "OPENAI_API_KEY@api.openai.com",
        "A@h/",
        "A@h/all+x",
        "A@h/x++y",
        "1A@h/all",
        "A@*/all",
        "A@u:p@h/all",
        "A@ftp://h/all",
        "PLUMBLINE_SECRET_KEY@h/all",
        "DATABASE_URL@h/all",
        "A@127.1/all",
        "A@h:0/all",
    ],
)
def test_a_key_entry_that_makes_no_sense_is_refused(entry):
    with pytest.raises(UserError):
        read_keys([entry])


def test_what_a_command_allowed_is_that_host_and_port():
    reach = Reach((rule_for(origin_of("http://10.0.0.5:8000/v1")),))
    reach.check(origin_of("http://10.0.0.5:8000/other"))
    for address in ("http://10.0.0.5:8001/v1", "http://10.0.0.6:8000/v1"):
        with pytest.raises(HostRefused):
            reach.check(origin_of(address))
