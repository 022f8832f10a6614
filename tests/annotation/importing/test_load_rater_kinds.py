"""Columns on raters: their kind makes cohorts, and hints are a condition of the answer."""

import pytest
from django.core.management import CommandError

from annotation.models import Assignment, Cohort, Rater, Study
from calibration.reports.raters import _compute, rater_settings
from calibration.web.raters.effects import hint_blocks
from generation.models import Response
from tests.annotation.tables import RATINGS, load, written
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db
KINDS = ("--column", "rater_kind=kind", "--column", "seconds=took", "--column", "hint=hint")
HEAD = "item,rater,criterion,value,kind,took,hint\n"


@pytest.fixture(autouse=True)
def workspace():
    make_workspace()


def test_kinds_make_cohorts_and_seconds_and_hints_are_kept(tmp_path):
    rows = [
        f"i{item},{who},q,{2 + item % 2 + (who == 'c')},{kind},{10 + item},{hint}\n"
        for item in range(6)
        for who, kind, hint in (
            ("a", "Onsite", "yes"),
            ("b", "onsite", "yes"),
            ("c", "public", "no"),
            ("d", "crowd", ""),
        )
    ]
    load("ratings", written(tmp_path, HEAD + "".join(rows)), *RATINGS, *KINDS)
    study = Study.objects.get()
    assert dict(Rater.objects.values_list("label", "cohort__kind")) == {
        "a": "onsite",
        "b": "onsite",
        "c": "public",
        "d": "crowd",
    }
    assert sorted(Cohort.objects.values_list("name", "study")) == [
        ("crowd", study.pk),
        ("onsite", study.pk),
        ("public", study.pk),
    ]
    first = Assignment.objects.filter(task__response_a__external_id="i3")
    assert set(first.values_list("rater__label", "active_seconds")) == {(who, 13.0) for who in "abcd"}
    assert dict(first.values_list("rater__label", "conditions")) == {
        "a": {"hint": True},
        "b": {"hint": True},
        "c": {"hint": False},
        "d": {},
    }
    _hash, report = _compute(study, rater_settings())
    assert report.kinds == {"onsite": 2, "public": 1, "crowd": 1}
    assert {group.group for group in report.accuracy.groups if group.by == "cohort"} == {"onsite", "public", "crowd"}
    # With hints everybody gives 2 or 3, without one more: 100 * (3.5 / 2.5 - 1) = 40 %.
    (row,) = report.hints.rows
    assert (row.criterion, row.units, row.difference.value) == ("q", 6, 1.0)
    assert row.percent.value == pytest.approx(40)
    (block,) = hint_blocks(study, report.hints)
    assert "40.0" in block.answer
    assert "Nothing has changed." in load("ratings", tmp_path / "r.csv", *RATINGS, *KINDS)
    assert Cohort.objects.count() == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("i1,a,q,2,home,,\n", "r.csv line 2: the rater's kind is 'home'; say one of onsite, crowd, public."),
        (
            "i1,a,q,2,crowd,,\ni2,a,q,2,public,,\n",
            "r.csv line 3: a is called public here and crowd before; give a rater one kind, or tell raters of two kinds "
            "apart by their names.",
        ),
        ("i1,a,q,2,,,perhaps\n", "r.csv line 2: hint is 'perhaps'; say yes or no, or leave it empty."),
    ],
)
def test_kinds_and_hints_that_make_no_sense_are_refused(tmp_path, row, message):
    with pytest.raises(CommandError) as error:
        load("ratings", written(tmp_path, HEAD + row), *RATINGS, *KINDS)
    assert str(error.value) == message
    assert not Cohort.objects.exists()


def test_one_response_serves_tables_that_name_it_differently(tmp_path):
    first = "item,rater,criterion,value,model\nx1,a,q,2,m\nx1,a,q,3,n\n"
    load("ratings", written(tmp_path, first), *RATINGS, "--column", "model=model", "--study", "one")
    second = "item,rater,criterion,value,model,prompt\nm-x1,b,q,2,m,x1\nn-x1,b,q,3,n,x1\nn-x1-again,b,q,3,n,x1\n"
    named = ("--column", "model=model", "--column", "instruction=prompt", "--study", "two")
    load("ratings", written(tmp_path, second), *RATINGS, *named, "--benchmark", "one", "--create-items")
    # The table's second text by n is a response of its own; the others were there.
    assert sorted(Response.objects.values_list("model__name", "external_id")) == [
        ("m", "x1"),
        ("n", "n-x1-again"),
        ("n", "x1"),
    ]
    load("ratings", tmp_path / "r.csv", *RATINGS, *named, "--benchmark", "one", "--create-items")
    assert Response.objects.count() == 3
