"""LLMEval's files in the database: repeats, kinds of raters, a rubric by question, and the paper's tables."""

import pytest
from django.core.management import call_command

from annotation.models import Assignment, Cohort, Rater, Rubric, Score, Study, Task
from annotation.rubrics.library import RubricsOf
from calibration.data.frames import ABOUT_RESPONSES
from calibration.data.scores import score_frame
from calibration.reports.raters import _compute, rater_settings
from generation.models import Benchmark, Instruction, Response
from judging.models import JudgeRun
from judging.published.paper_table import Status
from judging.published.papers.llmeval import TABLES
from judging.published.papers.llmeval_data import places, plain, printed_names
from judging.published.tables import published_tables
from judging.studies.benchmarks import NearestRubrics, choice_in_words
from tests.judging.loading import load_benchmark, loaded_benchmark
from tests.llmeval_files import write_llmeval1, write_llmeval2

pytestmark = pytest.mark.django_db


def cells(slug, number, workspace):
    table = next(one for one in TABLES if (one.benchmark, one.number) == (slug, number))
    return {(cell.row, cell.column): cell for cell in table.compute(workspace)}


@pytest.fixture
def first(tmp_path):
    counts = load_benchmark("llmeval1", write_llmeval1(tmp_path / "first"))
    return Benchmark.objects.get(slug="llmeval1"), counts


@pytest.fixture
def second(tmp_path):
    return loaded_benchmark("llmeval2", write_llmeval2(tmp_path / "second"))


def test_the_first_stage_keeps_repeats_kinds_and_one_response_for_all_tables(first):
    benchmark, counts = first
    ratings = counts["ratings"]
    # GPT-4's 35, of which 5 repeat; people's 90; and 60 after denoising.
    assert (ratings["created"], ratings["repeated"]) == (35 + 90 + 60, 5)
    assert Response.objects.filter(instruction__benchmark=benchmark).count() == 6
    again = Assignment.objects.get(repeat=1, task__study__slug="llmeval1-stars")
    assert dict(again.scores.values_list("criterion__key", "value"))["accuracy"] == 3
    raters = Rater.objects.filter(study__slug="llmeval1-stars").values_list("label", "cohort__kind")
    assert sorted(raters) == [("0-7", "onsite"), ("0-8", "onsite"), ("0-9", "onsite")]
    assert set(Cohort.objects.filter(study__slug="llmeval1-pairs").values_list("kind", flat=True)) == {"crowd"}
    assert not Cohort.objects.filter(revoked_at=None).exists()

    _hash, report = _compute(Study.objects.get(slug="llmeval1-stars"), rater_settings())
    assert report.kinds == {"onsite": 3}
    assert {(group.by, group.group) for group in report.accuracy.groups} >= {("kind", "onsite"), ("cohort", "onsite")}

    everybody = score_frame(kinds=ABOUT_RESPONSES, benchmark=benchmark, judges=False)
    answers = Study.objects.get(slug="llmeval1-stars").tasks.filter(assignments__rater__kind="person").count()
    pairs = 3  # the fourth choice repeats the second one with the sides swapped
    assert len(set(everybody.assignment.tolist())) == answers + pairs


def test_loading_again_changes_nothing(first, tmp_path):
    before = Score.objects.count(), Rater.objects.count(), Response.objects.count(), Cohort.objects.count()
    counts = load_benchmark("llmeval1", tmp_path / "first")
    assert not any(one["created"] for one in counts.values() if isinstance(one, dict) and "created" in one)
    assert (Score.objects.count(), Rater.objects.count(), Response.objects.count(), Cohort.objects.count()) == before


def test_stars_and_points_follow_by_hand(first):
    workspace = first[0].workspace
    found = cells("llmeval1", "6", workspace)
    # NewBing by GPT-4: fluency, logicality... of (3, 1, 1, 3, 3) twice and (3, 3, 3, 3, 3) once: accuracy 5/3.
    assert found["NewBing", "accuracy, GPT-4"].recomputed == pytest.approx(5 / 3)
    assert found["NewBing", "score, GPT-4"].recomputed == pytest.approx((3 + 5 / 3 + 5 / 3 + 3 + 3) / 5)
    assert found["NewBing", "accuracy, GPT-4"].status == Status.DIFFERS
    assert found["NewBing", "accuracy, GPT-4"].reason == "Ours rests on 2 of 453 questions."
    assert found["NewBing", "score, manual"].recomputed == pytest.approx((13 + 13 + 5 + 13 + 13 + 12) / 30)
    assert found["GPT4.0", "fluency, GPT-4"].status == Status.EQUAL
    rank = found["GPT4.0", "rank, GPT-4"]
    assert (rank.status, rank.reason) == (Status.NOT_COMPUTABLE, "Ranks need scores of all 12 models.")
    assert found["GPT3.5", "score, GPT-4"].status == Status.NOT_COMPUTABLE
    judge = Rater.objects.get(kind=Rater.Kind.JUDGE).name
    rests_on = {
        (place[1].endswith("GPT-4"), cell.judges) for place, cell in found.items() if cell.recomputed is not None
    }
    assert rests_on == {(True, (judge,)), (False, ())}

    # GPT-4 in pairs: wins against moss, both bad with NewBing; moss loses, ties and wins.
    pairs = cells("llmeval1", "7", workspace)
    assert pairs["GPT4.0", "score, GPT-4"].recomputed == pytest.approx(0.75)
    assert pairs["MOSS-16B", "score, manual"].recomputed == pytest.approx(0.5)

    # Replies have 50, 250 and 450 characters. The longer one lost to GPT-4 and to moss and tied twice, once by 400.
    bias = cells("llmeval1", "3", workspace)
    assert bias["GPT-4, loss", "≥ 100"].recomputed == 2
    assert bias["GPT-4, draw", "≥ 100 %"].recomputed == pytest.approx(50)
    assert bias["GPT-4, draw", "≥ 300"].recomputed == 1
    assert bias["manual, loss", "≥ 300 %"].recomputed == 0
    assert {cell.status for cell in cells("llmeval1", "2", workspace).values()} == {Status.NOT_COMPUTABLE}


def test_a_question_has_its_own_rubric_in_one_study_and_one_judge_run(second):
    stars = Study.objects.get(slug="llmeval2-stars")
    by_rubric = stars.tasks.values_list("response_a__instruction__external_id", "answer_rubric__key")
    assert set(by_rubric) == {
        ("Law_1", "llmeval2-objective"),
        ("Law_2", "llmeval2-subjective"),
        ("Chinese_Language_and_Literature_1", "llmeval2-objective"),
        ("Chinese_Language_and_Literature_2", "llmeval2-subjective"),
    }
    assert set(Rater.objects.filter(study=stars).values_list("kind", "label")) == {("slot", "human")}
    several, nearest = RubricsOf(second), NearestRubrics(second)
    for row in Instruction.objects.filter(benchmark=second):
        wanted = f"llmeval2-{'objective' if row.external_id.endswith('1') else 'subjective'}"
        assert several.nearest(row.pk, row.category_id).key == wanted
        assert nearest.of(row.pk, row.category_id).key == wanted
        assert Rubric.objects.nearest_to(row).key == wanted
    assert choice_in_words(second) == ""
    Instruction.objects.filter(benchmark=second, external_id="Law_1").update(rubric="subjective")
    row = Instruction.objects.get(benchmark=second, external_id="Law_1")
    assert Rubric.objects.nearest_to(row).key == RubricsOf(second).nearest(row.pk, None).key == "llmeval2-subjective"
    Instruction.objects.filter(benchmark=second).update(rubric="")
    assert "Several rubrics fit" in choice_in_words(second)


def test_the_second_stages_tables_follow_by_hand(second):
    workspace = second.workspace
    # By people, 360: objective 1 of 3 and 1 of 2; subjective 3, 3, 2, 2 of 5, 3, 3, 3: 12 of 19 in each subject.
    totals = cells("llmeval2", "8", workspace)
    assert totals["360", "score, manual"].recomputed == pytest.approx(100 * 12 / 19)
    assert cells("llmeval2", "9", workspace)["360", "correctness, GPT-4"].recomputed == 3
    assert cells("llmeval2", "10", workspace)["GPT4.0", "logicality, manual"].recomputed == 2
    # Logicality differs by 1 star, nothing else does; correctness of 360 by 2.
    assert cells("llmeval2", "4", workspace)["Δ logicality ≥ 2", "%"].recomputed == 0
    found = cells("llmeval2", "5", workspace)["Δ correctness ≥ 3", "%"]
    assert (found.status, found.recomputed) == (Status.MISPRINT, 0)
    assert "2 or more apart on 50.00 percent" in found.reason
    found = cells("llmeval2", "9", workspace)
    assert found["360", "correctness, manual"].reason == (
        "Questions with this criterion that are answered here: 2; questions of the paper, objective and subjective: 480."
    )
    assert found["Claude", "correctness, GPT-4"].reason == "No answer by GPT-4 about this model is stored."
    assert found["Claude", "correctness, manual"].reason == "No person's answer about this model is stored."


def test_nothing_loaded_says_what_to_load(db):
    from tests.factories import make_workspace

    workspace = make_workspace()
    for table in TABLES:
        found = table.compute(workspace)
        assert found, table.number
        assert {cell.status for cell in found} == {Status.NOT_COMPUTABLE}, table.number
        assert all("pload " in cell.reason for cell in found), table.number
    sizes = {table.number: len(table.compute(workspace)) for table in TABLES}
    assert sizes == {"2": 8, "3": 24, "4": 5, "5": 2, "6": 168, "7": 48, "8": 80, "9": 80, "10": 160}


def test_the_printed_figures_agree_with_each_other():
    """Overall stars are the mean of the criteria, ranks follow from scores, and table 2 from the ranks."""
    from scipy.stats import kendalltau, spearmanr

    first = published_tables("llmeval1")
    six, seven = first["table_6"], first["table_7"]
    for name, (judge, _rank, people, _other) in six["rows"].items():
        for side, overall in (("judge", judge), ("people", people)):
            assert sum(six["criteria"][side][name]) / 5 == pytest.approx(overall, abs=0.0011), name
    ranks = {}
    for key, table in (("stars", six), ("pairs", seven), ("totals", published_tables("llmeval2")["table_8"])):
        for side, at in (("judge", 0), ("people", 2)):
            found = places({name: row[at] for name, row in table["rows"].items()}, table["digits"])
            assert found == {name: row[at + 1] for name, row in table["rows"].items()}
            ranks[key, side] = [found[name] for name in table["rows"]] if key == "totals" else found
    settings = [("stars", "people", "pairs", "people"), ("stars", "judge", "pairs", "judge")]
    settings += [("stars", "people", "stars", "judge"), ("pairs", "people", "pairs", "judge")]
    for (one, by, other, against), printed in zip(settings, first["table_2"]["lines"].values(), strict=True):
        sides = [[ranks[one, by][name] for name in six["rows"]], [ranks[other, against][name] for name in six["rows"]]]
        for statistic, figure in zip((spearmanr, kendalltau), printed, strict=True):
            assert 0 <= statistic(*sides)[0] - figure < 0.001  # cut off after three decimals, not rounded


def test_names_are_matched_by_letters_digits_and_known_other_names():
    published = published_tables("llmeval1")
    rows = published["table_6"]["rows"]
    models = {1: "GPT-4", 2: "gpt-3.5-turbo", 3: "moss", 4: "MOSS_16B", 5: "讯飞星火", 6: "mine"}
    assert printed_names(published, rows, models) == {1: "GPT4.0", 2: "GPT3.5", 4: "MOSS-16B", 5: "Xunfei-xinghuo"}
    for slug in ("llmeval1", "llmeval2"):
        aliases = published_tables(slug)["aliases"]
        owners = {plain(name): owner for owner, names in aliases.items() for name in names}
        assert all(owners[plain(name)] == owner for owner, names in aliases.items() for name in names)
    assert plain("ChatYuan-Large") == "chatyuanlarge"


def test_task_of_a_pair_is_about_the_responses_that_stars_rate(first):
    responses = set(Task.objects.filter(study__slug="llmeval1-pairs").values_list("response_a", flat=True))
    assert responses <= set(Task.objects.filter(study__slug="llmeval1-stars").values_list("response_a", flat=True))


def test_one_judge_run_answers_objective_and_subjective_questions(second, tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"seed": 3, "quality": 0.9}', encoding="utf-8")
    call_command("add_model", "actor", script=str(script))
    call_command("judge", "llmeval2", model="actor", method="stars", no_canaries=True)
    run = JudgeRun.objects.get()
    assert run.items.filter(status="scored").count() == 8
    asked = set(run.items.values_list("task__response_a__instruction__rubric", "task__answer_rubric__key"))
    assert asked == {("llmeval2-objective",) * 2, ("llmeval2-subjective",) * 2}
