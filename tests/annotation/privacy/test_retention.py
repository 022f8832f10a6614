"""What the operator keeps for so many days only goes after them, in small batches, and no sooner."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Event
from annotation.models import Assignment, Draft, Flag, LateChange, Participant, RaterIdentity, Score, TimeCorrection
from annotation.privacy import retention
from annotation.recruitment.cohorts import CrowdId, join, make_cohort
from annotation.tasks import retain
from tests.annotation.raters_at_work import clock, make_study, work
from tests.factories import make_answer, make_judge_rater, make_user

pytestmark = pytest.mark.django_db
TEXT = "because of the rhyme"


@pytest.fixture
def rater():
    study = make_study(tasks=3, overlap=2, probe_rate=0)
    crowd = CrowdId("prolific", "prolific:5f1a", {"SESSION_ID": "s"})
    rater = join(make_cohort(study, "crowd", "crowd"), consent="yes", clock=clock(), crowd=crowd)
    work(rater, study, 1)
    answer = Assignment.objects.get(rater=rater, status="submitted")
    score = answer.scores.first()
    for revision in range(5, 8):
        Score.objects.create(assignment=answer, criterion=score.criterion, revision=revision, value=1, reason=TEXT)
    LateChange.objects.create(assignment=answer, cause="closed", answers={"overall": {"value": 1, "reason": TEXT}})
    TimeCorrection.objects.create(assignment=answer, seconds=5, reason=TEXT)
    Flag.objects.create(task=answer.task, rater=rater, kind="note", text=TEXT)
    Draft.objects.create(task=study.tasks.last(), rater=rater, answers={})
    user = make_user()
    for verb in ("signed in", "sign-in failed", "password changed"):
        Event.objects.create(verb=verb, object_type="accounts.User", object_id=user.public_id)
    judge = make_judge_rater(study.workspace)
    verdict = make_answer(study.tasks.last(), judge, {})
    Score.objects.create(assignment=verdict, criterion=score.criterion, value=1, reason="a judge's reason")
    return rater


def later(days):
    return lambda: timezone.now() + timedelta(days=days)


def test_by_default_everything_is_kept(rater, settings):
    assert dict.fromkeys(("texts", "participants", "sign_ins", "drafts"), 0) == settings.RETAIN_DAYS
    retain()
    assert retention.retain(later(10_000)) == {}
    assert RaterIdentity.objects.exists() and Draft.objects.exists()


def test_each_kind_goes_after_its_days_and_no_sooner(rater, settings, monkeypatch):
    monkeypatch.setattr(retention, "AT_ONCE", 2)
    settings.RETAIN_DAYS = {"texts": 30, "participants": 40, "sign_ins": 50, "drafts": 60}
    assert set(retention.retain(later(29)).values()) == {0}
    assert not Event.objects.filter(verb="retention").exists()
    scores = list(Score.objects.order_by("pk").values_list("pk", "value"))
    texts = retention.retain(later(31))
    assert (texts["texts"], texts["participants"]) == (6, 0)
    assert list(Score.objects.order_by("pk").values_list("pk", "value")) == scores
    assert list(Score.objects.exclude(reason="").values_list("reason", flat=True)) == ["a judge's reason"]
    assert LateChange.objects.get().answers == {"overall": {"value": 1, "reason": ""}}
    assert TimeCorrection.objects.get().reason == Flag.objects.get().text == ""
    assert retention.retain(later(41))["participants"] == 1
    kept = Participant.objects.get()
    assert not RaterIdentity.objects.exists()
    assert kept.mark and not kept.submission
    assert retention.retain(later(51))["sign_ins"] == 2
    assert Event.objects.filter(verb="password changed").exists()
    assert retention.retain(later(61))["drafts"] == 1
    assert sum(event.after["rows"] for event in Event.objects.filter(verb="retention")) == 10
    assert set(retention.retain(later(99)).values()) == {0}


def test_who_answered_lately_keeps_their_identity(rater, settings):
    settings.RETAIN_DAYS = {"texts": 0, "participants": 40, "sign_ins": 0, "drafts": 0}
    Assignment.objects.filter(rater=rater).update(submitted_at=timezone.now() + timedelta(days=30))
    assert retention.retain(later(41)) == {"participants": 0}
