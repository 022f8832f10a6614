"""Looks at the test part: each measures one version once, is counted, and is stored before anybody reads it."""

from django.db import IntegrityError, transaction

from accounts.models import User
from calibration.reports.codec import stored
from calibration.statistics.judges.alignment import claim_of, level_of_look
from calibration.statistics.resampling import MIN_CLUSTERS
from core.errors import UserError
from core.messages.message import Wording
from judging.alignment.records import log_step
from judging.alignment.results import compared, coverage_of, rated_in
from judging.models import Alignment, AlignmentLook, AlignmentVersion

LOOKED = "test part looked at"

NO_VERSION = Wording(
    "alignment.no_version", "“%(name)s” is no version of this alignment; there are: %(known)s.", between=", "
)
NO_VERSIONS = Wording(
    "alignment.no_versions", "“%(name)s” is no version of this alignment, which has none yet; add it first."
)
LACKING = Wording(
    "alignment.lacking",
    "%(judge)s has no verdict yet on %(n)s of the %(tasks)s tasks that two people rated; ask it about them before a look.",
)
FEW_COMMON = Wording(
    "alignment.few_common",
    "The test part has usable verdicts of both %(judge)s and %(baseline)s on %(n)s of its instructions; at least "
    "%(needed)s are needed. No look was counted.",
)
LOOKED_AT = Wording(
    "alignment.looked_at",
    "%(judge)s was measured on the test part already, by look %(number)s; a version has one look.",
)
OTHER_NUMBER = Wording(
    "alignment.other_number",
    "This would be look %(number)s, tested at the level %(level)s: another look was taken in the meantime. Confirm again.",
)


def version_named(alignment: Alignment, name: str) -> AlignmentVersion:
    """Return the version whose judge has this name. Raises UserError, which names the versions."""
    versions = alignment.versions.select_related("judge__rater")
    found = versions.filter(judge__rater__label=name).first()
    if found is None:
        known = [one.judge.rater.label for one in versions]
        raise UserError(NO_VERSION(name=name, known=known) if known else NO_VERSIONS(name=name))
    found.alignment = alignment
    return found


def next_look(alignment: Alignment) -> tuple[int, float]:
    """Return the number of the next look and its level."""
    number = alignment.looks.count() + 1
    return number, level_of_look(number)


def check_look(version: AlignmentVersion) -> None:
    """Raise UserError if the version was looked at already, or it or the baseline lacks verdicts.

    Computes no figure of the test part.
    """
    alignment = version.alignment
    known = AlignmentLook.objects.filter(version=version).first()
    if known is not None:
        raise UserError(LOOKED_AT(judge=version.judge.rater.name, number=known.number))
    coverage = coverage_of(alignment, rated_in(alignment))
    for rater in (alignment.baseline.rater, version.judge.rater):
        if lacking := coverage.lacking(rater.pk):
            raise UserError(LACKING(judge=rater.name, n=lacking, tasks=len(coverage.tasks)))


def take_look(version: AlignmentVersion, *, confirmed: int | None = None, by: User | None = None) -> AlignmentLook:
    """Measure the version beside the baseline on the test part, and store it as the next look. Raises UserError.

    `confirmed` is the number of the look that somebody agreed to: another one is refused. Two looks at once get different
    numbers, and so different levels, by a constraint of the database.
    """
    alignment, judge = version.alignment, version.judge.rater
    while True:
        check_look(version)
        number, level = next_look(alignment)
        if confirmed is not None and number != confirmed:
            raise UserError(OTHER_NUMBER(number=number, level=f"{level:g}"))
        rated = rated_in(alignment)
        labels = rated.labels_in(alignment, "test") if rated else None
        found = compared(labels, judge.pk, alignment.baseline.rater_id, confidence=1 - level)
        if found is None or found.gain.clusters < MIN_CLUSTERS:
            n = found.gain.clusters if found else 0
            wanted = {"judge": judge.name, "baseline": alignment.baseline.rater.name, "n": n, "needed": MIN_CLUSTERS}
            raise UserError(FEW_COMMON(**wanted))
        claim = claim_of(found.gain, level)
        try:
            with transaction.atomic():
                look = AlignmentLook.objects.create(
                    alignment=alignment,
                    version=version,
                    number=number,
                    level=level,
                    claim=claim,
                    figures=stored(found),
                    taken_by=by,
                )
                log_step(alignment, by, LOOKED, {"judge": judge.label, "look": number, "level": level, "claim": claim})
                return look
        except IntegrityError:
            continue  # somebody else took a look with this number at the same time
