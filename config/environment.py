"""Readers of environment variables. An invalid value raises ImproperlyConfigured, so that the process does not start."""

import ipaddress
import os
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
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

OPENING = "PLUMBLINE_"
NAMES = re.compile(rf"[\"']({OPENING}[A-Z0-9_]+)[\"']")
INJECTED = re.compile(rf"{OPENING}(PORT\w*|(\w+_)?SERVICE_HOST|(\w+_)?SERVICE_PORT\w*|\w+_PORT_\d+_(TCP|UDP|SCTP)\w*)")
"""Variables that Kubernetes and container links set for a service or container whose name begins with "plumbline"."""
LINKED = re.compile("(tcp|udp|sctp)://")
"""The value of such a variable, called ..._PORT."""

SHORTEST_SECRET = 40
FEWEST_CHARACTERS = 8
EXAMPLE_SECRET = "replace-this"  # nosec B105 # refused
"""What the example of a secret in docs/operations.md begins with."""
PUBLIC_SECRETS = {
    EXAMPLE_SECRET: "it is the example of the documentation",
    "django-insecure-": "it is the key of a new Django project",
    "for-one-machine-only-": "it is the key of local mode, which everybody knows",
}
"""Beginnings of secrets that others know, with the reason for which they are refused."""

_read: set[str] = set()
"""The variables that were read so far."""


def text(name: str, default: str = "") -> str:
    """Return the value without surrounding spaces."""
    _read.add(name)
    return os.environ.get(name, default).strip()


def secret(name: str, *, default: str = "") -> str:
    """Return a secret that cannot be guessed, or the default if none is set."""
    word = text(name)
    if default and not word:
        return default
    reasons = [reason for opening, reason in PUBLIC_SECRETS.items() if word.lower().startswith(opening)]
    if len(word) < SHORTEST_SECRET:
        reasons.append(f"it has fewer than {SHORTEST_SECRET} characters")
    elif len(set(word)) < FEWEST_CHARACTERS:
        reasons.append(f"it has fewer than {FEWEST_CHARACTERS} different characters")
    elif word in (word + word)[1:-1]:
        reasons.append("it repeats itself")
    if reasons:
        remedy = 'set it to what python3 -c "import secrets; print(secrets.token_urlsafe(50))" prints'
        raise ImproperlyConfigured(f"{name} is invalid: {reasons[0]}; {remedy}.")
    return word


def refuse_unknown(*settings: Path) -> None:
    """Raise ImproperlyConfigured if a variable of Plumbline is set that none of the files of the settings reads."""
    # A variable that is read in one mode only, or only beside another one, is known in all modes.
    known = _read.union(*(NAMES.findall(file.read_text(encoding="utf-8")) for file in settings))
    for name, value in sorted(os.environ.items()):
        if not name.upper().startswith(OPENING) or name in known or INJECTED.fullmatch(name) or LINKED.match(value):
            continue
        near = get_close_matches(name.upper(), sorted(known), 1)
        guess = f"did you mean {near[0]}?" if near else "remove it."
        raise ImproperlyConfigured(f"There is no setting {name}; {guess} docs/operations.md lists all settings.")


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


def files_read(name: str, read: Callable[..., T], *, first: Path) -> T:
    """Return what `read` makes of a file of the program and of the one that the variable names, if it names one."""
    given = text(name)
    try:
        return read(first, Path(given).expanduser()) if given else read(first)
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
