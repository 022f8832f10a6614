"""Sentences on the page of every kind of run: its state, its rate, and the time left."""

import math
from datetime import datetime

from django.utils.translation import gettext, ngettext

from core.clock import Clock
from generation.execution.progress import CallsNow

WHOLE_HOUR = 3600
A_MINUTE = 60


def state_in_words(status: str) -> str:
    """Return the end of the page's first sentence."""
    endings = {
        "planned": gettext("; the run has not started."),
        "running": gettext("; the run is in progress."),
        "paused": gettext("; the run is paused."),
        "finished": gettext("; the run is finished."),
        "failed": gettext("; the run was stopped by an error."),
        "cancelled": gettext("; the run was cancelled."),
        "imported": gettext("; the responses were imported."),
    }
    return endings[status]


def calls_in_words(status: str, now: CallsNow, *, clock: Clock) -> str:
    """Return a sentence on calls that a rate limit delays, or that were under way when the run was stopped; else ''."""
    if status != "running":
        if not now.under_way:
            return ""
        return ngettext(
            "No more calls are sent. %(n)d call was in progress when the run was stopped; its reply is kept "
            "when it arrives.",
            "No more calls are sent. %(n)d calls were in progress when the run was stopped; their replies "
            "are kept when they arrive.",
            now.under_way,
        ) % {"n": now.under_way}
    if now.next_call_at is None:
        return ""
    wait = {"wait": _time_in_words(math.ceil((now.next_call_at - clock()).total_seconds()))}
    if now.asked:
        return (
            gettext(
                "The endpoint has reached its rate limit and asked Plumbline to wait. The next call is sent in "
                "%(wait)s."
            )
            % wait
        )
    return gettext("The rate limit set for this endpoint has been reached. The next call is sent in %(wait)s.") % wait


def _time_in_words(seconds: int) -> str:
    """Return seconds up to two minutes, else minutes."""
    if seconds < 2 * A_MINUTE:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    minutes = math.ceil(seconds / A_MINUTE)
    return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}


def rate_since(started_at: datetime | None, last_at: datetime | None, done: int) -> float | None:
    """Return the number per minute from the start to the last one; None before there are two."""
    if started_at is None or last_at is None or done < 2:
        return None
    seconds = (last_at - started_at).total_seconds()
    return 60 * done / seconds if seconds > 0 else None


def time_left(waiting: int, per_minute: float | None) -> str:
    """Return the time left in words; '' if nothing is left or the rate is not known."""
    if not per_minute or not waiting:
        return ""
    seconds = 60 * waiting / per_minute
    if seconds >= WHOLE_HOUR:
        return gettext("about %(hours).1f hours left") % {"hours": seconds / WHOLE_HOUR}
    minutes = max(1, round(seconds / 60))
    return ngettext("about %(n)d minute left", "about %(n)d minutes left", minutes) % {"n": minutes}
