"""A cohort's list to approve or reject at its platform: one row per rater, with the ids by which the platform knows them."""

from decimal import Decimal
from io import StringIO

from annotation.monitoring.payment import CohortPayment, RaterPayment
from core.tables.formula_cells import CsvWriter

COLUMNS = (
    "rater",
    "platform",
    "platform_id",
    "submission_id",
    "submitted",
    "answers",
    "minutes",
    "answers_not_counted",
    "minutes_not_counted",
    "checks_passed",
    "checks_failed",
    "suggested_decision",
    "reason",
    "pay",
    "pay_per",
    "currency",
    "sum",
    "sum_not_counted",
    "state_at_prolific",
    "bonuses_sent",
    "bonuses_uncertain",
)


def approval_table(found: CohortPayment) -> str:
    """The list as CSV text. Times are UTC, minutes have one decimal, money two."""
    file = StringIO()
    writer = CsvWriter(file)
    writer.writerow(COLUMNS)
    for one in found.raters:
        writer.writerow(approval_row(one).values())
    return file.getvalue()


def approval_row(one: RaterPayment) -> dict[str, object]:
    """The row of one rater, by the names of its columns."""
    identity = getattr(one.rater, "identity", None)
    platform, _colon, worker = (identity.key if identity is not None else "").partition(":")
    particulars = identity.particulars if identity is not None else {}
    submission = particulars.get("SESSION_ID") or particulars.get("assignmentId") or ""
    values = [
        one.rater.name,
        platform,
        worker,
        submission,
        one.submitted.isoformat(timespec="seconds") if one.submitted else "",
        one.answers,
        round(one.minutes, 1),
        one.aside,
        round(one.aside_minutes, 1),
        one.checks - one.failed,
        one.failed,
        str(one.decision),
        one.reason,
        one.pay.amount,
        str(one.pay.per) if one.pay.amount is not None else "",
        one.pay.currency,
        one.owed,
        one.owed_aside,
        one.platform_state,
        sum((sent.amount for sent in one.bonuses), Decimal("0.00")),
        sum((sent.in_doubt for sent in one.bonuses), Decimal("0.00")),
    ]
    return dict(zip(COLUMNS, values, strict=True))
