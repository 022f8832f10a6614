import json

import numpy as np
import pytest

from accounts.models import Event
from annotation.models import Assignment, Score
from calibration.data.frames import NothingToRead
from calibration.fits import store as fits_module
from calibration.fits.categories import FitRefused
from calibration.fits.export import FORMAT, fit_to_json, refit_from_json
from calibration.fits.store import publish_fit, run_fit
from calibration.models import CategoryFit, Fit, FittedWeight
from generation.execution.code_version import code_version
from generation.models import Category, Instruction, Response
from tests.calibration.answered_studies import TRUTH, answer_study, answered_study
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, remove

pytestmark = pytest.mark.django_db


def as_read(fit):
    """The export as another machine reads it: through text."""
    return json.loads(json.dumps(fit_to_json(fit)))


def second_category(study, key="letter", instructions=2):
    """Moves the last `instructions` instructions of a study into a second category with the same parent."""
    own = Instruction.objects.filter(benchmark=study.benchmark).order_by("-pk")[:instructions]
    first = Category.objects.get(benchmark=study.benchmark, key="essay")
    other = Category.objects.create(benchmark=study.benchmark, parent=first.parent, key=key, names={"en": key.title()})
    for instruction in own:
        instruction.category = other
        instruction.save()
    return other


def test_a_fit_is_stored_with_its_weights_settings_data_and_versions():
    study = answered_study()
    user = make_user("lead", study.workspace)
    fit = run_fit(study=study, floor=0.25, seed=3, draws=50, user=user)
    category = CategoryFit.objects.get(fit=fit)
    weights = list(FittedWeight.objects.filter(category_fit=category).order_by("position"))
    assert [weight.criterion_key for weight in weights] == ["item0", "item1", "item2", "item3"]
    assert sum(weight.weight for weight in weights) == pytest.approx(100)
    assert [weight.raw_weight for weight in weights] == pytest.approx(list(TRUTH), abs=0.35)
    assert fit.settings == {"floor": 0.25, "pool": False, "draws": 50, "seed": 3, "skipped": {}}
    assert (fit.study, fit.benchmark, fit.created_by) == (study, study.benchmark, user)
    assert len(fit.data_hash) == 64
    assert fit.versions["numpy"] == np.__version__
    assert fit.versions["plumbline"] == code_version()
    assert fit_to_json(fit)["versions"] == fit.versions
    assert category.n == 72
    assert category.category.key == "essay"
    assert category.r2 == pytest.approx(category.diagnostics["certificate"]["fit"]["r2"], abs=0)
    assert Event.objects.get(verb="fitted").object_id == fit.public_id


def test_intervals_are_stored_only_as_what_they_are():
    few = run_fit(study=answered_study(instructions=6), draws=50)
    kinds = CategoryFit.objects.get(fit=few).diagnostics["certificate"]["intervals"]["instruction"]["interval_kind"]
    assert kinds == "leave_one_out_range"
    assert all(w.low <= w.weight <= w.high for w in FittedWeight.objects.filter(category_fit__fit=few))
    alone = run_fit(study=answered_study(instructions=1, models=8, slug="alone"), draws=50)
    assert not FittedWeight.objects.filter(category_fit__fit=alone, low__isnull=False).exists()


def test_the_same_answers_and_settings_give_the_stored_fit_and_a_new_answer_a_new_one():
    study = answered_study()
    first = run_fit(study=study, draws=20)
    assert run_fit(study=study, draws=20) == first
    assert run_fit(study=study, draws=20, floor=1.0) != first
    task = study.tasks.first()
    make_answer(task, make_rater(study), {**{f"item{i}": 1.0 for i in range(4)}, "overall": 10})
    second = run_fit(study=study, draws=20)
    assert second != first
    assert second.data_hash != first.data_hash
    first.refresh_from_db()
    assert CategoryFit.objects.get(fit=first).n == 72


def test_judges_probes_and_unfinished_answers_are_not_fitted():
    study = answered_study(judge="gpt-4o")
    before = run_fit(study=study, draws=0)
    person = study.raters.get(label="rater-0")
    for status, repeat in (("submitted", 1), ("open", 2), ("skipped", 3)):
        answer = Assignment.objects.create(task=study.tasks.first(), rater=person, repeat=repeat, status=status)
        rubric = study.tasks.first().answer_rubric
        Score.objects.bulk_create(
            Score(assignment=answer, criterion=criterion, value=criterion.ends[1])
            for criterion in rubric.criteria.all()
        )
    assert run_fit(study=study, draws=0) == before
    assert CategoryFit.objects.get(fit=before).n == 72


def test_a_corrected_answer_counts_in_the_next_fit():
    study = answered_study()
    before = run_fit(study=study, draws=0)
    score = Score.objects.filter(criterion__key="overall", value__lt=9).first()
    Score.objects.create(assignment=score.assignment, criterion=score.criterion, revision=1, value=score.value + 1)
    after = run_fit(study=study, draws=0)
    assert after.data_hash != before.data_hash


def test_answers_with_an_item_that_does_not_apply_are_left_out_and_counted():
    study = answered_study()
    rubric = study.tasks.first().answer_rubric
    rubric.criteria.filter(key="item1").update(may_not_apply=True)
    answer = Assignment.objects.create(task=study.tasks.first(), rater=make_rater(study), status="submitted")
    for criterion in rubric.criteria.all():
        missing = criterion.key == "item1"
        Score.objects.create(
            assignment=answer, criterion=criterion, value=None if missing else 1, not_applicable=missing
        )
    exported = fit_to_json(run_fit(study=study, draws=0))
    assert exported["categories"][0]["dropped_not_applicable"] == 1
    assert exported["categories"][0]["n"] == 72


def test_an_export_is_repeated_from_itself_alone_to_the_last_digit():
    study = answered_study(instructions=24)
    payload = as_read(run_fit(study=study, draws=200, seed=9))
    assert payload["format"] == FORMAT
    Fit.objects.all().delete()
    remove(Score.objects.all())
    again = refit_from_json(payload)
    assert again.differences == ()
    assert again.payload["categories"][0]["weights"] == payload["categories"][0]["weights"]
    assert again.payload["categories"][0]["intervals"] == payload["categories"][0]["intervals"]


def test_a_pooled_export_repeats_too():
    study = make_checklist_study(instructions=14, models=2, items=4)
    second_category(study, instructions=4)
    answer_study(study)
    fit = run_fit(study=study, pool=True, draws=20)
    payload = as_read(fit)
    assert refit_from_json(payload).differences == ()
    assert {one["category"] for one in payload["categories"]} == {"essay", "letter"}
    pooled = payload["categories"][0]["pooled"]
    assert pooled["categories"]["essay"]["weights"] == payload["categories"][0]["weights"]
    assert not FittedWeight.objects.filter(category_fit__fit=fit, low__isnull=False).exists()


def test_an_altered_export_is_found_out():
    payload = as_read(run_fit(study=answered_study(), draws=0))
    payload["categories"][0]["weights"][0] += 1e-9
    payload["categories"][0]["rows"]["overall"][0] = 0.0
    assert "essay: weights" in refit_from_json(payload).differences


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "not an exported fit"),
        ({"categories": [{"category": "essay"}]}, "incomplete"),
        ({"settings": {"floor": 0.5}}, "incomplete"),
    ],
)
def test_what_is_no_export_is_refused_in_one_sentence(change, message):
    payload = as_read(run_fit(study=answered_study(), draws=0))
    with pytest.raises(FitRefused, match=message):
        refit_from_json({**payload, **change})


def test_a_category_with_fewer_answers_than_items_stops_the_fit_and_nothing_is_stored():
    study = make_checklist_study(instructions=6, models=1, items=4)
    second_category(study, instructions=1)
    answer_study(study)
    with pytest.raises(FitRefused, match=r"letter \(3 answers, 4 items\).*--skip-small") as caught:
        run_fit(study=study)
    assert caught.value.small == (("letter", 3, 4),)
    assert not Fit.objects.exists()
    assert not CategoryFit.objects.exists()


def test_small_categories_can_be_left_out_and_are_remembered():
    study = make_checklist_study(instructions=6, models=1, items=4)
    second_category(study, instructions=1)
    answer_study(study)
    fit = run_fit(study=study, skip_small=True, draws=0)
    assert [category.key for category in fit.categories.all()] == ["essay"]
    assert fit.settings["skipped"] == {"letter": 3}


def test_leaving_out_cannot_leave_nothing():
    study = answer_study(make_checklist_study(instructions=1, models=1, items=4))
    with pytest.raises(FitRefused, match="Fewer complete answers than items") as caught:
        run_fit(study=study, skip_small=True)
    assert "--skip-small" not in str(caught.value)


def test_constant_overall_scores_are_refused_with_the_category():
    study = make_checklist_study(instructions=6, models=1, items=4)
    rater = make_rater(study)
    for place, task in enumerate(study.tasks.all()):
        make_answer(task, rater, {**{f"item{i}": (place + i) % 5 / 4 for i in range(4)}, "overall": 7})
    with pytest.raises(FitRefused, match="Category essay: All overall scores equal 7"):
        run_fit(study=study)
    assert not Fit.objects.exists()


def test_a_study_without_answers_says_so():
    with pytest.raises(NothingToRead):
        run_fit(study=make_checklist_study())


def test_numbered_positions_are_not_left_out_as_if_they_were_persons():
    study = answered_study()
    study.raters.update(kind="slot")
    exported = fit_to_json(run_fit(study=study, draws=0))["categories"][0]
    assert "rater" not in exported["clusters"]
    assert exported["r2_leave_one_rater_out"] is None
    assert exported["r2_leave_one_instruction_out"] is not None


def test_responses_without_a_model_are_not_left_out_by_model():
    study = answered_study()
    for response in Response.objects.all():
        Response.objects.filter(pk=response.pk).update(model=None, external_id=f"r{response.pk}")
    exported = fit_to_json(run_fit(study=study, draws=0))["categories"][0]
    assert exported["r2_leave_one_model_out"] is None


def test_a_name_is_given_once_and_belongs_to_one_fit():
    study = answered_study()
    fit = run_fit(study=study, draws=0)
    assert publish_fit(fit=fit, name="essays-2024").published_name == "essays-2024"
    assert publish_fit(fit=fit, name="essays-2024").published_name == "essays-2024"
    with pytest.raises(FitRefused, match="already published"):
        publish_fit(fit=fit, name="other")
    other = run_fit(study=study, floor=0.1, draws=0)
    with pytest.raises(FitRefused, match="Another fit"):
        publish_fit(fit=other, name="essays-2024")
    other.refresh_from_db()
    assert other.published_name == ""
    assert Event.objects.filter(verb="published").count() == 1


def test_progress_is_told_category_by_category():
    study = make_checklist_study(instructions=14, models=2, items=4)
    second_category(study, instructions=4)
    answer_study(study)
    told = []
    run_fit(study=study, draws=0, progress=lambda done, total, key: told.append((done, total, key)))
    assert told == [(0, 2, "essay"), (1, 2, "letter"), (2, 2, "")]


def test_a_fit_that_fails_half_way_leaves_nothing(monkeypatch):
    study = answered_study()

    def fails(*_):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(fits_module, "_weight_rows", fails)
    with pytest.raises(RuntimeError):
        run_fit(study=study, draws=0)
    assert not Fit.objects.exists()
