"""The report on a study's pace: how many ratings people gave in each hour."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.utils.dateparse import parse_datetime

from annotation.models import Study
from annotation.monitoring.pace import ratings_by_hour
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import NoStatistic

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MOST_DAYS, MOST_HOURS = 7, 24
FEWEST = 3


@dataclass(frozen=True)
class PaceReport:
    """`hours` are the beginnings of hours with ratings (ISO 8601, UTC), in order, `ratings` their numbers of ratings."""

    study: str
    hours: list[str]
    ratings: list[int]

    @property
    def counts(self) -> list[tuple[datetime, int]]:
        found = zip(map(parse_datetime, self.hours), self.ratings, strict=True)
        return [(hour, n) for hour, n in found if hour is not None]


def _compute(study: Study, settings: Settings) -> tuple[str, PaceReport]:
    counted = ratings_by_hour(study)
    report = PaceReport(study.slug, [hour.isoformat() for hour, _n in counted], [n for _hour, n in counted])
    read = json.dumps(["pace", study.public_id, report.hours, report.ratings])
    return sha256(read.encode()).hexdigest(), report


PACE: ReportKind[PaceReport] = register(ReportKind("pace", _compute, slow_from=60_000, shape=PaceReport))


@dataclass(frozen=True)
class Recent:
    """Ratings in each of the latest equal periods, the oldest first, and the length of a period."""

    counts: list[int]
    period: timedelta


def recent_periods(counts: list[tuple[datetime, int]], now: datetime) -> Recent:
    """Split the time until now into up to 7 days or, for a study younger than 3 days, up to 24 hours.

    Periods end with the last full hour. Raises NoStatistic before the third full hour.
    """
    end = now.replace(minute=0, second=0, microsecond=0)
    age = end - counts[0][0] if counts else timedelta()
    period, most = (DAY, MOST_DAYS) if age >= FEWEST * DAY else (HOUR, MOST_HOURS)
    periods = min(most, age // period)
    if periods < FEWEST:
        raise NoStatistic("The study has been answered for less than three hours.")
    start = end - periods * period
    found = [0] * periods
    for hour, n in counts:
        if start <= hour < end:
            found[(hour - start) // period] += n
    return Recent(found, period)
