"""Instruction checks of long outputs: completion, STIC-1, STIC-2 and their average, by hand."""

import csv
import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Assignment, Criterion, Rubric, Study
from annotation.rubrics.instruction_checks import check_fields
from annotation.studies.life_cycle import make_tasks
from generation.models import Benchmark, Category, Instruction, LanguageModel, Response
from judging.archive.export import export_study
from judging.archive.recompute import recompute
from judging.leaderboards.sections import completion_of
from judging.leaderboards.table import leaderboard
from tests.factories import make_answer, make_judge_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
CHECKS = {"single": [2], "range": [3, 4], "periodic": [1, 3]}


def diary(*weeks):
    return "\n\n".join(f"Week {n}: what happened in week {n}." for n in weeks) or "I kept no diary."


@pytest.fixture
def checked():
    """A diary of four weeks, five instructions in it. full has all weeks, half the first two, none has none."""
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="diaries")
    category = Category.objects.create(benchmark=benchmark, key="diary")
    rubric = Rubric.objects.create(workspace=workspace, key="diary", benchmark=benchmark)
    for position, (kind, numbers) in enumerate(CHECKS.items()):
        where = {"mark": "Week", "numbers": numbers, "kind": kind, "asked": 4}
        fields = check_fields(kind, {"en": f"Does it mention {kind}?"}, position, where)
        Criterion.objects.create(rubric=rubric, **fields)
    study = Study.objects.create(
        workspace=workspace, slug="diaries", kind="check", benchmark=benchmark, rubric=rubric, status="open"
    )
    instruction = Instruction.objects.create(benchmark=benchmark, external_id="d1", category=category)
    for name, weeks in (("full", (1, 2, 3, 4)), ("half", (1, 2)), ("none", ())):
        model = LanguageModel.objects.create(workspace=workspace, name=name)
        Response.objects.create(instruction=instruction, model=model, text=diary(*weeks), words=6 * len(weeks))
    make_tasks(study)
    judge = make_judge_rater(workspace)
    for task in study.tasks.select_related("response_a__model"):
        # Of full, the third week fulfils nothing; of half, all that is there does.
        number = task.part["number"]
        yes = task.response_a.model.name == "half" or number != 3
        make_answer(task, judge, {task.answer_rubric.criteria.get().key: float(yes)})
    return study, judge


def shares_of(found):
    return found.completion_rate, found.stic_1, found.stic_2, found.weighted_average


def test_by_hand(checked):
    study, judge = checked
    assert study.tasks.count() == 5 + 2
    board = leaderboard(study.benchmark, judge, "equal")
    assert board.metric.name == "fulfilled"
    # full: weeks 2, 4 and 1 of five. half: weeks 2 and 1; the three others are not there. none: nothing.
    assert {one.model: one.average for one in board.models} == {"full": 60.0, "half": 40.0, "none": 0.0}
    by_model = {name: [one for one in board.outputs if one.model == board.pks[name]] for name in board.pks}
    full, half = (completion_of(by_model[name]) for name in ("full", "half"))
    # completion rate, STIC-1, STIC-2, completion rate x STIC-2
    assert shares_of(full) == pytest.approx((100, 60, 60, 60))
    assert shares_of(half) == pytest.approx((50, 100, 40, 20))
    assert full.by_kind == {"single": 100.0, "range": 50.0, "periodic": 50.0}
    assert half.by_kind == {"single": 100.0, "range": 0.0, "periodic": 50.0}
    none = completion_of(by_model["none"])
    assert shares_of(none) == (0.0, None, 0.0, 0.0)


def test_an_unusable_verdict_is_in_no_count(checked):
    study, judge = checked
    task = study.tasks.get(response_a__model__name="full", part__number=2)
    Assignment.objects.filter(task=task).update(status="unscored", reason="prose")
    board = leaderboard(study.benchmark, judge, "equal")
    found = {one.model: (one.average, sum(one.unscored.values())) for one in board.models}
    assert found["full"] == (50.0, 1)


def more(study, name, text, model="full"):
    """Another instruction of the same benchmark with one output."""
    instruction = Instruction.objects.create(
        benchmark=study.benchmark, external_id=name, category=Category.objects.get()
    )
    writer = LanguageModel.objects.get(name=model)
    return Response.objects.create(instruction=instruction, model=writer, text=text, words=1)


def test_an_instruction_that_no_output_answers_counts_as_unfulfilled_and_is_reported(client, checked, capsys):
    study, judge = checked
    before = {one.model: one.average for one in leaderboard(study.benchmark, judge, "equal").models}
    more(study, "d2", "I kept no diary.")
    board = leaderboard(study.benchmark, judge, "equal")
    # 3 of full's 5 were fulfilled; the five of d2, of which nothing stands anywhere, are asked for too: 3 of 10.
    assert {one.model: one.average for one in board.models} == {**before, "full": 30.0}
    assert [one.checkable for one in board.outputs if one.counts.asked].count(False) == 1
    full = completion_of([one for one in board.outputs if one.model == board.pks["full"]])
    # Of 4 + 4 weeks 4 are there.
    assert shares_of(full) == pytest.approx((50, 60, 30, 15))
    client.force_login(make_user("lead"))
    html = markup(client.get(reverse("judging:leaderboard", args=[study.benchmark])))
    said = "1 instruction counts as fulfilled by no model: the parts to check are missing from every output"
    assert said in html
    call_command("leaderboard", study.benchmark.slug, judge=judge.label)
    assert said in " ".join(capsys.readouterr().out.split())


def test_without_a_rubric_or_a_task_an_output_is_in_no_count_and_is_reported(client, checked):
    study, judge = checked
    before = scores_of(study, judge)
    # Its parts stand there, but it came after the tasks were made: nobody was asked about it.
    more(study, "d2", diary(1, 2, 3, 4))
    assert scores_of(study, judge) == before
    board = leaderboard(study.benchmark, judge, "equal")
    assert (board.uncounted.unplanned, board.uncounted.unasked) == (1, 0)
    # Without the study's rubric nothing says what was asked for; the instructions that have tasks keep theirs.
    Study.objects.filter(pk=study.pk).update(rubric=None)
    Rubric.objects.filter(key="diary").update(benchmark=None)
    assert scores_of(study, judge) == before
    board = leaderboard(study.benchmark, judge, "equal")
    assert (board.uncounted.unplanned, board.uncounted.unasked) == (0, 1)
    client.force_login(make_user("lead"))
    html = markup(client.get(reverse("judging:leaderboard", args=[study.benchmark])))
    assert "1 instruction is not counted: none of its outputs were checked, and no rubric" in html
    # As soon as the rubric is back, making the tasks is what is left to do.
    Study.objects.filter(pk=study.pk).update(rubric=Rubric.objects.get(key="diary"))
    study.refresh_from_db()
    make_tasks(study)
    assert leaderboard(study.benchmark, judge, "equal").uncounted.unplanned == 0


def scores_of(study, judge):
    return {one.model: one.average for one in leaderboard(study.benchmark, judge, "equal").models}


def test_the_page_shows_completion_beside_the_score(client, checked):
    study, _judge = checked
    client.force_login(make_user("lead"))
    address = reverse("judging:leaderboard", args=[study.benchmark])
    html = markup(client.get(address))
    assert "No model clearly leads: full is first, STIC-2 60.0" in html
    assert "Completion and instructions" in html
    answer = client.get(address, {"file": "completion.csv"})
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [(row["Model"], float(row["Completion rate"]), float(row["Weighted average"])) for row in rows] == [
        ("full", 100.0, pytest.approx(60.0)),
        ("half", 50.0, pytest.approx(20.0)),
        ("none", 0.0, 0.0),
    ]
    assert rows[0]["Words of these outputs"] == "24.0"


@pytest.mark.parametrize("chosen", [True, False])
def test_an_export_gives_the_board_again_also_of_outputs_that_nobody_could_be_asked_about(checked, tmp_path, chosen):
    """They have no task, nor has an instruction of which no output has a part; a late output is in no count."""
    study, judge = checked
    more(study, "d2", "I kept no diary.")
    more(study, "d3", diary(1, 2, 3, 4))
    if not chosen:
        Study.objects.filter(pk=study.pk).update(rubric=None)
    others = Study.objects.create(workspace=study.workspace, slug="others", benchmark=study.benchmark)
    Rubric.objects.filter(key="diary").update(version=2)
    own = Rubric.objects.create(
        workspace=study.workspace, key="own", benchmark=study.benchmark, study=others, version=3
    )
    Criterion.objects.create(rubric=own, **check_fields("whole", {"en": "Is it good?"}, 0, None))
    assert scores_of(study, judge) == {"full": 30.0, "half": 40.0, "none": 0.0}
    export_study(study, tmp_path / "export.zip")
    found = recompute(tmp_path / "export.zip")
    assert [one.kind for one in found.results] == ["leaderboard"]
    assert [one.differences for one in found.results] == [()]
