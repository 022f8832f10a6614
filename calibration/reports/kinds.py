"""All kinds of report: importing the modules that define them registers them."""

from calibration.reports import (
    agreement as agreement_reports,
    agreement_detail,
    criterion_matches,
    judges as judge_reports,
    rankings as ranking_reports,
    raters as rater_reports,
    weights as weight_reports,
)
from calibration.reports.progress import pace as pace_reports, stopping as stopping_reports
from calibration.reports.registry import report_kind

__all__ = [
    "agreement_detail",
    "agreement_reports",
    "criterion_matches",
    "judge_reports",
    "pace_reports",
    "ranking_reports",
    "rater_reports",
    "report_kind",
    "stopping_reports",
    "weight_reports",
]
