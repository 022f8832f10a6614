"""What an alignment shows: versions beside the baseline on training and validation, and on test what looks found.

Nothing here computes a figure of the test part: the people's answers to its instructions are left out before any are
compared, and what looks found is read as it was stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import Rater
from calibration.data.frames import ABOUT_RESPONSES, Ints, NothingToRead, ScoreFrame
from calibration.data.scores import score_frame
from calibration.data.verdicts import Verdicts, judges_verdicts
from calibration.reports.codec import read_back
from calibration.statistics.errors import NoStatistic
from calibration.statistics.judges.agreement import BesideBaseline, LabelledTasks, beside_baseline
from calibration.statistics.judges.alignment import PARTS, Claim, Part, chosen_on_validation, level_of_look
from judging.alignment.records import rated_twice
from judging.comparison.method_table import people_and_verdicts
from judging.models import Alignment, AlignmentLook, AlignmentVersion


@dataclass(frozen=True)
class Look:
    """What look `number` at the test part found for a version; its gain has an interval of 1 - `level`."""

    number: int
    level: float
    claim: Claim
    at: str
    by: str
    found: BesideBaseline


@dataclass(frozen=True)
class VersionRow:
    """A judge beside the baseline on the tasks that both judged; None where there are none.

    `lacking` of the alignment's tasks were not asked about yet, and `unscored` answers could not be used. `id` is the
    judge's. `proposed_by` is "" for the baseline, whose figures are beside itself on every task that it judged.
    """

    id: str
    judge: str
    proposed_by: str
    lacking: int
    unscored: int
    training: BesideBaseline | None
    validation: BesideBaseline | None
    look: Look | None = None


@dataclass(frozen=True)
class AlignmentReport:
    """An alignment's parts, in instructions, and what is known of the baseline and of each version, in order of addition.

    `tasks` were rated by two people, of `unused` further instructions that belong to no part. `chosen` is the place of the
    version that gains most on validation among those that lack nothing and were not looked at; None where none gains.
    `next_level` is that of the next look.
    """

    id: str
    study: str
    criterion: str
    begun: str
    seed: int
    shares: list[float]
    instructions: dict[str, int]
    tasks: int
    unused: int
    baseline: VersionRow
    versions: list[VersionRow]
    chosen: int | None
    next_look: int
    next_level: float

    @property
    def looks(self) -> list[tuple[VersionRow, Look]]:
        """The looks by number, each with its version."""
        found = [(row, row.look) for row in self.versions if row.look is not None]
        return sorted(found, key=lambda pair: pair[1].number)


@dataclass(frozen=True)
class Rated:
    """People's answers to the alignment's criterion, and judges' verdicts of the same responses."""

    people: ScoreFrame
    verdicts: Verdicts

    def labels_in(self, alignment: Alignment, part: Part) -> tuple[LabelledTasks, dict[int, Ints]] | None:
        """Return people's and judges' labels of a part's tasks; None where people rated nothing in it."""
        own = self.people.select(np.isin(self.people.instruction, alignment.parts[part]))
        return people_and_verdicts(own, self.verdicts) if len(own) else None


def rated_in(alignment: Alignment) -> Rated | None:
    """Return what people and judges said of the study's responses; None where people's answers are gone."""
    study, key = alignment.study, alignment.criterion
    everybody = score_frame(kinds=ABOUT_RESPONSES, study=study, keep_derived=True)
    try:
        people = everybody.select(~everybody.is_judge).of_criterion(key)
    except NothingToRead:
        return None
    return Rated(people, judges_verdicts(study, key, here=everybody.select(everybody.is_judge)))


def compared(
    labels: tuple[LabelledTasks, Mapping[int, Ints]] | None, judge: int, baseline: int, *, confidence: float = 0.95
) -> BesideBaseline | None:
    """Compare a judge with the baseline, by the primary keys of their raters; None without a common task."""
    if labels is None:
        return None
    people, said = labels
    if judge not in said or baseline not in said:
        return None
    try:
        return beside_baseline(people, np.vstack([said[judge], said[baseline]]), confidence=confidence)
    except NoStatistic:
        return None


@dataclass(frozen=True)
class Coverage:
    """The tasks of an alignment that two people rated, and which of them each judge was not asked about."""

    tasks: Ints
    unused: int
    verdicts: Verdicts | None

    def lacking(self, judge: int) -> int:
        if self.verdicts is None:
            return 0
        judged = int(np.isin(self.tasks, self.verdicts.task[self.verdicts.judge == judge]).sum())
        return max(0, len(self.tasks) - judged - self.unscored(judge))

    def unscored(self, judge: int) -> int:
        return 0 if self.verdicts is None else self.verdicts.unscored.get(judge, 0)


def coverage_of(alignment: Alignment, rated: Rated | None) -> Coverage:
    if rated is None:
        return Coverage(np.zeros(0, dtype=np.int64), 0, None)
    twice = rated_twice(rated.people)
    inside = np.isin(rated.people.instruction, [pk for part in PARTS for pk in alignment.parts[part]])
    tasks = np.unique(rated.people.task[twice & inside])
    unused = len(np.unique(rated.people.instruction[twice & ~inside]))
    return Coverage(tasks, unused, rated.verdicts)


def versions_of(alignment: Alignment) -> list[AlignmentVersion]:
    found = alignment.versions.select_related("judge__rater", "judge__language_model", "look__taken_by", "draft__model")
    return list(found.order_by("pk"))


def look_at(row: AlignmentLook) -> Look:
    claim: Claim = next(one for one in ("better", "worse", "not_shown") if one == row.claim)
    by = row.taken_by.username if row.taken_by else ""
    found = read_back(BesideBaseline, row.figures)
    return Look(row.number, row.level, claim, row.created_at.isoformat(timespec="seconds"), by, found)


def alignment_report(alignment: Alignment, versions: Sequence[AlignmentVersion] | None = None) -> AlignmentReport:
    """Compute the figures of training and validation, and read those of looks.

    `versions` are those of versions_of if they were read already.
    """
    added = versions_of(alignment) if versions is None else versions
    rated = rated_in(alignment)
    coverage = coverage_of(alignment, rated)
    training, validation = (rated.labels_in(alignment, part) if rated else None for part in PARTS[:2])
    base = alignment.baseline.rater

    def row(rater: Rater, proposed_by: str, look: Look | None = None) -> VersionRow:
        return VersionRow(
            id=rater.public_id,
            judge=rater.name,
            proposed_by=proposed_by,
            lacking=coverage.lacking(rater.pk),
            unscored=coverage.unscored(rater.pk),
            training=compared(training, rater.pk, base.pk),
            validation=compared(validation, rater.pk, base.pk),
            look=look,
        )

    rows = [row(one.judge.rater, one.proposed_by, look_at(one.look) if hasattr(one, "look") else None) for one in added]
    taken = max((one.look.number for one in rows if one.look is not None), default=0)
    return AlignmentReport(
        id=alignment.public_id,
        study=alignment.study.slug,
        criterion=alignment.criterion,
        begun=alignment.created_at.isoformat(timespec="seconds"),
        seed=alignment.seed,
        shares=list(alignment.shares),
        instructions={part: len(alignment.parts[part]) for part in PARTS},
        tasks=len(coverage.tasks),
        unused=coverage.unused,
        baseline=row(base, ""),
        versions=rows,
        chosen=chosen_on_validation([None if one.lacking or one.look else one.validation for one in rows]),
        next_look=taken + 1,
        next_level=level_of_look(taken + 1),
    )
