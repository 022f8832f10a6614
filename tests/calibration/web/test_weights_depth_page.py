"""The page behind the weights: the verdict, pooling, floors, leaving out, cohorts, another fit."""

from dataclasses import replace
from io import StringIO
from math import inf

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Cohort, Rater
from calibration.fits.store import run_fit
from calibration.reports.registry import report_of
from calibration.reports.weights import WEIGHTS, depth_settings
from calibration.statistics.weights.certificates import pooled_from_dict
from calibration.web.weights.certificate import pooling_sentences
from generation.models import Category, Instruction
from tests.calibration.answered_studies import answered_study
from tests.calibration.result_page_checks import (
    answer_of,
    check_access,
    check_files,
    load,
    never_nan,
    signed_in,
    text_of,
)
from tests.factories import make_checklist_study
from tests.markup import markup

pytestmark = pytest.mark.django_db


def address(study, query=""):
    return reverse("calibration:weights_depth", args=[study]) + query


def page_of(study, query=""):
    return markup(signed_in("lead", study.workspace).get(address(study, query)))


def test_only_those_who_read_results_see_it():
    study = answered_study()
    run_fit(study=study, draws=0)
    check_access("calibration:weights_depth", study)


def test_without_a_fit_it_says_so():
    assert "No weights have been fitted" in answer_of(page_of(make_checklist_study()))


def test_the_verdict_opens_the_page_with_its_interval_and_every_figure_is_there():
    study = answered_study(instructions=24, models=3)
    run_fit(study=study, draws=0)
    page = page_of(study)
    assert "Use these weights" in answer_of(page) and "95 % interval" in answer_of(page)
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"verdicts.svg", "floors-0.png", "raters-0.csv", "models-0.svg"} <= set(names)


def two_categories(study):
    """Half of the instructions in a second category of the same parent."""
    first = Category.objects.get(key="essay", benchmark=study.benchmark)
    second = Category.objects.create(benchmark=study.benchmark, parent=first.parent, key="letter")
    half = Instruction.objects.filter(benchmark=study.benchmark).order_by("pk")[:6]
    Instruction.objects.filter(pk__in=[one.pk for one in half]).update(category=second)


def test_a_family_has_its_pooling_path_drawn():
    study = answered_study(instructions=12, models=2)
    two_categories(study)
    run_fit(study=study, draws=0, pool=True)
    found = report_of(study, WEIGHTS, depth_settings(study))
    assert [row.verdict.use for row in found.categories]
    assert len(found.families[0].pooling.path) == 9 and found.families[0].pooling.path[-1][0] == inf
    page = page_of(study)
    never_nan(page.replace("∞", ""))
    said = text_of(page)
    assert (
        "The mean squared error is least at strength" in said
        and "Recommended weights for the 2 categories" in answer_of(page)
    )
    assert "Neither the strength nor this difference has an interval." in said
    assert "whether pooling predicts better is not tested here" in said
    weights = text_of(markup(signed_in("lead", study.workspace).get(reverse("calibration:weights", args=[study]))))
    assert weights.count("Neither the strength nor this difference has an interval.") == 2
    assert "pooling reduces the mean squared error by" not in weights
    out = StringIO()
    call_command("fit_weights", study.slug, "--pool", "--draws", "0", stdout=out)
    assert out.getvalue().count("Neither the strength nor this difference has an interval.") == 2


def test_pooling_that_predicts_a_category_worse_is_not_said_to_reduce_its_error():
    """The strength is chosen for the whole family, so that one of its categories may lose by it."""
    study = answered_study(instructions=12, models=2)
    two_categories(study)
    fit = run_fit(study=study, draws=0, pool=True)
    pooled = pooled_from_dict(fit.categories.get(key="essay").diagnostics["pooled"])
    worse = replace(pooled, categories={"essay": replace(pooled.categories["essay"], gain=-0.25)})
    assert "of this category, pooling raises the mean squared error by 0.250." in pooling_sentences(worse, "essay")


def test_categories_are_called_by_their_names_and_keep_their_keys_in_files():
    study = answered_study(instructions=12, models=2)
    two_categories(study)
    named = {
        "essay": {"en": "Long essays", "zh-hans": "长文"},
        "letter": {"en": "Letters", "zh-hans": "书信"},
        "writing": {"en": "All writing", "zh-hans": "写作"},
    }
    for key, names in named.items():
        Category.objects.filter(benchmark=study.benchmark, key=key).update(names=names)
    run_fit(study=study, draws=0)
    page = text_of(page_of(study))
    for words in ("Long essays: sensitivity to the floor", "Letters: without one rater", "pooling: All writing"):
        assert words in page
    assert "essay:" not in page and "letter:" not in page and "pooling: writing" not in page
    client = signed_in("lead", study.workspace)
    rows = client.get(address(study, "?file=verdicts.csv")).content.decode("utf-8-sig").splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["essay", "letter"]
    client.cookies["django_language"] = "zh-hans"
    assert "长文" in text_of(markup(client.get(address(study))))


def test_cohorts_have_weights_of_their_own():
    study = answered_study()
    crowd = Cohort.objects.create(study=study, name="Spring", kind="crowd")
    Rater.objects.filter(study=study, label="rater-0").update(cohort=crowd)
    run_fit(study=study, draws=0)
    found = report_of(study, WEIGHTS, depth_settings(study)).categories[0].cohorts
    assert [(row.cohort, row.fit.n) for row in found] == [("Spring", 24)]
    said = text_of(page_of(study))
    assert "weights by cohort" in said and "Whether cohorts differ" not in said
    assert (
        "Lines of cohorts with fewer than 20 instructions span the weights when each one is left out in turn." in said
    )


def test_the_lines_of_cohorts_name_their_population_and_compare_nothing():
    study = answered_study(instructions=24, models=1)
    for name, labels in (("Spring", ["rater-0"]), ("Autumn", ["rater-1", "rater-2"])):
        cohort = Cohort.objects.create(study=study, name=name)
        Rater.objects.filter(study=study, label__in=labels).update(cohort=cohort)
    run_fit(study=study, draws=0)
    said = text_of(page_of(study))
    assert "Lines of cohorts with at least 20 instructions are 95 % intervals for exactly these raters." in said
    assert "Whether cohorts differ is not tested here." in said


def test_two_fits_are_compared_on_the_same_answers():
    study = answered_study()
    first = run_fit(study=study, draws=0)
    second = run_fit(study=study, draws=0, floor=2.0)
    found = report_of(study, WEIGHTS, depth_settings(study, first.public_id, second.public_id))
    other = found.categories[0].other
    assert other.mse[0] < other.mse[1] and other.shift > 0
    page = page_of(study, f"?fit={first.public_id}&with={second.public_id}")
    assert "predicts the scores of the same held-out instructions" in text_of(page)
    study.policies = {**study.policies, "clusters": "items"}
    study.save(update_fields=["policies"])
    of_items = text_of(page_of(study, f"?fit={first.public_id}&with={second.public_id}"))
    assert "predicts the scores of the same held-out items" in of_items
    assert "fitted to all items but one" in of_items and "whole instructions" not in of_items


def test_one_instruction_gives_sentences():
    study = answered_study(instructions=1, models=4)
    run_fit(study=study, draws=0)
    never_nan(page_of(study))


def test_recipes_earn_their_weights(shared_data):
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
    )
    study = Rater.objects.first().study
    run_fit(study=study)
    found = report_of(study, WEIGHTS, depth_settings(study)).categories[0]
    assert found.verdict.use == "own" and found.verdict.sure
    half = next(step for step in found.floors if step.floor == 0.5)
    assert half.r2 == pytest.approx(0.8507, abs=1e-4)
    assert half.weights == pytest.approx([5.43, 41.10, 6.29, 11.45, 35.73], abs=0.005)
    assert len(found.raters.labels) == 88
