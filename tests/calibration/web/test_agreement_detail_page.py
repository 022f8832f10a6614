"""Agreement by criterion, category and cohort, and the alternative annotator test of each judge."""

import pytest
from django.urls import reverse

from annotation.models import Cohort, Rater, Study
from calibration.fits.store import run_fit
from calibration.reports.agreement_detail import AGREEMENT_DETAIL, detail_settings
from calibration.reports.registry import report_of
from generation.models import Category, Instruction
from tests.calibration.answered_studies import answer_study, answered_study
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
    return reverse("calibration:agreement_detail", args=[study]) + query


def page_of(study, query=""):
    return markup(signed_in("lead", study.workspace).get(address(study, query)))


def report(study, criterion=""):
    return report_of(study, AGREEMENT_DETAIL, detail_settings(criterion))


def test_only_those_who_read_results_see_it():
    check_access("calibration:agreement_detail", answered_study(judge="gpt-4o"))


def judged(value_of, raters=4, instructions=36):
    """Raters who agree within one point, and a judge who says `value_of(quality)`."""
    study = make_checklist_study(instructions=instructions, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(raters)]
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.all()):
        quality = 2 + place % 7
        for number, rater in enumerate(people):
            make_answer(task, rater, {"overall": quality + (number + place) % 2})
        make_answer(task, judge, {"overall": value_of(quality)})
    return study


def test_a_judge_who_says_what_people_say_may_replace_one():
    study = judged(lambda quality: quality)
    test = report(study).judges[0].tests["skilled"]
    assert test.passed and len(test.raters) == 4 and test.advantage.value > 0.5
    said = answer_of(page_of(study))
    assert "gpt-4o can replace a skilled rater: it wins against 4 of these 4 raters" in said
    assert "95 % interval for raters like these" in said and "for exactly these raters" in said
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"replacing.svg", "replacing.csv", "contests.csv", "agreement-all.png"} <= set(names)


def test_a_judge_who_says_the_same_of_everything_may_not():
    study = judged(lambda quality: 10)
    test = report(study).judges[0].tests["crowd"]
    assert not test.passed and test.winning_rate == 0
    said = answer_of(page_of(study))
    assert "cannot replace a skilled rater: it is shown to be worse than 4 of these 4 raters" in said


@pytest.mark.parametrize(
    ("up_to", "said"),
    [
        (3, "too few items; about 156 items of each rater would do. It wins against 0 of these 4 raters"),
        (4, "more items will not show that it can"),
    ],
)
def test_a_judge_of_few_items_is_not_refused_but_not_shown(up_to, said):
    """The judge is three points too high on 2 or 3 of 7 qualities: on 36 items neither answer is shown."""
    study = judged(lambda quality: quality + 3 * (quality <= up_to))
    opening = answer_of(page_of(study))
    assert "Whether gpt-4o can replace a skilled rater is not shown" in opening
    assert said in opening and "cannot" not in opening


def test_every_criterion_category_and_cohort_has_its_row():
    study = answered_study(instructions=24)
    crowd = Cohort.objects.create(study=study, name="Spring", kind="crowd")
    Rater.objects.filter(study=study, label__in=["rater-0", "rater-1"]).update(cohort=crowd)
    first = Category.objects.get(key="essay", benchmark=study.benchmark)
    second = Category.objects.create(benchmark=study.benchmark, parent=first.parent, key="letter")
    half = [one.pk for one in Instruction.objects.filter(benchmark=study.benchmark)[:12]]
    Instruction.objects.filter(pk__in=half).update(category=second)
    rows = report(study).rows
    assert {(row.by, row.group) for row in rows} == {
        ("all", ""),
        ("category", "essay"),
        ("category", "letter"),
        ("cohort", "Spring"),
    }
    assert len(rows) == 4 * 5
    spring = next(row for row in rows if row.by == "cohort" and row.criterion == "overall")
    assert spring.n_raters == 2 and spring.icc.icc2k > spring.icc.icc1 > 0
    assert "Spring: How good is it overall?" in text_of(page_of(study))


def test_categories_are_called_by_their_names_and_keep_their_keys_in_files():
    study = answered_study(instructions=24)
    first = Category.objects.get(key="essay", benchmark=study.benchmark)
    Category.objects.filter(pk=first.pk).update(names={"en": "Long essays", "zh-hans": "长文"})
    second = Category.objects.create(benchmark=study.benchmark, key="letter", names={"en": "Letters"})
    half = [one.pk for one in Instruction.objects.filter(benchmark=study.benchmark)[:8]]
    Instruction.objects.filter(pk__in=half).update(category=second)
    Instruction.objects.filter(pk__in=half[:4]).update(category=None)
    page = text_of(page_of(study))
    for name in ("Long essays", "Letters", "Without a category"):
        assert f"{name}: How good is it overall?" in page
    assert "essay: How" not in page and "letter: How" not in page and "all: How" not in page
    file = signed_in("lead", study.workspace).get(address(study, "?file=agreement-category.csv")).content.decode()
    assert {"essay: How good is it overall?", "letter: How good is it overall?", "all: How good is it overall?"} <= {
        row.split(",")[0] for row in file.splitlines()
    }


def test_items_are_not_called_instructions_where_each_is_its_own_cluster():
    study = answer_study(make_checklist_study(instructions=24, models=2, items=4), raters=2)
    for clusters, noun in (("items", "24 items"), ("instructions", "24 instructions")):
        study.policies = {"clusters": clusters}
        study.save()
        client = signed_in("lead", study.workspace)
        for name in ("calibration:agreement", "calibration:agreement_detail"):
            page = text_of(markup(client.get(reverse(name, args=[study]))))
            assert f"leaving out each of the {noun} in turn" in page, name
        page = text_of(markup(client.get(reverse("calibration:agreement", args=[study]))))
        assert ("Intervals resample whole items (24)" in page) is (clusters == "items")
        assert ("24 instructions" in page) is (clusters == "instructions")


def test_openings_of_few_items_speak_of_items_too():
    study = answered_study(instructions=12)
    run_fit(study=study, draws=10)
    for clusters, noun, other in (("items", "item", "instruction"), ("instructions", "instruction", "item")):
        study.policies = {"clusters": clusters}
        study.save()
        client = signed_in("lead", study.workspace)
        said = {
            name: answer_of(markup(client.get(reverse(f"calibration:{name}", args=[study]))))
            for name in ("agreement", "rankings", "weights")
        }
        assert f"when one {noun} is left out" in said["agreement"]
        assert f"when one {noun} is left out" in said["rankings"]
        assert f"n held-out {noun}s" in said["weights"]
        assert not any(f"{other}s" in words or f"one {other}" in words for words in said.values())
    desk = text_of(markup(client.get(reverse("calibration:summary", args=[study]))))
    assert "when one instruction is left out" in desk


@pytest.mark.parametrize("answers", ["none", "one rater", "constant"])
def test_degenerate_studies_give_sentences(answers):
    study = make_checklist_study(instructions=3, models=1)
    if answers != "none":
        for _ in range(1 if answers == "one rater" else 2):
            rater = make_rater(study)
            for task in study.tasks.all():
                make_answer(task, rater, {"overall": 5})
    page = page_of(study)
    never_nan(page)
    assert answer_of(page)


def test_pandalm_judges_are_tested_and_numbers_are_the_known_ones(shared_data):
    load(
        "preferences",
        shared_data("pandalm_wide.csv"),
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
        item="item_id",
        model_a="model1",
        model_b="model2",
    )
    found = report(Study.objects.get(slug="pandalm"))
    row = found.rows[0]
    assert row.alpha_nominal.value == pytest.approx(0.864221, abs=1e-6)
    assert row.fleiss.value == pytest.approx(0.864175, abs=1e-6)
    assert row.leave_one_out.rate == pytest.approx(0.919920, abs=1e-6)
    assert len(found.judges) == 2
    for judge in found.judges:
        assert judge.kind == "categorical" and not judge.tests["experts"].passed
