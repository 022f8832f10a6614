"""Doors: links that run out and are revoked, codes, accounts, the rate limit, forgetting who somebody is."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.urls import reverse

from accounts.models import Event, Membership, User
from annotation.answers.recording import skip
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import has_more, next_assignment
from annotation.assignment.rater_progress import NoTaskLeft, progress_of
from annotation.assignment.rater_status import pause
from annotation.models import Assignment, CheckOutcome, Cohort, Flag, Rater, RaterIdentity, Seat
from annotation.monitoring.skipped_tasks import set_aside, skipped_by_all
from annotation.policies.policies import BadPolicy
from annotation.recruitment.cohorts import (
    AlreadyIn,
    CrowdId,
    LinkClosed,
    NoCrowdId,
    check_link,
    completion_of,
    crowd_id,
    erase_identity,
    join,
    make_accounts,
    make_cohort,
    new_codes,
    renew_link,
    revoke_link,
    turn_away,
)
from annotation.recruitment.minimum import minimum_of
from tests.annotation.raters_at_work import NOON, clock, make_study, work
from tests.factories import make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
PROLIFIC = {"PROLIFIC_PID": "5f1a", "STUDY_ID": "s1", "SESSION_ID": "x1"}


@pytest.fixture
def study():
    return make_study(tasks=6, overlap=2, probe_rate=0)


@pytest.fixture
def crowd(study):
    return make_cohort(study, "prolific", "crowd")


def enter(cohort, pid="5f1a", **fields):
    return join(cohort, consent="yes", clock=clock(), crowd=CrowdId("prolific", f"prolific:{pid}", {}), **fields)


def test_parameters_of_both_platforms_are_read():
    assert crowd_id(PROLIFIC) == CrowdId("prolific", "prolific:5f1a", {"STUDY_ID": "s1", "SESSION_ID": "x1"})
    mturk = crowd_id({"workerId": "A1", "assignmentId": "B2", "hitId": "C3", "turkSubmitTo": "https://x"})
    assert mturk == CrowdId("mturk", "mturk:A1", {"assignmentId": "B2", "hitId": "C3"})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "does not contain your participant ID"),
        ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "from your platform is damaged"),
        ({"PROLIFIC_PID": "x" * 65}, "from your platform is damaged"),
        ({"workerId": "A1", "hitId": "<script>"}, "from your platform is damaged"),
        ({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, "preview"),
        ({"workerId": "A1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "C3"}, "preview"),
    ],
)
def test_a_link_without_a_sound_worker_is_refused(parameters, message):
    with pytest.raises(NoCrowdId, match=message):
        crowd_id(parameters)


def test_a_link_runs_out_is_revoked_and_renewed(study):
    cohort = make_cohort(study, "open", "public", expires_at=NOON + timedelta(days=1))
    check_link(cohort, clock=clock())
    with pytest.raises(LinkClosed, match="has expired"):
        check_link(cohort, clock=clock(24 * 60))
    revoke_link(cohort, clock=clock(), by=None)
    cohort.refresh_from_db()
    with pytest.raises(LinkClosed, match="has been withdrawn"):
        check_link(cohort, clock=clock())
    old = cohort.entry_token
    renew_link(cohort, expires_at=None, by=None)
    check_link(cohort, clock=clock(10**6))
    assert cohort.entry_token != old
    assert set(Event.objects.values_list("verb", flat=True)) == {"make_cohort", "revoke_link", "renew_link"}


def test_codes_are_drawn_for_a_crowd_only(study, crowd):
    assert set(crowd.codes) == {"pass", "fail", "screened_out", "quota_full", "too_little"}
    assert len(set(crowd.codes.values())) == 5
    assert new_codes() != new_codes()
    assert make_cohort(study, "here", "onsite").codes == {}


def test_a_name_is_used_once_in_a_study(study, crowd):
    with pytest.raises(IntegrityError):
        make_cohort(study, "prolific", "public")


def test_who_joins_stands_apart_from_their_answers(study, crowd):
    rater = enter(crowd)
    assert (rater.label, rater.pseudonym, rater.user) == ("R1", "R1", None)
    identity = RaterIdentity.objects.get(rater=rater)
    assert identity.key == "prolific:5f1a"
    assert "5f1a" not in str(Rater.objects.values().get(pk=rater.pk))
    assert rater.standing.consented_at == NOON
    assert len(rater.standing.consent_hash) == 64


def test_a_worker_who_returns_is_no_second_rater(crowd):
    enter(crowd)
    with pytest.raises(AlreadyIn):
        enter(crowd)
    with pytest.raises(AlreadyIn):
        enter(make_cohort(crowd.study, "second wave", "crowd"))
    assert enter(crowd, "other").pseudonym == "R2"
    assert Rater.objects.count() == 2


def test_forgetting_who_somebody_is_keeps_the_answers(study, crowd):
    rater = enter(crowd)
    work(rater, study)
    lead = make_user("lead", study.workspace)
    assert erase_identity(rater, by=lead)
    assert not RaterIdentity.objects.exists()
    assert Assignment.objects.filter(rater=rater, status="submitted").count() == 6
    assert not erase_identity(rater, by=lead)
    assert Event.objects.get(verb="erase_identity").actor == lead


def test_forgetting_an_account_cuts_it_from_the_answers(study):
    user = make_user("rater", study.workspace, username="rosa")
    cohort = make_cohort(study, "here", "onsite")
    rater = join(cohort, consent="yes", clock=clock(), user=user)
    assert rater.identity.name == "rosa"
    assert "rosa" not in rater.label + rater.pseudonym
    erase_identity(rater, by=None)
    rater.refresh_from_db()
    assert rater.user is None


class TestCompletion:
    def code(self, rater, study):
        more = has_more(study, rater, clock=clock())
        return completion_of(rater, study, progress_of(rater), more=more)

    def test_none_while_there_is_work_then_the_code_of_passing(self, study, crowd):
        rater = enter(crowd)
        work(rater, study, most=2)
        assert self.code(rater, study) is None
        work(rater, study)
        found = self.code(rater, study)
        assert (found.outcome, found.code) == ("pass", crowd.codes["pass"])
        assert found.address == f"https://app.prolific.com/submissions/complete?cc={crowd.codes['pass']}"

    def test_a_quota_completes_the_work(self, study, crowd):
        study.policies["quota"] = 2
        study.save()
        rater = enter(crowd)
        work(rater, study)
        assert progress_of(rater).submitted == 2
        assert self.code(rater, study).outcome == "pass"

    def test_who_is_stopped_may_end_at_once(self, study, crowd):
        rater = enter(crowd)
        work(rater, study, most=1)
        pause(rater, message="", by=None)
        assert self.code(rater, study).outcome == "fail"

    def test_who_said_no_is_screened_out(self, study, crowd):
        rater = turn_away(crowd, CrowdId("prolific", "prolific:5f1a", {}), browser="", clock=clock())
        assert not RaterIdentity.objects.exists()
        assert self.code(rater, study).code == crowd.codes["screened_out"]

    def skip_all(self, rater, study):
        while True:
            try:
                assignment, _progress = next_assignment(rater, study, clock=clock())
            except NoTaskLeft:
                return
            skip(assignment=assignment, reason="broken", clock=clock())

    @pytest.mark.parametrize("quota", [None, 2])
    def test_skipping_everything_passes_nothing(self, study, crowd, quota):
        study.policies["quota"] = quota
        study.save()
        rater = enter(crowd)
        self.skip_all(rater, study)
        found = self.code(rater, study)
        assert (found.outcome, found.code) == ("too_little", crowd.codes["too_little"])
        assert "skipped" in found.lacking[0]

    def test_one_answer_and_the_rest_skipped_passes_nothing(self, study, crowd):
        rater = enter(crowd)
        work(rater, study, most=1)
        self.skip_all(rater, study)
        assert self.code(rater, study).outcome == "too_little"

    def test_as_many_answers_as_skips_pass_where_no_number_is_stated(self, study, crowd):
        rater = enter(crowd)
        work(rater, study, most=3)
        self.skip_all(rater, study)
        assert self.code(rater, study).outcome == "pass"

    def test_a_study_that_runs_out_of_tasks_has_a_code_of_its_own(self, study, crowd):
        study.policies["quota"] = 10
        study.save()
        rater = enter(crowd)
        work(rater, study)
        found = self.code(rater, study)
        assert (found.outcome, found.code) == ("quota_full", crowd.codes["quota_full"])
        Seat.objects.update(state="taken", leased_until=None)
        late = self.code(enter(crowd, "late"), study)
        assert late.outcome == "quota_full"

    def test_a_pause_of_the_study_ends_nobodys_part(self, study, crowd):
        study.policies["quota"] = 4
        study.save()
        rater = enter(crowd)
        work(rater, study, most=1)
        study.status = "paused"
        study.save()
        assert self.code(rater, study) is None
        study.status = "closed"
        study.save()
        assert self.code(rater, study).outcome == "quota_full"

    def test_the_stated_minimum_of_answers(self, study, crowd):
        study.policies |= {"quota": 6, "minimum": {"answers": 4}}
        study.save()
        diligent, idle = enter(crowd), enter(crowd, "idle")
        work(diligent, study, most=4)
        self.skip_all(diligent, study)
        assert self.code(diligent, study).outcome == "pass"
        work(idle, study, most=3)
        self.skip_all(idle, study)
        assert self.code(idle, study).outcome == "too_little"
        assert "3 of the 4 required tasks" in self.code(idle, study).lacking[0]

    def test_the_stated_minimum_of_minutes(self, study, crowd):
        study.policies |= {"quota": 2, "minimum": {"minutes": 5}}
        study.save()
        rater = enter(crowd)
        work(rater, study)
        Assignment.objects.filter(rater=rater).update(active_seconds=149)
        found = self.code(rater, study)
        assert found.outcome == "too_little"
        assert found.lacking == ("You worked 4 of the 5 required minutes.",)
        Assignment.objects.filter(rater=rater).update(active_seconds=150)
        assert self.code(rater, study).outcome == "pass"

    def test_the_stated_minimum_of_checks(self, study, crowd):
        study.policies |= {"quota": 4, "minimum": {"checks": 75}}
        study.save()
        rater = enter(crowd)
        done = work(rater, study)
        for place, assignment in enumerate(done):
            outcome = {"purpose": "gold", "passed": place < 2}
            CheckOutcome.objects.create(assignment=assignment, **outcome)
        assert self.code(rater, study).outcome == "too_little"
        CheckOutcome.objects.filter(assignment=done[2]).update(passed=True)
        assert self.code(rater, study).outcome == "pass"

    def test_without_checks_their_minimum_holds_nobody_up(self, study, crowd):
        study.policies |= {"quota": 2, "minimum": {"checks": 75}}
        study.save()
        rater = enter(crowd)
        work(rater, study)
        assert self.code(rater, study).outcome == "pass"

    def test_a_cohort_from_before_shows_the_codes_that_its_platform_knows(self, study, crowd):
        crowd.codes = {"pass": "P1", "fail": "F1", "screened_out": "S1"}
        crowd.save()
        rater = enter(crowd)
        self.skip_all(rater, study)
        assert (self.code(rater, study).outcome, self.code(rater, study).code) == ("too_little", "F1")
        Seat.objects.update(state="taken", leased_until=None)
        assert self.code(enter(crowd, "late"), study).code == "S1"

    @pytest.mark.parametrize("minimum", [{"answers": 0}, {"checks": 101}, {"minutes": "5"}, {"hours": 1}])
    def test_nonsense_is_refused(self, study, minimum):
        study.policies["minimum"] = minimum
        with pytest.raises(BadPolicy, match="minimum"):
            minimum_of(study)

    def test_others_get_no_code(self, study):
        rater = make_rater(study)
        work(rater, study)
        assert self.code(rater, study) is None

    def test_mturk_has_no_address_to_return_to(self, study):
        cohort = make_cohort(study, "mturk", "crowd")
        rater = join(cohort, consent="", clock=clock(), crowd=CrowdId("mturk", "mturk:A1", {}))
        work(rater, study)
        assert self.code(rater, study).address == ""


class TestSkippedByAll:
    def skip_first(self, study, raters):
        """Each of the raters skips one and the same task."""
        task = None
        for rater in raters:
            assignment, _ = next_assignment(rater, study, clock=clock())
            assert task in (None, assignment.task)
            task = assignment.task
            skip(assignment=assignment, reason="broken", clock=clock())
        return task

    def test_a_task_skipped_as_often_as_it_has_seats_comes_to_the_lead(self):
        study = make_study(tasks=4, overlap=2, order="finish", probe_rate=0)
        raters = [make_rater(study) for _ in range(3)]
        task = self.skip_first(study, raters[:1])
        work(raters[2], study, most=0)
        assert [item.task for item in skipped_by_all(study)] == [task]
        self.skip_first(study, raters[1:2])
        found = skipped_by_all(study)
        assert [(item.task, item.skips, item.reasons) for item in found] == [(task, 2, [("broken", 2)])]
        work(raters[2], study)
        assert skipped_by_all(study) == []

    def test_setting_a_task_aside_takes_its_seats(self):
        study = make_study(tasks=4, overlap=2, order="finish", probe_rate=0)
        task = self.skip_first(study, [make_rater(study), make_rater(study)])
        assert set_aside(task, by=None) == 2
        assert skipped_by_all(study) == []
        assert Seat.objects.filter(study=study).count() == 6
        study.refresh_from_db()
        assert make_seats(study) == 0


class TestTheLeadsPage:
    @pytest.fixture
    def lead(self, client, study):
        client.force_login(make_user("lead", study.workspace))
        return client

    def address(self, study, name="cohorts", *args):
        return reverse(f"annotation:{name}", args=[study, *args])

    def test_a_cohort_is_made_and_its_link_shown(self, lead, study):
        made = {"name": "Prolific", "kind": "crowd", "days": "7", "consent_en": "Be kind."}
        assert lead.post(self.address(study), made).status_code == 302
        cohort = Cohort.objects.get()
        html = markup(lead.get(self.address(study)))
        assert f"/join/{cohort.entry_token}/" in html
        assert cohort.codes["pass"] in html
        assert cohort.consents == {"en": "Be kind."}
        assert lead.post(self.address(study), made).status_code == 422
        assert lead.post(self.address(study), {"kind": "odd"}).status_code == 422

    def test_links_codes_and_accounts(self, lead, study):
        cohort = make_cohort(study, "here", "onsite")
        change = self.address(study, "change_cohort", cohort.pk)
        html = markup(lead.post(change, {"do": "accounts", "usernames": "ann\nbob\nann"}))
        assert User.objects.filter(username__in=["ann@lab", "bob@lab"]).count() == 2
        password = html.split("<code>")[1].split("</code>")[0]
        assert User.objects.get(username="ann@lab").check_password(password)
        assert Membership.objects.get(user__username="bob@lab").role == "rater"
        html = markup(lead.post(change, {"do": "accounts", "usernames": "ann"}))
        assert "were not changed: ann@lab." in html
        assert User.objects.get(username="ann@lab").check_password(password)
        assert lead.post(change, {"do": "accounts", "usernames": "no spaces"}).status_code == 302
        lead.post(change, {"do": "revoke"})
        assert "link revoked" in markup(lead.get(self.address(study)))
        lead.post(change, {"do": "renew"})
        lead.post(change, {"do": "codes", "pass": "P1", "fail": "F1", "screened_out": "S1"})
        cohort.refresh_from_db()
        assert cohort.revoked_at is None
        assert cohort.codes == {"pass": "P1", "fail": "F1", "screened_out": "S1"}
        assert lead.post(change, {"do": "odd"}).status_code == 404

    def test_an_account_that_exists_is_neither_changed_nor_taken_in(self, study):
        cohort = make_cohort(study, "here", "onsite")
        user = make_user(username="old")
        made, known = make_accounts(cohort, ["old"], by=None)
        assert ([account.username for account in made], known) == (["old@lab"], [])
        assert not Membership.objects.filter(user=user).exists()
        user.refresh_from_db()
        assert user.check_password("plumb line 12")

    def test_people_are_paused_let_on_and_forgotten(self, lead, study, crowd):
        rater = enter(crowd)
        work(rater, study, most=2)
        html = markup(lead.get(self.address(study)))
        assert "prolific:5f1a" in html
        change = self.address(study, "change_rater", rater.public_id)
        lead.post(change, {"do": "pause", "message": "Call me."})
        rater = Rater.objects.get(pk=rater.pk)
        assert (rater.standing.state, rater.standing.message) == ("paused", "Call me.")
        lead.post(change, {"do": "resume"})
        assert Rater.objects.get(pk=rater.pk).standing.state == "rating"
        lead.post(change, {"do": "erase"})
        assert "prolific:5f1a" not in markup(lead.get(self.address(study)))

    def test_what_a_complete_part_needs_is_changed_and_logged(self, lead, study):
        change = self.address(study, "change_minimum")
        lead.post(change, {"answers": "4", "checks": "70", "minutes": ""})
        study.refresh_from_db()
        assert study.policies["minimum"] == {"answers": 4, "checks": 70}
        lead.post(change, {"answers": "4", "checks": "700"})
        study.refresh_from_db()
        assert study.policies["minimum"] == {"answers": 4, "checks": 70}
        event = Event.objects.get(verb="change_study")
        assert (event.before, event.after) == ({"minimum": {}}, {"minimum": {"answers": 4, "checks": 70}})
        assert 'value="70"' in markup(lead.get(self.address(study)))
        lead.post(change, {})
        study.refresh_from_db()
        assert "minimum" not in study.policies

    def test_a_skipped_task_is_listed_and_set_aside(self, lead, study):
        for _ in range(2):
            assignment, _ = next_assignment(make_rater(study), study, clock=clock())
            Seat.objects.filter(task=assignment.task, state="held").update(draw_key=0)
            skip(assignment=assignment, reason="broken", clock=clock())
            Seat.objects.filter(task=assignment.task).update(draw_key=0)
        html = markup(lead.get(self.address(study)))
        assert "Skipped by every rater" in html
        assert "The text is broken or missing (2)" in html
        lead.post(self.address(study, "set_aside", assignment.task.public_id))
        assert "Skipped by every rater" not in markup(lead.get(self.address(study)))

    def test_every_action_enters_the_log_with_what_was_and_what_is(self, lead, study):
        lead.post(self.address(study), {"name": "Prolific", "kind": "crowd", "days": "7"})
        cohort = Cohort.objects.get()
        first_code = cohort.codes["pass"]
        rater = enter(cohort)
        work(rater, study, most=2)
        door = self.address(study, "change_cohort", cohort.pk)
        person = self.address(study, "change_rater", rater.public_id)
        lead.post(door, {"do": "revoke"})
        lead.post(door, {"do": "renew"})
        lead.post(door, {"do": "codes", "pass": "P1", "fail": "F1", "screened_out": "S1"})
        lead.post(door, {"do": "codes", "pass": "P1", "fail": "F1", "screened_out": "S1"})
        lead.post(door, {"do": "accounts", "usernames": "ann"})
        lead.post(person, {"do": "pause", "message": "Call me."})
        lead.post(person, {"do": "resume"})
        lead.post(person, {"do": "erase"})
        events = Event.objects.filter(object_type__in=["cohort", "rater"]).order_by("pk")
        assert [event.verb for event in events] == [
            "make_cohort",
            "revoke_link",
            "renew_link",
            "change_codes",
            "make_accounts",
            "pause_rater",
            "resume_rater",
            "erase_identity",
        ]
        made, revoked, renewed, codes, accounts, paused, resumed, erased = events
        assert (made.before, made.after["name"], made.after["kind"]) == (None, "Prolific", "crowd")
        assert revoked.before["revoked_at"] is None and revoked.after["revoked_at"]
        assert renewed.before == revoked.after and renewed.after["revoked_at"] is None
        assert codes.before["pass"] == first_code and codes.after["pass"] == "P1"
        assert accounts.after["members"] == accounts.before["members"] + 1
        assert paused.before == {"state": "rating"}
        assert paused.after == resumed.before == {"state": "paused", "cause": "lead", "message": "Call me."}
        assert resumed.after == {"state": "rating"}
        assert (erased.before["identity"], erased.after["identity"]) == (True, False)
        assert all(event.actor is not None for event in events)
        everything = str([(event.before, event.after, event.object_id) for event in events])
        assert cohort.entry_token not in everything
        assert "5f1a" not in everything
        assert "ann" not in everything.replace("cannot", "")
        history = markup(lead.get(self.address(study, "history")))
        assert "completion codes" in history and "Call me." in history

    @pytest.mark.parametrize("role", ["rater", "analyst", None])
    def test_nobody_but_leads_comes_here(self, client, study, crowd, role):
        client.force_login(make_user(role, study.workspace) if role else make_user("lead", make_workspace("far")))
        rater = enter(crowd)
        expected = 403 if role == "rater" else 404
        assert client.get(self.address(study)).status_code == expected
        assert client.post(self.address(study, "change_cohort", crowd.pk), {"do": "revoke"}).status_code == expected
        assert client.post(self.address(study, "change_minimum"), {"answers": "1"}).status_code == expected
        erase = client.post(self.address(study, "change_rater", rater.public_id), {"do": "erase"})
        assert erase.status_code == expected
        assert RaterIdentity.objects.exists()

    def test_the_page_asks_as_much_for_many_raters(self, lead, study, crowd, django_assert_max_num_queries):
        for number in range(12):
            enter(crowd, f"w{number}")
        with django_assert_max_num_queries(30):
            lead.get(self.address(study))


def test_raters_stand_on_pages_of_a_hundred_and_whoever_needs_a_decision_comes_first(study, client):
    lead = make_user("lead", study.workspace)
    Membership.objects.filter(user=lead).update(role="lead")
    raters = [make_rater(study) for _number in range(103)]
    work(raters[101], study, 2)
    pause(raters[102], message="Wait.", by=lead)
    Flag.objects.create(task=study.tasks.first(), rater=raters[100], kind="appeal", text="I read every word.")
    client.force_login(lead)
    cohorts = reverse("annotation:cohorts", args=[study])

    def shown(page):
        text = markup(client.get(cohorts, {"page": page}))
        assert "This study has 103 raters" in text and "1 appeal needs your decision" in text
        return [
            one.public_id
            for one in sorted(raters, key=lambda one: text.find(f"rater-{one.public_id}"))
            if f"rater-{one.public_id}" in text
        ]

    first, second = shown(1), shown(2)
    assert first[:3] == [raters[100].public_id, raters[102].public_id, raters[101].public_id]
    assert (len(first), second) == (100, [one.public_id for one in raters[97:100]])
