"""Every page on every study that a statistic cannot stand on: a sentence, never NaN, never a traceback."""

from contextlib import suppress

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Rater, Study
from calibration.data.frames import NothingToRead
from calibration.fits.categories import FitRefused
from calibration.fits.store import run_fit
from generation.models import Category, Instruction
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import FILES, never_nan, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, remove
from tests.markup import markup

pytestmark = pytest.mark.django_db
PAGES = [
    "calibration:weights",
    "calibration:weights_depth",
    "calibration:planner",
    "calibration:raters",
    "calibration:rankings",
    "calibration:agreement",
    "calibration:agreement_detail",
    "calibration:summary",
    "calibration:desk_figures",
    "judging:judges",
    "judging:judges_depth",
    "judging:judges_methods",
    "judging:judges_metrics",
]


def answered(value_of, *, instructions=6, models=2, raters=3, items=2, share=1.0):
    """value_of(place of the task, number of the rater, key's place) on every item, and on the overall score."""
    study = make_checklist_study(instructions=instructions, models=models, items=items)
    rng = np.random.default_rng(0)
    people = [make_rater(study, label=f"p{number}") for number in range(raters)]
    people.append(make_judge_rater(study.workspace))
    for place, task in enumerate(study.tasks.order_by("pk")):
        for number, rater in enumerate(people):
            if rng.random() > share and rater.kind != Rater.Kind.JUDGE:
                continue
            values = {f"item{n}": value_of(place, number, n) for n in range(items)}
            make_answer(task, rater, {**values, "overall": round(10 * value_of(place, number, items))})
    return study


def steps(place, number, key):
    return (place * 3 + number + key) % 5 / 4


def nobody():
    return make_checklist_study()


def one_answer():
    study = make_checklist_study(instructions=1, models=1)
    make_answer(study.tasks.get(), make_rater(study), {"item0": 1.0, "item1": 0.5, "item2": 0.5, "overall": 7})
    return study


def no_overlap():
    study = make_checklist_study(instructions=4, models=2, items=2)
    for place, task in enumerate(study.tasks.order_by("pk")):
        values = {"item0": place % 5 / 4, "item1": (place + 1) % 5 / 4, "overall": place}
        make_answer(task, make_rater(study), values)
    return study


def negative_alpha():
    """Two raters who disagree as much as they can."""
    return answered(lambda place, number, key: float((place + number + key) % 2), raters=2)


def slots_only():
    study = answered(steps)
    Rater.objects.filter(study=study).update(kind=Rater.Kind.SLOT)
    return study


def slots_of_pairs():
    study = judged_pairs(pair_study(models=2, instructions=4, raters=3))
    Rater.objects.filter(study=study).update(kind=Rater.Kind.SLOT)
    return study


def lonely_category():
    study = answered(steps)
    second = Category.objects.create(benchmark=study.benchmark, key="letter", names={"en": "Letter"})
    Instruction.objects.filter(pk=study.tasks.first().response_a.instruction_id).update(category=second)
    return study


def judged_only():
    study = make_checklist_study(instructions=3, items=2)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {"item0": 1.0, "item1": 0.0, "overall": 5})
    return study


def judged_pairs(study):
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {"preference": 1}, shown_first="a")
    return study


def disconnected():
    """Models 0 and 1 meet, and 2 and 3 do, but never each other."""
    study = pair_study(models=4, instructions=4, raters=2)
    for task in study.tasks.select_related("response_a__model", "response_b__model"):
        if {task.response_a.model.name, task.response_b.model.name} not in ({"model0", "model1"}, {"model2", "model3"}):
            remove(task)
    return judged_pairs(study)


def reviews():
    study = make_checklist_study()
    return Study.objects.create(
        workspace=study.workspace,
        slug="reviews",
        kind="review",
        benchmark=study.benchmark,
        status="open",
        names={"en": "Reviews"},
    )


STUDIES = {
    "nobody has answered": nobody,
    "one answer": one_answer,
    "one rater": lambda: answered(steps, raters=1),
    "no overlap": no_overlap,
    "constant scores": lambda: answered(lambda place, number, key: 0.5),
    "collinear items": lambda: answered(lambda place, number, key: (place * 3 + number) % 5 / 4),
    "a category of one instruction": lonely_category,
    "one instruction": lambda: answered(steps, instructions=1, models=4),
    "one model": lambda: answered(steps, models=1),
    "missing cells": lambda: answered(steps, share=0.6),
    "negative alpha": negative_alpha,
    "slots": slots_only,
    "slots of pairs": slots_of_pairs,
    "judges alone": judged_only,
    "all ties": lambda: judged_pairs(pair_study(models=3, instructions=4, raters=2, outcome=lambda i, j: 0)),
    "one side always wins": lambda: judged_pairs(pair_study(models=3, instructions=4, outcome=lambda i, j: 1)),
    "disconnected": disconnected,
    "one pair": lambda: pair_study(models=2, instructions=1, raters=1),
    "pairs without texts or sides": lambda: pair_study(models=2, instructions=3, sides=False, texts=False),
    "an empty study of reviews": reviews,
}


@pytest.mark.parametrize("which", STUDIES)
def test_every_page_says_something(which):
    study = STUDIES[which]()
    with suppress(FitRefused, NothingToRead):
        run_fit(study=study, draws=20)
    client = signed_in("lead", study.workspace)
    for name in PAGES:
        place = reverse(name, args=[study])
        response = client.get(place)
        page = markup(response)
        assert response.status_code == 200, name
        never_nan(page)
        assert len(text_of(page).split()) > 10, name
        for file in set(FILES.findall(page)):
            if file.endswith(".csv") and name != "judging:judges":
                table = client.get(f"{place}?file={file}").content.decode("utf-8-sig").lower()
                assert "nan" not in table.replace("\n", ",").split(","), (name, file)
