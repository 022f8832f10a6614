"""The figures of the pages on weights, agreement and judges can be taken away, with every row of their tables."""

import pytest
from django.urls import reverse

from calibration.fits.store import run_fit
from generation.models import Category, Instruction
from tests.calibration.answered_studies import answered_study
from tests.calibration.result_page_checks import check_files, signed_in

pytestmark = pytest.mark.django_db


def names_of(study, page, query=""):
    return check_files(signed_in("analyst", study.workspace), reverse(page, args=[study]) + query)


def rows_of(study, page, file):
    client = signed_in("analyst", study.workspace)
    return client.get(reverse(page, args=[study]) + f"?file={file}").content.decode("utf-8-sig").splitlines()


def all_of(*keys):
    return sorted(f"{key}.{suffix}" for key in keys for suffix in ("csv", "png", "svg"))


def test_weights_of_one_category():
    study = answered_study()
    run_fit(study=study, draws=0)
    assert set(all_of("weights-1")) < set(names_of(study, "calibration:weights"))
    table = rows_of(study, "calibration:weights", "weights-1.csv")
    assert (
        table[0]
        == (
            "Item,Weight,Raters like these: low,Raters like these: high,These raters: low,These raters: high,"
            "Published,Difference,Raw,Floor"
        )
        and len(table) == 5
    )


def test_weights_of_two_categories_of_the_fit_asked_for():
    study = answered_study()
    second = Category.objects.create(benchmark=study.benchmark, key="letter", names={"en": "Letter"})
    half = list(Instruction.objects.filter(benchmark=study.benchmark).values_list("pk", flat=True)[:6])
    Instruction.objects.filter(pk__in=half).update(category=second)
    fit = run_fit(study=study, draws=0)
    names = names_of(study, "calibration:weights", f"?fit={fit.public_id}")
    assert set(all_of("overview", "weights-1", "weights-2")) < set(names)


def test_agreement_with_a_judge():
    study = answered_study(judge="gpt-4o")
    names = names_of(study, "calibration:agreement")
    assert set(all_of("criteria", "judges", "matrix")) < set(names) and {"alpha.tex", "page.json"} < set(names)
    assert len(rows_of(study, "calibration:agreement", "matrix.csv")) == 1 + 3
    head, judge = rows_of(study, "calibration:agreement", "judges.csv")
    assert ",People among themselves," in head and judge.startswith("gpt-4o,0.")


def test_judges_against_people():
    study = answered_study(judge="gpt-4o")
    assert names_of(study, "judging:judges") == sorted(
        [*all_of("items-1", "points-1"), "judges.csv", "judges.json", "judges.tex"]
    )
    assert len(rows_of(study, "judging:judges", "points-1.csv")) == 1 + 24
    assert len(rows_of(study, "judging:judges", "items-1.csv")) == 1 + 4
