"""The code and libraries with which a run or a fit was made, for its manifest."""

import platform
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from django.conf import settings
from django.db.models import Count

from generation.llm.protocol.prices import Spend
from generation.run_fields import AnyRun

LIBRARIES = ("django", "openai", "aiohttp", "httpx2", "celery", "vllm")


def code_version() -> str:
    """Return the project's version, and the commit it runs from if that is known."""
    number, commit = _number(), _commit()
    return f"{number}+{commit[:12]}" if commit else number


def _number() -> str:
    """Return the version that pyproject.toml states, or outside a checkout that of the distribution."""
    try:
        text = (settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        owners = packages_distributions().get("plumbline", ())
        return version(owners[0]) if owners else "unknown"
    return str(tomllib.loads(text)["project"]["version"])


def _commit() -> str:
    """Return the commit that HEAD names, read without running git; '' outside a clone."""
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


def results_of(run: AnyRun, spent: Spend, **more: Any) -> dict[str, Any]:
    """Return what a finished run adds to its manifest: its items by status, `more`, its spending, code and libraries."""
    statuses = run.items.order_by().values("status").annotate(n=Count("pk"))
    return {
        "came": {
            "items": {row["status"]: row["n"] for row in statuses},
            **more,
            "calls": spent.calls,
            "tokens": spent.tokens,
            "money": str(spent.money),
            "code": code_version(),
            "versions": library_versions(),
        }
    }
