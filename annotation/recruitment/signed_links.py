"""Entry links signed by the platform: Prolific's secured study links carry a token that its public keys verify.

The operator stores Prolific's key set (JWKS) in the file that PLUMBLINE_PROLIFIC_KEYS names, which is read again when
it changes. A token counts for one cohort: Prolific includes the workspace of the maker of the study, and the lead says
which workspace is theirs. Otherwise anybody could have another person's id signed in a study of their own.
"""

import json
import logging
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
from django.conf import settings

from annotation.models import Cohort
from annotation.recruitment.participants import CrowdId
from core.errors import UserError

PARAMETER = "prolific_token"
ISSUER = "https://www.prolific.com"
ALGORITHM = "RS256"
LATE = timedelta(minutes=10)
"""How much too old a link may be, because a person reads the invitation before sending its form."""
LONGEST_TOKEN = 8_000
LARGEST_KEY_FILE = 100_000

logger = logging.getLogger(__name__)


def is_required(cohort: Cohort) -> bool:
    """Return whether this cohort accepts nobody without the platform's signature."""
    return bool(cohort.platform_workspace)


def prolific_keys() -> dict[str, Any]:
    """Return the public keys by id. Raises UserError."""
    path = settings.PROLIFIC_KEYS
    if not path:
        raise UserError("PLUMBLINE_PROLIFIC_KEYS names no file.")
    try:
        changed = Path(path).stat()
        return _read(path, changed.st_mtime_ns, changed.st_size)
    except OSError as problem:
        raise UserError(f"{path} cannot be read: {problem.strerror}.") from problem


@lru_cache(maxsize=2)
def _read(path: str, _changed: int, size: int) -> dict[str, Any]:
    if size > LARGEST_KEY_FILE:
        raise UserError(f"{path} is too large for a set of keys.")
    try:
        keys = jwt.PyJWKSet.from_dict(json.loads(Path(path).read_text(encoding="utf-8"))).keys
    except (ValueError, TypeError, AttributeError, jwt.PyJWTError) as problem:
        raise UserError(f"{path} holds no set of keys (JWKS).") from problem
    return {key.key_id: key for key in keys if key.key_id and key.key_type == "RSA"}


def is_signed(cohort: Cohort, crowd: CrowdId, token: str, *, host: str, path: str) -> bool:
    """Return whether the platform recently signed this link for this participant, submission, cohort and server."""
    if not is_required(cohort) or not token or len(token) > LONGEST_TOKEN or crowd.platform != "prolific":
        return False
    try:
        key = prolific_keys().get(str(jwt.get_unverified_header(token).get("kid", "")))
        if key is None:
            return False
        claims = jwt.decode(
            token,
            key.key,
            algorithms=[ALGORITHM],
            issuer=ISSUER,
            leeway=LATE,
            options={"require": ["exp", "iss", "aud"], "verify_aud": False},
        )
    except UserError as problem:
        logger.warning("Signed links cannot be checked: %s", problem)
        return False
    except jwt.PyJWTError:
        return False
    return _is_for_here(claims["aud"], host, path) and _names(claims.get("prolific"), cohort, crowd)


def _is_for_here(audience: Any, host: str, path: str) -> bool:
    """Return whether the token is meant for this server: its name or the URL of this link."""
    names = {host.lower(), host.lower().partition(":")[0]}
    for named in audience if isinstance(audience, list) else [audience]:
        address = urlsplit(str(named) if "//" in str(named) else f"//{named}")
        if address.netloc.lower() in names and address.path in ("", "/", path):
            return True
    return False


def _names(claims: Any, cohort: Cohort, crowd: CrowdId) -> bool:
    """Return whether the signed parameters are those of the link and come from the lead's workspace."""
    if not isinstance(claims, dict):
        return False
    wanted = {"PROLIFIC_PID": crowd.key.partition(":")[2], **crowd.particulars}
    same = all(claims.get(name) == value for name, value in wanted.items())
    return same and claims.get("workspace_id") == cohort.platform_workspace
