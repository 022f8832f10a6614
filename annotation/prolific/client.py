"""Prolific's public API v1, with the operator's token: studies, submissions and their transitions.

Nothing is followed elsewhere and no answer is trusted: its size and the shape of what is read are checked.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import UserError

SECONDS = 15
LARGEST_ANSWER = 5_000_000
AT_ONCE, MOST_SUBMISSIONS = 100, 5_000
ID = re.compile(r"[A-Za-z0-9]{1,64}")


class ProlificError(UserError):
    """Prolific refused or did not answer; the message is for the lead and never holds the token."""


@dataclass(frozen=True)
class Submission:
    """One submission as Prolific tells it; `status` such as "ACTIVE", "AWAITING REVIEW", "RETURNED", "TIMED-OUT"."""

    id: str
    participant: str
    status: str
    code: str


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the token elsewhere."""

    def redirect_request(self, *_given: Any, **_others: Any) -> None:
        return None


def is_prolific_set_up() -> bool:
    """Return whether the operator has given a token."""
    return bool(settings.PROLIFIC_TOKEN)


def study_at_prolific(study_id: str) -> dict[str, Any]:
    """Return a study. Raises ProlificError."""
    return _asked("GET", f"studies/{_id(study_id)}/")


def create_draft(fields: Mapping[str, Any]) -> str:
    """Create an unpublished study with these fields of the API and return its id. Raises ProlificError."""
    return _id(str(_asked("POST", "studies/", fields).get("id", "")))


def submissions_of(study_id: str) -> list[Submission]:
    """Return the submissions of a study, at most MOST_SUBMISSIONS. Raises ProlificError."""
    return [_submission(row) for row in _pages(f"studies/{_id(study_id)}/submissions/")]


def approve(submission_id: str) -> None:
    """Approve a submission, which pays it. Raises ProlificError."""
    _asked("POST", f"submissions/{_id(submission_id)}/transition/", {"action": "APPROVE"})


def reject(submission_id: str, *, category: str, message: str) -> None:
    """Reject a submission; Prolific shows the participant the message. Raises ProlificError."""
    body = {"action": "REJECT", "rejection_category": category, "message": message}
    _asked("POST", f"submissions/{_id(submission_id)}/transition/", body)


def _id(text: str) -> str:
    if not ID.fullmatch(text):
        raise ProlificError(_("A study's ID at Prolific contains only letters and digits."))
    return text


def _submission(row: Any) -> Submission:
    if not isinstance(row, Mapping):
        raise ProlificError(_("Prolific gave an answer that this program does not understand."))
    participant = row.get("participant_id") or row.get("participant") or ""
    return Submission(
        _id(str(row.get("id", ""))),
        str(participant),
        str(row.get("status", "")),
        str(row.get("study_code") or row.get("entered_code") or ""),
    )


def _pages(path: str) -> Iterator[Any]:
    offset = 0
    while offset < MOST_SUBMISSIONS:
        rows = _asked("GET", f"{path}?{urlencode({'limit': AT_ONCE, 'offset': offset})}").get("results")
        if not isinstance(rows, list):
            raise ProlificError(_("Prolific gave an answer that this program does not understand."))
        yield from rows
        if len(rows) < AT_ONCE:
            return
        offset += AT_ONCE


def _asked(method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    if not is_prolific_set_up():
        raise ProlificError(_("This server has no token for Prolific's API."))
    request = Request(  # the operator's setting, whose scheme is checked
        f"{settings.PROLIFIC_API}/api/v1/{path}",
        data=json.dumps(body).encode() if body is not None else None,
        method=method,
        headers={"Authorization": f"Token {settings.PROLIFIC_TOKEN}", "Content-Type": "application/json"},
    )
    try:
        with build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
            text = answer.read(LARGEST_ANSWER + 1)
        found = json.loads(text) if len(text) <= LARGEST_ANSWER else None
    except HTTPError as error:
        error.close()
        raise ProlificError(_("Prolific refused the request (HTTP status %(n)s).") % {"n": error.code}) from None
    except (OSError, HTTPException):
        raise ProlificError(_("Prolific does not answer. Try again later.")) from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProlificError(_("Prolific gave an answer that this program does not understand."))
    return found
