"""A study's policies: read with defaults whatever is stored, checked where a launch needs them, written in one place."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from annotation.models import Study
from annotation.policies.policies import (
    BadPolicy,
    CheckPlan,
    Expectation,
    Minimum,
    PaceRule,
    PausingRule,
    Policies,
    Qualification,
    Selection,
    change_policies,
    choose,
    stored,
)
from annotation.web.study.forms import initial_of
from tests.factories import make_checklist_study

STATED = {
    "overlap": 3,
    "order": "spread",
    "hints": "split",
    "quota": 15,
    "answers_per_hour": 20,
    "last_day": "2027-01-31",
    "training": True,
    "qualification": {"of": 8, "pass": 6},
    "probe_rate": 0.1,
    "gold_rate": 0,
    "control_rate": 0.25,
    "probe_gap": 7,
    "probe_times": 2,
    "checks": {"window": 5, "failed": 2},
    "reading_pace": {"words": 800, "told": 3, "paused": 4},
    "controls": 12,
    "show_gold": True,
    "show_hours": True,
    "one_key": False,
    "adjudicated_labels": True,
    "consent": {"en": "Yes?"},
    "payment": {"en": "Paid."},
    "plan": {"raters": 9, "hourly_pay": "12.50", "currency": "EUR"},
    "minimum": {"answers": 4, "checks": 70},
    "dropped": ["r:1", "r:2"],
    "clusters": "items",
    "mask_self_naming": True,
    "keep_self_naming": True,
    "scanned_at": "2027-01-01T10:00:00+00:00",
    "launching": 40,
    "refused": "It has no tasks.",
    "selection": {"models": [1, 2], "samples": "all", "pairs": "even", "pairs_wanted": 30},
}
NONSENSE = (None, True, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "7", [], ["x"], {}, {"x": 1}, {"of": "x"})


def test_every_policy_is_read_with_its_type():
    found = Policies.of(Study(policies=STATED))
    assert found == Policies(
        overlap=3,
        order="spread",
        hints="split",
        quota=15,
        answers_per_hour=20,
        last_day=date(2027, 1, 31),
        training=True,
        qualification=Qualification(8, 6),
        check_plan=CheckPlan({"probe": Fraction(1, 10), "gold": Fraction(0), "control": Fraction(1, 4)}, 7, 2),
        pausing=PausingRule(5, 2),
        reading_pace=PaceRule(800, 3, 4),
        controls=12,
        show_gold=True,
        show_hours=True,
        one_key=False,
        adjudicated_labels=True,
        consent={"en": "Yes?"},
        payment={"en": "Paid."},
        expected=Expectation(9, Decimal("12.50"), "EUR"),
        minimum=Minimum(4, 70),
        dropped=("r:1", "r:2"),
        clusters="items",
        mask_self_naming=True,
        keep_self_naming=True,
        scanned_at=datetime(2027, 1, 1, 10, tzinfo=UTC),
        launching=40,
        refused="It has no tasks.",
        stated=frozenset(STATED),
    )
    assert Selection.of(Study(policies=STATED)) == Selection(
        models=(1, 2), samples="all", pairs="even", pairs_wanted=30
    )


def test_a_study_without_policies_has_the_usual_ones():
    usual = Policies.of(Study())
    assert (usual.overlap, usual.order, usual.hints, usual.quota) == (1, "random", "hidden", None)
    assert usual.check_plan == CheckPlan(
        {"probe": Fraction(1, 50), "gold": Fraction(1, 20), "control": Fraction(1, 20)}, 10, 1
    )
    assert (usual.pausing, usual.reading_pace) == (PausingRule(10, 3), PaceRule(1000, 5, 5))
    assert (usual.stated, usual.problems) == (frozenset(), {})
    assert usual.checked() is usual


@pytest.mark.django_db
@pytest.mark.parametrize("name", STATED)
def test_a_value_that_makes_no_sense_is_read_as_the_default(name):
    study = make_checklist_study(instructions=1)
    usual = Policies.of(Study())
    for value in NONSENSE:
        study.policies = {name: value}
        found = Policies.of(study)
        Selection.of(study)
        initial_of(study)
        for problem in found.problems:
            assert problem == name
            with pytest.raises(BadPolicy, match=f"Study essays: {name}"):
                found.checked(name)
            field = {"checks": "pausing"}.get(name, name)
            if not name.startswith("probe") and not name.endswith("_rate"):
                assert getattr(found, field) == getattr(usual, field)
            else:
                assert found.check_plan == usual.check_plan


def test_none_and_empty_values_remove_a_policy():
    study = Study(policies={"quota": 5, "order": "spread", "training": True})
    choose(study, quota=None, order="", selection={}, dropped=[], gold_rate=0, show_gold=False)
    assert study.policies == {"training": True, "gold_rate": 0, "show_gold": False}
    assert stored(clusters="") == {}


@pytest.mark.django_db
def test_a_change_keeps_what_somebody_else_has_changed_meanwhile():
    study = make_checklist_study(instructions=1)
    change_policies(Study.objects.get(pk=study.pk), quota=5)
    change_policies(study, overlap=2)
    assert study.policies == Study.objects.get(pk=study.pk).policies == {"quota": 5, "overlap": 2}
