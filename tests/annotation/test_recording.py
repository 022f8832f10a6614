"""One answer is stored exactly once, as it was given."""

from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, transaction

from annotation.handout import make_seats, next_assignment
from annotation.models import Assignment, Draft, Flag, Score, latest_scores
from annotation.recording import (
    NOT_APPLICABLE,
    Answer,
    AnswerRefused,
    NotOpen,
    Timing,
    record_answer,
    save_draft,
    skip,
)
from tests.factories import make_answer, make_checklist_study, make_rater

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
GOOD = {"item0": Answer(0.0), "item1": Answer(0.75), "item2": Answer(1.0), "overall": Answer(7.0)}
pytestmark = pytest.mark.django_db


def noon():
    return NOON


@pytest.fixture
def assignment():
    study = make_checklist_study()
    make_seats(study)
    return next_assignment(make_rater(study), study, clock=noon)[0]


def values(assignment):
    latest = latest_scores(assignment.scores.select_related("criterion"))
    return {score.criterion.key: score.value for score in latest.values()}


def test_the_first_answer_is_stored_whole(assignment):
    timing = Timing(active_seconds=61.5, idle_seconds=3.0)
    assert record_answer(assignment=assignment, answers=GOOD, clock=noon, timing=timing) == "recorded"
    assignment.refresh_from_db()
    assert (assignment.status, assignment.submitted_at) == ("submitted", NOON)
    assert (assignment.active_seconds, assignment.idle_seconds) == (61.5, 3.0)
    assert assignment.seat.state == "taken"
    assert values(assignment) == {"item0": 0.0, "item1": 0.75, "item2": 1.0, "overall": 7.0}
    assert Score.objects.get(criterion__key="item1").level == "3"
    assert Score.objects.get(criterion__key="overall").level == ""


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"item1": None}, "item1"),
        ({"item1": Answer(0.3)}, "item1"),
        ({"item1": Answer(None)}, "item1"),
        ({"item1": Answer(float("nan"))}, "item1"),
        ({"overall": Answer(11.0)}, "overall"),
        ({"overall": Answer(7.5)}, "overall"),
        ({"overall": Answer(float("inf"))}, "overall"),
        ({"item1": NOT_APPLICABLE}, "item1"),
        ({"unknown": Answer(1.0)}, "unknown"),
    ],
)
def test_an_answer_with_a_problem_changes_nothing(assignment, change, key):
    answers = {k: v for k, v in (GOOD | change).items() if v is not None}
    with pytest.raises(AnswerRefused) as refusal:
        record_answer(assignment=assignment, answers=answers, clock=noon)
    assert list(refusal.value.problems) == [key]
    assignment.refresh_from_db()
    assert assignment.status == "open"
    assert not Score.objects.exists()


def test_not_applicable_is_no_number_where_the_rubric_allows_it(assignment):
    assignment.task.answer_rubric.criteria.filter(key="item1").update(may_not_apply=True)
    record_answer(assignment=assignment, answers=GOOD | {"item1": NOT_APPLICABLE}, clock=noon)
    score = Score.objects.get(criterion__key="item1")
    assert (score.value, score.not_applicable) == (None, True)


def test_sending_twice_stores_once(assignment):
    stale = Assignment.objects.get(pk=assignment.pk)
    assert record_answer(assignment=assignment, answers=GOOD, clock=noon) == "recorded"
    assert record_answer(assignment=assignment, answers=GOOD, clock=noon) == "unchanged"
    assert record_answer(assignment=stale, answers=GOOD, clock=noon) == "unchanged"
    assert Score.objects.count() == 4


def test_a_change_is_a_revision_and_the_first_answer_stays(assignment):
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    changed = GOOD | {"item0": Answer(0.25)}
    assert record_answer(assignment=assignment, answers=changed, clock=noon) == "revised"
    assert list(Score.objects.filter(criterion__key="item0").values_list("revision", "value")) == [
        (0, 0.0),
        (1, 0.25),
    ]
    assert Score.objects.count() == 5
    assert values(assignment)["item0"] == 0.25
    assert record_answer(assignment=assignment, answers=GOOD, clock=noon) == "revised"
    assert values(assignment)["item0"] == 0.0


def test_a_reason_and_evidence_are_kept(assignment):
    piece = {"response": "a", "start": 3, "end": 9}
    with_evidence = GOOD | {"item0": Answer(0.0, reason="It breaks off.", evidence=(piece,))}
    record_answer(assignment=assignment, answers=with_evidence, clock=noon)
    score = Score.objects.get(criterion__key="item0")
    assert (score.reason, score.evidence) == ("It breaks off.", [piece])
    assert record_answer(assignment=assignment, answers=with_evidence, clock=noon) == "unchanged"


def test_the_database_refuses_to_change_a_score(assignment):
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    for change in ({"value": 0.5}, {"level": "9"}, {"revision": 7}, {"reason": "x"}, {"evidence": [1]}):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            Score.objects.filter(criterion__key="item0").update(**change)
    assert values(assignment)["item0"] == 0.0


def test_a_skipped_task_takes_no_answer_and_its_seat_stays_free(assignment):
    stale = Assignment.objects.get(pk=assignment.pk)
    skip(assignment=assignment, reason="broken text", clock=noon)
    with pytest.raises(NotOpen):
        record_answer(assignment=stale, answers=GOOD, clock=noon)
    assert not Score.objects.exists()
    assert not assignment.task.seats.exclude(state="free").exists()
    with pytest.raises(NotOpen):
        save_draft(assignment=assignment, answers={}, serial=1)


def test_skipping_needs_a_reason_and_happens_once(assignment):
    with pytest.raises(AnswerRefused):
        skip(assignment=assignment, reason=" ", clock=noon)
    skip(assignment=assignment, reason="broken text", clock=noon)
    skip(assignment=assignment, reason="another", clock=noon)
    assignment.refresh_from_db()
    assert (assignment.status, assignment.reason) == ("skipped", "broken text")


def test_an_answered_task_is_not_skipped_and_keeps_its_seat(assignment):
    stale = Assignment.objects.get(pk=assignment.pk)
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    with pytest.raises(NotOpen):
        skip(assignment=stale, reason="broken text", clock=noon)
    assignment.refresh_from_db()
    assert assignment.status == "submitted"
    assert assignment.seat.state == "taken"


def test_a_draft_keeps_the_newest(assignment):
    assert save_draft(assignment=assignment, answers={"item0": "1"}, serial=10, paragraph=2)
    assert not save_draft(assignment=assignment, answers={"item0": "9"}, serial=9)
    assert save_draft(assignment=assignment, answers={"item0": "2"}, serial=11)
    draft = Draft.objects.get()
    assert (draft.answers, draft.serial) == ({"item0": "2"}, 11)
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    assert not Draft.objects.exists()


def test_an_answer_leaves_what_is_entered_where_the_task_came_again(assignment):
    again = Draft.objects.create(task=assignment.task, rater=assignment.rater, repeat=1, serial=5)
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    assert Draft.objects.get() == again


def test_a_note_goes_to_the_lead_once(assignment):
    record_answer(assignment=assignment, answers=GOOD, clock=noon, note=" The text ends in the middle. ")
    record_answer(assignment=assignment, answers=GOOD, clock=noon, note=" The text ends in the middle. ")
    assert list(Flag.objects.values_list("kind", "text")) == [("note", "The text ends in the middle.")]


def test_a_repeat_has_no_seat_and_is_submitted(assignment):
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    probe = Assignment.objects.create(task=assignment.task, rater=assignment.rater, repeat=1)
    assert record_answer(assignment=probe, answers=GOOD, clock=noon) == "recorded"
    probe.refresh_from_db()
    assert (probe.status, probe.seat) == ("submitted", None)


def test_first_answers_cost_at_most_eight_queries(assignment, django_assert_max_num_queries):
    criteria = list(assignment.task.answer_rubric.criteria.all())
    with django_assert_max_num_queries(8):
        record_answer(assignment=assignment, answers=GOOD, clock=noon, criteria=criteria)


def test_imported_answers_can_be_corrected(assignment):
    other = make_answer(assignment.task, make_rater(assignment.task.study), {"item0": 1.0, "overall": 3.0})
    assert record_answer(assignment=other, answers=GOOD, clock=noon) == "revised"
    assert values(other)["item0"] == 0.0
