"""A lead loads the library that comes with the program by a button, into a workspace that they lead, and undoes it."""

import pytest
from django.urls import reverse

from annotation.models import Guideline, Rubric
from generation.models import Import
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
ADDRESS = "/library/load/"


def test_an_empty_list_leads_to_the_button_that_loads_them(client):
    lead = make_user("lead", make_workspace())
    client.force_login(lead)
    assert ADDRESS in markup(client.get(reverse("library:rubrics")))
    assert ADDRESS in markup(client.get(reverse("library:guidelines")))
    form = markup(client.get(ADDRESS))
    assert f'name="workspace" value="{make_workspace().slug}"' in form
    assert not Rubric.objects.exists()
    assert client.post(ADDRESS, {"workspace": make_workspace().slug})["Location"] == reverse("library:rubrics")
    assert Rubric.objects.exists() and Guideline.objects.exists()
    found = Import.objects.get()
    assert (found.command, found.actor) == ("load_library", lead)
    before = Rubric.objects.count()
    client.post(ADDRESS, {"workspace": make_workspace().slug})
    assert Rubric.objects.count() == before and Import.objects.count() == 1
    client.post(reverse("annotation:undo_import", args=[found.pk]))
    assert not Rubric.objects.exists()


@pytest.mark.parametrize("role", ["analyst", "rater"])
def test_nobody_else_loads_it(client, role):
    """The attack: post the form of another workspace, or as somebody who only reads."""
    client.force_login(make_user(role, make_workspace()))
    assert client.get(ADDRESS).status_code in (403, 404)
    assert client.post(ADDRESS, {"workspace": make_workspace().slug}).status_code in (403, 404)
    client.force_login(make_user("lead", make_workspace("other"), username="otto"))
    assert client.post(ADDRESS, {"workspace": make_workspace().slug}).status_code == 404
    assert not Rubric.objects.exists()
