"""The pace of a study on its dashboard: ratings in each hour, day or week, and when the last one is expected."""

from datetime import datetime, timedelta
from math import ceil

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from annotation.monitoring.progress import CategoryRow
from calibration.figures.drawing import number
from calibration.figures.progress import Outlook, Period, Words, progress_over_time
from calibration.reports.progress.pace import DAY, HOUR, PaceReport, recent_periods
from calibration.statistics.design.expected_end import FEWEST_PERIODS, FEWEST_RATINGS, ExpectedEnd, expected_end
from calibration.statistics.errors import NoStatistic
from calibration.web.blocks import Block, Column, Table

WEEK = timedelta(days=7)
HOURS_UP_TO, DAYS_UP_TO = timedelta(hours=48), timedelta(days=120)


def pace_block(study: Study, report: PaceReport, total: CategoryRow, now: datetime) -> Block | None:
    """Show the pace; `total` is what the dashboard counts in all. None where no rating has a time."""
    counts = report.counts
    if not counts:
        return None
    remaining = max(0, total.seats - total.taken)
    unit = _unit(counts[-1][0] - counts[0][0])
    periods = _periods(counts, unit)
    start = counts[0][0] if unit is HOUR else _midnight(counts[0][0])
    answer, end, length = _expected(study, counts, remaining, bool(total.seats), now)
    outlook = None
    if end is not None:
        at = (now - start) / unit
        ends = [None if value is None else at + value * (length / unit) for value in (end.earliest, end.latest)]
        outlook = Outlook(at, ends[0] or at, ends[1])
    far = start + unit * max(periods[-1].start + 1.0, (outlook.latest or outlook.earliest * 1.3) if outlook else 0.0)
    each = {HOUR: gettext("Ratings per hour"), DAY: gettext("Ratings per day")}.get(unit, gettext("Ratings per week"))
    words = Words(
        title=gettext("Pace"),
        in_all=gettext("Ratings given"),
        each=each,
        needed=ngettext("%(n)s rating needed", "%(n)s ratings needed", total.seats) % {"n": number(total.seats, 1)},
        expected=answer,
    )
    figure = progress_over_time(
        periods, words, needed=total.seats, ends=(_named(start, unit), _named(far, unit)), outlook=outlook
    )
    given, rows = 0, []
    for period in periods:
        given += period.given
        rows.append([period.label, period.given, given])
    table = Table(
        [Column(gettext("Beginning (UTC)")), Column(each, 0), Column(gettext("Ratings given"), 0)], rows[::-1]
    )
    caption = gettext("The line is the number of ratings given so far, the bars are those of each period.")
    if outlook is not None:
        caption += " " + gettext("The dashed lines lead to the earliest and the latest expected end.")
    return Block("pace", gettext("Pace"), answer=answer, figure=figure, caption=caption, table=table, folded=True)


def _unit(span: timedelta) -> timedelta:
    return HOUR if span <= HOURS_UP_TO else DAY if span <= DAYS_UP_TO else WEEK


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _named(at: datetime, unit: timedelta) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if unit is HOUR else f"{at:%Y-%m-%d}"


def _periods(counts: list[tuple[datetime, int]], unit: timedelta) -> list[Period]:
    start = counts[0][0] if unit is HOUR else _midnight(counts[0][0])
    found: dict[int, int] = {}
    for hour, n in counts:
        place = (hour - start) // unit
        found[place] = found.get(place, 0) + n
    return [Period(place, n, _named(start + place * unit, unit)) for place, n in sorted(found.items())]


def _expected(
    study: Study, counts: list[tuple[datetime, int]], remaining: int, has_slots: bool, now: datetime
) -> tuple[str, ExpectedEnd | None, timedelta]:
    """The sentence about the end, the estimate behind it if there is one, and the length of its periods."""
    if not has_slots:
        n = sum(given for _hour, given in counts)
        told = ngettext("%(n)s rating has a time.", "%(n)s ratings have a time.", n) % {"n": number(n, 1)}
        return told, None, HOUR
    if not remaining:
        return gettext("All the ratings needed have been given."), None, HOUR
    left = ngettext("%(n)s rating is still needed.", "%(n)s ratings are still needed.", remaining) % {
        "n": number(remaining, 1)
    }
    if study.status != Study.Status.OPEN:
        return f"{left} " + gettext("The study is not open, so no end can be expected."), None, HOUR
    try:
        recent = recent_periods(counts, now)
        end = expected_end(recent.counts, remaining=remaining)
    except NoStatistic:
        return (
            f"{left} "
            + gettext(
                "When the last one will be given is not estimated: that needs at least %(hours)d hours since the first one, "
                "and at least %(ratings)d ratings within the last 7 days (24 hours in the first three days of a study)."
            )
            % {"ratings": FEWEST_RATINGS, "hours": FEWEST_PERIODS},
            None,
            HOUR,
        )
    return f"{left} {_estimate(end, recent.period, len(recent.counts), now)}", end, recent.period


def _estimate(end: ExpectedEnd, period: timedelta, periods: int, now: datetime) -> str:
    by_day = period is DAY
    facts = {"n": number(end.mean, 1 if end.mean >= 10 else 0.1), "k": periods}
    if by_day:
        pace = gettext("Raters gave %(n)s ratings a day in the last %(k)s days.") % facts
    else:
        pace = gettext("Raters gave %(n)s ratings an hour in the last %(k)s hours.") % facts
    # Times are rounded up to the hour and days to the day: the estimate is no finer.
    earliest = now + period * end.earliest
    first = _when(earliest, by_day)
    last = "" if end.latest is None else _when(now + period * end.latest, by_day)
    times = {"first": first, "last": last}
    if not last:
        when = gettext("The last rating is expected on %(first)s at the earliest; how late cannot be said.") % times
    elif first == last:
        when = gettext("The last rating is expected about %(first)s (UTC).") % times
    else:
        when = gettext("The last rating is expected between %(first)s and %(last)s (UTC).") % times
    about = gettext(
        "This is an estimate: it holds in about 8 of 10 cases if raters go on as they did, and not if they stop."
    )
    return f"{pace} {when} {about}"


def _when(at: datetime, by_day: bool) -> str:
    if by_day:
        return f"{at:%Y-%m-%d}"
    hours = ceil((at - _midnight(at)) / HOUR)
    return f"{_midnight(at) + hours * HOUR:%Y-%m-%d %H:%M}"
