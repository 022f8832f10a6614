"""The way in by every door, and rating without an account."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.models import (
    Assignment,
    DoorKnock,
    Guideline,
    Rater,
    RaterIdentity,
    Score,
    Seat,
    Standing,
    TimeCorrection,
)
from annotation.recruitment.cohorts import make_cohort
from annotation.recruitment.participation import COOKIE
from tests.annotation.raters_at_work import make_study
from tests.factories import make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5", "active": "90", "idle": "30"}
HTMX = {"HX-Request": "true", "HX-Target": "task"}


@pytest.fixture
def study():
    study = make_study(tasks=4, overlap=3, probe_rate=0, quota=2, payment={"en": "You are paid 3 dollars."})
    study.guideline = Guideline.objects.create(
        workspace=study.workspace, key="fair", texts={"en": "# Be fair", "zh-hans": "# 要公平"}
    )
    study.save()
    return study


@pytest.fixture
def crowd(study):
    return make_cohort(study, "prolific", "crowd", consents={"en": "We **ask** you.", "zh-hans": "我们请求您。"})


@pytest.fixture
def public(study):
    return make_cohort(study, "everybody", "public")


SESSION = "66a1f0c2d3e4b5a697887654"


def link(cohort, query=f"?PROLIFIC_PID=5f1a&STUDY_ID=s1&SESSION_ID={SESSION}"):
    query = query if cohort.kind == "crowd" else ""
    return reverse("annotation:join", args=[cohort.entry_token]) + query


def start(client, study):
    return client.post(reverse("annotation:start", args=[study]))


def go_in(client, cohort, **fields):
    """Through consent and guideline, to the first task."""
    client.post(link(cohort), {"answer": "yes"} | fields)
    client.post(link(cohort), {"read": "1"}, follow=True)
    response = start(client, cohort.study)
    return Assignment.objects.filter(status="open").get(public_id=response["Location"].split("/")[-2])


def rate_url(assignment):
    return reverse("annotation:rate", args=[assignment.public_id])


def test_a_crowd_workers_whole_way(client, study, crowd):
    page = markup(client.get(link(crowd)))
    assert "We <strong>ask</strong> you." in page
    assert "You are paid 3 dollars." in page
    assert "You are invited to rate 2 texts." in page
    assert not Rater.objects.exists()
    assert client.post(link(crowd), {"answer": "yes"})["Location"] == link(crowd)
    assert "Be fair" in markup(client.get(link(crowd)))
    client.post(link(crowd), {"read": "1"})
    assert "The first text is ready." in markup(client.get(link(crowd)))
    start(client, study)
    for _ in range(2):
        assignment = Assignment.objects.get(status="open")
        assert client.get(rate_url(assignment)).status_code == 200
        keep = reverse("annotation:save_draft", args=[assignment.public_id])
        draft = client.post(keep, {"serial": 1, "c-item0": "1"})
        assert draft.json() == {"kept": True}
        ended = client.post(rate_url(assignment), GOOD, headers=HTMX)
    done = reverse("annotation:done", args=[study])
    assert ended["HX-Redirect"] == done
    html = markup(client.get(done))
    assert crowd.codes["pass"] in html
    assert crowd.codes["fail"] not in html
    assert "Return to Prolific" in html
    assert "5f1a" not in html
    assert RaterIdentity.objects.get().particulars == {"STUDY_ID": "s1", "SESSION_ID": SESSION}
    assert Score.objects.count() == 8


def test_skipping_everything_ends_in_a_code_of_its_own_and_says_why(client, study, crowd):
    assert "At least 2 answers." in markup(client.get(link(crowd)))
    assignment = go_in(client, crowd)
    while assignment is not None:
        skip = reverse("annotation:skip_task", args=[assignment.public_id])
        client.post(skip, {"reason": "broken"})
        start(client, study)
        assignment = Assignment.objects.filter(status="open").first()
    html = markup(client.get(reverse("annotation:done", args=[study])))
    assert crowd.codes["too_little"] in html
    assert "You answered 0 of the 2 required tasks and skipped 4." in html
    assert crowd.codes["pass"] not in html
    assert crowd.codes["screened_out"] not in html


def test_the_way_in_speaks_chinese(client, study, crowd):
    client.cookies["django_language"] = "zh-hans"
    assert "我们请求您。" in markup(client.get(link(crowd)))
    client.post(link(crowd), {"answer": "yes"})
    assert "要公平" in markup(client.get(link(crowd)))


def test_a_worker_on_another_device_goes_on(client, study, crowd):
    assignment = go_in(client, crowd)
    other = Client()
    assert "You began this study in another browser." in markup(other.get(link(crowd)))
    assert other.get(rate_url(assignment)).status_code == 403  # looking alone makes the browser nobody's
    assert other.post(link(crowd), {"do": "continue"})["Location"] == reverse("annotation:done", args=[study])
    assert start(other, study)["Location"] == rate_url(assignment)
    assert Rater.objects.count() == 1


def test_mturk(client, study, crowd):
    address = link(crowd, "?workerId=A1&assignmentId=B2&hitId=C3")
    client.post(address, {"answer": "yes"})
    assert RaterIdentity.objects.get().key == "mturk:A1"
    preview = client.get(link(crowd, "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=C3"))
    assert preview.status_code == 200  # this browser is in already
    preview = Client().get(link(crowd, "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=C3"))
    assert preview.status_code == 400
    assert "This is a preview." in markup(preview)


def test_who_declines_gets_the_code_for_it_and_only_a_hash_of_their_id_is_kept(client, study, crowd):
    response = client.post(link(crowd), {"answer": "no"})
    done = reverse("annotation:done", args=[study])
    assert response["Location"] == done
    html = markup(client.get(done))
    assert crowd.codes["screened_out"] in html
    assert crowd.codes["pass"] not in html
    assert not RaterIdentity.objects.exists()
    assert Rater.objects.get().standing.consented_at is None
    assert start(client, study)["Location"] == done
    assert not Assignment.objects.exists()
    client.get(link(crowd))
    assert Rater.objects.count() == 1


@pytest.mark.parametrize("door", ["crowd without parameters", "expired public", "onsite, not signed in"])
def test_who_declined_and_agrees_at_another_door_stays_declined(client, study, crowd, public, door):
    client.post(link(crowd), {"answer": "no"})
    type(public).objects.filter(pk=public.pk).update(expires_at=timezone.now())
    address = {
        "crowd without parameters": link(crowd, ""),
        "expired public": link(public),
        "onsite, not signed in": link(make_cohort(study, "here", "onsite")),
    }[door]
    response = client.post(address, {"answer": "yes"})
    assert response["Location"] == reverse("annotation:done", args=[study])
    assert Rater.objects.count() == 1
    assert Standing.objects.get().consented_at is None
    assert "/rate/" not in start(client, study)["Location"]
    assert not Assignment.objects.exists()


def test_a_nickname_is_stored_without_characters_that_no_database_takes(client, public):
    client.post(link(public), {"answer": "yes", "nickname": "Night\0Owl"})
    assert RaterIdentity.objects.get().name == "Night\ufffdOwl"


def test_the_public_joins_by_cookie(client, study, public):
    page = markup(client.get(link(public)))
    assert "Nickname (optional)" in page
    assignment = go_in(client, public, nickname="  Owl  ")
    assert RaterIdentity.objects.get().name == "Owl"
    assert client.get(rate_url(assignment)).status_code == 200
    assert "Owl" not in markup(client.get(rate_url(assignment)))
    stranger = Client()
    assert stranger.get(rate_url(assignment)).status_code == 403
    go_in(stranger, public)
    assert stranger.get(rate_url(assignment)).status_code == 404
    assert stranger.post(rate_url(assignment), GOOD).status_code == 404
    assert Rater.objects.count() == 2
    assert RaterIdentity.objects.count() == 1


def test_a_forged_or_changed_cookie_is_nobody(client, study, public):
    assignment = go_in(client, public)
    name = Rater.objects.get().public_id
    for value in (name, f"{name}:x:y", client.cookies[COOKIE].value[:-1] + "~"):
        forger = Client()
        forger.cookies[COOKIE] = value
        response = forger.get(rate_url(assignment))
        assert response.status_code == 403
        assert "by the link" in markup(response)
    assert client.cookies[COOKIE]["httponly"]
    assert client.cookies[COOKIE]["samesite"] == "Lax"


def test_a_cookie_does_not_speak_for_an_account(client, study, public):
    """A rater with an account is reached by signing in only, even with a sound cookie that names it."""
    assignment = go_in(client, public)
    Rater.objects.update(user=make_user("rater", study.workspace))
    assert client.get(rate_url(assignment)).status_code == 404


def test_so_many_answers_an_hour(client, study, public):
    study.policies |= {"answers_per_hour": 1, "quota": 10}
    study.save()
    assignment = go_in(client, public)
    ended = client.post(rate_url(assignment), GOOD)
    assert ended["Location"] == reverse("annotation:done", args=[study])
    Assignment.objects.update(submitted_at=timezone.now() - timezone.timedelta(hours=2))
    assert "/rate/" in start(client, study)["Location"]


def test_onsite_asks_for_an_account(client, study):
    cohort = make_cohort(study, "here", "onsite")
    assert client.get(link(cohort))["Location"].startswith("/sign-in/?next=/join/")
    user = make_user("rater", study.workspace)
    client.force_login(user)
    go_in(client, cohort)
    rater = Rater.objects.get()
    assert (rater.user, rater.cohort) == (user, cohort)
    assert COOKIE not in client.cookies


def test_a_member_who_rated_before_becomes_one_of_the_cohort(client, study):
    cohort = make_cohort(study, "here", "onsite")
    client.force_login(make_user("rater", study.workspace))
    start(client, study)
    client.post(link(cohort), {"answer": "yes"})
    assert Rater.objects.get().cohort == cohort


def test_a_member_at_work_who_consents_is_nobody_new_at_the_door(client, study):
    """Neither the free seats nor the limit for their address are asked: they rate already."""
    cohort = make_cohort(study, "here", "onsite")
    client.force_login(make_user("rater", study.workspace))
    task = start(client, study)["Location"]
    Seat.objects.filter(state="free").delete()
    response = client.post(link(cohort), {"answer": "yes"})
    assert (response.status_code, response["Location"]) == (302, link(cohort))
    assert Standing.objects.get().consented_at is not None
    assert not DoorKnock.objects.exists()
    assert client.get(task).status_code == 200


@pytest.mark.parametrize("field", ["revoked_at", "expires_at"])
def test_a_closed_link_lets_nobody_new_in(client, study, public, field):
    go_in(client, public)
    type(public).objects.update(**{field: timezone.now()})
    closed = Client().get(link(public))
    assert closed.status_code == 410
    assert "invitation" in markup(closed)
    assert Client().post(link(public), {"answer": "yes"}).status_code == 410
    assert Rater.objects.count() == 1
    in_already = client.get(link(public))
    own_page = reverse("annotation:done", args=[study])
    if field == "revoked_at":
        assert in_already.status_code == 410
        assert own_page in markup(in_already)
    else:
        assert "Continue as R1" in markup(in_already)
    assert client.get(own_page).status_code == 200


def test_an_unknown_link_and_a_draft_study_are_not_found(client, study, public):
    assert client.get("/join/nothing/").status_code == 404
    study.status = "draft"
    study.save()
    assert client.get(link(public)).status_code == 404


def test_a_study_that_is_not_open_says_so(client, study, public):
    study.status = "paused"
    study.save()
    assert "not open at the moment" in markup(client.get(link(public)))
    client.post(link(public), {"answer": "yes"})
    assert not Rater.objects.exists()


def test_training_and_qualification_are_announced_and_a_failure_has_its_code(client, crowd, study):
    study.policies |= {"training": True, "qualification": {"of": 1, "pass": 1}}
    study.save()
    first, second = study.tasks.order_by("pk")[:2]
    mark_gold(first, {"overall": 5}, purpose="training")
    mark_gold(second, {"overall": 5}, purpose="qualification")
    make_seats(study)
    client.post(link(crowd), {"answer": "yes"})
    client.post(link(crowd), {"read": "1"})
    html = markup(client.get(link(crowd)))
    assert "You begin with 1 practice text" in html
    assert "After 1 expected answer, the study begins" in html
    start(client, study)
    told = client.post(rate_url(Assignment.objects.get(status="open")), GOOD)
    assert "Continue to the qualification" in markup(client.get(told["Location"]))
    start(client, study)
    ended = client.post(rate_url(Assignment.objects.get(status="open")), GOOD | {"c-overall": "9"})
    html = markup(client.get(ended["Location"]))
    assert crowd.codes["fail"] in html
    assert "Send to the lead" in html
    assert Standing.objects.get().state == "failed"
    assert client.get(link(crowd))["Location"] == reverse("annotation:done", args=[study])


def test_posts_need_a_token(study, public):
    assert Client(enforce_csrf_checks=True).post(link(public), {"answer": "yes"}).status_code == 403


class TestTime:
    @pytest.fixture
    def answered(self, client, study, public):
        assignment = go_in(client, public)
        assignment.shown_at -= timedelta(minutes=15)
        assignment.save()
        client.post(rate_url(assignment), GOOD)
        return client, assignment, reverse("annotation:correct_time", args=[assignment.public_id])

    def test_a_raters_word_stands_beside_the_measured_time(self, answered, study):
        client, assignment, address = answered
        done = reverse("annotation:done", args=[study])
        html = markup(client.get(done))
        assert re.search(r'<td class="num">1\.5</td>\s*<td class="num">0\.5</td>', html)
        client.post(address, {"minutes": "7", "reason": "I read on paper."})
        client.post(address, {"minutes": "12", "reason": "It was longer."})
        html = markup(client.get(done))
        assert "It was longer." in html
        assert "<dd>12 <small>minutes" in html
        assignment.refresh_from_db()
        assert assignment.active_seconds == 90
        assert list(TimeCorrection.objects.values_list("seconds", flat=True)) == [420, 720]

    @pytest.mark.parametrize("fields", [{"minutes": "5"}, {"minutes": "-1", "reason": "why"}, {"reason": "why"}])
    def test_nonsense_changes_nothing(self, answered, fields):
        client, _assignment, address = answered
        client.post(address, fields)
        assert not TimeCorrection.objects.exists()

    def test_nobody_elses(self, answered, public):
        _client, _assignment, address = answered
        other = Client()
        go_in(other, public)
        assert other.post(address, {"minutes": "5", "reason": "why"}).status_code == 404

    def test_corrections_cannot_be_changed(self, answered):
        from django.db import DatabaseError

        client, _assignment, address = answered
        client.post(address, {"minutes": "7", "reason": "I read on paper."})
        with pytest.raises(DatabaseError, match="append-only"):
            TimeCorrection.objects.update(seconds=1)


def test_every_cookie_gone_leads_to_the_way_back_and_tells_nothing(client, study, public, crowd):
    """A rater without an account, a stranger and a guess read the same page; only an account's own task asks to sign in."""
    mine = go_in(client, public)
    account = make_rater(study, make_user("rater", study.workspace, username="rosa"))
    theirs = Assignment.objects.create(task=study.tasks.last(), rater=account)
    addresses = [rate_url(mine), reverse("annotation:rate", args=["AAAAAAAAAAAAAAAA"])]
    addresses += [reverse("annotation:done", args=[f"lab/{slug}"]) for slug in (study.slug, "no-such-study")]
    pages = set()
    for address in addresses:
        html = Client().get(address).content.decode().replace(address, "")
        pages.add(re.sub(r'(nonce|value)="[^"]*"', "", html))
    (page,) = pages
    assert "are safe" in page and "open the study again by the link" in " ".join(page.split())
    for secret in (public.entry_token, crowd.entry_token, str(study.name), mine.rater.pseudonym, "/join/"):
        assert secret not in page
    assert Client().get(rate_url(theirs))["Location"].startswith("/sign-in/?next=/rate/")
    post = Client().post(rate_url(mine), {"c-item0": "2"})
    assert post.status_code == 403 and "no-cache" in post["Cache-Control"]
    mine.refresh_from_db()
    assert mine.status == "open"
