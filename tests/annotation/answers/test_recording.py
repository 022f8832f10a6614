"""One answer is stored exactly once, as it was given."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, transaction

from annotation.answers import recording
from annotation.answers.recording import (
    NOT_APPLICABLE,
    Answer,
    AnswerRefused,
    NotOpen,
    Timing,
    record_answer,
    save_draft,
    save_place,
    skip,
)
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Assignment, Draft, Flag, Score, latest_scores
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


def handed_out(assignment, seconds):
    """The assignment as if it had been handed out so long ago."""
    assignment.shown_at = NOON - timedelta(seconds=seconds)
    assignment.save(update_fields=["shown_at"])


def values(assignment):
    latest = latest_scores(assignment.scores.select_related("criterion"))
    return {score.criterion.key: score.value for score in latest.values()}


def test_the_first_answer_is_stored_whole(assignment):
    handed_out(assignment, 70)
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
        ({"item1": Answer(0.75, level="1")}, "item1"),
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


def test_not_applicable_has_no_value(assignment):
    assignment.task.answer_rubric.criteria.filter(key="item1").update(may_not_apply=True)
    with pytest.raises(AnswerRefused, match="item1"):
        record_answer(assignment=assignment, answers=GOOD | {"item1": Answer(0.5, not_applicable=True)}, clock=noon)


def test_levels_that_share_a_value_are_told_apart(assignment):
    """Two levels of the value 0, as "tie" and "both bad": the key says which, and which is meant can be corrected."""
    levels = [
        {"key": "low", "value": 0, "label": {"en": "low"}},
        {"key": "none", "value": 0, "label": {"en": "none"}},
        {"key": "high", "value": 1, "label": {"en": "high"}},
    ]
    assignment.task.answer_rubric.criteria.filter(key="item1").update(levels=levels)
    none = GOOD | {"item1": Answer(0.0, level="none")}
    record_answer(assignment=assignment, answers=none, clock=noon)
    assert Score.objects.get(criterion__key="item1").level == "none"
    assert record_answer(assignment=assignment, answers=none, clock=noon) == "unchanged"
    low = GOOD | {"item1": Answer(0.0, level="low")}
    assert record_answer(assignment=assignment, answers=low, clock=noon) == "revised"
    assert list(Score.objects.filter(criterion__key="item1").values_list("level", flat=True)) == ["none", "low"]


@pytest.mark.parametrize(
    "change",
    [
        {"item1": Answer(0.5)},
        {"item1": NOT_APPLICABLE},
        {"item1": Answer(0.75, reason="Half of it is missing.")},
        {"item1": Answer(0.75, evidence=({"response": "a", "start": 0, "end": 4},))},
    ],
    ids=["value", "not applicable", "reason", "evidence"],
)
def test_whatever_changes_is_one_revision_and_no_other_question_gets_one(assignment, change):
    assignment.task.answer_rubric.criteria.filter(key="item1").update(may_not_apply=True)
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    assert record_answer(assignment=assignment, answers=GOOD | change, clock=noon) == "revised"
    assert record_answer(assignment=assignment, answers=GOOD | change, clock=noon) == "unchanged"
    assert list(Score.objects.filter(revision=1).values_list("criterion__key", flat=True)) == ["item1"]


def test_a_revision_that_another_came_before_is_tried_again(assignment, monkeypatch):
    """The other tab's revision is not seen at first: the constraint refuses a second of the same number."""
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    seen = []

    def late(scores):
        seen.append(1)
        return {} if len(seen) == 1 else latest_scores(scores)

    monkeypatch.setattr(recording, "latest_scores", late)
    changed = GOOD | {"item0": Answer(0.25)}
    assert record_answer(assignment=assignment, answers=changed, clock=noon) == "revised"
    assert list(Score.objects.filter(criterion__key="item0").values_list("revision", "value")) == [(0, 0.0), (1, 0.25)]
    assert Score.objects.count() == 5


@pytest.mark.parametrize("status", ["surplus", "checked"])
def test_an_answer_beyond_the_overlap_or_to_a_known_task_is_corrected_as_any(assignment, status):
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    Assignment.objects.filter(pk=assignment.pk).update(status=status)
    stored = Assignment.objects.get(pk=assignment.pk)
    save_draft(assignment=stored, answers={"item0": "2"}, serial=3)
    changed = GOOD | {"item0": Answer(0.5)}
    assert record_answer(assignment=stored, answers=changed, clock=noon) == "revised"
    stored.refresh_from_db()
    assert stored.status == status
    assert values(stored)["item0"] == 0.5
    assert not Draft.objects.exists()


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
    assert list(Score.objects.filter(criterion__key="item0").values_list("revision", "value")) == [(0, 0.0), (1, 0.25)]
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


def test_an_answer_or_a_skip_leaves_what_others_have_entered(assignment):
    study = assignment.task.study
    other = Assignment.objects.create(task=assignment.task, rater=make_rater(study))
    save_draft(assignment=other, answers={"item0": "1"}, serial=4)
    save_draft(assignment=assignment, answers={"item0": "2"}, serial=4)
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    assert Draft.objects.get().rater == other.rater
    skip(assignment=other, reason="broken text", clock=noon)
    assert not Draft.objects.exists()


def test_the_same_serial_does_not_replace_a_draft(assignment):
    assert save_draft(assignment=assignment, answers={"item0": "1"}, serial=10)
    assert not save_draft(assignment=assignment, answers={"item0": "9"}, serial=10)
    assert Draft.objects.get().answers == {"item0": "1"}


def test_a_given_answer_takes_a_draft_and_no_place(assignment):
    """What is entered to correct an answer is kept; only having looked at it again is not."""
    save_place(assignment=assignment, paragraph=3)
    assert (Draft.objects.get().paragraph, Draft.objects.get().answers) == (3, {})
    record_answer(assignment=assignment, answers=GOOD, clock=noon)
    save_place(assignment=assignment, paragraph=5)
    assert not Draft.objects.exists()
    assert save_draft(assignment=assignment, answers={"item0": "1"}, serial=1)


def test_a_place_leaves_what_is_entered(assignment):
    save_draft(assignment=assignment, answers={"item0": "1"}, serial=10, paragraph=1)
    save_place(assignment=assignment, paragraph=4, paragraph_b=2)
    draft = Draft.objects.get()
    assert (draft.answers, draft.serial, draft.paragraph, draft.paragraph_b) == ({"item0": "1"}, 10, 4, 2)


def test_a_skip_keeps_when_and_how_long(assignment):
    handed_out(assignment, 20)
    timing = Timing(active_seconds=12.5, idle_seconds=2.0)
    skip(assignment=assignment, reason="x" * 1000, clock=noon, timing=timing)
    assignment.refresh_from_db()
    assert (assignment.submitted_at, assignment.active_seconds, assignment.idle_seconds) == (NOON, 12.5, 2.0)
    assert assignment.reason == "x" * 300
    assert assignment.seat is None


@pytest.mark.parametrize(("begun", "shown"), [(60, 20), (5, 5)])
def test_an_answer_given_offline_began_as_long_ago_as_it_took(assignment, begun, shown):
    """15 s of work and 5 s of rest, but never before the task was handed out."""
    Assignment.objects.filter(pk=assignment.pk).update(shown_at=None, created_at=NOON - timedelta(seconds=begun))
    stored = Assignment.objects.get(pk=assignment.pk)
    timing = Timing(active_seconds=15, idle_seconds=5)
    record_answer(assignment=stored, answers=GOOD, clock=noon, timing=timing)
    assert Assignment.objects.get().shown_at == NOON - timedelta(seconds=shown)


def test_a_note_is_for_an_answer_or_its_change_and_never_empty(assignment):
    record_answer(assignment=assignment, answers=GOOD, clock=noon, note="  ")
    assert not Flag.objects.exists()
    changed = GOOD | {"item0": Answer(0.25)}
    record_answer(assignment=assignment, answers=changed, clock=noon, note="I misread it.")
    assert Flag.objects.get().text == "I misread it."


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
