"""A lead's own answer to a task on which raters disagree. It is stored as a key and left out of all results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Prefetch
from django.utils.translation import gettext

from accounts.models import User
from annotation.answers.recording import Answer, Outcome, record_answer, refused_where_removed
from annotation.models import GIVEN, Assignment, Criterion, Rater, Score, Study, Task, latest_scores
from annotation.monitoring.lead_names import OF_LEAD
from annotation.rubrics.scales import answer_text
from annotation.studies.life_cycle import log_event
from core.clock import Clock
from core.messages.message import stored_text


@dataclass(frozen=True)
class Column:
    """One rater's answers to the task in the comparison."""

    name: str
    kind: str
    note: str
    texts: list[tuple[str, str]]


@dataclass(frozen=True)
class AnswerBesideDecision:
    """All answers to a task's questions; `rows` are (criterion, [(answer, reason) of each column])."""

    columns: list[Column]
    rows: list[tuple[Criterion, list[tuple[str, str]]]]


def key_rater(study: Study, by: User) -> Rater:
    """The key rater that holds this lead's answers in the study. If the lead also rates, that is a different rater."""
    label = OF_LEAD + by.public_id
    try:
        with transaction.atomic():
            return Rater.objects.get_or_create(
                study=study,
                kind=Rater.Kind.KEY,
                label=label,
                defaults={"workspace_id": study.workspace_id, "pseudonym": str(by)[:200]},
            )[0]
    except IntegrityError:
        return Rater.objects.get(study=study, kind=Rater.Kind.KEY, label=label)


def own_answer(task: Task, by: User) -> Assignment | None:
    """The lead's earlier decision on the task."""
    label = OF_LEAD + by.public_id
    return Assignment.objects.filter(task=task, rater__kind=Rater.Kind.KEY, rater__label=label, repeat=0).first()


def adjudicate(
    task: Task, answers: Mapping[str, Answer], *, criteria: Iterable[Criterion], by: User, clock: Clock
) -> Assignment:
    """Store the lead's answer; a later one becomes a revision. Uses no slot. Raises AnswerRefused, and TaskRemoved."""
    criteria, there = list(criteria), Task.objects.filter(pk=task.pk)
    with refused_where_removed(there, criteria), transaction.atomic():
        rater = key_rater(task.study, by)
        assignment, _made = Assignment.objects.get_or_create(
            task=task,
            rater=rater,
            repeat=0,
            defaults={
                "status": Assignment.Status.SUBMITTED,
                "submitted_at": clock(),
                "conditions": {"adjudication": True},
            },
        )
        assignment.task = task
        outcome = record_answer(assignment=assignment, answers=answers, clock=clock, criteria=criteria)
        if outcome is not Outcome.UNCHANGED:
            log_event(
                task.study,
                by,
                "adjudicate",
                about=task,
                after={"task": task.key, "answers": {key: answer.value for key, answer in answers.items()}},
            )
    return assignment


def answers_to(task: Task) -> list[Assignment]:
    """Return the task's current answers with all their scores: people's, then keys', then judges'; three queries."""
    status = Assignment.Status
    given = (
        Assignment.objects.filter(task=task, repeat=0, status__in=[*GIVEN, status.DERIVED])
        .select_related("rater__cohort")
        .prefetch_related(Prefetch("scores", queryset=Score.objects.select_related("criterion").order_by("revision")))
        .order_by("pk")
    )
    order = {Rater.Kind.PERSON: 0, Rater.Kind.SLOT: 0, Rater.Kind.KEY: 1, Rater.Kind.JUDGE: 2}
    return sorted(given, key=lambda one: (order[Rater.Kind(one.rater.kind)], one.pk))


def comparison_of(task: Task, criteria: list[Criterion]) -> AnswerBesideDecision:
    """All current answers to the task in the words of the scales; three queries."""
    status = Assignment.Status
    columns = []
    for one in answers_to(task):
        scores = latest_scores(one.scores.all())
        texts = [_text(criterion, scores.get(criterion.pk)) for criterion in criteria]
        note = one.get_status_display() if one.status != status.SUBMITTED else ""
        if one.discredited:
            note = gettext("failed its canary texts")
        columns.append(Column(one.rater.name, one.rater.get_kind_display(), str(note), texts))
    rows = [(criterion, [column.texts[place] for column in columns]) for place, criterion in enumerate(criteria)]
    return AnswerBesideDecision(columns, rows)


def _text(criterion: Criterion, score: Score | None) -> tuple[str, str]:
    if score is None:
        return "–", ""
    return answer_text(criterion, score.value), stored_text(score, "reason")
