"""Two workspaces may have a study or a benchmark of one slug: every page of a reader of both is about the same one."""

import pytest
from django.http import Http404
from django.urls import reverse

from accounts.models import Membership
from annotation.models import Study
from annotation.studies.access import study_led_by, study_read_by
from core.web.access import visible_or_404
from generation.library.access import benchmark_read_by
from tests.factories import make_checklist_study, make_user, make_workspace

pytestmark = pytest.mark.django_db
OF_A_STUDY = (
    "annotation:desk",
    "annotation:attention",
    "calibration:agreement",
    "calibration:weights",
    "judging:judges",
    "judging:export",
)


@pytest.fixture
def studies():
    return [make_checklist_study(workspace=make_workspace(slug)) for slug in ("older", "newer", "foreign")]


@pytest.fixture
def reader(studies):
    """Analyst of the older study's workspace, lead of the newer one's."""
    user = make_user("analyst", studies[0].workspace)
    Membership.objects.create(workspace=studies[1].workspace, user=user, role="lead")
    return user


def test_every_page_is_about_the_older_study(client, studies, reader):
    client.force_login(reader)
    shown = [client.get(reverse(name, args=["essays"])).context["study"] for name in OF_A_STUDY]
    assert shown == [studies[0]] * len(OF_A_STUDY)
    boards = client.get(reverse("judging:leaderboard", args=["essays-benchmark"]))
    assert boards.context["benchmark"] == studies[0].benchmark == benchmark_read_by(reader, "essays-benchmark")


def test_what_a_page_shows_is_what_its_button_changes(client, studies, reader):
    """Leading the other study of the slug does not do: the button would change what the page does not show."""
    client.force_login(reader)
    assert client.post(reverse("calibration:fit_now", args=["essays"])).status_code == 404
    assert client.get(reverse("judging:start_run", args=["essays"])).status_code == 403
    assert client.get(reverse("annotation:setup", args=["essays"])).status_code == 404
    Membership.objects.filter(user=reader, workspace=studies[0].workspace).delete()
    assert study_led_by(reader, "essays") == study_read_by(reader, "essays") == studies[1]


def test_a_study_that_may_not_be_seen_is_none(studies):
    stranger = make_user("rater", studies[0].workspace)
    for find in (study_read_by, study_led_by):
        with pytest.raises(Http404, match="no such study"):
            find(stranger, "essays")
    with pytest.raises(Http404, match="Not here"):
        visible_or_404(Study.objects.none(), message="Not here.")
