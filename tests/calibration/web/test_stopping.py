"""When labelling may stop: the question frozen at launch, what counts, and what the dashboard and the command say."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from annotation.models import Assignment, Seat, StoppingQuestion
from annotation.policies.policies import BadPolicy, Policies, choose
from annotation.policies.stopping import StoppingRule
from annotation.studies.life_cycle import create_study, prepare_and_open, request_launch
from annotation.studies.making import WantedStudy, make_study
from calibration.reports.progress.stopping import STOPPING, stopping_settings
from calibration.reports.registry import report_of
from calibration.web.desk.stopping import stopping_block, stopping_sentence
from core.errors import UserError
from generation.models import LanguageModel
from tests.factories import make_answer, make_checklist_study, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def source():
    return make_checklist_study(instructions=30, models=2, slug="source")


@pytest.fixture
def lead(source):
    return make_user("lead", source.workspace, username="lena")


def draft_of(source, lead, **stopping):
    study = create_study(
        workspace=source.workspace, names={"en": "Draft"}, kind="checklist", benchmark=source.benchmark, by=lead
    )
    choose(study, overlap=2, stopping=stopping)
    study.save()
    return study


def launched(study):
    request_launch(study, by=None)
    prepare_and_open(study)
    study.refresh_from_db()
    return study


AGREEMENT = {"question": "agreement", "threshold": 0.5, "error": 0.05}


@pytest.fixture
def study(source, lead):
    return launched(draft_of(source, lead, **AGREEMENT))


def answer(study, instructions, scores, *, at=None):
    """Have two raters give every task of these instructions (turns) these overall scores."""
    raters = list(study.raters.order_by("pk")) or [make_rater(study, label=name) for name in ("ann", "bob")]
    for turn in instructions:
        _instruction, tasks = study.stopping.instructions[turn]
        for task in study.tasks.filter(pk__in=tasks).select_related("answer_rubric").order_by("pk"):
            for rater, score in zip(raters, scores, strict=True):
                given = make_answer(task, rater, {"overall": score}, submitted_at=at or timezone.now())
                if at:
                    Assignment.objects.filter(pk=given.pk).update(created_at=at)


def report(study):
    return report_of(study, STOPPING, stopping_settings())


def test_the_question_and_the_order_are_frozen_at_launch(study):
    question = study.stopping
    assert (question.question, question.threshold, question.error, question.overlap) == ("agreement", 0.5, 0.05, 2)
    assert question.criteria == ["overall"]
    order = [instruction for instruction, _tasks in question.instructions]
    assert len(set(order)) == 30
    assert order != sorted(order)
    assert all(len(tasks) == 2 for _instruction, tasks in question.instructions)


def test_tasks_are_handed_out_in_the_order_of_instructions(study):
    drawn = (
        Seat.objects.filter(study=study).order_by("draw_key").values_list("task__response_a__instruction", flat=True)
    )
    order = [instruction for instruction, _tasks in study.stopping.instructions]
    assert list(dict.fromkeys(drawn)) == order


def test_a_lead_cannot_change_the_question_after_launch(client, study, lead):
    client.force_login(lead)
    address = reverse("annotation:setup", args=[study]) + "?step=checks"
    client.post(
        address, {"overlap": 2, "order": "spread", "hints": "hidden", "stop_question": "leader", "stop_error": 20}
    )
    study.refresh_from_db()
    assert Policies.of(study).stopping == StoppingRule("agreement", threshold=0.5)
    choose(study, stopping={"question": "leader", "error": 0.2})
    study.save()
    assert report(study).question == "agreement"
    for change in ({"threshold": 0.1}, {"error": 0.2}, {"instructions": []}, {"overlap": 1}):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            StoppingQuestion.objects.filter(study=study).update(**change)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        study.stopping.delete()


def test_removing_the_choice_after_launch_does_not_hide_the_question(client, study, lead):
    choose(study, stopping=None)
    study.save()
    answer(study, [0], (5, 5))
    client.force_login(lead)
    assert "May labelling stop?" in markup(client.get(reverse("calibration:desk_figures", args=[study])))


def test_an_instruction_out_of_order_does_not_count(study):
    answer(study, range(1, 12), (5, 5))
    assert report(study).counted == 0
    answer(study, [0], (5, 5))
    assert report(study).counted == 12


def test_an_instruction_counts_when_all_its_tasks_have_all_their_answers(study):
    answer(study, [0], (5, 5))
    last = Assignment.objects.filter(task__study=study).order_by("pk").last()
    Assignment.objects.filter(pk=last.pk).update(status="skipped")
    assert report(study).counted == 0


def test_it_may_stop_when_agreement_is_certain(study):
    answer(study, range(20), (5, 5))
    found = report(study)
    assert found.answer == "above"
    assert found.answered_at < 20
    sentence = stopping_sentence(found)
    assert sentence.startswith("You may stop labelling: with these raters, more than 0.50 of the pairs of raters agree")
    assert "30 instructions" in sentence


def test_it_may_stop_when_agreement_is_certainly_too_low(study):
    answer(study, range(20), (5, 9))
    assert report(study).answer == "below"


def test_it_may_not_stop_when_it_is_open(study):
    answer(study, range(0, 12, 2), (5, 5))
    answer(study, range(1, 12, 2), (5, 9))
    found = report(study)
    assert found.answer == ""
    assert stopping_sentence(found).startswith("Not yet: after 12 instructions it is open whether more or fewer")
    assert found.needed is not None
    assert 0 < found.needed.low <= found.needed.median <= 18
    assert found.such.not_stated == "few_instructions"
    assert len(found.steps) == 12


def test_what_is_incomplete_after_a_month_counts_as_the_worst(study):
    month = timezone.now() - timedelta(days=31)
    answer(study, range(20), (5, 5))
    sure = report(study)
    assert sure.answer == "above"
    # The first ten were begun a month ago and never completed.
    for turn in range(10):
        _instruction, tasks = study.stopping.instructions[turn]
        own = Assignment.objects.filter(task__in=tasks)
        own.update(created_at=month)
        own.filter(rater=study.raters.order_by("pk").first()).update(status="open", submitted_at=None, queue_place=None)
    found = report(study)
    assert (found.counted, found.missing) == (20, 10)
    assert found.answer == ""
    assert found.value == 1.0
    assert found.steps[9].low == 0.0
    assert found.steps[-1].low <= 10 / 30 + 0.01
    assert "counts as the worst" in " ".join(stopping_block(found).notes) or "count as the worst" in " ".join(
        stopping_block(found).notes
    )


def test_instructions_of_which_none_was_completed_have_no_figure(study):
    answer(study, range(3), (5, 5))
    month = timezone.now() - timedelta(days=31)
    Assignment.objects.filter(task__study=study).update(created_at=month)
    first = Assignment.objects.filter(rater=study.raters.order_by("pk").first())
    first.update(status="open", submitted_at=None, queue_place=None)
    found = report(study)
    assert (found.counted, found.missing) == (3, 3)
    block = stopping_block(found)
    assert block.figure == "" and block.caption == "" and len(block.table.rows) == 3


def test_what_is_incomplete_for_less_than_a_month_waits(study):
    answer(study, range(1, 6), (5, 5), at=timezone.now() - timedelta(days=29))
    found = report(study)
    assert found.counted == 0
    assert found.due
    Assignment.objects.filter(task__study=study).update(created_at=timezone.now() - timedelta(days=30, hours=1))
    answer(study, [6], (5, 5))
    assert report(study).counted == 7  # the first was never begun, but others after it were, a month ago


def test_of_more_answers_than_planned_the_first_count(study):
    answer(study, range(20), (5, 5))
    late = make_rater(study, label="late")
    for task in study.tasks.all():
        make_answer(task, late, {"overall": 9}, submitted_at=timezone.now() + timedelta(hours=1))
    found = report(study)
    assert found.value == 1.0
    assert found.raters == 2


def test_which_of_two_models_is_better(source, lead):
    models = list(LanguageModel.objects.order_by("pk").values_list("pk", flat=True))
    study = launched(draft_of(source, lead, question="better", models=models[::-1]))
    raters = [make_rater(study, label=name) for name in ("ann", "bob")]
    for task in study.tasks.select_related("answer_rubric", "response_a"):
        score = 8 if task.response_a.model_id == models[0] else 4
        for rater in raters:
            make_answer(task, rater, {"overall": score}, submitted_at=timezone.now())
    found = report(study)
    assert found.leading == ["model0"]
    assert found.value == pytest.approx(-0.4)
    assert found.compared == ["model1", "model0"]
    assert "model0 is better than model1" in stopping_sentence(found)
    assert found.such.low <= -0.4 <= found.such.high


def test_the_leader_and_the_weights(source, lead):
    study = launched(draft_of(source, lead, question="leader"))
    assert len(study.stopping.models_compared) == 2
    assert report(study).counted == 0
    assert stopping_sentence(report(study)) == "Not yet: after 0 instructions it is open which model leads."
    weights = launched(draft_of(source, lead, question="weights"))
    assert weights.stopping.criteria == ["item0", "item1", "item2", "overall"]
    raters = [make_rater(weights, label=name) for name in ("ann", "bob")]
    for place, task in enumerate(weights.tasks.select_related("answer_rubric")):
        for rater in raters:
            values = {"item0": (place % 5) / 4, "item1": (place // 3 % 5) / 4, "item2": 0.5}
            overall = min(10.0, round(1 + 9 * values["item0"]))
            make_answer(task, rater, {**values, "overall": overall}, submitted_at=timezone.now())
    found = report(weights)
    assert (found.counted, found.answer) == (30, "")
    assert found.value > 0
    assert stopping_sentence(found).startswith(
        "All instructions are labelled, and the question stated before launch is"
    )


@pytest.mark.parametrize(
    ("stopping", "words"),
    [
        ({"question": "top_three"}, "compares at least 4 models, and the study has 2"),
        ({"question": "better", "models": [10**6, 10**6 + 1]}, "instructions that all of them answered"),
    ],
)
def test_a_question_that_the_study_cannot_answer_refuses_the_launch(source, lead, stopping, words):
    study = launched(draft_of(source, lead, **stopping))
    assert study.status == "draft"
    assert words in Policies.of(study).refused
    assert not StoppingQuestion.objects.exists()


def test_agreement_needs_two_ratings(source, lead):
    study = draft_of(source, lead, **AGREEMENT)
    choose(study, overlap=1)
    study.save()
    assert "at least two" in Policies.of(launched(study)).refused


@pytest.mark.parametrize(
    "stopping",
    [
        {"question": "agreement"},
        {"question": "agreement", "threshold": 1.5},
        {"question": "best"},
        {"question": "leader", "error": 0.5},
        {"question": "better", "models": [1]},
        {"question": "better", "models": [1, 1]},
        "leader",
    ],
)
def test_a_stored_question_without_sense_is_named(source, lead, stopping):
    study = draft_of(source, lead)
    choose(study, stopping=stopping)
    with pytest.raises(BadPolicy, match="stopping"):
        Policies.of(study).checked("stopping")


def test_it_is_stated_in_the_setup(client, source, lead):
    study = draft_of(source, lead)
    client.force_login(lead)
    address = reverse("annotation:setup", args=[study]) + "?step=checks"
    assert "When to stop" in markup(client.get(address))
    sent = {"overlap": 2, "order": "spread", "hints": "hidden", "stop_question": "agreement"}
    refused = client.post(address, sent)
    assert refused.status_code == 422
    assert "Enter the share of agreeing pairs" in markup(refused)
    assert "Choose exactly two models" in markup(client.post(address, {**sent, "stop_question": "better"}))
    client.post(address, {**sent, "stop_threshold": 0.6, "stop_error": 1})
    study.refresh_from_db()
    assert Policies.of(study).stopping == StoppingRule("agreement", error=0.01, threshold=0.6)
    assert "at most 1 percent of studies" in markup(client.get(address))


def test_a_command_and_the_api_state_it(source, lead):
    wanted = WantedStudy(
        kind="checklist",
        benchmark=source.benchmark.slug,
        name="By name",
        stop="better",
        stop_models=("model0", "model1"),
    )
    made = make_study(workspace=source.workspace, wanted=wanted, by=lead)
    assert Policies.of(made.study).stopping.question == "better"
    with pytest.raises(UserError, match="stop_threshold above 0"):
        make_study(
            workspace=source.workspace,
            wanted=WantedStudy(kind="checklist", benchmark=source.benchmark.slug, name="No", stop="agreement"),
            by=lead,
        )


def test_the_command_and_the_dashboard_say_the_same(client, study, lead):
    answer(study, range(20), (5, 5))
    out = StringIO()
    call_command("report_stopping", study.slug, "--json", stdout=out)
    said = json.loads(out.getvalue())
    assert said["answer"] == "above"
    client.force_login(lead)
    page = markup(client.get(reverse("calibration:desk_figures", args=[study])))
    assert said["sentence"].replace("'", "&#x27;") in page or said["sentence"] in page
    files = client.get(reverse("calibration:desk_figures", args=[study]) + "?file=stopping.csv")
    assert files.status_code == 200
    with translation.override("zh-hans"):
        assert "可以停止标注" in stopping_sentence(report(study))


def test_a_study_without_a_question_says_nothing(client, source, lead):
    study = launched(draft_of(source, lead))
    client.force_login(lead)
    assert "May labelling stop?" not in markup(client.get(reverse("calibration:desk_figures", args=[study])))
    with pytest.raises(CommandError, match="no question"):
        call_command("report_stopping", study.slug)


def test_the_dashboard_takes_at_most_two_more_queries(client, study, lead):
    answer(study, range(3), (5, 5))
    client.force_login(lead)
    address = reverse("calibration:desk_figures", args=[study])
    client.get(address)
    with CaptureQueriesContext(connection) as with_question:
        client.get(address)
    reading = [query for query in with_question.captured_queries if "stopping" in query["sql"]]
    assert len(reading) <= 2
