"""A retired judge's verdicts that came from a file, without a run, as the old side of a bridge."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from annotation.models import Assignment, Score
from core.errors import UserError
from judging.comparison.bridging.anchors import AnchorRequest, plan_anchors, started_anchor_run
from judging.comparison.bridging.loaded import loaded_in, loaded_named
from judging.comparison.bridging.run_bridge import run_bridge
from tests.factories import make_answer, make_judge_rater, make_user
from tests.judging.comparison.test_anchors import LEVELS, answered, lower, new, old  # noqa: F401
from tests.judging.comparison.test_run_pairs import text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def retired(old):  # noqa: F811
    """A judge of whom only verdicts from a file are there: those of the old judge."""
    rater = make_judge_rater(old.study.workspace, "retired judge")
    for answer in Assignment.objects.filter(rater=old.judge.rater).select_related("task__answer_rubric"):
        scores = Score.objects.filter(assignment=answer).values_list("criterion__key", "value")
        make_answer(answer.task, rater, dict(scores))
    return rater


def loaded_of(study):
    return loaded_in([study.workspace], study)


def test_verdicts_of_a_run_are_not_loaded_and_those_without_one_are(old, retired):  # noqa: F811
    (found,) = loaded_of(old.study)
    assert (found.judge, found.study, found.n) == (retired, old.study, 80)
    Assignment.objects.filter(rater=retired).update(discredited=True)
    assert loaded_of(old.study) == []


def test_the_bridge_is_that_of_a_run_with_the_same_verdicts(old, new, retired):  # noqa: F811
    (loaded,) = loaded_of(old.study)
    drawn = plan_anchors(AnchorRequest(loaded, new, per_model=15))
    assert drawn == plan_anchors(AnchorRequest(old, new, per_model=15))
    run = answered(started_anchor_run(AnchorRequest(loaded, new, per_model=15), clock=timezone.now), lower)
    assert run.manifest["settings"]["drawn"]["of"] == loaded.public_id
    found = run_bridge(loaded, run)
    assert (found.old, found.bridge.n_anchors) == ("retired judge", 30)
    assert replace(found, old="old judge") == run_bridge(old, run)
    with pytest.raises(UserError, match=r"no judge of this name .* retired judge"):
        loaded_named(loaded_of(old.study), "nobody")


def test_page_command_and_api_take_them(client, old, new, retired, django_assert_max_num_queries):  # noqa: F811
    (loaded,) = loaded_of(old.study)
    lead = make_user("lead", old.study.workspace)
    client.force_login(lead)
    draw = reverse("judging:draw_anchors", args=[loaded.public_id])
    assert draw in client.get(reverse("judging:judge_card", args=[retired.public_id])).content.decode()
    sent = {"judge": new.pk, "per_model": "15"}
    priced = client.post(draw, {**sent, "action": "preview"})
    assert priced.context["plan"].n == 30 and "that came from a file" in text(priced)
    assert client.post(draw, {**sent, "per_model": "9"}).status_code == 422
    out = StringIO()
    call_command("bridge", "retired judge", ask="new judge", per_model=15, price=True, json=True, stdout=out)
    _token, secret = issue_token(user=lead, name="script", scopes=["read", "run"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    listed = client.get(reverse("api:loaded_verdicts", args=[old.study.workspace.slug, old.study.slug]), **head)
    assert listed.json() == [{"id": loaded.public_id, "judge": "retired judge", "study": old.study.slug, "tasks": 80}]
    body = {"judge": "new judge", "per_model": 15, "price_only": True}
    told = client.post(f"/api/v1/runs/{loaded.public_id}/anchors/", body, **head)
    assert told.json() == json.loads(out.getvalue()) and told.json()["anchors"] == 30

    assert client.post(draw, sent).status_code == 302
    run = answered(new.runs.get(), lower)
    address = reverse("judging:bridge_runs", args=[run.public_id])
    assert "retired judge · Essays · 80 verdicts from a file" in text(client.get(address))
    client.get(address, {"old": loaded.public_id})
    with django_assert_max_num_queries(30):
        page = client.get(address, {"old": loaded.public_id})
    assert "Model means on the scale of retired judge" in text(page)
    step = page.context["next"]
    assert step["address"].startswith(draw) and step["why"].startswith("More anchors show"), "30 anchors cannot tell"
    assert draw in page.content.decode(), "more anchors can be drawn"
    out = StringIO()
    call_command("bridge", "retired judge", run.public_id, json=True, stdout=out)
    served = f"/api/v1/runs/{run.public_id}/bridge/"
    for name in ("retired judge", retired.public_id, loaded.public_id):
        assert client.get(served, {"old": name}, **head).json() == json.loads(out.getvalue())
    assert client.get(served, {"old": "nobody"}, **head).status_code == 400
    with pytest.raises(CommandError, match="no judge of this name"):
        call_command("bridge", "nobody", run.public_id)


def test_nobody_outside_the_workspace_sees_them(client, old, retired):  # noqa: F811
    (loaded,) = loaded_of(old.study)
    stranger = make_user("lead", username="stranger", workspace=None)
    stranger.memberships.all().delete()
    client.force_login(stranger)
    address = reverse("judging:draw_anchors", args=[loaded.public_id])
    assert client.get(address).status_code in (403, 404)
    listed = reverse("api:loaded_verdicts", args=[old.study.workspace.slug, old.study.slug])
    assert client.get(listed).status_code in (403, 404)
