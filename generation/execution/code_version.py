"""Which code and which libraries a run or a fit was made with."""

import platform
import tomllib
from importlib.metadata import PackageNotFoundError, version

from django.conf import settings

LIBRARIES = ("django", "openai", "aiohttp", "httpx2", "celery", "vllm")


def code_version() -> str:
    """The project's version, and the commit it runs from where that is known."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commit = _commit()
    return f"{project['version']}+{commit[:12]}" if commit else str(project["version"])


def _commit() -> str:
    """The commit that HEAD names, read without running git; '' outside a clone."""
    git = settings.BASE_DIR / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        reference = git / head.removeprefix("ref: ")
        if reference.exists():
            return reference.read_text(encoding="utf-8").strip()
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(head.removeprefix("ref: "))), "")
    except (OSError, IndexError):
        return ""


def library_versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
