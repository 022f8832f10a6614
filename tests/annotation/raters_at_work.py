"""Raters at work in tests: a study of short texts, and answering whatever is handed out."""

from datetime import UTC, datetime, timedelta

from annotation.answers.recording import Answer, Timing, record_answer
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.assignment.rater_progress import NoTaskLeft
from annotation.models import Criterion, Rater, Rubric, Task
from generation.models import Response
from tests.factories import make_checklist_study

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
TEXT = "\n\n".join(
    f"## Part {part}\n\nThe {part} thing to say is said here, at some length. It takes a second sentence, too."
    for part in ("first", "second", "third", "fourth")
)


def clock(minutes=0):
    return lambda: NOON + timedelta(minutes=minutes)


def make_study(tasks=30, overlap=1, seats=True, **policies):
    """`tasks` responses with a readable text each, one model."""
    study = make_checklist_study(instructions=tasks, models=1)
    Response.objects.filter(tasks_as_a__study=study).update(text=TEXT, words=60)
    study.policies = {"overlap": overlap} | policies
    study.save()
    if seats:
        make_seats(study)
    return study


def make_pairs(tasks=30, overlap=1, **policies):
    """`tasks` pairs of two models' responses, with one preference from -1 to 1."""
    study = make_checklist_study(instructions=tasks, models=2)
    rubric = Rubric.objects.create(workspace=study.workspace, key="better")
    levels = [{"key": key, "value": value, "label": {"en": key}} for key, value in (("a", 1), ("tie", 0), ("b", -1))]
    Criterion.objects.create(rubric=rubric, key="better", position=0, role="preference", levels=levels)
    Response.objects.filter(tasks_as_a__study=study).update(text=TEXT, words=60)
    singles = list(study.tasks.order_by("pk").select_related("response_a"))
    study.tasks.all().delete()
    for first, second in zip(singles[::2], singles[1::2], strict=True):
        Task.objects.create(
            study=study,
            kind="pair",
            key=f"p:{first.response_a_id}:{second.response_a_id}",
            response_a=first.response_a,
            response_b=second.response_a,
            answer_rubric=rubric,
        )
    study.kind = "pair"
    study.policies = {"overlap": overlap} | policies
    study.save()
    make_seats(study)
    return study


def answers_to(assignment, share=0.5):
    """Every criterion answered `share` of the way up its scale, at the nearest level or whole number."""
    given = {}
    for criterion in assignment.task.answer_rubric.criteria.all():
        low, high = criterion.ends
        wanted = low + share * (high - low)
        if criterion.levels:
            wanted = min((float(level["value"]) for level in criterion.levels), key=lambda value: abs(value - wanted))
        else:
            wanted = float(round(wanted))
        given[criterion.key] = Answer(wanted)
    return given


def answer(assignment, share=0.5, minutes=0):
    return record_answer(assignment=assignment, answers=answers_to(assignment, share), clock=clock(minutes))


def work(rater, study, most=10_000, share=0.5):
    """Answer up to `most` tasks; the assignments in the order in which they came."""
    done = []
    while len(done) < most:
        try:
            assignment, _progress = next_assignment(rater, study, clock=clock())
        except NoTaskLeft:
            break
        answer(assignment, share)
        done.append(assignment)
    return done


def give(rater, study, seconds, *, share=0.5, claims=None):
    """One task handed out and answered `seconds` later by the server's clock."""
    rater = Rater.objects.get(pk=rater.pk)
    assignment, _progress = next_assignment(rater, study, clock=clock())
    timing = Timing(active_seconds=seconds if claims is None else claims)
    outcome = record_answer(
        assignment=assignment, answers=answers_to(assignment, share), clock=clock(seconds / 60), timing=timing
    )
    assignment.refresh_from_db()
    return assignment, outcome
