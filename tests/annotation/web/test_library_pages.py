"""Rubrics and guidelines in the library, as those who read results see them."""

import pytest
from django.urls import reverse

from annotation.models import Guideline, Rubric
from tests.factories import make_checklist_study, make_rubric, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


def url(name, *args):
    return reverse(f"library:{name}", args=args)


@pytest.fixture
def reader(client):
    client.force_login(make_user("analyst"))
    return client


@pytest.mark.parametrize("name", ["rubrics", "guidelines"])
def test_they_are_for_those_who_read_results(client, name):
    assert client.get(url(name)).status_code == 302
    client.force_login(make_user("rater"))
    assert client.get(url(name)).status_code == 403
    client.force_login(make_user("analyst"))
    assert client.get(url(name)).status_code == 200


def test_a_rubric_is_read_with_its_scales_and_found_by_its_key(reader):
    make_checklist_study()
    rubric = Rubric.objects.get()
    page = markup(reader.get(url("rubrics")))
    assert rubric.key in page and "Essay" in page
    assert "No rubrics found" in markup(reader.get(url("rubrics"), {"q": "zzz"}))
    page = markup(reader.get(url("rubric", rubric.pk)))
    assert "Is quality 0 there?" in page and "level 4" in page and "0 to 10" in page


def test_versions_lead_to_one_another(reader):
    old = make_rubric(make_workspace(), key="essay")
    new = make_rubric(make_workspace(), key="essay", version=2)
    assert url("rubric", old.pk) in markup(reader.get(url("rubric", new.pk)))


def test_a_guideline_is_read_as_raters_read_it(reader):
    guideline = Guideline.objects.create(
        workspace=make_workspace(), key="pairs", texts={"en": "# Read both\n\n<script>x</script> **First** this."}
    )
    assert "pairs" in markup(reader.get(url("guidelines")))
    page = markup(reader.get(url("guideline", guideline.pk)))
    assert "<strong>First</strong>" in page and "<script>x" not in page


def test_another_workspaces_are_not_there(reader):
    other = make_workspace("elsewhere")
    rubric = make_rubric(other)
    guideline = Guideline.objects.create(workspace=other, key="g", texts={"en": "x"})
    assert reader.get(url("rubric", rubric.pk)).status_code == 404
    assert reader.get(url("guideline", guideline.pk)).status_code == 404
    assert rubric.key not in markup(reader.get(url("rubrics")))
