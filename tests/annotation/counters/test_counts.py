"""The counts that triggers keep of each study are those of its rows, whatever wrote them."""

import threading
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import connection, connections, transaction
from django.db.migrations import Migration

from annotation.counters import triggers
from annotation.counters.counts import check, counts_of, fold
from annotation.models import Assignment, Score, StudyChange, StudyCounter, Task
from calibration.report_store.state import state_of
from generation.models import Category, Instruction
from tests.calibration.answered_studies import answered_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, remove

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6}
on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'")


@pytest.fixture
def study():
    return make_checklist_study(instructions=3, models=2)


def agree(study):
    """The counts are those of the rows; returns them."""
    assert check() == {}
    counts = counts_of(study)
    of_study = Assignment.objects.filter(task__study=study)
    assert counts.answers == of_study.filter(status="submitted").count()
    assert counts.scores == Score.objects.filter(assignment__task__study=study).count()
    return counts


def changed(study, before):
    after = agree(study)
    assert after.changes > before.changes
    return after


def test_every_change_of_answers_is_counted(study):
    counts, tasks = agree(study), list(study.tasks.order_by("pk"))
    assert (counts.answers, counts.scores, counts.tasks > 0) == (0, 0, True)
    first = make_answer(tasks[0], make_rater(study), VALUES)
    counts = changed(study, counts)
    assert (counts.answers, counts.scores) == (1, 4)
    criterion = first.scores.first().criterion
    Score.objects.create(assignment=first, criterion=criterion, revision=1, value=0.0)
    counts = changed(study, counts)
    for status in ("surplus", "submitted", "skipped"):
        Assignment.objects.filter(pk=first.pk).update(status=status)
        counts = changed(study, counts)
    first.discredited = True
    first.save()
    counts = changed(study, counts)
    remove(Score.objects.filter(assignment=first, revision=1))
    counts = changed(study, counts)
    remove(first)
    counts = changed(study, counts)
    assert (counts.answers, counts.scores) == (0, 0)
    Task.objects.filter(pk=tasks[1].pk).update(gold={"purpose": "control", "expected": {}})
    assert agree(study).changes > counts.changes


def test_what_changes_no_result_changes_no_count(study):
    rater, task = make_rater(study), study.tasks.first()
    before = agree(study)
    held = Assignment.objects.create(task=task, rater=rater, queue_place=1)
    Assignment.objects.filter(pk=held.pk).update(queue_place=2, conditions={"language": "en"}, status="open")
    held.delete()
    make_answer(make_checklist_study(slug="other", workspace=study.workspace).tasks.first(), rater, VALUES)
    assert agree(study) == before


def test_rows_that_come_in_bulk_are_counted_once_each(study):
    raters = [make_rater(study, label=f"r{place}") for place in range(5)]
    task, before = study.tasks.first(), agree(study)
    rows = [Assignment(task=task, rater=rater, status="submitted", public_id=rater.public_id) for rater in raters]
    Assignment.objects.bulk_create(rows[:3])
    Assignment.objects.bulk_create(rows, ignore_conflicts=True)
    criteria = list(task.answer_rubric.criteria.all())
    stored = list(Assignment.objects.all())
    scores = [Score(assignment=one, criterion=each, value=0.5) for one in stored for each in criteria]
    Score.objects.bulk_create(scores, ignore_conflicts=True)
    Score.objects.bulk_create(scores, ignore_conflicts=True)
    counts = changed(study, before)
    assert (counts.answers, counts.scores) == (5, 5 * len(criteria))


def test_what_is_rolled_back_is_not_counted(study):
    before = agree(study)
    with transaction.atomic():
        make_answer(study.tasks.first(), make_rater(study), VALUES)
        transaction.set_rollback(True)
    assert agree(study) == before


def test_two_changes_that_cancel_out_in_a_count_are_another_state(study):
    """As many discredited verdicts as before, but not the same ones."""
    judge = make_judge_rater(study.workspace)
    one, other = [make_answer(task, judge, VALUES) for task in study.tasks.order_by("pk")[:2]]
    Assignment.objects.filter(pk=one.pk).update(discredited=True)
    before = state_of(study)
    Assignment.objects.filter(pk=one.pk).update(discredited=None)
    Assignment.objects.filter(pk=other.pk).update(discredited=True)
    assert state_of(study).values != before.values


def test_a_judges_verdict_elsewhere_is_another_state_and_a_persons_answer_is_not(study):
    other = make_checklist_study(slug="other", workspace=study.workspace)
    Task.objects.filter(study=other).update(response_a=study.tasks.first().response_a)
    before = state_of(study)
    make_answer(other.tasks.first(), make_rater(other), VALUES)
    assert state_of(study) == before
    make_answer(other.tasks.first(), make_judge_rater(study.workspace), VALUES)
    assert state_of(study) != before


def test_while_nothing_is_counted_rows_are(study):
    triggers.remove(connection)
    assert counts_of(study) is None
    before = state_of(study)
    make_answer(study.tasks.first(), make_rater(study), VALUES)
    assert state_of(study).answers == 1 and state_of(study) != before
    triggers.install(connection)
    assert agree(study).answers == 1


def test_a_migration_that_rebuilds_a_table_leaves_the_counts_right(study):
    """On SQLite it drops the triggers of the table, and cannot rename it where the trigger of another one names it."""
    make_answer(study.tasks.first(), make_rater(study), VALUES)
    before = agree(study)
    emit_pre_migrate_signal(0, False, "default", plan=[(Migration("rebuilds", "annotation"), False)])
    assert counts_of(study) is None
    make_answer(study.tasks.last(), make_rater(study, label="in between"), VALUES)
    emit_post_migrate_signal(0, False, "default", plan=[])
    assert changed(study, before).answers == 2
    names = {name for name, _table in triggers._existing(connection)}
    assert names == set(triggers._names())
    make_answer(study.tasks.last(), make_rater(study, label="after"), VALUES)
    assert agree(study).answers == 3


def test_wrong_counts_are_found_and_repaired(study):
    make_answer(study.tasks.first(), make_rater(study), VALUES)
    fold()
    StudyCounter.objects.filter(study=study.pk).update(answers=7, scores=9)
    before, out = counts_of(study), StringIO()
    with pytest.raises(CommandError, match="check_counts --repair"):
        call_command("check_counts", stdout=out)
    assert f"{study.slug}: the counts lack -6 answers and -5 scores." in out.getvalue()
    call_command("check_counts", "--repair", stdout=out)
    changed(study, before)
    call_command("check_counts", stdout=out)
    assert "All counts are right." in out.getvalue()


def test_reading_the_state_costs_one_query_where_no_judge_answered(study, django_assert_num_queries):
    with django_assert_num_queries(1):
        counts_of(study)


@on_postgresql
def test_folding_leaves_the_sums(study):
    make_answer(study.tasks.first(), make_rater(study), VALUES)
    before = agree(study)
    assert StudyChange.objects.filter(study=study.pk).count() > 1
    assert fold() > 1 and not StudyChange.objects.exists()
    assert agree(study) == before


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_raters_who_answer_at_once_do_not_wait_for_each_other():
    study = make_checklist_study(instructions=1, models=2)
    first, second = study.tasks.all()
    raters = [make_rater(study, label="one"), make_rater(study, label="two")]
    done = threading.Event()

    def answer():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            make_answer(second, raters[1], VALUES)
            fold()
            done.set()
        finally:
            connections.close_all()

    with transaction.atomic():
        make_answer(first, raters[0], VALUES)
        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()
        assert done.is_set()
    assert agree(study).answers == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_remembered_of_categories_and_of_other_studies_is_never_old():
    cache.clear()
    study = answered_study(instructions=2)
    other = make_checklist_study(slug="other", workspace=study.workspace)
    Task.objects.filter(study=other).update(response_a=study.tasks.first().response_a)
    judge = make_judge_rater(study.workspace)
    seen = [state_of(study).values]

    def is_new():
        seen.append(state_of(study).values)
        assert seen.count(seen[-1]) == 1
        assert state_of(study).values == seen[-1]

    verdict = make_answer(other.tasks.first(), judge, VALUES)
    is_new()
    Assignment.objects.filter(pk=verdict.pk).update(discredited=True)
    is_new()
    Category.objects.filter(key="essay").update(key="prose")
    is_new()
    Instruction.objects.filter(external_id="essays-0").update(category=None)
    is_new()
    remove(verdict)
    is_new()
    try:
        with transaction.atomic():
            Category.objects.filter(key="prose").update(key="poem")
            state_of(study)
            transaction.set_rollback(True)
    finally:
        assert state_of(study).values == seen[-1]
    Category.objects.filter(key="prose").update(key="essay")
    is_new()
