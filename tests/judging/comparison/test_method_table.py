"""HREF's table 1 for any study: judges by category, people in the last row, the composite cross-fitted."""

import csv
import io
import re

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Assignment, Rater
from calibration.reports.registry import report_of
from calibration.statistics.agreement.leave_one_out import leave_one_out, outer_leave_one_out
from generation.models import Benchmark, Category, Instruction, LanguageModel
from judging.comparison.method_table import METHODS, method_settings
from judging.judges.families import judge_families
from judging.models import Judge
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import answer_of, check_access, check_files, never_nan, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def report(study, criterion="", against=""):
    return report_of(study, METHODS, method_settings(criterion, against))


def address(study, query=""):
    return reverse("judging:judges_methods", args=[study]) + query


def page_of(study, query=""):
    page = markup(signed_in("lead", study.workspace).get(address(study, query)))
    never_nan(page)
    return page


def judged(instructions=24):
    """People always prefer response A. `poet` agrees in poems only, `coder` in code only, `coin` half of the time."""
    study = pair_study(models=2, instructions=instructions, raters=3, outcome=lambda i, j: 1)
    poems = Category.objects.create(benchmark=study.benchmark, key="poem", names={"en": "Poems"})
    code = Category.objects.create(benchmark=study.benchmark, key="code", names={"en": "Code"})
    judges = {name: make_judge_rater(study.workspace, name) for name in ("poet", "coder", "coin")}
    for place, task in enumerate(study.tasks.order_by("pk")):
        Instruction.objects.filter(pk=task.response_a.instruction_id).update(category=poems if place % 2 else code)
        says = {"poet": 1 if place % 2 else -1, "coder": -1 if place % 2 else 1, "coin": 1 if place % 4 < 2 else -1}
        for name, value in says.items():
            make_answer(task, judges[name], {"preference": value}, shown_first="a")
    return study


def test_only_those_who_read_results_see_it():
    check_access("judging:judges_methods", judged(4))


def test_rates_are_by_category_and_people_stand_last():
    found = report(judged())
    assert [column.category for column in found.categories] == ["poem", "code"]
    rates = {row.judge: [rate.value for rate in row.cells] for row in found.methods}
    assert rates == {"coder": [0, 1], "coin": [0.5, 0.5], "poet": [1, 0]}
    assert found.people.all.value == 1 and found.people.all.n == 24


def test_the_composite_is_measured_on_all_tasks_by_choices_made_without_them():
    # So many that no half of the poems, whichever it is, holds only those on which the coin agrees.
    study = judged(48)
    found = report(study).composite
    assert [[(one.judge, one.share) for one in row] for row in found.choices] == [[("poet", 1.0)], [("coder", 1.0)]]
    assert (found.composite.all.value, found.composite.all.n) == (1, 48)
    assert found.people.all.n == found.single.all.n == 48
    assert found.single.all.value <= 0.75
    page = page_of(study)
    assert "the composite agrees with people on 1.00" in text_of(page)
    assert "Whether one of the two agrees with people more than the other is not tested here." in text_of(page)
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"methods.svg", "methods.csv", "composite.png", "choices.csv"} <= set(names)
    table = signed_in("lead", study.workspace).get(address(study, "?file=methods.csv")).content.decode("utf-8-sig")
    assert table.splitlines()[-1].startswith("People among themselves,48,1.0,")


def test_a_composite_is_marked_never_a_candidate_and_never_named_the_best():
    study = judged()
    ours, theirs = (make_judge_rater(study.workspace, name) for name in ("my best", "composite href"))
    Judge.objects.create(workspace=study.workspace, rater=ours, method="composite", prompt_hash="x")
    for task in study.tasks.all():
        for rater in (ours, theirs):
            make_answer(task, rater, {"preference": 1}, shown_first="a")
    found = report(study)
    kinds = {row.judge: (row.composite, row.imported) for row in found.methods}
    assert kinds["my best"] == (True, False)
    assert kinds["composite href"] == (True, True)
    assert kinds["poet"] == (False, True)
    assert {one.judge for row in found.composite.choices for one in row} == {"poet", "coder"}
    page = page_of(study)
    assert "my best (composite)" in page
    assert "composite href is a composite whose verdicts were imported." in text_of(page)
    assert answer_of(page).startswith("No judge is shown to agree with people more than every other judge, after Holm")
    assert "the highest agreement is that of coder: 0.50 (95 % interval for raters like these" in answer_of(page)


def test_hrefs_printed_table_stands_beneath_for_hrefs_own_responses():
    study = judged()
    assert "Published table of the benchmark" not in page_of(study)
    Benchmark.objects.filter(pk=study.benchmark_id).update(slug="href")
    coin = Rater.objects.get(label="coin")
    Judge.objects.create(workspace=study.workspace, rater=coin, method="random", prompt_hash="x")
    make_answer(study.tasks.first(), make_judge_rater(study.workspace, "Shorter"), {"preference": 1})
    assert "Published table of the benchmark" in page_of(study)
    answer = signed_in("lead", study.workspace).get(address(study, "?file=printed.csv"))
    rows = {row["Name in the paper"]: row for row in csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))}
    assert len(rows) == 19
    # The judge of the rule, the imported judge of that name, and people; a model's row has nobody beside it.
    here = {
        name: (row["Name here"], row["Overall (paper)"], row["Overall (here)"], row["Tasks (here)"])
        for name, row in rows.items()
    }
    assert here["Random"] == ("coin", "48.2", "50.0", "24")
    assert here["Shorter"] == ("Shorter", "53.2", "100.0", "1")
    assert here["Human"] == ("People among themselves", "67.0", "100.0", "24")
    assert here["Llama-70B with human response"] == ("", "67.9", "", "")
    assert rows["RoBERTa-Large"]["fact_checking"] == "71.5"


def test_a_choice_made_by_luck_does_not_flatter():
    """Many judges that toss coins: the best of them is far above half, the composite of them is not."""
    study = pair_study(models=2, instructions=80, raters=2, outcome=lambda i, j: 1)
    rng = np.random.default_rng(1)
    for number in range(12):
        judge = make_judge_rater(study.workspace, f"coin {number}")
        for task in study.tasks.all():
            make_answer(task, judge, {"preference": 1 if rng.random() < 0.5 else -1}, shown_first="a")
    found = report(study)
    assert max(row.all.value for row in found.methods) >= 0.58
    assert found.composite.composite.all.low < 0.5 < found.composite.composite.all.high
    assert found.composite.composite.all.n == 80


def test_the_rates_are_those_of_leave_one_out():
    study = pair_study(models=3, instructions=21, raters=3)
    judge = make_judge_rater(study.workspace)
    rng = np.random.default_rng(3)
    tasks, labels, said = [], [], []
    for place, task in enumerate(study.tasks.order_by("pk")):
        value = int(rng.integers(-1, 2))
        make_answer(task, judge, {"preference": value}, shown_first="a")
        said.append(value + 1)
        for answer in task.assignments.exclude(rater=judge):
            tasks.append(place)
            labels.append(int(answer.scores.get().value) + 1)
    found = report(study)
    outer = outer_leave_one_out(np.array(tasks), np.array(labels), np.array(said))
    assert found.methods[0].all.value == pytest.approx(outer.rate)
    assert found.people.all.value == pytest.approx(leave_one_out(np.array(tasks), np.array(labels)).rate)


def test_only_pairs_with_one_model_count_where_it_is_chosen():
    """HREF's figure 5. People prefer A; the judge agrees with them unless model2 is part of the pair."""
    study = pair_study(models=3, instructions=21, raters=2, outcome=lambda i, j: 1)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.select_related("response_b__model"):
        value = -1 if task.response_b.model.name == "model2" else 1
        make_answer(task, judge, {"preference": value}, shown_first="a")
    everything, some = report(study), report(study, against="model2")
    assert everything.models == ["model0", "model1", "model2"]
    assert (everything.methods[0].all.value, everything.people.all.n) == (pytest.approx(1 / 3), 63)
    assert (some.methods[0].all.value, some.people.all.n, some.against) == (0, 42, "model2")
    assert report(study, against="model0").methods[0].all.value == pytest.approx(1 / 2)
    assert report(study, against="nobody").against == ""
    page = page_of(study, "?against=model2")
    assert re.search(r'<option value="model2"\s+selected', page)
    assert "0.00" in answer_of(page)


def test_single_responses_are_compared_on_the_criterion_asked_for():
    study = make_checklist_study(instructions=22, models=1, items=1)
    raters, judge = [make_rater(study), make_rater(study)], make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        for rater in raters:
            make_answer(task, rater, {"item0": place % 5 / 4, "overall": place % 11})
        make_answer(task, judge, {"item0": place % 5 / 4, "overall": 0})
    assert report(study, "item0").methods[0].all.value == 1
    assert report(study, "overall").methods[0].all.value == pytest.approx(2 / 22)
    said = answer_of(page_of(study, "?criterion=item0"))
    assert said.startswith(
        "gpt-4o agrees with people on 1.00 (95 % interval for exactly these raters 0.84 to 1.00) of 22"
    )


def ranked_study(first, second, instructions=40):
    """Three people agree; `strong` says the same on the tasks in `first`, `weak` its opposite on those in `second`."""
    study = pair_study(models=2, instructions=instructions, raters=3, outcome=lambda i, j: 1)
    judges = {name: make_judge_rater(study.workspace, name) for name in ("strong", "weak")}
    for place, task in enumerate(study.tasks.order_by("pk")):
        if place in first:
            make_answer(task, judges["strong"], {"preference": 1}, shown_first="a")
        if place in second:
            make_answer(task, judges["weak"], {"preference": 1 if place % 3 else -1}, shown_first="a")
    return study


def test_a_judge_is_best_only_where_it_is_ahead_on_the_tasks_of_all():
    said = answer_of(page_of(ranked_study(range(40), range(40))))
    assert said.startswith("strong agrees best with people: on 1.00 (95 % interval for raters like these 0.")
    assert "of the 40 tasks that all 2 judges judged" in said and "Holm's correction" in said


def test_judges_of_different_tasks_are_listed_by_name_and_not_ranked():
    """Even where one is right on all of its tasks: the other judged other ones."""
    study = ranked_study(range(25), range(20, 40))
    page = page_of(study)
    assert answer_of(page).startswith("The judges are not ranked: a ranking needs at least 20 tasks,")
    assert "agrees best" not in page
    found = report(study)
    assert (found.compared.found.n_common, found.compared.found.ranked, found.compared.found.best) == (5, False, None)
    table = signed_in("lead", study.workspace).get(address(study, "?file=pairs.csv")).content.decode("utf-8-sig")
    (row,) = list(csv.DictReader(io.StringIO(table)))
    assert (row["Judge"], row["Compared with"], row["Common tasks"], row["p"]) == ("strong", "weak", "5", "")
    beside = {row.judge: (row.beside.n, row.beside.people.value) for row in found.methods}
    assert beside == {"strong": (25, 1.0), "weak": (20, 1.0)}


def test_a_judge_whose_run_failed_its_canary_texts_is_listed_and_not_ranked():
    study = ranked_study(range(40), range(40))
    other = make_judge_rater(study.workspace, "third")
    for place, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, other, {"preference": 1 if place % 2 else -1}, shown_first="a")
    again = Assignment.objects.filter(rater__label="strong", task__study=study).first()
    Assignment.objects.filter(pk=again.pk).update(discredited=True)
    found = report(study)
    assert found.compared.judges == ["third", "weak"]
    page = page_of(study)
    assert "strong failed its canary texts in a run and is neither ranked nor called best." in text_of(page)
    assert answer_of(page).startswith("No judge is shown to agree with people more than every other judge")


def test_judges_that_agree_equally_well_are_not_told_apart():
    study = make_checklist_study(instructions=22, models=1, items=1)
    raters = [make_rater(study), make_rater(study)]
    judges = [make_judge_rater(study.workspace, name) for name in ("one", "two")]
    for place, task in enumerate(study.tasks.order_by("pk")):
        for rater in [*raters, *judges]:
            make_answer(task, rater, {"item0": place % 5 / 4})
    said = answer_of(page_of(study, "?criterion=item0"))
    assert said.startswith("No judge is shown to agree with people more than every other judge")


@pytest.mark.parametrize("missing", ["judge", "people", "overlap", "instructions"])
def test_what_is_missing_is_named(missing):
    study = pair_study(
        models=2,
        instructions=1 if missing == "instructions" else 4,
        outcome=lambda i, j: 1,
        raters={"people": 0, "overlap": 1}.get(missing, 2),
    )
    if missing != "judge":
        judge = make_judge_rater(study.workspace)
        for task in study.tasks.all():
            make_answer(task, judge, {"preference": 1}, shown_first="a")
    said = {
        "judge": "No judge",
        "people": "There are no answers yet",
        "overlap": "Too few ratings",
        "instructions": "That needs at least two instructions in each category",
    }[missing]
    assert said in text_of(page_of(study))


class TestLinks:
    def test_the_pages_on_judges_lead_to_each_other(self):
        study = judged(4)
        client = signed_in("analyst", study.workspace)
        names = ["judging:judges", "judging:judges_methods", "judging:judges_depth", "calibration:agreement_detail"]
        places = {name: reverse(name, args=[study]) for name in names}
        for name in names[:3]:
            page = markup(client.get(places[name]))
            (related,) = re.findall(r'<nav class="related".*?</nav>', page, re.DOTALL)
            for other in names:
                assert (f'href="{places[other]}"' in related) is (other != name)


class TestFamilies:
    def test_a_judges_family_is_that_of_its_model_or_of_its_name(self):
        study = judged(4)
        model = LanguageModel.objects.create(workspace=study.workspace, name="strict-1", family="strict")
        rater = study.workspace.raters.get(label="poet")
        Judge.objects.create(
            workspace=study.workspace, rater=rater, language_model=model, method="pairs", prompt_hash="x"
        )
        LanguageModel.objects.create(workspace=study.workspace, name="coin", family="metal")
        coin = study.workspace.raters.get(label="coin")
        assert judge_families(study) == {rater.public_id: "strict", coin.public_id: "metal"}

    def test_the_depth_page_shows_what_a_judge_thinks_of_its_own(self):
        study = judged(24)
        LanguageModel.objects.create(workspace=study.workspace, name="poet", family="rhyme")
        LanguageModel.objects.filter(name="model0").update(family="rhyme")
        client = signed_in("lead", study.workspace)
        table = client.get(reverse("judging:judges_depth", args=[study]) + "?file=own-family.csv")
        # model0 is response A, which people always prefer and the poet half of the time.
        assert table.content.decode("utf-8-sig").splitlines()[1].startswith("poet,24,0.5,1.0,-0.5,")


def test_a_judge_of_items_is_compared_on_the_first_item_that_it_answered():
    """People's overall score comes first, but no judge of a checklist gives one."""
    study = make_checklist_study(instructions=6, models=1)
    people, judge = [make_rater(study) for _ in range(3)], make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.all()):
        for rater in people:
            make_answer(task, rater, {"overall": 6, "item0": 0.5, "item1": (place % 2) / 2})
        make_answer(task, judge, {"item1": 0.5})
    found = report(study)
    assert (found.criterion, found.criteria[0]) == ("item1", "overall")
    assert [row.all.value for row in found.methods] == [0.5]
    assert "No judge has given a verdict" in page_of(study, "?criterion=overall")
