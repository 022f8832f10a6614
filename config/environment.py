"""Environment variables, each read and converted once; an invalid value stops the start with one message."""

import ipaddress
import os
from collections.abc import Callable, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from core.errors import UserError

in_shell = False
"""Whether this process is a command that somebody runs in a shell, and so serves nobody else."""

T = TypeVar("T")
TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def boolean(name: str, *, default: bool) -> bool:
    word = text(name, "1" if default else "0").lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name}={word!r} is neither true nor false; set it to 1 or 0.")


def integer(name: str, *, default: int, minimum: int = 0) -> int:
    word = text(name, str(default))
    if not word.isdecimal() or int(word) < minimum:
        raise ImproperlyConfigured(f"{name}={word!r} is not a whole number of at least {minimum}.")
    return int(word)


def choice(name: str, *, default: str, options: tuple[str, ...]) -> str:
    word = text(name, default).lower()
    if word not in options:
        raise ImproperlyConfigured(f"{name}={word!r} is not one of {', '.join(options)}.")
    return word


def words(name: str, *, default: tuple[str, ...] = ()) -> list[str]:
    found = [word.strip() for word in text(name).split(",") if word.strip()]
    return found or list(default)


def networks(name: str, *, other: tuple[str, ...] = ()) -> list[str]:
    """IP addresses and networks, separated by commas, and words of `other`; anything else stops the start."""
    found = words(name)
    for word in found:
        try:
            if word not in other:
                ip_network(word)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name}: {word!r} is neither an IP address nor a network such as 10.0.0.0/24"
                f"{''.join(f', nor the word {choice!r}' for choice in other)} ({error})."
            ) from error
    return found


def entries(name: str, read: Callable[[Sequence[str]], T]) -> T:
    """What `read` makes of the entries between commas; the UserError that it raises stops the start."""
    try:
        return read(words(name))
    except UserError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


def folder_to_read(name: str, *, default: Path) -> Path:
    """A folder that is there where the variable names it; the default one need not be."""
    given = text(name)
    path = Path(given or str(default)).expanduser().resolve()
    if given and not path.is_dir():
        raise ImproperlyConfigured(f"{name}={str(path)!r} is no folder; name one that is there.")
    return path


def folder(name: str, *, default: Path) -> Path:
    """A folder, made where it is missing; an empty variable is none."""
    path = Path(text(name) or str(default)).expanduser().resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}={str(path)!r} cannot be made a folder ({error.strerror}); name one that can be written to."
        ) from error
    if not os.access(path, os.W_OK):
        raise ImproperlyConfigured(f"{name}={str(path)!r} cannot be written to; name a folder that can.")
    return path


def url(name: str, *, schemes: tuple[str, ...], default: str = "") -> str:
    """An address whose scheme is one of `schemes`, or the default; anything else stops the start."""
    address = text(name, default)
    if address and urlsplit(address).scheme not in schemes:
        raise ImproperlyConfigured(f"{name} must begin with {' or '.join(s + '://' for s in schemes)}.")
    return address


def is_loopback(place: str) -> bool:
    """Whether a host, with or without a port, is this machine and nothing else."""
    host = place.removeprefix("[").partition("]")[0] if place.startswith("[") else place
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
