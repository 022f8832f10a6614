"""Addresses as logs may show them: what lets somebody in, such as the token of an invitation, is masked."""

import re
from typing import Any

MASK = "***"
SECRET_ARGUMENTS = {"token", "uidb64", "uidb36", "key", "code", "secret", "signature"}
"""Names of the parts of an address, in urls.py, that let somebody in."""
AFTER_THESE = re.compile(r"(/(?:join|invitation|reset/key|reset|confirm-email)/)[^/?\s\"']+", re.IGNORECASE)
LONG = re.compile(r"(?<=/)(?=[^/]*\d)[A-Za-z0-9_\-=.~:%+]{20,}(?=/|$)")
"""A long part of an address that no page has may be a link with a fault of one letter."""


def masked(path: str, match: Any = None) -> str:
    """Return the path without secrets. `match` is what the path was resolved to, None where no page has it."""
    path = path.replace("\r", "").replace("\n", "")
    for name, value in (match.kwargs if match is not None else {}).items():
        if name.lower() in SECRET_ARGUMENTS and value:
            path = path.replace(str(value), MASK)
    path = AFTER_THESE.sub(rf"\1{MASK}", path)
    return path if match is not None else LONG.sub(MASK, path)
