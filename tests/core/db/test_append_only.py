"""Rows that are a record refuse changes and removal in the database itself, on both databases, but through the door."""

import threading

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from accounts.models import Event
from annotation.authoring.questions import current_questions, review, start_review
from annotation.models import (
    Assignment,
    BonusBatch,
    BonusPayment,
    Cohort,
    LateChange,
    QuestionnaireAnswer,
    QuestionReview,
    Score,
    StoppingQuestion,
    TimeCorrection,
)
from annotation.questionnaires.asking import give, save_questions
from annotation.questionnaires.presets import preset
from core.db.append_only import DOOR, removing
from generation.models import Endpoint, EndpointGrant
from judging.models import (
    Alignment,
    AlignmentLook,
    AlignmentVersion,
    DriftBaseline,
    Judge,
    JudgeRun,
    PlannedItem,
    Reply,
    RoutedDraw,
    Watch,
)
from tests.annotation.authoring.checklists import written_checklist
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user

pytestmark = pytest.mark.django_db

RECORDS = {
    "accounts_event",
    "annotation_ballot",
    "annotation_ballotreceipt",
    "annotation_bonusbatch",
    "annotation_bonuspayment",
    "annotation_latechange",
    "annotation_proposedcriterion",
    "annotation_questiondraft",
    "annotation_questionnaire",
    "annotation_questionnaireanswer",
    "annotation_questionreview",
    "annotation_score",
    "annotation_stoppingquestion",
    "annotation_timecorrection",
    "generation_endpointgrant",
    "judging_alignmentlook",
    "judging_driftbaseline",
    "judging_reply",
    "judging_routeddraw",
}
BY_TABLE = {model._meta.db_table: model for model in apps.get_models()}


@pytest.fixture
def record():
    """A row in every table that is a record; returns the workspace."""
    study = make_checklist_study(instructions=1, models=1)
    workspace, task = study.workspace, study.tasks.get()
    answer = make_answer(task, make_rater(study), {"item0": 1, "overall": 5})
    LateChange.objects.create(assignment=answer, cause="closed", answers={})
    TimeCorrection.objects.create(assignment=answer, seconds=5, reason="phone")
    cohort = Cohort.objects.create(study=study, name="panel", kind="crowd")
    batch = BonusBatch.objects.create(
        study=study, cohort=cohort, total_minor=5, made_at=timezone.now(), changed_at=timezone.now()
    )
    BonusPayment.objects.create(batch=batch, rater=answer.rater, minor=5, already_minor=0)
    Event.objects.create(workspace=workspace, verb="opened", object_type="study", object_id=study.public_id)
    endpoint = Endpoint.objects.create(workspace=workspace, name="here")
    EndpointGrant.objects.create(endpoint=endpoint, workspace=workspace, made_by="operator", command="allow_endpoint")
    judge = Judge.objects.create(
        workspace=workspace, rater=make_judge_rater(workspace), method="stars", prompt_hash="0"
    )
    run = JudgeRun.objects.create(judge=judge, study=study)
    item = PlannedItem.objects.create(run=run, task=task)
    watch = Watch.objects.create(judge=judge, study=study, next_at=timezone.now())
    DriftBaseline.objects.create(watch=watch, run=run, flagged=True)
    Reply.objects.create(item=item, request_hash="0")
    alignment = Alignment.objects.create(study=study, baseline=judge, criterion="item0", shares=[], parts={})
    version = AlignmentVersion.objects.create(alignment=alignment, judge=judge)
    AlignmentLook.objects.create(
        alignment=alignment, version=version, number=1, level=0.025, claim="not_shown", figures={}
    )
    RoutedDraw.objects.create(
        about=study,
        judges=[judge.rater_id],
        language_models=[],
        spread_kind="panel",
        strata="spread",
        budget=20,
        overlap=1,
        seed=0,
        frame=[],
    )
    lead = make_user("lead", workspace)
    checklist = written_checklist(workspace, lead)
    start_review(checklist, by=lead)
    question = current_questions(checklist)[0].question
    review(checklist, question.pk, sound=True, comment="", by=make_user("rater", workspace))
    asked = save_questions(study, "before", preset("person"), by=None)
    give(asked, make_rater(study), {"expertise": 3}, language="en")
    StoppingQuestion.objects.create(study=study, question="agreement", threshold=0.8, error=0.05, overlap=2)
    connection.check_constraints()  # PostgreSQL truncates no table with checks outstanding
    return workspace


def an_event():
    return Event(verb="removed for the test", object_type="test", object_id="1")


def refused(statement):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_every_record_has_its_triggers():
    if connection.vendor == "postgresql":
        query = (
            "SELECT tgrelid::regclass::text, count(*) FROM pg_trigger "
            "WHERE NOT tgisinternal AND tgname NOT LIKE 'counted_%' GROUP BY 1"
        )
    else:
        query = (
            "SELECT tbl_name, count(*) FROM sqlite_master "
            "WHERE type = 'trigger' AND name NOT LIKE 'counted_%' GROUP BY 1"
        )
    with connection.cursor() as cursor:
        cursor.execute(query)
        # PostgreSQL has one more, against TRUNCATE, which SQLite does not know.
        assert dict(cursor.fetchall()) == dict.fromkeys(RECORDS, 3 if connection.vendor == "postgresql" else 2)


@pytest.mark.parametrize("table", sorted(RECORDS))
def test_a_record_can_be_neither_deleted_nor_emptied_but_through_the_door(record, table):
    rows = BY_TABLE[table].objects
    before = rows.count()
    assert before
    refused(f"DELETE FROM {table}")
    if connection.vendor == "postgresql":
        refused(f"TRUNCATE {table} CASCADE")
    assert rows.count() == before
    with removing(an_event()):
        if table == "annotation_questiondraft":  # its reviews cannot do without it
            QuestionReview.objects.all()._raw_delete(using="default")
        if table == "annotation_bonusbatch":  # nor can its payments
            BonusPayment.objects.all()._raw_delete(using="default")
        if table == "annotation_questionnaire":  # its answers cannot do without it
            QuestionnaireAnswer.objects.all()._raw_delete(using="default")
        rows.all()._raw_delete(using="default")
    assert rows.count() == (1 if table == "accounts_event" else 0)


def test_deleting_what_holds_answers_is_refused_as_well(record):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Assignment.objects.all().delete()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Score.objects.update(value=3)
    assert Score.objects.filter(value=5).exists()


def test_the_door_stores_its_event_with_what_the_block_counted(record):
    with removing(an_event()) as event:
        event.after = {"scores": Score.objects.all().delete()[0]}
    kept = Event.objects.get(verb="removed for the test")
    assert kept.after == {"scores": 2}
    assert not Score.objects.exists()


def test_the_door_closes_with_its_block_and_after_a_failure(record):
    with transaction.atomic():
        with removing(an_event()):
            with removing(an_event()):
                Score.objects.filter(value=5).delete()
            LateChange.objects.all().delete()
        refused("DELETE FROM annotation_score")
    with pytest.raises(ZeroDivisionError), removing(an_event()):
        raise ZeroDivisionError(Score.objects.all().delete())
    refused("DELETE FROM annotation_score")
    assert Score.objects.count() == 1
    assert Event.objects.filter(verb="removed for the test").count() == 2


@pytest.mark.django_db(transaction=True)
def test_the_door_is_open_to_its_own_transaction_alone(record):
    """Another connection is refused while the door stands open, or waits for its turn and then is refused."""
    told = []

    def other():
        try:
            Score.objects.filter(value=1).delete()
        except DatabaseError as error:
            told.append(str(error))
        finally:
            connection.close()

    thread = threading.Thread(target=other)
    with removing(an_event()):
        Score.objects.filter(value=5).delete()
        thread.start()
        if connection.vendor == "postgresql":
            thread.join()
    thread.join()
    assert len(told) == 1
    assert "append-only" in told[0] or "locked" in told[0]
    assert Score.objects.count() == 1
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {DOOR}")
            assert cursor.fetchone() == (0,)


@pytest.mark.django_db(transaction=True)
def test_the_command_that_empties_a_database_uses_the_door(record):
    call_command("flush", interactive=False, verbosity=0)
    assert not Score.objects.exists()
    assert not Event.objects.exists()
