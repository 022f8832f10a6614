"""The page 'can I trust these raters?'."""

import re
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Assignment, CheckOutcome, Cohort, Rater
from calibration.models import Report
from calibration.reports.codec import stored
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from calibration.tasks import build_report
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import (
    answer_of,
    check_access,
    check_files,
    load,
    never_nan,
    signed_in,
    text_of,
)
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def address(study, query=""):
    return reverse("calibration:raters", args=[study]) + query


def page_of(study):
    return markup(signed_in("lead", study.workspace).get(address(study)))


def report(study, criterion=""):
    return report_of(study, RATERS, rater_settings(criterion))


def test_only_those_who_read_results_see_it():
    check_access("calibration:raters", answered_study(judge="gpt-4o"))


def test_the_page_opens_with_the_rate_and_its_interval_and_offers_every_figure():
    study = answered_study(instructions=24, judge="gpt-4o")
    client = signed_in("lead", study.workspace)
    page = markup(client.get(address(study)))
    assert "within one standard deviation" in answer_of(page) and "95 % interval" in answer_of(page)
    assert {"accuracy.svg", "accuracy.png", "accuracy.csv", "groups.svg", "severity.csv"} <= set(
        check_files(client, address(study))
    )


def test_accuracy_is_that_of_a_hand_calculation():
    # Three raters, one criterion: scores (8, 8, 2) and (5, 5, 5) and three more like the first. Means 6 and 5;
    # squares around them 4 * (4 + 4 + 16) = 96 over 15 scores: sigma = sqrt(6.4) = 2.53. The third rater's 2 is
    # 4 from the mean: wrong on four of its five items; the others' 8 is 2 from it: right.
    study = make_checklist_study(instructions=5, models=1, items=1)
    raters = [make_rater(study, label=name) for name in ("one", "two", "three")]
    for number, task in enumerate(study.tasks.all()):
        for rater, value in zip(raters, (5, 5, 5) if number == 4 else (8, 8, 2), strict=True):
            make_answer(task, rater, {"overall": value})
    found = report(study).accuracy
    assert {row.rater: row.value for row in found.rates} == {"one": 1.0, "two": 1.0, "three": 0.2}
    assert found.sigma["overall"] == pytest.approx(np.sqrt(6.4) / 10)
    assert found.groups[0].minimum == 0.2 and found.groups[0].lowest == "three"


def test_labels_of_two_values_have_no_accuracy_within_sigma():
    study = make_checklist_study(instructions=5, models=1, items=1)
    raters = [make_rater(study, label=name) for name in ("one", "two", "three")]
    for task in study.tasks.all():
        for rater, value in zip(raters, (8, 8, 2), strict=True):
            make_answer(task, rater, {"overall": value})
    assert report(study).accuracy.why == "TwoValuedLabels"
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    assert (
        "people gave no more than two different values" in page
        and "within one standard deviation of the mean" not in page
    )


def test_accuracy_against_correct_answers_is_the_share_that_equals_them():
    # Four tasks with the correct answers 8, 8, 2, 2; "one" always says 8 (2 of 4), "two" says 8, 8, 2, 8 (3 of 4), and
    # a fifth task has no correct answer and does not count: people are right on 5 of 8.
    study = make_checklist_study(instructions=5, models=1, items=1)
    study.policies = {**study.policies, "adjudicated_labels": True}
    study.save()
    one, two = make_rater(study, label="one"), make_rater(study, label="two")
    key = make_rater(study, label="correct answers", kind=Rater.Kind.KEY)
    for task, given, right in zip(study.tasks.all(), (8, 8, 2, 8, 5), (8, 8, 2, 2, None), strict=True):
        make_answer(task, one, {"overall": 8})
        make_answer(task, two, {"overall": given})
        if right is not None:
            make_answer(task, key, {"overall": right})
    found = report(study).correctness
    assert {row.rater: (row.rate.hits, row.rate.n) for row in found.raters} == {"one": (2, 4), "two": (3, 4)}
    assert (found.people.hits, found.people.n, found.tasks) == (5, 8, 4)
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    assert "Accuracy against the correct answers" in page


def test_without_correct_answers_nothing_is_said_of_them():
    study = answered_study()
    assert report(study).correctness.why == "NoCorrectAnswers"
    assert "correct answers" not in markup(signed_in("lead", study.workspace).get(address(study)))


def test_raters_with_few_answers_are_counted_apart():
    study = answered_study()
    newcomer = make_rater(study, label="newcomer")
    for task in study.tasks.all()[:4]:
        make_answer(task, newcomer, {"overall": 5})
    found = report(study).accuracy
    assert found.too_few == 1
    assert "newcomer" not in {row.rater for row in found.rates}
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    assert "One rater has answered fewer than five tasks" in text_of(page)


def test_cohorts_and_kinds_have_their_own_distribution():
    study = answered_study(judge="gpt-4o")
    crowd = Cohort.objects.create(study=study, name="Spring", kind="crowd")
    Rater.objects.filter(study=study, label__in=["rater-0", "rater-1"]).update(cohort=crowd)
    groups = {(row.by, row.group): row.n for row in report(study).accuracy.groups}
    assert groups == {("kind", "crowd"): 2, ("kind", "person"): 1, ("kind", "judge"): 1, ("cohort", "Spring"): 2}


def test_repeats_give_the_published_example():
    # One task answered four times (1, 1, 1, 0) by one rater: 3/4.
    study = make_checklist_study(instructions=2, models=1, items=1)
    first, other = (make_rater(study, label=label) for label in ("steady", "other"))
    task = study.tasks.first()
    for repeat, value in enumerate((1, 1, 1, 0)):
        make_answer(task, first, {"item0": value}, repeat=repeat)
    make_answer(task, other, {"item0": 1})
    found = report(study, "item0").consistency
    assert found.overall.value == 0.75
    assert found.raters[0].rater == "steady" and found.raters[0].asked == 4
    page = markup(signed_in("lead", study.workspace).get(address(study, "?criterion=item0")))
    assert "When they are asked again, raters give their most frequent answer" in answer_of(page)


def test_swapped_sides_are_told_from_equal_ones():
    study = pair_study(models=2, instructions=3, raters=1)
    rater = study.raters.get()
    for place, assignment in enumerate(Assignment.objects.filter(rater=rater, repeat=0)):
        value = assignment.scores.get().value
        other = "b" if assignment.shown_first == "a" else "a"
        make_answer(
            assignment.task,
            rater,
            {"preference": value if place else -value or 1},
            repeat=1,
            shown_first=other if place else assignment.shown_first,
        )
    sides = report(study).consistency.sides
    assert (sides["swapped"].hits, sides["swapped"].n) == (2, 2)
    assert (sides["same"].hits, sides["same"].n) == (0, 1)


def test_failed_controls_are_shown_with_their_interval():
    study = answered_study()
    rater = study.raters.get(label="rater-0")
    control = study.tasks.first()
    outcome = Assignment.objects.get(task=control, rater=rater)
    CheckOutcome.objects.create(assignment=outcome, purpose="control", passed=False)
    found = report(study).habits.controls
    assert (found.n, found.failed, found.raters[0].rater) == (1, 1, "rater-0")


def test_a_side_preference_is_found():
    study = pair_study(models=3, instructions=25, raters=2, position=4.0)
    rows = report(study).habits.sides.raters
    assert all(row.value > 0.6 and row.p < 0.001 for row in rows)
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    assert "2 of 2 raters prefer one side more often than chance explains" in text_of(page)


@pytest.mark.parametrize("answers", ["none", "one rater", "constant"])
def test_degenerate_studies_give_sentences(answers):
    study = make_checklist_study(instructions=6, models=1)
    if answers != "none":
        for _ in range(1 if answers == "one rater" else 2):
            rater = make_rater(study)
            for place, task in enumerate(study.tasks.all()):
                value = 5 if answers == "constant" else place
                make_answer(task, rater, {"item0": 0.5, "item1": 0.5, "item2": 0.5, "overall": value})
    response = signed_in("lead", study.workspace).get(address(study))
    assert response.status_code == 200
    never_nan(markup(response))
    assert answer_of(markup(response))


def test_an_unknown_criterion_is_a_sentence():
    study = answered_study()
    response = signed_in("lead", study.workspace).get(address(study, "?criterion=nonsense"))
    assert response.status_code == 200 and "answer" in markup(response)


def test_the_report_is_kept_and_made_anew_after_an_answer():
    study = answered_study()
    client = signed_in("lead", study.workspace)
    client.get(address(study))
    client.get(address(study))
    assert Report.objects.filter(kind="raters").count() == 1
    make_answer(study.tasks.first(), make_rater(study), {"overall": 3})
    client.get(address(study))
    assert Report.objects.filter(kind="raters").count() == 2


def test_a_large_study_is_left_to_a_worker(django_capture_on_commit_callbacks):
    study = answered_study()
    client = signed_in("lead", study.workspace)
    object.__setattr__(RATERS, "slow_from", 10)
    try:
        with django_capture_on_commit_callbacks(execute=False) as callbacks:
            first = client.get(address(study))
        assert "its figures are computed in the background" in markup(first) and len(callbacks) == 1
        with django_capture_on_commit_callbacks(execute=False) as again:
            client.get(address(study, "?waiting=0"))
        assert again == []
        build_report(study.pk, "raters", rater_settings())
        assert "within one standard deviation" in markup(client.get(address(study)))
    finally:
        object.__setattr__(RATERS, "slow_from", 4_000)


def test_positions_in_a_data_set_never_get_a_number_of_their_own(shared_data):
    load(
        "ratings",
        shared_data("dices350_crowd.csv.gz"),
        "dices",
        "--slots",
        "--scale",
        "*=No,Unsure,Yes",
        item="item_id",
        rater="annotator_pos",
        value="label",
    )
    study = Rater.objects.filter(kind="slot").first().study
    found = report(study)
    assert found.accuracy.rates == [] and found.accuracy.groups == []
    assert found.consensus.raters == [] and found.consensus.items == 350
    assert found.severity.why == found.habits.same_answers.why == "OnlySlots"
    names = set(Rater.objects.filter(study=study).values_list("label", flat=True))
    page = text_of(markup(signed_in("lead", study.workspace).get(address(study))))
    assert "positions, not persons" in page
    assert not any(f" {name} " in page for name in names if not name.isdigit())


def test_recipes_figures_stand_on_the_page(shared_data):
    load(
        "ratings",
        shared_data("recipes.csv.gz"),
        "recipes",
        "--overall",
        "overall",
        "--scale",
        "*=1:6",
        item="item_id",
        rater="annotator",
        criterion="criterion",
        value="score",
        model="system",
        order="order",
    )
    study = Rater.objects.first().study
    found = report(study)
    assert found.n_raters == 88 and len(found.accuracy.rates) == 88
    assert found.severity.drifting and found.variance.design.best.raters >= 2
    overall = found.accuracy.overall
    assert overall.value == pytest.approx(4291 / 6336) and overall.low < overall.value < overall.high


def test_what_more_raters_add_is_said_with_both_intervals():
    study = answered_study(instructions=24)
    page = text_of(page_of(study))
    said = r"by (\S+) \(95 % interval for raters like these (\S+) to (\S+); for exactly these raters (\S+) to (\S+)\)"
    found = re.search("A second rater increases the reliability of a response's score " + said, page)
    value, low, high, near, far = (float(number) for number in found.groups())
    assert low <= near <= value <= far <= high and low < high
    design = report(study).variance.design
    assert value == pytest.approx(design.gain_of_rater.value, abs=0.005)
    assert "the mean of 5 raters has a reliability of" in page and "nobody was asked twice" in page
    assert "The models are taken as given" in page
    assert "By these estimates, a reliability of 0.7 requires" in page
    # A repeat never helps more than another rater, and without repeats nothing is known of it.
    assert {one.repeats for one in design.designs} == {1} and design.gain_of_repeat is None


def test_few_instructions_give_the_variances_without_intervals():
    page = text_of(page_of(answered_study(instructions=12)))
    assert "that needs at least 20 instructions, and there are 12." in page
    assert re.search(r"A second rater increases the reliability of a response's score by \S+, and the mean", page)


def test_raters_who_do_not_differ_get_a_limit_in_words_and_no_axis_of_noughts():
    study = make_checklist_study(instructions=24, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(4)]
    for place, task in enumerate(study.tasks.all()):
        # Every response gets the same four scores, and every rater gives each equally often: nobody is more severe.
        for rater, score in zip(people, np.roll([4, 5, 5, 6], place), strict=True):
            make_answer(task, rater, {"overall": int(score)})
    found = report_of(study, RATERS, rater_settings()).severity
    assert found.rater_variance**0.5 < 0.01
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    assert "That raters differ in severity is not shown (p 1.000)" in text_of(page)
    assert re.search(r"About \d+ instructions would show one of 0.50 points", text_of(page))
    assert "0.000000" not in text_of(page) and "file=severity.svg" not in page


def judged_again(study, *, rounds=3):
    """A judge that answers every task again and again, from both sides where there are sides, and differs."""
    judge = make_judge_rater(study.workspace, "gpt-4o")
    for place, task in enumerate(study.tasks.select_related("answer_rubric")):
        (criterion, *_) = task.answer_rubric.criteria.all()
        ends = criterion.ends
        for repeat in range(rounds):
            make_answer(
                task,
                judge,
                {criterion.key: ends[(place + repeat) % 3 == 0]},
                repeat=repeat,
                shown_first="ab"[repeat % 2] if task.response_b_id else "",
            )
    return judge


@pytest.mark.parametrize("make", [lambda: make_checklist_study(instructions=6), lambda: pair_study(raters=0)])
def test_judges_repeats_are_no_raters(make):
    study = make()
    judged_again(study)
    found = report(study)
    assert found.why == "OnlyJudges"
    client = signed_in("lead", study.workspace)
    page = client.get(address(study))
    assert "Only judges have answered in this study so far" in answer_of(markup(page))
    desk = markup(client.get(reverse("calibration:desk_figures", args=[study])))
    assert "Consistency" not in desk and "Accuracy" not in desk


def test_a_judge_that_wavers_changes_no_statistic_of_raters():
    study = answered_study(instructions=6)
    steady = study.raters.get(label="rater-0")
    for task in study.tasks.all()[:5]:
        before = Assignment.objects.get(task=task, rater=steady).scores.all()
        make_answer(task, steady, {score.criterion.key: score.value for score in before}, repeat=1)
    alone = report(study)
    assert alone.consistency.overall.value == 1.0
    judged_again(study)
    beside = report(study)
    # Only what names judges speaks of them: their number of answers, and their accuracy as a kind of their own.
    assert (alone.n_judged, beside.n_judged) == (0, study.tasks.count())
    assert stored(replace(beside, accuracy=alone.accuracy, n_judged=0)) == stored(alone)
    assert alone.accuracy.overall == beside.accuracy.overall
    assert alone.accuracy.rates == [row for row in beside.accuracy.rates if row.kind != "judge"]
    assert beside.kinds == {"person": 3} and beside.n_raters == 3
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    assert "by 3 raters." in text_of(page)
    assert "Judges gave 12 more answers. They are not included in any figure about raters" in text_of(page)


def test_the_accuracy_of_a_judge_is_never_given_as_that_of_raters():
    study = make_checklist_study(instructions=6, models=1)
    for number in range(3):
        rater = make_rater(study, label=f"rater {number}")
        for task in study.tasks.all()[2 * number : 2 * number + 2]:
            make_answer(task, rater, {"overall": 5 + number})
    judge = make_judge_rater(study.workspace, "gpt-4o")
    for task in study.tasks.all():
        make_answer(task, judge, {"overall": 6})
    # No person shares a task with another: the judge, compared with each, says nothing about them.
    assert report(study).accuracy.why == "NobodyToCompare"
    assert "There is nobody to compare with" in answer_of(page_of(study))


def test_training_is_no_check_and_a_text_that_comes_again_no_measure_of_pace():
    study = answered_study()
    rater = study.raters.get(label="rater-0")
    first, second = Assignment.objects.filter(rater=rater).order_by("pk")[:2]
    Assignment.objects.filter(rater=rater).update(active_seconds=70)
    CheckOutcome.objects.create(assignment=first, purpose="training", passed=False)
    CheckOutcome.objects.create(assignment=second, purpose="qualification", passed=False)
    assert report(study).habits.controls.why == "NoControls"
    before = report(study).habits.pace
    make_answer(first.task, rater, {"overall": 3}, repeat=1, active_seconds=1)
    assert report(study).habits.pace == before


def test_rankings_say_whose_answers_they_rest_on():
    study = answered_study(judge="gpt-4o")
    client = signed_in("lead", study.workspace)
    judge = Rater.objects.get(kind="judge")
    place = reverse("calibration:rankings", args=[study])
    assert "24 answers by the judge gpt-4o" in text_of(markup(client.get(f"{place}?by={judge.public_id}")))
    assert "72 answers by 3 raters" in text_of(markup(client.get(place)))


def labelled_study(odd_one="", split=()):
    """25 items with two labels from seven raters; `odd_one` gives the other label, and on `split` tasks they divide."""
    study = make_checklist_study(instructions=25, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(7)]
    rng = np.random.default_rng(3)
    for place, task in enumerate(study.tasks.all()):
        for number, rater in enumerate(people):
            level = place % 2
            if rng.random() < 0.08 or (place in split and number % 2):
                level = 1 - level
            if rater.label == odd_one:
                level = 1 - place % 2
            make_answer(task, rater, {"overall": 10 * level})
    return study


def test_a_rater_who_inverts_the_scale_is_named_with_the_interval():
    study = labelled_study(odd_one="p3")
    found = report(study).scale_use
    assert {row.rater: row.verdict for row in found.raters if row.verdict} == {"p3": "inverted"}
    said = text_of(page_of(study))
    assert re.search(
        r"p3 inverts the scale: the correlation with the other raters is −\d\.\d\d \(95 % interval −", said
    )
    out = StringIO()
    call_command("report_raters", study.slug, stdout=out)
    assert re.search(
        r"p3: correlation with the others -[\d.]+ \(-[\d.]+ to -[\d.]+, 95 % for exactly these raters\), inverted",
        out.getvalue(),
    )
    assert "tasks that split the raters: none shown" in out.getvalue()


def test_among_ordinary_raters_nobody_is_named_and_the_page_says_not_shown():
    study = labelled_study()
    said = text_of(page_of(study))
    assert "That a rater inverts the scale or answers at random is not shown" in said
    assert "That any task splits the raters more than their errors explain is not shown. About" in said
    assert "That raters differ in severity is not shown" in said


def test_a_task_that_splits_everybody_is_listed_with_its_link():
    study = labelled_study(split=(4,))
    task = study.tasks.order_by("pk")[4]
    rows = report(study).consensus.tasks
    assert [row.task for row in rows if row.split] == []
    assert rows[0].task == task.public_id
    page = page_of(study)
    assert reverse("annotation:task", args=[study, task.public_id]) in page


def test_of_one_rater_a_response_it_is_said_that_there_is_nobody_to_compare_with():
    study = make_checklist_study(instructions=24, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(3)]
    for place, task in enumerate(study.tasks.all()):
        make_answer(task, people[place % 3], {"overall": place % 7})
    assert "There is nobody to compare with" in answer_of(page_of(study))
    said = text_of(page_of(study))
    assert "There is nobody to compare with: no task was rated by another rater too." in said
    assert "inverts the scale" not in said.replace("a rater inverts the scale", "")
