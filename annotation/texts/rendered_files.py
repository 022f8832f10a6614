"""A cache of long rendered texts in files, which all processes of a machine share.

The first process that shows a text renders it. The files may be deleted at any time and are then created again.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

KEPT_FROM = 1500
"""Characters of the shortest text that is cached; a shorter one is rendered as fast as a file is read."""
RENDERERS = ("markdown-it-py", "mdit-py-plugins", "latex2mathml", "nh3", "pygments")


def rendering_version(*sources: Path) -> str:
    """Return a version that changes with the renderers and with the code in these files, so that no stale file is used."""
    parts = [f"{name} {version(name)}".encode() for name in RENDERERS]
    return sha256(b"\0".join([*parts, *(source.read_bytes() for source in sources)])).hexdigest()[:16]


def kept(folder: Path, text: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the cached result of `make` for the text, or call `make` and cache its result."""
    if len(text) < KEPT_FROM:
        return make()
    name = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    path = folder / name[:2] / f"{name[2:]}.json"
    with suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found
    made = make()
    with suppress(OSError):
        _write(path, json.dumps(made, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return made


def _write(path: Path, content: bytes) -> None:
    """Write the whole file at once, so that no other process reads a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    try:
        Path(file.name).replace(path)
    except OSError:
        Path(file.name).unlink()
        raise
