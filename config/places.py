"""Where Plumbline writes: in a checkout beside the code, and elsewhere never there."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

OPTION = "--data"
VARIABLE = "PLUMBLINE_DATA_DIR"
NAME = "plumbline"


def in_checkout(base: Path) -> bool:
    """Return whether the code lies in a checkout (or a copy of one, as in the container) and not in an installed package."""
    return (base / "manage.py").is_file()


def own_data_folder(base: Path) -> Path:
    """Return the data folder where nobody names one: `var` in a checkout, else the place that the platform has for it."""
    return base / "var" if in_checkout(base) else _platform_folder()


def static_folder(base: Path, data: Path) -> Path:
    """Return the folder in which `collectstatic` collects the files that a production server sends."""
    return base / "staticfiles" if in_checkout(base) else data / "static"


def take_data_option(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without `--data DIR`, which sets PLUMBLINE_DATA_DIR for this process and those that it starts.

    Raises ImproperlyConfigured if the option names no folder.
    """
    left: list[str] = []
    given = iter(arguments)
    for argument in given:
        if argument == "--":
            return [*left, argument, *given]
        if argument != OPTION and not argument.startswith(f"{OPTION}="):
            left.append(argument)
            continue
        folder = next(given, "") if argument == OPTION else argument.removeprefix(f"{OPTION}=")
        if not folder or folder.startswith("-"):
            raise ImproperlyConfigured(f"{OPTION} names no folder; write it as {OPTION} DIR.")
        os.environ[VARIABLE] = str(Path(folder).expanduser().resolve())
    return left


def _platform_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / NAME
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / NAME
    # The XDG base directory specification: a path that is not absolute is ignored.
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / NAME
