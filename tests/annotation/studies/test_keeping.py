"""Duplicating a study, and archiving it."""

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.models import Assignment, Criterion, Rater, Rubric, Study
from annotation.policies.policies import choose
from annotation.recruitment.participation import participations
from annotation.studies.access import studies_listed, studies_read_by
from annotation.studies.keeping import archive_study, duplicate_study, restore_study
from annotation.studies.life_cycle import StudyRefused, prepare_and_open, request_launch
from annotation.studies.selection import planned_tasks
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=3, models=2, slug="source")


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def test_a_duplicate_has_settings_rubric_selection_and_texts_but_no_raters_and_answers(study, lead):
    own = Rubric.objects.create(workspace=study.workspace, study=study, key="study-source", names=study.names)
    levels = [{"key": str(n), "value": n, "label": {"en": str(n)}, "description": {}} for n in (0, 1)]
    Criterion.objects.create(rubric=own, key="good", role="item", position=0, levels=levels, questions={"en": "Good?"})
    study.names, study.rubric, study.status = {"en": "Source", "zh-hans": "源"}, own, "closed"
    models = [study.benchmark.instructions.first().responses.first().model_id]
    choose(study, overlap=4, consent={"en": "Yes."}, selection={"models": models}, dropped=["r:1"], launching=3)
    study.save()
    Assignment.objects.create(task=study.tasks.first(), rater=make_rater(study), status="submitted")
    made = duplicate_study(study, by=lead)
    made.refresh_from_db()
    assert made.names == {"en": "Source (copy)", "zh-hans": "源（副本）"}
    assert (made.status, made.kind, made.benchmark) == ("draft", study.kind, study.benchmark)
    assert made.policies["selection"] == {"models": models}
    assert (made.policies["overlap"], made.policies["consent"]) == (4, {"en": "Yes."})
    assert "dropped" not in made.policies and "launching" not in made.policies
    assert made.rubric != own and made.rubric.study == made
    assert [one.levels for one in made.rubric.criteria.all()] == [levels]
    assert not Rater.objects.filter(study=made).exists() and not made.tasks.exists()
    assert len(planned_tasks(made)) == 3
    request_launch(made, by=lead)
    prepare_and_open(made)
    assert made.seats.count() == 12
    assert duplicate_study(study, by=lead).slug != made.slug, "twice is no clash"


def test_an_archived_study_is_in_no_list_and_its_results_stay_readable(client, study, lead):
    study.status = "closed"
    study.save()
    client.force_login(lead)
    listed = reverse("annotation:studies")
    assert "?archived=1" not in markup(client.get(listed))
    client.post(reverse("annotation:archive_study", args=[study]), {"do": "archive"})
    assert study not in studies_listed(lead) and study in studies_read_by(lead)
    desk = f'href="{reverse("annotation:desk", args=[study])}"'
    page = markup(client.get(listed))
    assert desk not in page and "?archived=1" in page
    assert desk in markup(client.get(listed, {"archived": "1"}))
    assert client.get(reverse("annotation:desk", args=[study])).status_code == 200
    assert client.get(reverse("calibration:agreement", args=[study])).status_code == 200
    client.post(reverse("annotation:archive_study", args=[study]), {"do": "restore"})
    assert desk in markup(client.get(listed))
    verbs = Event.objects.filter(object_id=study.public_id).order_by("pk").values_list("verb", flat=True)
    assert list(verbs)[-2:] == ["archive_study", "restore_study"]


def test_an_open_study_is_not_archived_and_raters_find_no_archived_one(study, lead):
    draft = duplicate_study(study, by=lead)
    request_launch(draft, by=lead)
    prepare_and_open(draft)
    with pytest.raises(StudyRefused):
        archive_study(draft, by=lead)
    rater = make_user("rater", study.workspace)
    assert [one.study for one in participations(rater)] == [draft]
    Study.objects.filter(pk=draft.pk).update(status="paused")
    archive_study(draft, by=lead)
    Study.objects.filter(pk=draft.pk).update(status="open")
    assert participations(rater) == []
    restore_study(draft, by=lead)
    assert [one.study for one in participations(rater)] == [draft]


@pytest.mark.parametrize("name", ["duplicate_study", "archive_study"])
@pytest.mark.parametrize(("role", "status"), [("analyst", 404), ("rater", 403), ("lead", 302)])
def test_who_may_do_it(client, study, name, role, status):
    client.force_login(make_user(role, study.workspace))
    address = reverse(f"annotation:{name}", args=[study])
    assert client.post(address).status_code == status
    assert client.get(address).status_code in (403, 404, 405)
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.post(address).status_code == 404
