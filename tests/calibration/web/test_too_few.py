"""Where there is too little of something, pages say of what, how much is needed and how much there is."""

import ast
import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils.translation import override

from calibration.fits.categories import FitRefused
from calibration.reports.codec import Missing, part, read_back, stored
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.bias import length_bias
from calibration.statistics.judges.transport import RATED_MODELS
from calibration.statistics.ranking.power import PowerCurve, power_curve
from calibration.web.messages.reasons import error_words, reason_of
from calibration.web.messages.statistics import refusal_facts, words_of_refusal
from calibration.web.messages.too_few import too_few_words
from calibration.web.rankings.scores import _separation
from core.messages.rendering import render
from judging.comparison.fitted_panel import FEW_IN_FOLD, NO_JUDGE_IN_FOLD
from judging.published.hellobench.reasons import FEW_IN_COMMON
from judging.published.papers.href_reasons import TOO_FEW_FOR_HALVES
from tests.calibration.answered_studies import answered_study
from tests.factories import make_answer, make_checklist_study, make_rater

UNSAID = "There are too few ratings for this"


def things_named():
    """What the errors of the code say there is too little of, where they say so in so many words."""
    for app in ("calibration", "judging"):
        for path in (Path(settings.BASE_DIR) / app).rglob("*.py"):
            if "design" in path.parts:
                continue  # Planning, whose pages catch the error and say what to enter.
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "TooFewRatings":
                    continue
                named = node.args[2] if len(node.args) > 2 else None
                if isinstance(named, ast.Constant):
                    yield named.value


def test_everything_of_which_there_can_be_too_little_has_a_name_in_both_languages():
    things = {*things_named(), RATED_MODELS} - {"orders"}
    assert len(things) > 40
    english = {thing: too_few_words(0, 7, thing) for thing in things}
    assert [thing for thing, said in english.items() if said.startswith(UNSAID)] == []
    with override("zh-hans"):
        assert [thing for thing, said in english.items() if too_few_words(0, 7, thing) == said] == []
    assert too_few_words(3, 7, "unheard of") == f"{UNSAID}: at least 7 are needed, and there are 3."


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "This needs at least 20 of these: instructions. There are none yet."),
        (1, "This needs at least 20 of these: instructions. There is only 1."),
        (12, "This needs at least 20 of these: instructions. There are only 12."),
    ],
)
def test_a_part_says_how_many_are_needed_and_how_many_there_are(n, said):
    found = Missing.because(TooFewRatings(n, 20, "instructions"))
    assert reason_of(found) == said
    assert reason_of(read_back(Missing | PowerCurve, stored(found))) == said


def test_that_nobody_shares_a_task_is_said_only_where_it_is_so():
    """Every other lack used to be explained by it."""
    shared = "no task has been rated by two people"
    lengths = part(lambda: length_bias(np.array([10]), np.array([10]), np.array([1.0]), threshold=300))
    assert shared not in reason_of(lengths)
    assert "whose lengths differ by at least the threshold" in reason_of(lengths)
    assert shared in reason_of(Missing.because(TooFewRatings(1, 2, "ratings of the same task")))


def test_models_with_the_same_mean_are_not_said_to_be_no_different():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(24, 1)) + np.zeros((24, 3))
    said = _separation(power_curve(scores), "instructions")
    assert said.count("cannot be told, because some models have the same mean here") == 2
    assert "do not differ" not in said


@pytest.mark.django_db
def test_the_command_about_raters_says_why_an_interval_is_not_stated_and_for_whom_the_others_are():
    study = make_checklist_study(instructions=24, models=1, items=1)
    people = [make_rater(study, label=f"p{number}") for number in range(2)]
    for place, task in enumerate(study.tasks.order_by("pk")):
        for number, rater in enumerate(people):
            make_answer(task, rater, {"item0": 0.5, "overall": (place * 5 + number * (place % 3)) % 10})
    out = StringIO()
    call_command("report_raters", study.slug, stdout=out)
    said = out.getvalue()
    assert "that needs at least 3 raters, and there are 2." in said
    assert "95 % for exactly these raters" in said
    out = StringIO()
    call_command("report_raters", answered_study(instructions=6, slug="few").slug, stdout=out)
    assert "correlation with the others: Not stated: at least 20 shared instructions are needed." in out.getvalue()


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("NoTieModel", "that needs at least one tie, and among the other comparisons wins that contradict each other"),
        ("NobodyToCompare", "At least one task that both rated is needed"),
    ],
)
def test_a_reason_without_counts_says_what_is_needed_too(code, needed):
    said = error_words(code)
    assert needed in said and "too few" not in said
    with override("zh-hans"):
        assert error_words(code) != said


def test_a_refused_fit_names_what_there_is_too_little_of():
    """A fit of one instruction used to be refused because no task had been rated by two people."""
    cause = TooFewRatings(1, 2, "instructions")
    refused = FitRefused(f"Pooling the categories of letters: {cause}", family="letters")
    refused.__cause__ = cause
    said = words_of_refusal(json.loads(json.dumps(refusal_facts(refused))))
    assert said == ("Pooling the categories of letters: This needs at least 2 of these: instructions. There is only 1.")


@pytest.mark.parametrize(
    ("wording", "values", "needed"),
    [
        (FEW_IN_COMMON, {"needed": 3}, "at least 3 answers to the same questions"),
        (TOO_FEW_FOR_HALVES, {}, "at least two instructions in each category"),
        (FEW_IN_FOLD, {"folds": 10}, "at least 2 instructions, in different parts, on which people rated two models"),
        (NO_JUDGE_IN_FOLD, {"folds": 10, "n": 24}, "at least 1 judge that goes with people"),
    ],
)
def test_messages_that_refuse_for_too_little_say_how_much_and_for_what(wording, values, needed):
    message = wording(**values)
    assert needed in str(message)
    assert render(message, "zh-hans") != str(message)
