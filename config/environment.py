"""Readers of environment variables. An invalid value raises ImproperlyConfigured, so that the process does not start."""

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
"""Whether this process is a command that somebody runs in a shell, and therefore serves nobody else."""

BROKERS = ("redis", "rediss", "amqp", "amqps", "pyamqp", "sentinel", "sqs", "kafka", "azureservicebus", "gcpubsub")
"""Schemes of brokers that Celery knows."""

T = TypeVar("T")
TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    """Return the value without surrounding spaces."""
    return os.environ.get(name, default).strip()


def boolean(name: str, *, default: bool) -> bool:
    """Return True for 1, true, yes or on, and False for 0, false, no, off or an empty value."""
    word = text(name, "1" if default else "0").lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name}={word!r} is neither true nor false; set it to 1 or 0.")


def integer(name: str, *, default: int, minimum: int = 0) -> int:
    """Return a whole number of at least `minimum`."""
    word = text(name, str(default))
    if not word.isdecimal() or int(word) < minimum:
        raise ImproperlyConfigured(f"{name}={word!r} is invalid; set it to a whole number of at least {minimum}.")
    return int(word)


def choice(name: str, *, default: str, options: tuple[str, ...]) -> str:
    """Return one of `options`; the variable may be written in capitals."""
    word = text(name, default).lower()
    if word not in options:
        raise ImproperlyConfigured(f"{name}={word!r} is invalid; set it to one of: {', '.join(options)}.")
    return word


def words(name: str, *, default: tuple[str, ...] = ()) -> list[str]:
    """Return the words between commas, or the default if there is none."""
    found = [word.strip() for word in text(name).split(",") if word.strip()]
    return found or list(default)


def networks(name: str, *, other: tuple[str, ...] = ()) -> list[str]:
    """Return IP addresses and networks, separated by commas, and words of `other`. Raises ImproperlyConfigured."""
    found = words(name)
    for word in found:
        try:
            if word not in other:
                ip_network(word)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} contains {word!r}, which is not valid ({error}); list IP addresses or networks such as 10.0.0.0/24"
                f"{''.join(f', or the word {choice!r}' for choice in other)}."
            ) from error
    return found


def entries(name: str, read: Callable[[Sequence[str]], T]) -> T:
    """Return what `read` makes of the entries between commas. Raises ImproperlyConfigured if `read` raises UserError."""
    try:
        return read(words(name))
    except UserError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


def folder_to_read(name: str, *, default: Path) -> Path:
    """Return a folder. It must exist if the variable names it; the default folder need not exist."""
    given = text(name)
    path = Path(given or str(default)).expanduser().resolve()
    if given and not path.is_dir():
        raise ImproperlyConfigured(f"{name}={str(path)!r} is not a folder; set it to an existing folder.")
    return path


def folder(name: str, *, default: Path) -> Path:
    """Return a writable folder, which is created if it is missing; an empty variable selects the default."""
    path = Path(text(name) or str(default)).expanduser().resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}={str(path)!r} cannot be created ({error.strerror}); set it to a writable folder."
        ) from error
    if not os.access(path, os.W_OK):
        raise ImproperlyConfigured(f"{name}={str(path)!r} cannot be written to; set it to a writable folder.")
    return path


def url(name: str, *, schemes: tuple[str, ...], default: str = "") -> str:
    """Return a URL whose scheme is one of `schemes`, or the default. Raises ImproperlyConfigured."""
    address = text(name, default)
    if address and urlsplit(address).scheme not in schemes:
        raise ImproperlyConfigured(f"{name} must begin with {' or '.join(s + '://' for s in schemes)}.")
    return address


def is_loopback(place: str) -> bool:
    """Return whether a host, with or without a port, can only be this machine."""
    host = place.removeprefix("[").partition("]")[0] if place.startswith("[") else place
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
