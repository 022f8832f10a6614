"""The network address of a visitor, determined through the proxies that the operator lists."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

LEFT_BY_PROXIES = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")
Address = IPv4Address | IPv6Address
UNIX_SOCKET = "unix"
"""The word in PLUMBLINE_TRUSTED_PROXIES for a proxy that connects through a socket file and so has no address."""


def _parsed(text: str) -> Address | None:
    """Return the address in "203.0.113.7", "203.0.113.7:4711", "2001:db8::7" or "[2001:db8::7]:4711", or None."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _is_proxy(address: Address | None) -> bool:
    """Return whether the operator lists the address; None stands for a connection through a socket file."""
    if address is None:
        return UNIX_SOCKET in settings.TRUSTED_PROXIES
    networks = (ip_network(listed) for listed in settings.TRUSTED_PROXIES if listed != UNIX_SOCKET)
    return any(address.version == network.version and address in network for network in networks)


def from_listed_proxy(request: HttpRequest) -> bool:
    """Return whether the connection comes from a proxy that the operator lists."""
    return _is_proxy(_parsed(str(request.META.get("REMOTE_ADDR", ""))))


def from_this_machine(request: HttpRequest) -> bool:
    """Return whether the visitor sits at this machine: connected from a loopback address, and through no proxy."""
    address = _parsed(str(request.META.get("REMOTE_ADDR", "")))
    return address is not None and address.is_loopback and not any(name in request.META for name in LEFT_BY_PROXIES)


def client_address(request: HttpRequest) -> str:
    """Return the visitor's IPv4 address, the /64 network of an IPv6 address, or "" if it is unknown.

    X-Forwarded-For counts only if the connection comes from a listed proxy. It is read from the right, as far as listed
    proxies wrote it, because anybody else can write any address into it.
    """
    address = _parsed(str(request.META.get("REMOTE_ADDR", "")))
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).split(",")
    while forwarded and forwarded[-1].strip() and _is_proxy(address):
        sender = _parsed(forwarded.pop())
        if sender is None:
            break
        address = sender
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), 64), strict=False))
    return str(address) if address is not None else ""


def is_internal(address: str) -> bool:
    """Return whether the address, in the form of client_address, belongs to this machine or a private network."""
    if not address:
        return True
    network = ip_network(address)
    own = network.version == 6 and IPv6Address("::1") in network
    return own or network.is_private or network.is_loopback or network.is_link_local
