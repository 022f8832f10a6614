"""What comes next in a study: one rule, which every page that advises a lead asks."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value

from annotation.models import Assignment, Criterion, Rater, Rubric, Seat, Study, Task, counting
from annotation.policies.policies import Selection
from calibration.models import Fit, Report
from calibration.reports.criterion_matches import BY_CRITERION
from calibration.reports.judges import JUDGES
from judging.comparison.judge_against_people import KIND
from judging.models import JudgeRun

ANSWERS_PER_ITEM = 10
"""Complete answers per checklist item from which weights are stable enough to fit; fewer are warned of on the page."""
ANSWERS_TO_COMPARE = 20
"""Answers from which a study without weights is worth asking a judge about."""
NO_ITEMS = (0, False)


class Step(StrEnum):
    """What a lead does next."""

    SET_UP = "set up"
    UPLOAD = "upload"
    OPEN = "open"
    INVITE = "invite"
    FIT = "fit"
    ASK = "ask a judge"
    FOLLOW = "follow the run"
    CHECK = "check the verdicts"
    COMPARE = "compare"
    LEADERBOARD = "leaderboard"
    EXPORT = "export"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class Facts:
    """What the rule asks about a study.

    `collecting`: raters are, or can be, assigned tasks here, and ratings are missing. `answered`: people have rated.
    `enough`: enough ratings to go on. `fitted`, `judged` (usable verdicts are there) and `compared` are what has been
    done; `asked`: a judge was asked, whether or not its verdicts can be used; `run`: the public id of the run that is
    under way, or else of the newest one, '' without any. `routed`: the tasks were drawn with unequal probability, so that
    only the draw's estimate uses the answers, and only once all are in.
    """

    status: str = Study.Status.OPEN
    has_tasks: bool = True
    collecting: bool = True
    answered: bool = False
    enough: bool = False
    can_be_fitted: bool = True
    fitted: bool = False
    can_be_judged: bool = True
    asked: bool = False
    running: bool = False
    judged: bool = False
    compared: bool = False
    has_leaderboard: bool = True
    run: str = ""
    routed: bool = False


def next_step(facts: Facts) -> Step:
    """Return the one step that comes next. Pure: it depends on the facts alone."""
    if facts.status == Study.Status.DRAFT:
        return Step.SET_UP
    if not facts.has_tasks:
        return Step.UPLOAD
    if facts.collecting and (facts.routed or not facts.enough):
        return Step.INVITE if facts.status == Study.Status.OPEN else Step.OPEN
    if facts.routed:
        return Step.ESTIMATE
    if facts.can_be_fitted and facts.answered and not facts.fitted:
        return Step.FIT
    if facts.running:
        return Step.FOLLOW
    if facts.can_be_judged and not facts.judged:
        return Step.CHECK if facts.asked else Step.ASK
    if facts.answered and not facts.compared:
        return Step.COMPARE
    return Step.LEADERBOARD if facts.has_leaderboard else Step.EXPORT


def facts_of(studies: Iterable[Study]) -> dict[int, Facts]:
    """Return the facts by primary key in three queries, and one for each different number of answers waited for."""
    pks = [study.pk for study in studies]
    asked_for = _numbers_of_items(pks)
    rows = list(_with_what_is_there(pks))
    wanted = {row.pk: _wanted(asked_for.get(row.pk, NO_ITEMS)) for row in rows if _still_collecting(row)}
    enough = _with_enough_answers(wanted)
    return {row.pk: _facts(row, asked_for.get(row.pk, NO_ITEMS), enough=row.pk in enough) for row in rows}


def _with_what_is_there(pks: list[int]) -> QuerySet[Study]:
    tasks = Task.objects.filter(study=OuterRef("pk"))
    seats = Seat.objects.filter(study=OuterRef("pk"))
    runs = JudgeRun.objects.of_responses().filter(study=OuterRef("pk"))
    under_way = runs.filter(status__in=[JudgeRun.Status.PLANNED, JudgeRun.Status.RUNNING, JudgeRun.Status.PAUSED])
    here = Assignment.objects.filter(task__study=OuterRef("pk"))
    first_run = Subquery(runs.order_by("created_at").values("created_at")[:1])
    reports = Report.objects.filter(study=OuterRef("pk"), kind__in=[KIND, BY_CRITERION.name, JUDGES.name])
    since_asked = reports.filter(created_at__gt=OuterRef("first_run"))
    return (
        Study.objects.filter(pk__in=pks)
        .annotate(
            has_tasks=Exists(tasks),
            has_seats=Exists(seats),
            has_open_seats=Exists(seats.filter(state=Seat.State.FREE)) | Exists(seats.filter(state=Seat.State.HELD)),
            was_answered=Exists(
                here.filter(counting(routed=True)).exclude(rater__kind__in=[Rater.Kind.JUDGE, Rater.Kind.KEY])
            ),
            was_fitted=Exists(Fit.objects.filter(study=OuterRef("pk"), kind=Fit.Kind.FITTED)),
            was_asked=Exists(runs),
            was_unusable=Exists(here.without_verdict()),
            was_judged=Exists(_judges_with_a_verdict()),
            under_way=Subquery(under_way.values("public_id")[:1]),
            newest_run=Subquery(runs.order_by("-created_at").values("public_id")[:1]),
            first_run=first_run,
        )
        .annotate(was_compared=(Q(first_run=None) & Exists(reports)) | Exists(since_asked))
    )


def _judges_with_a_verdict() -> QuerySet[Rater]:
    """Select the judges that have a verdict which counts in the study of the outer query.

    A verdict is looked for among the answers of each judge: a large study has few judges and many answers.
    """
    own = Assignment.objects.filter(rater=OuterRef("pk"), task__study=OuterRef(OuterRef("pk"))).verdicts().believed()
    judges = Rater.objects.filter(kind=Rater.Kind.JUDGE, workspace=OuterRef("workspace"))
    return judges.annotate(verdict=Subquery(own.order_by().values("pk")[:1])).filter(verdict__isnull=False)


def _facts(row: Study, asked_for: tuple[int, bool], *, enough: bool) -> Facts:
    """`enough` counts only while ratings are still coming in; afterwards, any ratings are all there will be."""
    found = vars(row)
    _items, can_be_fitted = asked_for
    collecting = found["has_seats"] and found["has_open_seats"]
    enough = enough if _still_collecting(row) else found["was_answered"] and not collecting
    is_review = row.kind in (Study.Kind.REVIEW, Study.Kind.CHECK)
    routed = bool(Selection.of(row).drawn)
    return Facts(
        status=row.status,
        has_tasks=found["has_tasks"],
        collecting=collecting,
        answered=found["was_answered"],
        enough=enough,
        can_be_fitted=can_be_fitted,
        fitted=found["was_fitted"],
        can_be_judged=not is_review,
        asked=found["was_asked"] or found["was_unusable"],
        running=found["under_way"] is not None,
        judged=found["was_judged"],
        compared=found["was_compared"],
        has_leaderboard=row.benchmark_id is not None and not is_review and not routed,
        run=found["under_way"] or found["newest_run"] or "",
        routed=routed,
    )


def _still_collecting(row: Study) -> bool:
    found = vars(row)
    return bool(found["has_seats"] and found["has_open_seats"] and found["was_answered"])


def _wanted(asked_for: tuple[int, bool]) -> int:
    items, can_be_fitted = asked_for
    return ANSWERS_PER_ITEM * items if can_be_fitted else ANSWERS_TO_COMPARE


def _with_enough_answers(wanted: Mapping[int, int]) -> set[int]:
    """Return the studies in which people have given as many ordinary answers as wanted, without counting more than that.

    One query for each different number that is wanted.
    """
    ordinary = Assignment.objects.filter(counting(routed=True), rater__study=OuterRef("pk"), repeat=0).order_by()
    answers = ordinary.exclude(rater__kind=Rater.Kind.KEY).values("pk")
    found: set[int] = set()
    for number in set(wanted.values()):
        studies = Study.objects.filter(pk__in=[pk for pk, asked in wanted.items() if asked == number])
        last_wanted = Exists(answers[max(number, 1) - 1 : max(number, 1)])
        found |= set(studies.filter(last_wanted).values_list("pk", flat=True))
    return found


def _numbers_of_items(pks: list[int]) -> dict[int, tuple[int, bool]]:
    """By study, how many checklist items its rubrics ask in all, and whether they ask for an overall score as well."""
    tasks = Task.objects.filter(answer_rubric=OuterRef("pk"), gold__isnull=True)
    own = [Rubric.objects.filter(Exists(tasks.filter(study=pk))).order_by().annotate(asked_in=Value(pk)) for pk in pks]
    parts = [found.values_list("asked_in", "pk") for found in own]
    rubrics = list(parts[0].union(*parts[1:], all=True)) if parts else []
    roles = Criterion.objects.filter(rubric__in={rubric for _study, rubric in rubrics}).order_by()
    of_rubric: dict[int, Counter[str]] = {}
    for rubric, role in roles.values_list("rubric", "role"):
        of_rubric.setdefault(rubric, Counter())[role] += 1
    found: dict[int, Counter[str]] = {}
    for study, rubric in rubrics:
        found.setdefault(study, Counter()).update(of_rubric.get(rubric, {}))
    both = (Criterion.Role.ITEM, Criterion.Role.OVERALL)
    return {study: (roles[Criterion.Role.ITEM], all(roles[role] for role in both)) for study, roles in found.items()}
