"""Prolific's public API v1, with the operator's token: studies, submissions and their transitions.

Nothing is followed elsewhere and no answer is trusted: its size and the shape of what is read are checked.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from http.client import HTTPException
from socket import gaierror
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
PAYMENT_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
"""The ids of bonus payments have the form of a study's id in one example of the documentation and of a UUID in another."""
REFUSALS = (400, 401, 403, 404)


class ProlificError(UserError):
    """Prolific refused or did not answer; the message is for the lead and never holds the token."""


class ProlificRefused(ProlificError):
    """Prolific certainly did not do what it was asked: it said so, or was never reached."""


@dataclass(frozen=True)
class Submission:
    """One submission as Prolific tells it; `status` such as "ACTIVE", "AWAITING REVIEW", "RETURNED", "TIMED-OUT"."""

    id: str
    participant: str
    status: str
    code: str


@dataclass(frozen=True)
class SetUpPayment:
    """A payment of bonuses that Prolific has set up and not paid. `amount` is the sum of the bonuses and `charged` what is
    taken with fees and VAT, both in minor units; None where Prolific did not say."""

    id: str
    study: str
    amount: Decimal | None
    charged: Decimal | None


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


def bonuses_of(submission_id: str) -> list[int]:
    """Return the bonuses that Prolific shows as paid on a submission, in minor units, ascending. Raises ProlificError."""
    amounts = _asked("GET", f"submissions/{_id(submission_id)}/").get("bonus_payments") or []
    if not isinstance(amounts, list):
        raise ProlificError(_("Prolific gave an answer that this program does not understand."))
    found = [_minor(one) for one in amounts]
    if any(one is None or one != int(one) for one in found):
        raise ProlificError(_("Prolific gave an answer that this program does not understand."))
    return sorted(int(one) for one in found if one is not None)


def set_up_bonuses(study_id: str, bonuses: Sequence[tuple[str, int]]) -> SetUpPayment:
    """Set up bonuses, (submission, minor units) each, without paying them. Raises ProlificError.

    The API takes amounts in major units with a decimal point and answers in minor units.
    """
    lines = [f"{_id(submission)},{minor // 100}.{minor % 100:02}" for submission, minor in bonuses]
    body = {"study_id": _id(study_id), "csv_bonuses": "\n".join(lines)}
    answer = _asked("POST", "submissions/bonus-payments/", body)
    payment = str(answer.get("id", ""))
    if not PAYMENT_ID.fullmatch(payment):
        raise ProlificError(_("Prolific gave an answer that this program does not understand."))
    study = str(answer.get("study", ""))
    return SetUpPayment(payment, study, _minor(answer.get("amount")), _minor(answer.get("total_amount")))


def pay_bonuses(payment_id: str) -> None:
    """Ask Prolific to pay bonuses that were set up. Called once for a payment: asked twice, Prolific pays twice.

    Raises ProlificRefused where nothing was paid, and ProlificError where it may have been.
    """
    if not PAYMENT_ID.fullmatch(payment_id):
        raise ProlificRefused(_("Prolific gave an answer that this program does not understand."))
    _sent("POST", f"bulk-bonus-payments/{payment_id}/pay/", {}, most=0)


def _minor(value: Any) -> Decimal | None:
    """Return a number of minor units as JSON gives it; None for whatever else."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return Decimal(value) if 0 <= value < 10**11 else None


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
    """Return the object that Prolific answers with; numbers with a point are Decimal."""
    text = _sent(method, path, body)
    try:
        found = json.loads(text, parse_float=Decimal) if len(text) <= LARGEST_ANSWER else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProlificError(_("Prolific gave an answer that this program does not understand."))
    return found


def _sent(method: str, path: str, body: Mapping[str, Any] | None = None, *, most: int = LARGEST_ANSWER + 1) -> bytes:
    """Send one request, once, and return up to `most` bytes of an answer of success."""
    if not is_prolific_set_up():
        raise ProlificRefused(_("This server has no token for Prolific's API."))
    request = Request(  # the operator's setting, whose scheme is checked
        f"{settings.PROLIFIC_API}/api/v1/{path}",
        data=json.dumps(body).encode() if body is not None else None,
        method=method,
        headers={"Authorization": f"Token {settings.PROLIFIC_TOKEN}", "Content-Type": "application/json"},
    )
    try:
        with build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
            return bytes(answer.read(most)) if most else b""
    except HTTPError as error:
        error.close()
        if error.code in REFUSALS:
            said = _("Prolific refused the request (HTTP status %(n)s).") % {"n": error.code}
            raise ProlificRefused(said) from None
        raise ProlificError(_("Prolific answered with an error (HTTP status %(n)s).") % {"n": error.code}) from None
    except (OSError, HTTPException) as error:
        never_reached = isinstance(getattr(error, "reason", None), ConnectionRefusedError | gaierror)
        kind = ProlificRefused if never_reached else ProlificError
        raise kind(_("Prolific does not answer. Try again later.")) from None
