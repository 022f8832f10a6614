"""Every kind of report there is, this room's among them: importing the rooms that make them registers them."""

from calibration.report_kinds import report_kind
from judging import leaderboard_reports, method_table

__all__ = ["leaderboard_reports", "method_table", "report_kind"]
