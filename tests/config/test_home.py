"""The start page: what waits for a lead, what changed since the last visit, and what comes next in each study."""

import html
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.models import Flag, Standing
from calibration.fits.store import run_fit
from calibration.reports.agreement import agreement_report
from config.home_changes import A_VISIT, changes_since, note_visit
from generation.execution.states import _log
from judging.models import Judge, JudgeRun
from tests.calibration.answered_studies import answered_study
from tests.factories import make_answer, make_judge_rater, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "item3": 0.25, "overall": 6}


def part_of(client, name):
    found = re.search(rf'<section class="stack-tight {name}">.*?</section>', markup(client.get("/")), re.DOTALL)
    if not found:
        return []
    return [
        (html.unescape(re.sub(r"\s+", " ", words)).strip(), address)
        for address, words in re.findall(r'<a href="([^"]*)">(.*?)</a>', found[0], re.DOTALL)
    ]


def test_what_changed_is_linked_and_belongs_to_the_readers_workspaces(client):
    study = answered_study(instructions=3)
    judge = Judge.objects.create(
        workspace=study.workspace, rater=make_judge_rater(study.workspace, "length"), method="length", prompt_hash="x"
    )
    run = JudgeRun.objects.create(judge=judge, study=study, status="finished")
    _log(run, "started", None)
    _log(run, "finished", None)
    rater = study.raters.first()
    Event.objects.create(workspace=study.workspace, verb="pause_rater", object_type="rater", object_id=rater.public_id)
    fit = run_fit(study=study, floor=0.5, pool=False, skip_small=False, user=None)
    agreement_report(study)
    client.force_login(make_user("analyst", study.workspace))
    run_page, rater_page = (
        reverse("judging:run", args=[run.public_id]),
        reverse("annotation:rater", args=[study, rater.public_id]),
    )
    fit_page = f"{reverse('calibration:weights', args=[study])}?fit={fit.public_id}"
    first = dict(part_of(client, "changes"))
    # The first report on anything is no change.
    assert set(first.values()) == {run_page, rater_page, fit_page}
    assert "The run of length in Essays has finished." in first
    for task in study.tasks.all():
        make_answer(task, make_rater(study), VALUES)
    agreement_report(study)
    assert part_of(client, "changes")[0] == (
        "The agreement of the raters of Essays has changed.",
        reverse("calibration:agreement", args=[study]),
    )
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert part_of(client, "changes") == []


def test_a_visit_ends_after_half_an_hour():
    user, now = make_user("lead"), timezone.now()
    first = note_visit(user, now)
    assert first < now - timedelta(days=6)
    assert note_visit(user, now + timedelta(minutes=20)) == first
    user.refresh_from_db()
    assert note_visit(user, now + timedelta(minutes=40)) == first
    later = now + timedelta(minutes=40) + A_VISIT + timedelta(minutes=5)
    assert note_visit(user, later) == now + timedelta(minutes=40)
    assert changes_since(user, later) == []


def test_what_waits_names_what_it_counts(client):
    study = answered_study(instructions=2)
    rater = study.raters.first()
    Standing.objects.update_or_create(rater=rater, defaults={"state": "paused"})
    for text in ("unclear", "twice the same"):
        Flag.objects.create(task=study.tasks.first(), rater=rater, kind="unclear", text=text)
    Flag.objects.create(task=study.tasks.first(), rater=rater, kind="appeal", text="please")
    client.force_login(make_user("lead", study.workspace))
    (found,) = part_of(client, "waits")
    assert found == (study.name, reverse("annotation:attention", args=[study]))
    assert "1 appeal, 2 notes, 1 rater stopped" in markup(client.get("/"))
