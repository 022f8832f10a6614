"""What every run's page says alike, of generation and of judging: its state, its rate, and the time that is left."""

from datetime import datetime

from django.utils.translation import gettext, ngettext

WHOLE_HOUR = 3600


def state_in_words(status: str) -> str:
    """The end of the page's first sentence."""
    endings = {
        "planned": gettext("; the run has not begun."),
        "running": gettext("; the run goes on."),
        "paused": gettext("; the run is paused."),
        "finished": gettext("; the run is finished."),
        "failed": gettext("; the run was stopped by an error."),
        "cancelled": gettext("; the run was cancelled."),
        "imported": gettext("; the responses were imported."),
    }
    return endings[status]


def rate_since(started_at: datetime | None, last_at: datetime | None, done: int) -> float | None:
    """So many a minute from the start to the last one; None before there are two."""
    if started_at is None or last_at is None or done < 2:
        return None
    seconds = (last_at - started_at).total_seconds()
    return 60 * done / seconds if seconds > 0 else None


def time_left(waiting: int, per_minute: float | None) -> str:
    """In words; '' where nothing is left or the rate is not known."""
    if not per_minute or not waiting:
        return ""
    seconds = 60 * waiting / per_minute
    if seconds >= WHOLE_HOUR:
        return gettext("about %(hours).1f hours left") % {"hours": seconds / WHOLE_HOUR}
    minutes = max(1, round(seconds / 60))
    return ngettext("about %(n)d minute left", "about %(n)d minutes left", minutes) % {"n": minutes}
