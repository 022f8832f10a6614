"""The plan announces as many ratings as a launch creates assignment slots, whatever the settings."""

import pytest

from annotation.assignment.attention_checks import mark_gold
from annotation.models import Criterion, Rubric, Seat, Study
from annotation.policies.policies import choose
from annotation.studies.life_cycle import create_study, make_tasks, prepare_and_open, request_launch
from annotation.studies.selection import planned_tasks
from calibration.web.plan_fragment import plan_of_study
from generation.models import LanguageModel
from tests.factories import make_checklist_study, make_rater, make_user
from tests.screen_studies import make_review_study

pytestmark = pytest.mark.django_db
LEVELS = [{"key": str(n), "value": n, "label": {"en": str(n)}, "description": {}} for n in (-1, 0, 1)]


@pytest.fixture
def source():
    return make_checklist_study(instructions=5, models=3, slug="source")


def draft_of(source, kind, **policies):
    lead = make_user("lead", source.workspace)
    study = create_study(
        workspace=source.workspace, names={"en": "Draft"}, kind=kind, benchmark=source.benchmark, by=lead
    )
    if kind in ("pair", "check"):
        study.rubric = Rubric.objects.create(workspace=source.workspace, key=f"own-{study.slug}", study=study)
        role = Criterion.Role.PREFERENCE if kind == "pair" else Criterion.Role.CHECK
        for number in range(1 if kind == "pair" else 2):
            Criterion.objects.create(rubric=study.rubric, key=f"q{number}", role=role, position=number, levels=LEVELS)
    choose(study, **policies)
    study.save()
    return study


def launched(study):
    request_launch(study, by=None)
    prepare_and_open(study)
    study.refresh_from_db()
    assert study.status == "open", study.policies.get("refused")
    return Seat.objects.filter(study=study).count()


@pytest.mark.parametrize("kind", ["checklist", "stars", "pair", "check"])
@pytest.mark.parametrize(
    "policies",
    [
        {},
        {"overlap": 1},
        {"overlap": 5, "quota": 4},
        {"overlap": 2, "probe_rate": 0.25, "controls": 3, "control_rate": 0.2},
        {"overlap": 2, "selection": {"instructions": 3}},
    ],
)
def test_plan_and_launch_agree(source, kind, policies):
    study = draft_of(source, kind, **policies)
    plan = plan_of_study(study)
    assert plan.ratings == plan.size.tasks * study.policies.get("overlap", 3)
    assert launched(study) == plan.ratings


def test_they_agree_for_baselines_even_pairs_and_uneven_responses(source):
    models = list(LanguageModel.objects.order_by("pk"))
    source.benchmark.instructions.first().responses.filter(model=models[0]).update(text=None)
    for selection in (
        {"pairs": "baselines", "baselines": [models[0].pk]},
        {"pairs": "even", "pairs_wanted": 7},
        {"models": [models[0].pk, models[1].pk]},
    ):
        study = draft_of(source, "pair", selection=selection)
        plan = plan_of_study(study)
        assert launched(study) == plan.ratings, selection


def test_they_agree_for_reviews():
    study = make_review_study(judge=None)
    draft = draft_of(study, "review", overlap=2)
    plan = plan_of_study(draft)
    assert plan is None or launched(draft) == plan.ratings


def test_gold_items_and_tasks_no_longer_chosen_get_no_slots(source):
    study = draft_of(source, "checklist", overlap=2)
    make_tasks(study)
    gold, kept = study.tasks.order_by("pk")[:2]
    mark_gold(gold, {"overall": 5})
    judge = make_rater(study, kind="judge")
    kept.assignments.create(rater=judge, status="submitted")
    other = LanguageModel.objects.exclude(pk=kept.response_a.model_id).order_by("pk")
    choose(study, selection={"models": [one.pk for one in other]})
    study.save()
    assert kept.key not in {one.key for one in planned_tasks(study).tasks}
    plan = plan_of_study(study)
    assert launched(study) == plan.ratings
    assert not kept.seats.exists()
    assert Study.objects.get(pk=study.pk).tasks.filter(pk=kept.pk).exists()


def test_hours_and_cost_include_the_checks(source):
    plain = plan_of_study(draft_of(source, "checklist", probe_rate=0.0, plan={"hourly_pay": "10"}))
    checked = plan_of_study(draft_of(source, "stars", probe_rate=0.25, plan={"hourly_pay": "10"}))
    assert (plain.checks, checked.checks) == (0, 15)  # a quarter of 60, of which 45 are ratings
    assert plain.hours == pytest.approx(45 * plain.plan.seconds / 3600)
    assert checked.hours == pytest.approx(60 * checked.plan.seconds / 3600)
    assert float(checked.cost) == pytest.approx(10 * checked.hours, abs=0.01)
