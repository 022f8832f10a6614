"""Every kind of report there is: importing the rooms that make them registers them."""

from calibration import (
    agreement_detail,
    criterion_matches,
    judge_reports,
    ranking_reports,
    rater_reports,
    weight_reports,
)
from calibration.stored_reports import report_kind

__all__ = [
    "agreement_detail",
    "criterion_matches",
    "judge_reports",
    "ranking_reports",
    "rater_reports",
    "report_kind",
    "weight_reports",
]
