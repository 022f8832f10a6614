"""The share of a judge's verdicts that people called reasonable, from studies that review verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Max, Q, QuerySet

from annotation.models import Exclusion, Rater, Score, Study, counting
from calibration.data.frames import Bools, Floats, Ints
from calibration.data.verdicts import judged_elsewhere
from calibration.reports.people.populations import SuchRaters, such_of
from calibration.statistics.populations import pooled_variance
from calibration.statistics.report_reasons import NeverReviewed
from calibration.statistics.shares import Share, mean_shares

REVIEWED = "task__reviews"


def review_scores(study: Study) -> QuerySet[Score]:
    """People's findings on verdicts given in this study, or elsewhere on its responses, or reviewed in this study."""
    elsewhere = judged_elsewhere(study).values("pk")
    about = Q(**{f"assignment__{REVIEWED}__task__study": study}) | Q(**{f"assignment__{REVIEWED}__in": elsewhere})
    return Score.objects.filter(
        about | Q(assignment__task__study=study),
        counting("assignment__"),
        assignment__task__reviews__isnull=False,
        assignment__repeat=0,
        assignment__rater__kind=Rater.Kind.PERSON,
        value__isnull=False,
    )


def review_state(study: Study) -> dict[str, int]:
    """Return a value for a report's settings that changes when a finding is added or a reviewed verdict's run fails."""
    doubted = Q(**{f"assignment__{REVIEWED}__discredited": True})
    found = review_scores(study).aggregate(n=Count("pk"), last=Max("pk"), discredited=Count("pk", filter=doubted))
    state = {name: value or 0 for name, value in found.items()}
    reviewers = Exclusion.objects.standing().filter(study__kind=Study.Kind.REVIEW, study__workspace=study.workspace_id)
    standing = reviewers.aggregate(last=Max("pk"), n=Count("pk"))
    return state | ({"excluded": standing["n"], "last_exclusion": standing["last"]} if standing["n"] else {})


@dataclass(frozen=True)
class ReasonableRate:
    """The share of `n` findings by `raters` reviewers that call a judge's answers reasonable, over whole instructions.

    `criterion` is '' for all criteria together; `verdicts` answers of the judge were reviewed. The ends of `rate` are about
    exactly these reviewers, those of `such` about reviewers like these.
    """

    judge: str
    criterion: str
    n: int
    rate: Share
    such: SuchRaters
    verdicts: int
    raters: int


@dataclass(frozen=True)
class _Findings:
    """Current findings as arrays (n,): the judge's pk, the verdict (an assignment), its instruction, the share."""

    judge: Ints
    verdict: Ints
    instruction: Ints
    share: Floats
    criterion: list[str]


def reasonable_rates(study: Study, draws: int, seed: int) -> list[ReasonableRate]:
    """Compute the rate of each judge and criterion, sorted by judge, the judge's total first.

    Verdicts of runs that failed their canary texts are left out. Raises NeverReviewed.
    """
    believed = review_scores(study).exclude(**{f"assignment__{REVIEWED}__discredited": True})
    found, raters = _findings(believed)
    if not found.criterion:
        raise NeverReviewed("Nobody has reviewed a verdict of this study's judges.")
    names = {row.pk: row.name for row in Rater.objects.filter(pk__in=np.unique(found.judge).tolist())}
    keys = np.array(found.criterion)
    rows = []
    for pk, name in sorted(names.items(), key=lambda pair: (pair[1], pair[0])):
        own = found.judge == pk
        for key in ["", *dict.fromkeys(keys[own].tolist())]:
            mask = own & (keys == key) if key else own
            (rate,) = mean_shares([_as_hits(found.share[mask])], found.instruction[mask], draws=draws, seed=seed)
            ones = np.ones(int(mask.sum()))
            variance = pooled_variance(found.share[mask], ones, raters[mask], found.instruction[mask], seed=seed)
            rows.append(
                ReasonableRate(
                    judge=name,
                    criterion=key,
                    n=int(mask.sum()),
                    rate=rate,
                    such=such_of(variance, "share", slots=False),
                    verdicts=len(np.unique(found.verdict[mask])),
                    raters=len(np.unique(raters[mask])),
                )
            )
    return rows


def _as_hits(share: Floats) -> Floats | Bools:
    """Whether each finding is "reasonable", if there is no third answer between yes and no."""
    return share == 1 if np.isin(share, (0.0, 1.0)).all() else share


def _findings(scores: QuerySet[Score]) -> tuple[_Findings, Ints]:
    """Select the latest revision of each finding, in the order of criteria, and its rater."""
    columns = (
        "assignment",
        "criterion",
        "criterion__key",
        "value",
        f"assignment__{REVIEWED}",
        f"assignment__{REVIEWED}__rater",
        "assignment__task__response_a__instruction",
        "assignment__rater",
    )
    # The order of instructions decides which of them a bootstrap draws, so it depends only on the rows.
    order = ("criterion__position", "criterion__key", "assignment", "criterion", "revision")
    latest = {(row[0], row[1]): row for row in scores.order_by(*order).values_list(*columns)}
    return _arrays(latest.values())


def _arrays(rows: Iterable[tuple[int, int, str, float, int, int, int, int]]) -> tuple[_Findings, Ints]:
    kept = list(rows)
    numbers = np.array([row[4:] for row in kept], dtype=np.int64).reshape(-1, 4)
    findings = _Findings(
        judge=numbers[:, 1],
        verdict=numbers[:, 0],
        instruction=numbers[:, 2],
        share=np.array([row[3] for row in kept], dtype=np.float64),
        criterion=[row[2] for row in kept],
    )
    return findings, numbers[:, 3]
