"""Training, qualification, pausing and the way back."""

import re

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.assignment.attention_checks import make_controls, mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import StudyNotOpen, has_more, next_assignment
from annotation.assignment.rater_status import (
    Stage,
    appeal,
    is_stopped,
    pass_mark,
    pause,
    resume,
    stage_of,
    why_stopped,
)
from annotation.models import Assignment, CheckOutcome, Flag, Rater, Standing, Study
from annotation.policies.policies import BadPolicy
from annotation.recruitment.participation import rater_in
from core.errors import UserError
from tests.annotation.raters_at_work import answer, clock, make_study, work
from tests.factories import make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5"}


def make_qualifying(training=2, qualification=4, needed=3, **policies):
    """20 tasks: the first for training, the next for qualification; 5 of 10 is what is expected."""
    study = make_study(
        tasks=20,
        seats=False,
        probe_rate=0,
        training=training > 0,
        qualification={"of": qualification, "pass": needed} if qualification else None,
        **policies,
    )
    tasks = list(study.tasks.order_by("pk"))
    for task in tasks[:training]:
        mark_gold(task, {"overall": [4, 6], "item0": 0.5}, purpose="training", why={"en": "It is *middling*."})
    for task in tasks[training : training + qualification]:
        mark_gold(task, {"overall": 5}, purpose="qualification")
    make_seats(study)
    return study


def next_of(rater, study):
    """The task of a fresh request: nothing known from before."""
    return next_assignment(Rater.objects.get(pk=rater.pk), study, clock=clock())[0]


def test_training_and_qualification_come_first_and_then_the_study():
    study = make_qualifying()
    rater = make_rater(study)
    kinds = []
    for _ in range(8):
        assignment = next_of(rater, study)
        kinds.append(next(iter(assignment.conditions), ""))
        answer(assignment)
    assert kinds == ["training"] * 2 + ["qualification"] * 4 + [""] * 2
    standing = Standing.objects.get(rater=rater)
    assert standing.state == "rating"
    assert standing.trained_at == standing.qualified_at == clock()()
    ordinary = Assignment.objects.filter(rater=rater, status="submitted")
    assert list(ordinary.order_by("order").values_list("order", flat=True)) == [1, 2]


def test_a_study_that_asks_nothing_makes_no_standing(django_assert_num_queries):
    study = make_study(tasks=3)
    rater = make_rater(study)
    work(rater, study)
    assert not Standing.objects.exists()
    with django_assert_num_queries(0):
        assert stage_of(rater, study) is Stage.RATING


@pytest.mark.parametrize(("right", "passes"), [(4, True), (3, True), (2, False), (0, False)])
def test_the_pass_mark_decides(right, passes):
    study = make_qualifying(training=0)
    rater = make_rater(study)
    for number in range(4):
        answer(next_of(rater, study), 0.5 if number < right else 1.0)
    if passes:
        assert next_of(rater, study).conditions == {}
        return
    with pytest.raises(StudyNotOpen, match="may not go on"):
        next_of(rater, study)
    assert Standing.objects.get().state == "failed"
    assert not has_more(study, rater, clock=clock())


def test_changing_a_qualification_answer_does_not_change_its_outcome():
    study = make_qualifying(training=0)
    rater = make_rater(study)
    first = next_of(rater, study)
    answer(first, 1.0)
    answer(first, 0.5)
    assert not CheckOutcome.objects.get().passed


def test_changing_a_training_answer_does_not_change_its_outcome():
    study = make_qualifying(training=1, qualification=0)
    first = next_of(make_rater(study), study)
    answer(first, 1.0)
    answer(first, 0.5)
    assert sorted(CheckOutcome.objects.get().missed) == ["item0", "overall"]


def test_fewer_items_than_asked_for_are_held_to_the_same_share():
    """Of two items where 3 of 4 is asked, two must be right: 1.5 rounded up."""
    study = make_qualifying(training=0, qualification=2, needed=2)
    study.policies["qualification"] = {"of": 4, "pass": 3}
    study.save()
    rater = make_rater(study)
    answer(next_of(rater, study))
    answer(next_of(rater, study), 1.0)
    with pytest.raises(StudyNotOpen, match="may not go on"):
        next_of(rater, study)


def test_skipped_items_are_not_passed():
    from annotation.answers.recording import skip

    study = make_qualifying(training=0)
    rater = make_rater(study)
    for _ in range(4):
        skip(assignment=next_of(rater, study), reason="other", clock=clock())
    with pytest.raises(StudyNotOpen, match="may not go on"):
        next_of(rater, study)


def test_more_items_than_asked_for_are_not_all_given():
    study = make_qualifying(training=0, qualification=6)
    study.policies["qualification"] = {"of": 4, "pass": 3}
    study.save()
    rater = make_rater(study)
    kinds = []
    for _ in range(5):
        assignment = next_of(rater, study)
        kinds.append("qualification" in assignment.conditions)
        answer(assignment)
    assert kinds == [True] * 4 + [False]


def test_practice_goes_on_where_the_quota_is_reached_by_it():
    study = make_qualifying(training=2, qualification=0, quota=1)
    rater = make_rater(study)
    answer(next_of(rater, study))
    assert has_more(study, Rater.objects.get(pk=rater.pk), clock=clock())
    assert "training" in next_of(rater, study).conditions


def test_neither_practice_nor_what_others_answer_qualifies():
    study = make_qualifying(training=2, qualification=2, needed=2)
    colleague, rater = make_rater(study), make_rater(study)
    for _ in range(4):
        answer(next_of(colleague, study))
        answer(next_of(rater, study), 0.5 if Standing.objects.get(rater=rater).trained_at is None else 1.0)
    assert next_of(colleague, study).conditions == {}
    with pytest.raises(StudyNotOpen, match="may not go on"):
        next_of(rater, study)
    event = Event.objects.get(verb="not_qualified")
    assert (event.object_id, event.actor) == (rater.public_id, None)
    assert event.after == {"state": "failed", "cause": "qualification"}
    assert "differed from the agreed answers" in why_stopped(Rater.objects.get(pk=rater.pk))


@pytest.mark.parametrize("rule", [{"of": 3, "pass": 4}, {"of": "10"}, {"pass": 0}, {"of": 10, "pass": True}, {"of": 8}])
def test_a_senseless_pass_mark_is_named(rule):
    study = make_study(tasks=1, qualification=rule)
    with pytest.raises(BadPolicy, match="qualification"):
        pass_mark(study)


def test_nine_of_ten_is_the_usual_mark():
    assert pass_mark(Study(policies={"qualification": {"of": 12}})) == (12, 9)
    assert pass_mark(Study(policies={"qualification": {"pass": 5}})) == (10, 5)
    assert pass_mark(Study()) is None


class TestPausing:
    @pytest.fixture
    def study(self):
        study = make_study(tasks=60, seats=False, probe_rate=0, gold_rate=0.25, checks={"window": 4, "failed": 2})
        for task in study.tasks.order_by("pk")[:20]:
            mark_gold(task, {"overall": 5})
        make_seats(study)
        return study

    def fail(self, rater, study):
        """Answer everything wrongly until stopped; how many checks it took to decide that."""
        before, decided = CheckOutcome.objects.count(), None
        while True:
            try:
                answer(next_of(rater, study), 1.0)
            except StudyNotOpen:
                break
            if decided is None and Standing.objects.filter(rater=rater, stops_at__isnull=False).exists():
                decided = CheckOutcome.objects.count() - before
        rater.refresh_from_db()
        return decided

    def test_failed_checks_pause_and_say_why(self, study):
        rater = make_rater(study)
        assert self.fail(rater, study) == 2
        assert Standing.objects.get().state == "paused"
        assert "differed" in why_stopped(rater)
        # Every fourth task is a check, from a place drawn for the rater: three others stand between two checks.
        assert Assignment.objects.filter(rater=rater, status="submitted").count() >= 3

    def test_failures_apart_from_each_other_do_not_pause(self, study):
        rater = make_rater(study)
        checks = 0
        for _ in range(50):
            assignment = next_of(rater, study)
            checks += "gold" in assignment.conditions
            answer(assignment, 1.0 if "gold" in assignment.conditions and checks % 4 == 1 else 0.5)
        assert CheckOutcome.objects.filter(passed=False).count() >= 3
        assert Standing.objects.get().state != "paused"

    def test_resuming_forgets_earlier_failures_and_closes_the_appeal(self, study):
        rater, lead = make_rater(study), make_user("lead", study.workspace)
        self.fail(rater, study)
        assert appeal(rater, "I misread the scale.").kind == "appeal"
        appeal(rater, "I misread the whole scale.")
        assert Flag.objects.get().text == "I misread the whole scale."
        resume(rater, clock=clock(5), by=lead)
        assert Flag.objects.get().resolved_at == clock(5)()
        assert why_stopped(rater) == ""
        assert Event.objects.get(verb="resume_rater").actor == lead
        assert self.fail(rater, study) == 2

    def test_a_failed_control_pauses_as_a_gold_item_does(self):
        study = make_study(tasks=60, probe_rate=0, control_rate=0.25, checks={"window": 4, "failed": 2})
        assert len(make_controls(study, 10)) == 10
        rater = make_rater(study)
        assert self.fail(rater, study) == 2
        assert set(CheckOutcome.objects.values_list("purpose", "passed")) == {("control", False)}
        event = Event.objects.get(verb="pause_rater")
        assert (event.object_id, event.actor) == (rater.public_id, None)
        assert event.after == {"state": "paused", "cause": "checks"}

    def test_practice_neither_pauses_nor_counts_among_the_checks(self):
        study = make_qualifying(training=3, qualification=0, gold_rate=0.25, checks={"window": 4, "failed": 2})
        for task in study.tasks.filter(gold__isnull=True).order_by("pk")[:5]:
            mark_gold(task, {"overall": 5})
        rater = make_rater(study)
        for _ in range(3):
            answer(next_of(rater, study), 1.0)
        assert CheckOutcome.objects.filter(purpose="training", passed=False).count() == 3
        while not CheckOutcome.objects.filter(purpose="gold").exists():
            answer(next_of(rater, study), 1.0)
        assert not is_stopped(Rater.objects.get(pk=rater.pk))

    def test_what_others_fail_pauses_nobody(self, study):
        for _ in range(2):
            rater, before = make_rater(study), CheckOutcome.objects.count()
            while CheckOutcome.objects.count() == before:
                answer(next_of(rater, study), 1.0)
        assert CheckOutcome.objects.filter(passed=False).count() == 2
        assert not Standing.objects.filter(state="paused").exists()

    def test_letting_one_on_leaves_others_and_other_flags_as_they_are(self, study):
        rater, other = make_rater(study), make_rater(study)
        for one in (rater, other):
            pause(one, message="Call me.", by=None)
            appeal(one, "Please.")
        task = study.tasks.first()
        Flag.objects.create(task=task, rater=rater, kind="note", text="The text breaks off.")
        resume(rater, clock=clock(5), by=None)
        waiting = Flag.objects.filter(resolved_at=None).values_list("rater", "kind")
        assert set(waiting) == {(other.pk, "appeal"), (rater.pk, "note")}
        standing = Standing.objects.get(rater=rater)
        assert (standing.state, standing.cause, standing.message) == ("rating", "", "")
        assert is_stopped(other)

    def test_a_new_appeal_takes_the_place_of_the_open_one_only(self, study):
        rater, other = make_rater(study), make_rater(study)
        pause(rater, message="", by=None)
        pause(other, message="", by=None)
        appeal(rater, "The first, closed by the lead.")
        resume(rater, clock=clock(), by=None)
        pause(rater, message="", by=None)
        appeal(other, "Another's.")
        Flag.objects.create(task=study.tasks.first(), rater=rater, kind="note", text="A note.")
        appeal(rater, "The second.")
        appeal(rater, "x" * 5000)
        assert sorted(len(text) for text in Flag.objects.values_list("text", flat=True)) == [7, 10, 30, 4000]

    def test_who_was_screened_out_reads_so(self, study):
        rater = make_rater(study)
        Standing.objects.create(rater=rater, state="screened_out")
        assert is_stopped(rater)
        assert "did not take part" in why_stopped(rater)

    def test_a_lead_pauses_with_a_message(self, study):
        rater = make_rater(study)
        pause(rater, message="Please call me.", by=None)
        with pytest.raises(StudyNotOpen, match="may not go on"):
            next_of(rater, study)
        assert why_stopped(rater) == "Please call me."

    def test_a_check_answered_after_the_lead_stopped_its_rater_changes_nothing(self, study):
        study.policies["checks"] = {"window": 1, "failed": 1}
        study.save()
        rater = make_rater(study)
        while "gold" not in (check := next_of(rater, study)).conditions:
            answer(check)
        pause(rater, message="Please call me.", by=None)
        before = Standing.objects.values().get()
        answer(Assignment.objects.get(pk=check.pk), 1.0)
        assert not CheckOutcome.objects.exists()
        assert Standing.objects.values().get() == before
        assert Event.objects.filter(verb="pause_rater").count() == 1

    def test_a_failed_qualification_can_be_waived(self):
        study = make_qualifying(training=0)
        rater = make_rater(study)
        for _ in range(4):
            answer(next_of(rater, study), 1.0)
        with pytest.raises(StudyNotOpen, match="may not go on"):
            next_of(rater, study)
        resume(rater, clock=clock(), by=None)
        assert next_of(rater, study).conditions == {}

    def test_who_is_not_stopped_has_nothing_to_appeal_against(self, study):
        with pytest.raises(UserError, match="nothing to appeal"):
            appeal(make_rater(study), "Why?")


class TestPages:
    @pytest.fixture
    def rosa(self, client):
        study = make_qualifying()
        user = make_user("rater", study.workspace)
        client.force_login(user)
        client.post(reverse("annotation:start", args=[study]))
        return client, study, user

    @pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
    def test_feedback_follows_a_training_answer(self, rosa, headers):
        client, _study, _user = rosa
        assignment = Assignment.objects.get()
        told = client.post(
            reverse("annotation:rate", args=[assignment.public_id]), GOOD | {"c-overall": "9"}, headers=headers
        )
        address = reverse("annotation:feedback", args=[assignment.public_id])
        assert (told["HX-Redirect"] if headers else told["Location"]) == address
        html = markup(client.get(address))
        assert re.search(r"<td>9\s*<span class=.badge.>different</span></td><td>4 to 6</td>", html)
        assert re.search(r"<td>level 2\s*<span class=.badge badge-open.>as expected</span></td><td>level 2</td>", html)
        assert "<em>middling</em>" in html
        assert "Next practice text" in html
        client.cookies["django_language"] = "zh-hans"
        assert "第2级" in markup(client.get(address))

    def test_no_feedback_before_the_answer_nor_for_other_tasks_or_people(self, rosa):
        client, study, _user = rosa
        assignment = Assignment.objects.get()
        address = reverse("annotation:feedback", args=[assignment.public_id])
        assert client.get(address)["Location"] == reverse("annotation:rate", args=[assignment.public_id])
        for _ in range(7):
            now = Assignment.objects.get(status="open")
            client.post(reverse("annotation:rate", args=[now.public_id]), GOOD)
            client.post(reverse("annotation:start", args=[study]))
        later = Assignment.objects.filter(status="submitted").first()
        assert client.get(reverse("annotation:feedback", args=[later.public_id])).status_code == 404
        client.force_login(make_user("rater", study.workspace))
        assert client.get(address).status_code == 404

    def test_a_stopped_rater_is_told_and_appeals_and_goes_on(self, rosa):
        client, study, user = rosa
        rater = rater_in(study, user)
        pause(rater, message="", by=None)
        done = reverse("annotation:done", args=[study])
        assert client.post(reverse("annotation:start", args=[study]))["Location"] == done
        html = markup(client.get(done))
        assert "Your work in this study is paused." in html
        assert "The lead has paused your work" in html
        assert client.post(reverse("annotation:appeal", args=[study]), {"text": ""})["Location"] == done
        assert not Flag.objects.exists()
        client.post(reverse("annotation:appeal", args=[study]), {"text": "Let me on, please."})
        assert "Your appeal has been sent to the lead" in markup(client.get(done))
        client.force_login(make_user("lead", study.workspace))
        desk = reverse("annotation:cohorts", args=[study])
        html = markup(client.get(desk))
        assert "Let me on, please." in html
        assert "1 appeal needs your decision." in html
        client.post(reverse("annotation:change_rater", args=[study, rater.public_id]), {"do": "resume"})
        client.force_login(user)
        assert "/rate/" in client.post(reverse("annotation:start", args=[study]))["Location"]

    def test_an_answer_begun_before_the_pause_is_kept_and_does_not_count(self, rosa):
        client, study, user = rosa
        assignment = Assignment.objects.get()
        pause(rater_in(study, user), message="", by=None)
        client.post(reverse("annotation:rate", args=[assignment.public_id]), GOOD)
        assignment.refresh_from_db()
        assert (assignment.status, assignment.reason) == ("surplus", "paused")
        assert assignment.scores.count() == 4

    def test_agreement_with_gold_is_shown_where_the_study_allows_it(self, client):
        study = make_study(tasks=100, seats=False, probe_rate=0, gold_rate=0.25)
        for task in study.tasks.order_by("pk")[:20]:
            mark_gold(task, {"overall": 5})
        make_seats(study)
        user = make_user("rater", study.workspace)
        work(rater_in(study, user), study)
        client.force_login(user)
        done = reverse("annotation:done", args=[study])
        assert "Correct answers" not in markup(client.get(done))
        study.policies["show_gold"] = True
        study.save()
        html = markup(client.get(done))
        assert "Correct answers" in html
        assert "of 20 texts with a known answer" in html
