"""Rules for the servers that may be called and the keys that they may be sent, from the operator's settings. PURE.

PLUMBLINE_MODEL_HOSTS lists hosts and PLUMBLINE_MODEL_KEYS keys with their hosts; docs/operations.md describes both.
A name is judged by the addresses that it resolves to, each time a connection is opened.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from core.errors import UserError
from core.messages.message import Message
from generation.llm.protocol import messages as call_messages

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

USUAL_PORTS = {"http": 80, "https": 443}
MOST_PORT = 65_535
LEAST_PREFIX = {4: 8, 6: 16}
"""The shortest prefix of a listed network by IP version, so that a typing error does not open everything."""
ALL_WORKSPACES = "all"
OWN_VARIABLES = ("PLUMBLINE_", "DATABASE_URL", "REDIS_URL", "CELERY_", "SENTRY_DSN", "DJANGO_")
"""Prefixes of variables that hold this program's own secrets and are never an endpoint's key."""

SERVER_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/[^?#\\\x00-\x20\x7f-\U0010ffff]*)?",
    re.IGNORECASE | re.ASCII,
)
"""Stricter than HTTP, so that every library finds the same host in it: no password, ?, # or backslash."""
NAME = re.compile(r"(?!.*\.\.)[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
NUMBER_AT_THE_END = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
"""Such names are other spellings of addresses: 2130706433 and 0x7f.1 are 127.0.0.1."""
KEY_ENTRY = re.compile(
    r"(?P<variable>[A-Za-z_][A-Za-z0-9_]*)@(?P<server>(?:https?://)?[^/@\s]+)/(?P<workspaces>[A-Za-z0-9_+-]+)"
)

METADATA = ipaddress.ip_address("168.63.129.16")
"""A public address at which one cloud serves metadata to its own machines."""
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "2002::/16", "2001::/32", "64:ff9b:1::/48", "::/96", "fec0::/10"))
)
"""Tunnels to IPv4 addresses, and addresses that some versions of Python consider public."""
PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"))
)


class BadAddress(UserError):
    """The text is not a plain http:// or https:// address of a server."""


class HostRefused(UserError):
    """The server may not be called; the sentence says which entry of which setting would allow it."""

    def __init__(self, sentence: Message) -> None:
        super().__init__(sentence)


@dataclass(frozen=True)
class Origin:
    """The destination of a request. The host is in lower case without a final dot; an IPv6 address has no brackets."""

    scheme: str
    host: str
    port: int

    @property
    def place(self) -> str:
        """Host and port, written as in PLUMBLINE_MODEL_HOSTS."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def as_key_entry(self) -> str:
        """The origin, written as in PLUMBLINE_MODEL_KEYS."""
        if (self.scheme, self.port) == ("https", 443):
            return self.place.removesuffix(":443")
        return f"{'http://' if self.scheme == 'http' else ''}{self.place}"


def origin_of(base_url: str) -> Origin:
    """Parse an endpoint's address. Raises BadAddress."""
    parts = SERVER_URL.fullmatch(base_url)
    if parts is None:
        raise BadAddress(base_url)
    scheme = parts["scheme"].lower()
    port = int(parts["port"] or USUAL_PORTS[scheme])
    host = _plain_host(parts["host"])
    if host is None or not 1 <= port <= MOST_PORT:
        raise BadAddress(base_url)
    return Origin(scheme, host, port)


def _plain_host(written: str) -> str | None:
    """Return a name or address in its canonical spelling, None if it is neither."""
    host = written.lower().removesuffix(".")
    if host.startswith("["):
        address = address_in(host[1:-1])
        return str(address) if address is not None and address.version == 6 else None
    if address_in(host) is not None:
        return host
    return None if NUMBER_AT_THE_END.fullmatch(host) or not NAME.fullmatch(host) else host


def address_in(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


class Kind(Enum):
    """How an address is reached from other machines."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    SPECIAL = "special"


def kind_of(address: Address) -> Kind:
    """Classify an address; IPv4 in IPv6 form counts as IPv4. Link-local, reserved and tunnelled ones are SPECIAL."""
    address = plain_address(address)
    if address.is_loopback or int(address) == 0:
        return Kind.LOOPBACK  # a connection to 0.0.0.0 arrives at this machine
    if any(address in network for network in PRIVATE if network.version == address.version):
        return Kind.PRIVATE
    if address == METADATA or any(address in network for network in NOT_PUBLIC if network.version == address.version):
        return Kind.SPECIAL
    if address.is_global and not (address.is_multicast or address.is_reserved or address.is_link_local):
        return Kind.PUBLIC
    return Kind.SPECIAL


def plain_address(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address maps to, directly or by NAT64; else return the address."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in TRANSLATED:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


@dataclass(frozen=True)
class HostRule:
    """A name or a network (an address is a network of one host), with the ports that may be called."""

    name: str
    network: Network | None
    ports: tuple[int, ...]

    def names(self, host: str, port: int) -> bool:
        return bool(self.name) and self.name == host and port in self.ports

    def covers(self, address: Address, port: int) -> bool:
        network = self.network
        plain = plain_address(address)
        return (
            network is not None
            and port in self.ports
            and any(form.version == network.version and form in network for form in (address, plain))
        )


@dataclass(frozen=True)
class KeyRule:
    """A variable whose value may be sent to one origin, for the workspaces with these slugs; None means all."""

    variable: str
    origin: Origin
    workspaces: frozenset[str] | None = None

    def allows(self, variable: str, origin: Origin, workspace: str) -> bool:
        return (
            self.variable == variable
            and self.origin == origin
            and (self.workspaces is None or workspace in self.workspaces)
        )


@dataclass(frozen=True)
class Reach:
    """The servers that may be called: public and listed ones, and with `nearby` this machine and private networks."""

    listed: tuple[HostRule, ...] = ()
    nearby: bool = False

    def lists(self, origin: Origin) -> bool:
        """Return whether the operator has listed this host or is the only user, so that a proxy may resolve its name."""
        address = address_in(origin.host)
        return self.nearby or any(
            rule.names(origin.host, origin.port) or (address is not None and rule.covers(address, origin.port))
            for rule in self.listed
        )

    def check(self, origin: Origin) -> None:
        """Judge what is known before a name is resolved. Raises HostRefused."""
        if address_in(origin.host) is not None:
            self.checked(origin.host, origin.port, [origin.host])
        elif _is_localhost(origin.host):
            self.checked(origin.host, origin.port, ["127.0.0.1"])

    def checked(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """Return the addresses that a host resolves to. Raises HostRefused if any of them may not be called."""
        host = host.lower().removesuffix(".")
        named = any(rule.names(host, port) for rule in self.listed)
        found = [address_in(address) for address in addresses]
        if not all(address is not None and self._allows(address, host, port, named) for address in found):
            if named:
                raise HostRefused(call_messages.HOST_ELSEWHERE(host=host))
            entry = Origin("http", host, port).place
            raise HostRefused(call_messages.HOST_NOT_ALLOWED(host=entry, entry=entry))
        return list(addresses)

    def _allows(self, address: Address, host: str, port: int, named: bool) -> bool:
        if any(rule.covers(address, port) for rule in self.listed):
            return True
        match kind_of(address):
            case Kind.PUBLIC:
                return True
            case Kind.PRIVATE:
                return self.nearby or named
            case Kind.LOOPBACK:
                return self.nearby or (named and _is_localhost(host))
            case Kind.SPECIAL:
                return False


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def rule_for(origin: Origin) -> HostRule:
    """Return a rule that allows only this host and port."""
    address = address_in(origin.host)
    if address is None:
        return HostRule(origin.host, None, (origin.port,))
    return HostRule("", ipaddress.ip_network(address), (origin.port,))


def read_hosts(entries: Sequence[str]) -> tuple[HostRule, ...]:
    """Parse the entries of PLUMBLINE_MODEL_HOSTS. Raises UserError."""
    return tuple(_host_rule(entry) for entry in entries)


def _host_rule(entry: str) -> HostRule:
    parts = re.fullmatch(r"(?P<host>\[[^\]]*\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?", entry)
    if parts is None:
        raise UserError(
            f"{entry!r} is neither a name, an address nor a network; write it like vllm.lab:8000, 10.0.0.5:8000, "
            "10.0.0.0/24:8000 or [fd00::5]:8000."
        )
    ports = (int(parts["port"]),) if parts["port"] else tuple(USUAL_PORTS.values())
    if not all(1 <= port <= MOST_PORT for port in ports):
        raise UserError(f"{entry!r} has a port that does not exist; give one from 1 to {MOST_PORT}.")
    host = parts["host"]
    if "/" in host:
        return HostRule("", _network(entry, host.strip("[]")), ports)
    plain = _plain_host(host)
    if plain is None:
        raise UserError(f"{entry!r} names no host; give a name or a plain address.")
    address = address_in(plain)
    return HostRule("" if address else plain, ipaddress.ip_network(address) if address else None, ports)


def _network(entry: str, text: str) -> Network:
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise UserError(f"{entry!r} is no network: {error}.") from error
    least = LEAST_PREFIX[network.version]
    if network.prefixlen < least:
        raise UserError(f"{entry!r} is too large a network; list parts of it, each of /{least} or smaller.")
    return network


def read_keys(entries: Sequence[str]) -> tuple[KeyRule, ...]:
    """Parse the entries of PLUMBLINE_MODEL_KEYS. Raises UserError."""
    return tuple(_key_rule(entry) for entry in entries)


def _key_rule(entry: str) -> KeyRule:
    parts = KEY_ENTRY.fullmatch(entry)
    if parts is None:
        raise UserError(
            f"{entry!r} is not of the form VARIABLE@HOST/WORKSPACES; write it like OPENAI_API_KEY@api.openai.com/all "
            "or LAB_KEY@http://10.0.0.5:8000/chemistry+physics."
        )
    if parts["variable"].upper().startswith(OWN_VARIABLES):
        raise UserError(f"{parts['variable']} belongs to Plumbline itself and is sent to no endpoint.")
    server = parts["server"] if "://" in parts["server"] else f"https://{parts['server']}"
    try:
        origin = origin_of(server)
    except BadAddress as error:
        raise UserError(f"{entry!r} names no host; give a name or a plain address.") from error
    slugs = parts["workspaces"].split("+")
    if "" in slugs or (ALL_WORKSPACES in slugs and len(slugs) > 1):
        raise UserError(f"{entry!r} names its workspaces oddly; write all, or slugs joined by +.")
    return KeyRule(parts["variable"], origin, None if slugs == [ALL_WORKSPACES] else frozenset(slugs))
