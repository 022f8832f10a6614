"""A study of long texts from the first task to people's agreement with the judge, with small tasks of our own."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.models import Rater, Rubric, Study, Task
from annotation.studies.life_cycle import make_tasks
from generation.llm.scripted import ScriptedChat
from generation.models import Benchmark, Endpoint, Instruction, LanguageModel, Response
from judging.comparison.drawn_checks import check_agreement, make_check_study
from judging.judges.making import create_judge
from judging.leaderboards.table import leaderboard
from judging.models import JudgeRun
from judging.published.ranking_comparison import RankedScores, compare_rankings, ranked_scores
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from judging.web.leaderboards.ranking_blocks import notes_of
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db
SLUG = "longgenbench-own"


def said(*words, **options):
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def judged():
    """One diary of 52 weeks by two models: one writes all weeks, one the first half; every even week is fulfilled."""
    workspace = make_workspace()
    said("make_longgenbench", "--each", "1", "--seed", "3", "--scenario", "diary", "--length", "short")
    benchmark = Benchmark.objects.get(slug=SLUG)
    instruction = Instruction.objects.get(benchmark=benchmark)
    endpoint = Endpoint.objects.create(workspace=workspace, name="script", kind="scripted")
    for name, weeks in (("whole", 52), ("half", 26)):
        text = "\n".join(f"#*# Week {n}: I wrote." for n in range(2, weeks + 1))
        script = {"replies": {f"{instruction.external_id}/{name}": f" I wrote.\n{text}\n*** finished ***"}}
        LanguageModel.objects.create(workspace=workspace, name=name, endpoint=endpoint, parameters={"script": script})
    said("generate", SLUG, "--model", "whole", "--model", "half", "--tag", "short")
    study = Study.objects.create(
        workspace=workspace, slug="diaries", kind="check", benchmark=benchmark, names={"en": "Diaries"}, status="open"
    )
    make_tasks(study)
    model = LanguageModel.objects.create(workspace=workspace, name="Judgematic", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model, method="instruction_check"), study=study, canaries=False)
    start_run(run, clock=timezone.now)
    return study, work_on(run, chat_for=lambda _model: ScriptedChat(_even_weeks))


def _even_weeks(request):
    part = request.messages[-1]["content"]
    number = int(part.split("Week ")[1].split(":")[0])
    key = next(iter(request.schema["properties"]))
    return json.dumps({key: {"reason": "Looked.", "fulfilled": "no" if number % 2 else "yes"}})


def asked(numbers_until):
    """By hand from the check set: all instructions, those in the first parts, and those of them in even parts."""
    checks = Rubric.objects.get(instruction__benchmark__slug=SLUG).criteria.all()
    numbers = [number for check in checks for number in check.subtasks["numbers"]]
    there = [number for number in numbers if number <= numbers_until]
    return len(numbers), len(there), sum(number % 2 == 0 for number in there)


def test_tasks_are_made_once(judged):
    assert said("make_longgenbench", "--each", "1", "--seed", "3", "--scenario", "diary", "--length", "short") == (
        f"Benchmark {SLUG}: instructions: 1 already there; rubrics of checks: 1 already there.\n"
    )
    instruction = Instruction.objects.get(benchmark__slug=SLUG)
    assert (instruction.category.key, instruction.category.parent.key) == ("diary_short", "diary")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--benchmark", "longgenbench"], "begins with longgenbench-"),
        (["--benchmark", "diaries"], "begins with longgenbench-"),
        (["--each", "0"], "--each 0 is not a number of tasks"),
        (["--scenario", "opera"], "no scenario 'opera'; there are: diary"),
        (["--lists", "nowhere.json"], "cannot be read as JSON"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(words, why):
    make_workspace()
    with pytest.raises(CommandError, match=why):
        said("make_longgenbench", *words)
    assert not Benchmark.objects.exists()


def test_the_given_first_line_is_week_one(judged):
    texts = Response.objects.filter(model__name__in=("whole", "half")).values_list("text", flat=True)
    assert all(text.startswith("#*# Week 1: I wrote.\n#*# Week 2:") for text in texts)


def test_shares_by_version_kind_and_position_by_hand(judged):
    _study, run = judged
    rows = json.loads(said("completion", SLUG, "--judge", run.judge.rater.label, "--json"))["rows"]
    found = {(row["version"], row["model"]): row for row in rows}
    assert set(found) == {(version, model) for version in ("all", "short") for model in ("whole", "half")}
    for model, weeks in (("whole", 52), ("half", 26)):
        everything, there, even = asked(weeks)
        row = found["short", model]
        assert row["completion_rate"] == pytest.approx(100 * weeks / 52)
        assert row["stic_1"] == pytest.approx(100 * even / there)
        assert row["stic_2"] == pytest.approx(100 * even / everything)
        assert row["weighted_average"] == pytest.approx(weeks / 52 * 100 * even / everything)
    checks = Rubric.objects.get(instruction__benchmark__slug=SLUG).criteria.all()
    for kind in ("single", "range", "periodic"):
        numbers = [n for check in checks if check.subtasks["kind"] == kind for n in check.subtasks["numbers"]]
        share = 100 * sum(n % 2 == 0 for n in numbers) / len(numbers)
        assert found["all", "whole"]["by_kind"][kind] == pytest.approx(share)
    # The second half of the requested weeks is not there.
    assert {share for place, share in found["short", "half"]["by_position"].items() if int(place) >= 5} == {0.0}
    words = said("completion", SLUG, "--judge", run.judge.rater.label, "--tag", "short")
    assert "short: whole: completion rate 100.0" in words
    assert "STIC-2 by position: 2/10" in words
    with pytest.raises(CommandError, match="no verdicts for this selection"):
        said("completion", SLUG, "--judge", run.judge.rater.label, "--tag", "long")


def test_the_page_shows_positions_and_a_version_is_a_filter(client, judged):
    client.force_login(make_user("lead"))
    benchmark = Benchmark.objects.get(slug=SLUG)
    page = markup(client.get(reverse("judging:leaderboard", args=[benchmark]), {"tag": "short"}))
    assert "Instructions fulfilled by position in the text" in page
    assert "10 of 10" in page


def test_drawn_checks_go_to_people_without_the_verdict_and_agreement_is_reported(client, judged):
    study, run = judged
    before = leaderboard(study.benchmark, run.judge.rater, "equal", beside_people=True)
    words = said("draw_checks", run.public_id, "--sample", "6", "--seed", "2")
    drawn = Study.objects.get(kind="check", source__contains=run.public_id)
    assert f"Study {drawn.slug} is open: 6 checks of run {run.public_id}, each asked of 1 person. Its page: " in words
    assert set(drawn.tasks.values_list("key", flat=True)) <= set(study.tasks.values_list("key", flat=True))
    again = make_check_study(run, sample=6, seed=2, by=None)
    assert set(again.tasks.values_list("key", flat=True)) == set(drawn.tasks.values_list("key", flat=True))
    other = make_check_study(run, sample=6, seed=3, by=None)
    assert set(other.tasks.values_list("key", flat=True)) != set(drawn.tasks.values_list("key", flat=True))
    with pytest.raises(CommandError, match="Nobody has answered the checks"):
        said("draw_checks", drawn.slug, "--report")

    client.force_login(make_user("rater"))
    client.post(reverse("annotation:start", args=[drawn]))
    shown = markup(client.get(reverse("annotation:start", args=[drawn]), follow=True))
    assert "Judgematic" not in shown

    person = make_rater(drawn, label="person")
    tasks = list(drawn.tasks.order_by("pk"))
    for place, task in enumerate(tasks[:5]):
        judge_says = task.part["number"] % 2 == 0
        make_answer(task, person, {task.answer_rubric.criteria.get().key: float(judge_says != (place == 0))})
    found = check_agreement(drawn)
    # Of five answers, the first differs.
    assert (found.agreement["all"].hits, found.agreement["all"].n) == (4, 5)
    assert (found.drawn, found.waiting, found.even, found.people) == (6, 1, 0, 1)
    table = found.tables["all"]
    assert table.both + table.neither == 4
    assert table.judge_only + table.people_only == 1
    assert sum(found.agreement[kind].n for kind in found.agreement if kind != "all") == 5
    report = said("draw_checks", drawn.slug, "--report")
    assert "5 of 6 checks answered by 1 person; judge Judgematic" in report
    assert "all: agreement 80.0 %" in report
    assert json.loads(said("draw_checks", drawn.slug, "--report", "--json"))["agreement"]["all"]["hits"] == 4

    # Five checks say nothing of how much of the texts is fulfilled: the board stays as it is.
    after = leaderboard(study.benchmark, run.judge.rater, "equal", beside_people=True)
    assert after.as_json() == before.as_json()
    assert after.people is None
    assert after.corrected == {}


def test_a_benchmarks_checks_are_judged_without_a_study_of_ones_own(judged):
    """The scripted judge draws its answers; what matters is what it is asked, once, and again for new responses."""
    before, _run = judged
    words = said("judge", SLUG, "--model", "Judgematic", "--method", "instruction_check", "--no-canaries")
    study = Study.objects.get(slug=f"{SLUG}-checks")
    assert set(study.tasks.values_list("key", flat=True)) == set(before.tasks.values_list("key", flat=True))
    assert f"{study.tasks.count()} of {study.tasks.count()} scored, 0 unscored" in words
    instruction = Instruction.objects.get(benchmark__slug=SLUG)
    third = LanguageModel.objects.create(workspace=study.workspace, name="third")
    Response.objects.create(
        instruction=instruction, model=third, text="\n".join(f"Week {n}: x" for n in range(1, 53)), words=104
    )
    n = study.tasks.count()
    said("judge", SLUG, "--model", "Judgematic", "--method", "instruction_check", "--no-canaries")
    assert study.tasks.count() == n + asked(52)[0]


def test_without_checks_or_parts_there_is_nothing_to_judge():
    study = make_checklist_study(instructions=1, models=1, slug="essays")
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    LanguageModel.objects.create(workspace=study.workspace, name="j", endpoint=endpoint)
    slug = study.benchmark.slug
    Study.objects.filter(pk=study.pk).update(slug="other-than-the-benchmark")
    with pytest.raises(CommandError, match="No response of benchmark essays-benchmark has a part"):
        said("judge", slug, "--model", "j", "--method", "instruction_check")
    assert not Study.objects.filter(kind="check").exists()


def test_what_is_no_run_of_checks_or_no_drawn_study_is_refused(judged):
    study, _run = judged
    with pytest.raises(CommandError, match="There is no run 'nothing'"):
        said("draw_checks", "nothing")
    with pytest.raises(CommandError, match="was not drawn from a judge's checks"):
        said("draw_checks", study.slug, "--report")
    checklist = make_checklist_study(instructions=1, models=1, slug="other")
    model = LanguageModel.objects.get(name="Judgematic")
    run: JudgeRun = plan_run(judge=create_judge(model=model, name="j2"), study=checklist)
    with pytest.raises(CommandError, match="has no instruction checks"):
        said("draw_checks", run.public_id)
    assert not Task.objects.filter(study__source__contains="Checks of run").exists()


def test_a_lead_draws_checks_on_the_runs_page_and_sees_the_agreement(client, judged):
    _study, run = judged
    client.force_login(make_user("lead"))
    page = reverse("judging:run", args=[run.public_id])
    assert "Have checks answered by people" in markup(client.get(page))
    place = reverse("judging:draw_checks", args=[run.public_id])
    refused = client.post(place, {"sample": 0, "raters": 1}, follow=True)
    assert "Enter the number of checks and the number of raters" in markup(refused)
    answer = client.post(place, {"sample": 4, "raters": 2})
    drawn = Study.objects.get(source__startswith=f"Checks of run {run.public_id},")
    assert answer["Location"] == reverse("annotation:desk", args=[drawn])
    assert (drawn.status, drawn.tasks.count()) == ("open", 4)
    assert "nobody has answered yet" in markup(client.get(page))
    person = make_rater(drawn, label="person")
    for task in drawn.tasks.all():
        make_answer(task, person, {task.answer_rubric.criteria.get().key: float(task.part["number"] % 2 == 0)})
    shown = " ".join(markup(client.get(page)).split())
    assert "agreement of people and judge 1.00" in shown
    client.force_login(make_user("analyst"))
    assert client.post(place, {"sample": 4, "raters": 1}).status_code == 403
    assert "Draw the checks" not in markup(client.get(page))
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.post(place, {"sample": 4, "raters": 1}).status_code == 404


def test_a_run_without_instruction_checks_has_none_to_draw(client):
    study = make_checklist_study(instructions=1, models=1, slug="other")
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="j", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    client.force_login(make_user("lead"))
    place = reverse("judging:draw_checks", args=[run.public_id])
    page = client.post(place, {"sample": 4, "raters": 1}, follow=True)
    assert "This run has no instruction checks with a verdict yet" in markup(page)
    assert "Have checks answered by people" not in markup(page)


def test_checks_are_drawn_and_read_with_their_agreement_over_the_api(client, judged):
    _study, run = judged
    client.force_login(make_user("lead"))
    path = reverse("api:drawn_checks", args=[run.public_id])
    made = client.post(path, {"sample": 4, "raters": 2}, "application/json")
    drawn = Study.objects.get(kind="check", source__contains=run.public_id)
    assert (made.status_code, made.json()["slug"], made.json()["agreement"]) == (201, drawn.slug, None)
    assert (made.json()["status"], drawn.tasks.count()) == ("open", 4)
    task = drawn.tasks.order_by("pk")[0]
    says = float(task.part["number"] % 2 == 0)
    make_answer(task, make_rater(drawn, label="person"), {task.answer_rubric.criteria.get().key: says})
    (read,) = client.get(path).json()
    assert (read["agreement"]["hits"], read["agreement"]["n"]) == (1, 1)


def test_figures_of_a_scripted_judge_are_labelled(judged):
    study, run = judged
    label = run.judge.rater.label
    Rater.objects.filter(pk=run.judge.rater_id).update(provenance=Rater.Provenance.REAL)
    assert not any("scripted" in said("completion", SLUG, "--judge", label, *form) for form in ([], ["--json"]))
    Rater.objects.filter(pk=run.judge.rater_id).update(provenance=Rater.Provenance.SCRIPTED)
    sentence = f"{label} is a scripted judge; its verdicts are drawn and say nothing about the models."
    assert said("completion", SLUG, "--judge", label).splitlines()[-1] == sentence
    assert json.loads(said("completion", SLUG, "--judge", label, "--json"))["scripted_judges"] == [label]
    drawn = make_check_study(run, sample=4, seed=2, by=None)
    task = drawn.tasks.order_by("pk")[0]
    make_answer(task, make_rater(drawn, label="person"), {task.answer_rubric.criteria.get().key: 1.0})
    assert sentence in said("draw_checks", drawn.slug, "--report")
    assert json.loads(said("draw_checks", drawn.slug, "--report", "--json"))["judge_scripted"]
    scores = ranked_scores(leaderboard(study.benchmark, Rater.objects.get(pk=run.judge.rater_id), "equal"), "ours")
    assert scores.scripted_judge == label
    found = compare_rankings(
        RankedScores("a", {"x": 1, "y": 2, "z": 3}, scripted_judge=label), RankedScores("b", {"x": 3, "y": 2, "z": 1})
    )
    assert found.scripted_judges == (label,) and notes_of(found)[-1].endswith(f"whose verdicts are drawn: {label}.")
