"""All kinds of report, with those of judging: importing the modules that define them registers them."""

from calibration.reports.kinds import report_kind
from judging.cards import table
from judging.comparison import causes, judge_panel, method_table, methods_against_people
from judging.leaderboards import reports as leaderboard_reports

__all__ = [
    "causes",
    "judge_panel",
    "leaderboard_reports",
    "method_table",
    "methods_against_people",
    "report_kind",
    "table",
]
