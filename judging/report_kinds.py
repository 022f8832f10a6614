"""All kinds of report, with those of judging: importing the modules that define them registers them."""

from calibration.reports.kinds import report_kind
from judging.comparison import method_table
from judging.leaderboards import reports as leaderboard_reports

__all__ = ["leaderboard_reports", "method_table", "report_kind"]
