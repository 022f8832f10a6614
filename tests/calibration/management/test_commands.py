"""fit_weights and report_agreement, on made-up studies and on published data read through load_table."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Score, Study
from calibration.models import Fit, Report
from generation.models import Category
from tests.calibration.answered_studies import answer_study, answered_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_workspace, remove

pytestmark = pytest.mark.django_db


def run(*words, **options):
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def result_of(*words):
    return json.loads(run(*words, "--json"))


def columns(**names):
    return [part for name, column in names.items() for part in ("--column", f"{name}={column}")]


# --- published data -----------------------------------------------------------------------------------------


def load_recipes(shared_data, *more):
    run(
        "load_table",
        "ratings",
        str(shared_data("recipes.csv.gz")),
        "--study",
        "recipes",
        "--overall",
        "overall",
        "--scale",
        "*=1:6",
        *columns(
            item="item_id",
            rater="annotator",
            criterion="criterion",
            value="score",
            model="system",
            order="order",
            seconds="time_s",
        ),
        *more,
    )


def test_recipes_give_their_known_weights_and_agreement(shared_data):
    load_recipes(shared_data)
    fit = result_of("fit_weights", "recipes")["categories"]
    assert [one["category"] for one in fit] == ["all"]
    weights = dict(zip(fit[0]["items"], fit[0]["weights"], strict=True))
    assert weights == pytest.approx(
        {"grammar": 5.43, "fluency": 41.10, "verbosity": 6.29, "structure": 11.45, "success": 35.73}, abs=0.005
    )
    raw = dict(zip(fit[0]["items"], fit[0]["raw_weights"], strict=True))
    assert raw == pytest.approx(
        {"grammar": 0.5, "fluency": 3.7826, "verbosity": 0.5789, "structure": 1.0537, "success": 3.2890}, abs=1e-4
    )
    assert fit[0]["n"] == 1056
    assert fit[0]["r2"] == pytest.approx(0.8507, abs=1e-4)
    assert fit[0]["r2_ols"] == pytest.approx(0.8617, abs=1e-4)
    assert fit[0]["at_floor"] == ["grammar"]
    assert fit[0]["r2_equal_weights"] < fit[0]["r2"]
    assert fit[0]["r2_leave_one_instruction_out"] < fit[0]["r2"]
    agreement = result_of("report_agreement", "recipes")
    assert agreement["criterion"] == "overall"
    alpha = {"nominal": 0.115837, "ordinal": 0.435101, "interval": 0.463744}
    assert agreement["alpha"] == pytest.approx(alpha, abs=1e-6)
    assert agreement["loo"] == pytest.approx(0.328106, abs=1e-6)
    assert (agreement["n_tasks"], agreement["n_labels"], agreement["judges"]) == (52, 1056, {})


def test_recipes_without_their_attention_fillers(shared_data):
    load_recipes(shared_data, "--where", "filler=0")
    fit = result_of("fit_weights", "recipes")["categories"][0]
    weights = dict(zip(fit["items"], fit["weights"], strict=True))
    assert weights == pytest.approx(
        {"grammar": 5.39, "fluency": 38.05, "verbosity": 10.96, "structure": 9.57, "success": 36.02}, abs=0.005
    )
    assert (fit["n"], round(fit["r2"], 4)) == (880, 0.8530)


def test_pandalm_people_and_judges(shared_data):
    run(
        "load_table",
        "preferences",
        str(shared_data("pandalm_wide.csv")),
        "--study",
        "pandalm",
        "--wide",
        "annotator1,annotator2,annotator3,judge_gpt35,judge_pandalm7b",
        "--judge-prefix",
        "judge_",
        "--map",
        "1=A",
        "--map",
        "2=B",
        "--map",
        "0=tie",
        "--off-scale",
        "unscored",
        *columns(item="item_id", model_a="model1", model_b="model2"),
    )
    report = result_of("report_agreement", "pandalm")
    assert report["criterion"] == "preference"
    assert report["alpha"]["nominal"] == pytest.approx(0.864221, abs=1e-6)
    assert report["loo"] == pytest.approx(0.919920, abs=1e-6)
    gpt, panda = (next(one for name, one in report["judges"].items() if part in name) for part in ("gpt35", "pandalm"))
    # Verdicts that cannot be used are left out of the rate and always counted.
    assert gpt["loo"] == pytest.approx(0.706366, abs=1e-6)
    assert (gpt["n"], gpt["unscored"]) == (974, 25)
    assert panda["loo"] == pytest.approx(0.660327, abs=1e-6)
    assert (panda["n"], panda["unscored"]) == (999, 0)


def test_hanna_positions_and_criteria(shared_data):
    run(
        "load_table",
        "ratings",
        str(shared_data("hanna_human.csv.gz")),
        "--study",
        "hanna",
        "--slots",
        "--overall",
        "Engagement",
        "--scale",
        "*=1:5",
        *columns(item="item_id", rater="annotator_slot", criterion="criterion", value="score", model="system"),
    )
    fit = result_of("fit_weights", "hanna")["categories"][0]
    weights = dict(zip(fit["items"], fit["weights"], strict=True))
    assert weights == pytest.approx(
        {"Relevance": 4.90, "Coherence": 31.53, "Empathy": 15.68, "Surprise": 8.98, "Complexity": 38.90}, abs=0.005
    )
    assert (fit["n"], round(fit["r2"], 4)) == (3168, 0.6981)
    assert fit["r2_leave_one_rater_out"] is None  # three positions are not three persons
    published = {
        "Relevance": 0.165052,
        "Coherence": -0.053903,
        "Empathy": 0.117139,
        "Surprise": 0.014875,
        "Engagement": 0.166599,
    }
    for criterion, ordinal in published.items():
        report = result_of("report_agreement", "hanna", "--criterion", criterion)
        assert report["alpha"]["ordinal"] == pytest.approx(ordinal, abs=1e-6)


def test_dices_crowd(shared_data):
    run(
        "load_table",
        "ratings",
        str(shared_data("dices350_crowd.csv.gz")),
        "--study",
        "dices",
        "--slots",
        "--scale",
        "*=No,Unsure,Yes",
        *columns(item="item_id", rater="annotator_pos", value="label"),
    )
    report = result_of("report_agreement", "dices")
    assert report["alpha"]["nominal"] == pytest.approx(0.160860, abs=1e-6)
    assert report["loo"] == pytest.approx(0.684657, abs=1e-6)
    assert (report["n_tasks"], report["n_labels"]) == (350, 43050)


# --- fit_weights --------------------------------------------------------------------------------------------


def test_the_fit_is_printed_as_json_and_stored():
    answered_study()
    payload = result_of("fit_weights", "essays", "--draws", "20")
    assert payload["study"] == "essays"
    one = payload["categories"][0]
    assert {
        "category",
        "n",
        "items",
        "weights",
        "raw_weights",
        "r2",
        "mse",
        "at_floor",
        "r2_leave_one_instruction_out",
    } <= set(one)
    assert sum(one["weights"]) == pytest.approx(100)
    assert "rows" not in one
    assert Fit.objects.get().public_id == payload["fit"]


def test_the_fit_is_printed_in_words():
    answered_study()
    shown = run("fit_weights", "essays", "--floor", "3", "--draws", "0")
    assert "essay: n 72, R2 0." in shown
    assert "item0  at the floor" in shown
    assert "  Fewer than 20 instructions: no 95 % interval is stated." in shown


def test_r2_on_held_out_instructions_is_printed_with_the_intervals_that_the_page_states():
    study = answered_study(instructions=24)
    shown = run("fit_weights", "essays", "--draws", "0")
    found = result_of("fit_weights", "essays", "--draws", "0")["categories"][0]["held_out"]
    such, these = (f"{found[f'{one}_low']:.3f} to {found[f'{one}_high']:.3f}" for one in ("such", "these"))
    said = f"(95 % interval for raters like these {such}; for exactly these raters {these})"
    assert f"on held-out instructions {found_r2(study):.3f} {said}\n" in shown


def found_r2(study):
    certificate = study.fits.order_by("pk").last().categories.get().diagnostics["certificate"]
    return certificate["out_of_sample"]["instruction"]["r2"]


def test_r2_on_held_out_instructions_without_an_interval_says_what_one_needs():
    answered_study()
    shown = run("fit_weights", "essays", "--draws", "0")
    assert (
        "R² on held-out data: No 95 % interval is stated, neither for raters like these nor for exactly these: "
        in shown
    )
    assert "that needs at least 20 instructions, and there are 12." in shown


def test_two_raters_are_too_few_for_an_interval_of_r2_on_held_out_instructions():
    answer_study(make_checklist_study(instructions=24, models=2, items=4), raters=2)
    shown = run("fit_weights", "essays", "--draws", "0")
    assert "R² on held-out data: No interval for raters like these is stated: that needs at least 3 raters" in shown
    assert "(95 % interval for exactly these raters " in shown


def test_answers_left_out_of_a_fit_are_counted_with_their_reasons():
    study = answered_study()
    some = Assignment.objects.filter(task__study=study).order_by("pk")[:3]
    remove(Score.objects.filter(assignment__in=list(some), criterion__key="item0"))
    shown = run("fit_weights", "essays", "--draws", "0")
    assert "  Answers left out: 3 because an item or the overall score was not answered.\n" in shown


def test_an_exported_fit_is_repeated_without_the_study(tmp_path):
    study = answered_study()
    path = tmp_path / "fit.json"
    first = result_of("fit_weights", "essays", "--draws", "50", "--seed", "4", "--export", str(path))
    Fit.objects.all().delete()
    remove(Assignment.objects.filter(task__study=study))
    again = result_of("fit_weights", "--from", str(path))
    assert again["repeated"] is True
    assert again["categories"] == first["categories"]
    assert not Fit.objects.exists()
    assert "to the last digit" in run("fit_weights", "--from", str(path))


def test_an_altered_export_does_not_pass(tmp_path):
    answered_study()
    path = tmp_path / "fit.json"
    run("fit_weights", "essays", "--draws", "0", "--export", str(path))
    payload = json.loads(path.read_text())
    payload["categories"][0]["rows"]["overall"][0] = 0.5
    path.write_text(json.dumps(payload))
    with pytest.raises(CommandError, match=r"repeated fit is different.*essay: weights.*numpy"):
        run("fit_weights", "--from", str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "not an exported fit"),
        (b"[]", "not an exported fit"),
        (b"\xff\xfe", "not UTF-8 encoded JSON"),
        (b"{", "not UTF-8 encoded JSON"),
        (b'{"format": "plumbline-fit-1"}', "incomplete"),
    ],
)
def test_a_file_that_is_no_export_is_refused(tmp_path, content, message):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=message):
        run("fit_weights", "--from", str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"Cannot read .*nowhere\.json"):
        run("fit_weights", "--from", str(tmp_path / "nowhere.json"))


def test_an_export_that_cannot_be_written_says_where(tmp_path):
    answered_study()
    with pytest.raises(CommandError, match=r"Cannot write .*missing"):
        run("fit_weights", "essays", "--draws", "0", "--export", str(tmp_path / "missing" / "fit.json"))


def test_fewer_rows_than_items_is_one_sentence_and_nothing_is_stored():
    answer_study(make_checklist_study(instructions=1, models=1, items=4))
    with pytest.raises(CommandError, match=r"^Fewer complete answers than items in essay \(3 answers, 4 items\)"):
        run("fit_weights", "essays")
    assert not Fit.objects.exists()


def test_small_categories_are_left_out_when_asked():
    study = make_checklist_study(instructions=6, models=1, items=4)
    essay = Category.objects.get(benchmark=study.benchmark, key="essay")
    other = Category.objects.create(benchmark=study.benchmark, parent=essay.parent, key="letter")
    instruction = study.tasks.first().response_a.instruction
    instruction.category = other
    instruction.save()
    answer_study(study)
    with pytest.raises(CommandError, match=r"letter .*--skip-small"):
        run("fit_weights", "essays")
    payload = result_of("fit_weights", "essays", "--skip-small", "--draws", "0")
    assert [one["category"] for one in payload["categories"]] == ["essay"]
    assert payload["settings"]["skipped"] == {"letter": 3}
    said = run("fit_weights", "essays", "--skip-small", "--draws", "0")
    assert "letter: left out because 3 complete answers are fewer than its items." in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit_weights", "novels"], "There is no study 'novels' in workspace 'lab'; there are: essays"),
        (["report_agreement", "novels"], "There is no study 'novels'"),
        (["fit_weights"], "Give either a study"),
        (["fit_weights", "essays", "--from", "x.json"], "Give either a study"),
        (["fit_weights", "essays", "--floor", "11"], "not between 0 and 10"),
        (["fit_weights", "essays", "--floor", "nan"], "not between 0 and 10"),
        (["fit_weights", "essays", "--draws", "-1"], "at least 0"),
        (["fit_weights", "essays", "--draws", "999999999"], "at most 20,000"),
        (["fit_weights", "essays", "--workspace", "elsewhere"], "no workspace 'elsewhere'"),
        (["fit_weights", "essays"], "'essays' cannot be fitted"),
        (["report_agreement", "essays"], "nobody has rated anything"),
        (["report_agreement", "essays", "--criterion", "beauty"], "no criterion 'beauty'"),
    ],
)
def test_a_users_mistake_is_one_sentence(words, message):
    make_checklist_study()
    with pytest.raises(CommandError, match=message) as caught:
        run(*words)
    assert "\n" not in str(caught.value)
    assert not Fit.objects.exists()


def test_the_same_slug_in_two_workspaces_asks_which():
    answered_study()
    make_workspace("second")
    with pytest.raises(CommandError, match="--workspace"):
        run("fit_weights", "essays")
    assert result_of("fit_weights", "essays", "--workspace", "lab", "--draws", "0")["study"] == "essays"


def test_publishing_from_the_command_line():
    answered_study()
    assert result_of("fit_weights", "essays", "--draws", "0", "--publish", "ours")["name"] == "ours"
    with pytest.raises(CommandError, match="Another fit"):
        run("fit_weights", "essays", "--draws", "0", "--floor", "0", "--publish", "ours")


@pytest.mark.parametrize("name", ["", "n" * 101, "our fit", "a\0b", "weights/1"])
def test_a_name_that_no_address_can_hold_publishes_nothing(name):
    answered_study()
    with pytest.raises(CommandError, match="letters, digits, - and _"):
        run("fit_weights", "essays", "--draws", "0", "--publish", name)
    assert not Fit.objects.exclude(published_name="").exists()


@pytest.mark.parametrize("name", ["equal", "published"])
def test_a_fit_does_not_take_the_name_of_other_weights(name):
    answered_study()
    with pytest.raises(CommandError, match="call other weights"):
        run("fit_weights", "essays", "--draws", "0", "--publish", name)
    assert not Fit.objects.exclude(published_name="").exists()


# --- report_agreement ---------------------------------------------------------------------------------------


def hand_made(labels, judge=None, unscored=()):
    """A study with one task a row of `labels` (raters' overall scores); judge: its scores by task."""
    study = make_checklist_study(instructions=len(labels), models=1, items=1)
    judges = make_judge_rater(study.workspace, "J") if judge else None
    raters = [make_rater(study, label=f"r{place}") for place in range(max(map(len, labels)))]
    for place, (task, row) in enumerate(zip(study.tasks.order_by("pk"), labels, strict=True)):
        for rater, value in zip(raters, row, strict=False):
            make_answer(task, rater, {"overall": value})
        if judges and place in unscored:
            Assignment.objects.create(task=task, rater=judges, status="unscored", reason="prose")
        elif judges:
            make_answer(task, judges, {"overall": judge[place]})
    return study


def test_agreement_of_a_table_worked_by_hand():
    # Task 1: 5 5 9: each 5 meets 5 and 9, two modes, one of them 5: 1/2; 9 meets 5 and 5: 0. Mean 1/3.
    # Task 2: 7 7 7: 1. Task 3 has one rater and is left out. The rate is (1/3 + 1)/2 = 2/3.
    # The judge says 5 on task 1, against the modes 5 9, 5 9 and 5: (1/2 + 1/2 + 1)/3 = 2/3; 8 on task 2: 0. Mean 1/3.
    hand_made([[5, 5, 9], [7, 7, 7], [1]], judge=[5, 8, 1])
    report = result_of("report_agreement", "essays")
    assert report["loo"] == pytest.approx(2 / 3)
    assert (report["n_tasks"], report["n_labels"]) == (2, 6)
    assert report["judges"]["J"]["loo"] == pytest.approx(1 / 3)
    assert (report["judges"]["J"]["n"], report["judges"]["J"]["unscored"]) == (2, 0)


def test_unscored_verdicts_are_counted_and_left_out_of_the_rate():
    hand_made([[5, 5, 5], [7, 7, 7]], judge=[5, 0], unscored=[1])
    judge = result_of("report_agreement", "essays")["judges"]["J"]
    assert (judge["loo"], judge["n"], judge["unscored"]) == (1.0, 1, 1)


def test_a_judge_with_no_usable_verdict_is_listed_with_its_count():
    hand_made([[5, 5, 5], [7, 7, 7]], judge=[0, 0], unscored=[0, 1])
    report = result_of("report_agreement", "essays")
    assert (report["judges"]["J"]["loo"], report["judges"]["J"]["n"], report["judges"]["J"]["unscored"]) == (None, 0, 2)
    assert "unscored 2" in run("report_agreement", "essays")


def test_verdicts_given_in_another_study_count_by_response():
    study = hand_made([[5, 5, 5], [7, 7, 7]])
    judging = Study.objects.create(
        workspace=study.workspace, slug="judging", kind="checklist", benchmark=study.benchmark
    )
    judge = make_judge_rater(study.workspace, "J")
    for task, value in zip(study.tasks.order_by("pk"), [5, 6], strict=True):
        copy = judging.tasks.create(
            kind="single", key=task.key, response_a=task.response_a, answer_rubric=task.answer_rubric
        )
        make_answer(copy, judge, {"overall": value})
    report = result_of("report_agreement", "essays")
    assert report["judges"]["J"]["loo"] == 0.5
    assert report["n_labels"] == 6  # a judge is not one of the raters


def test_constant_answers_agree_fully_and_have_no_alpha():
    hand_made([[5, 5], [5, 5]])
    report = result_of("report_agreement", "essays")
    assert report["loo"] == 1.0
    assert report["alpha"] == {"nominal": None, "ordinal": None, "interval": None}
    assert "agreement beyond chance is undefined" in run("report_agreement", "essays")


def test_one_rating_a_task_cannot_be_compared():
    hand_made([[5], [7]])
    with pytest.raises(CommandError, match="1 ratings of the same task where at least 2 are needed"):
        run("report_agreement", "essays")
    assert Report.objects.get().result["why"] == "TooFewRatings"


def test_without_an_overall_criterion_the_keys_are_offered():
    study = answered_study()
    study.tasks.first().answer_rubric.criteria.filter(key="overall").update(role="item")
    with pytest.raises(CommandError, match="--criterion: item0, item1, item2, item3, overall"):
        run("report_agreement", "essays")


def test_a_correction_changes_the_report():
    hand_made([[5, 5], [7, 7]])
    assert result_of("report_agreement", "essays")["loo"] == 1.0
    score = Score.objects.filter(criterion__key="overall").order_by("pk").first()
    Score.objects.create(assignment=score.assignment, criterion=score.criterion, revision=1, value=9)
    assert result_of("report_agreement", "essays")["loo"] == 0.5
