"""Time is bounded by the server's clock, and texts answered sooner than they can be read are noticed."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Event
from annotation.answers.recording import Timing, record_answer, skip
from annotation.assignment.next_task import StudyNotOpen, hold_next, next_assignment
from annotation.assignment.rater_status import resume
from annotation.models import Assignment, Rater, Standing, Task, TimeCorrection
from annotation.policies.policies import BadPolicy
from annotation.policies.quality_checks import pace_rule
from annotation.recruitment.participation import rater_in
from annotation.rules.reading_time import bounded
from calibration.data.circumstances import circumstances
from calibration.data.frames import EVERY_KIND
from calibration.data.scores import score_frame
from calibration.reports.rater_behaviour import habits_part
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from calibration.web.desk.behaviour import behaviours
from generation.models import Response
from tests.annotation.raters_at_work import NOON, answers_to, clock, give, make_pairs, make_study
from tests.factories import make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
WORDS = 10_000
LONG = "word " * WORDS
CHINESE = "字" * 4000


def texts(study, text, words=None):
    Response.objects.filter(instruction__responses__tasks_as_a__study=study).update(
        text=text, words=len(text.split()) if words is None else words
    )


class TestClaimedTime:
    """A browser claims any number of seconds."""

    @pytest.mark.parametrize(
        ("active", "idle", "kept"),
        [
            (40.0, 10.0, (40.0, 10.0)),
            (60.5, 0.0, (60.0, 0.0)),
            (1e12, 1e12, (60.0, 0.0)),
            (50.0, 50.0, (50.0, 10.0)),
            (-5.0, None, (None, None)),
            (float("nan"), float("inf"), (None, None)),
            (None, 90.0, (None, 60.0)),
        ],
    )
    def test_no_claim_is_longer_than_what_passed(self, active, idle, kept):
        found = bounded(active, idle, 60.0)
        assert (found.active, found.idle) == kept

    def test_only_a_claim_that_does_not_fit_is_marked(self):
        assert bounded(60.9, 0.0, 60.0).claimed == {}
        assert bounded(3600.0, 0.0, 60.0).claimed == {"active": 3600.0, "idle": 0.0}
        assert bounded(10.0, 0.0, -5.0).active == 0.0

    def test_an_hour_claimed_in_a_minute_is_a_minute_and_marked(self):
        study = make_study(tasks=2)
        assignment, _outcome = give(make_rater(study), study, 60, claims=3600.0)
        assert assignment.active_seconds == 60.0
        assert assignment.conditions["claimed_seconds"] == {"active": 3600.0}

    def test_a_skip_is_bounded_too(self):
        study = make_study(tasks=2)
        rater = make_rater(study)
        assignment, _progress = next_assignment(rater, study, clock=clock())
        skip(assignment=assignment, reason="other", clock=clock(1), timing=Timing(9e9, 5.0))
        assignment.refresh_from_db()
        assert (assignment.active_seconds, assignment.idle_seconds) == (60.0, 0.0)

    def test_an_answer_sent_late_by_an_offline_browser_is_bounded_by_its_hand_out(self):
        """Held at noon, shown without a network, sent ten minutes later: at most ten minutes are believed."""
        study = make_study(tasks=3, overlap=1)
        rater = make_rater(study)
        current, _progress = next_assignment(rater, study, clock=clock())
        held = hold_next(current, clock=clock())
        Assignment.objects.filter(pk=held.pk).update(created_at=NOON)
        held = Assignment.objects.get(pk=held.pk)
        timing = Timing(active_seconds=7200.0, idle_seconds=60.0)
        record_answer(assignment=held, answers=answers_to(held), clock=clock(10), timing=timing)
        held.refresh_from_db()
        assert (held.active_seconds, held.idle_seconds, held.shown_at) == (600.0, 0.0, NOON)
        assert held.conditions["claimed_seconds"]["active"] == 7200.0

    def test_an_honest_offline_answer_keeps_its_time(self):
        study = make_study(tasks=3)
        rater = make_rater(study)
        current, _progress = next_assignment(rater, study, clock=clock())
        held = hold_next(current, clock=clock())
        Assignment.objects.filter(pk=held.pk).update(created_at=NOON)
        held = Assignment.objects.get(pk=held.pk)
        record_answer(assignment=held, answers=answers_to(held), clock=clock(30), timing=Timing(240.0, 30.0))
        held.refresh_from_db()
        assert (held.active_seconds, held.idle_seconds) == (240.0, 30.0)
        assert "claimed_seconds" not in held.conditions

    @pytest.mark.parametrize("sent", ["-1", "nan", "1e999", "9" * 400, "soon", "", "<b>"])
    def test_no_answer_is_refused_for_its_time(self, client, sent):
        study = make_study(tasks=2)
        client.force_login(make_user("rater", study.workspace))
        client.post(reverse("annotation:start", args=[study]))
        assignment = Assignment.objects.get()
        answers = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5"}
        client.post(reverse("annotation:rate", args=[assignment.public_id]), answers | {"active": sent, "idle": sent})
        assignment.refresh_from_db()
        assert assignment.status == "submitted"
        assert assignment.active_seconds is None

    def test_the_mark_costs_no_statement(self):
        # Without quality checks, which would be looked for at a task that the study's seed chooses.
        study = make_study(tasks=4, probe_rate=0, gold_rate=0, control_rate=0)
        rater = make_rater(study)
        counts = []
        for claims in (5.0, 5.0, 1e9):
            with CaptureQueriesContext(connection) as asked:
                give(rater, study, 5, claims=claims)
            counts.append(len(asked))
        assert counts[1] == counts[2]


class TestOwnWord:
    """A rater writes the minutes they worked."""

    @pytest.fixture
    def answered(self, client):
        study = make_study(tasks=2)
        user = make_user("rater", study.workspace)
        client.force_login(user)
        assignment, _outcome = give(rater_in(study, user), study, 120)
        return client, study, assignment

    @pytest.mark.parametrize(
        ("minutes", "seconds", "claimed"), [("1.5", 90.0, None), ("2", 120.0, None), ("600", 120.0, 36_000.0)]
    )
    def test_minutes_count_up_to_what_passed(self, answered, minutes, seconds, claimed):
        client, study, assignment = answered
        address = reverse("annotation:correct_time", args=[assignment.public_id])
        client.post(address, {"minutes": minutes, "reason": "I read it on paper."})
        kept = TimeCorrection.objects.get()
        assert (kept.seconds, kept.claimed) == (seconds, claimed)
        page = markup(client.get(reverse("annotation:done", args=[study])))
        assert ("you entered 600.0" in page) == (claimed is not None)

    def test_the_word_stays_as_it_was_written(self, answered):
        client, _study, assignment = answered
        address = reverse("annotation:correct_time", args=[assignment.public_id])
        client.post(address, {"minutes": "600", "reason": "I read it on paper."})
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            TimeCorrection.objects.update(seconds=36_000)


class TestPace:
    """Every rater answers every long text in a second, so that nobody is fast beside the others."""

    def test_17_long_texts_in_a_second_each_are_noticed_though_everybody_does_so(self):
        study = make_study(tasks=17, overlap=3, probe_rate=0, reading_pace={"words": 1000, "told": 99, "paused": 99})
        texts(study, LONG)
        raters = [make_rater(study) for _ in range(3)]
        for rater in raters:
            for _task in range(17):
                give(rater, study, 1, share=0.25 + 0.25 * (rater.pk % 3))
        found = behaviours(report_of(study, RATERS, rater_settings()))[raters[0].name]
        assert (found.fast, found.unread, found.pace.n) == (0, 17, 17)
        marks = Assignment.objects.values_list("conditions__too_fast", flat=True)
        assert set(marks) == {60 * WORDS}
        pace = _raters_report(study).pace
        assert (pace.fast, pace.unread, pace.limit) == (0.0, 1.0, 1000)
        assert {row.unread for row in pace.raters} == {1.0}

    def test_too_fast_in_a_row_is_told_once_and_then_paused(self):
        study = make_study(tasks=30, reading_pace={"words": 1000, "told": 3, "paused": 2})
        texts(study, LONG)
        rater = make_rater(study)
        assert [give(rater, study, 1)[1] for _ in range(4)] == ["recorded", "recorded", "told", "recorded"]
        assert give(rater, study, 1)[1] == "recorded"
        standing = Standing.objects.get()
        assert (standing.state, standing.cause) == ("paused", "pace")
        assert Event.objects.get(verb="pause_rater").after == {"state": "paused", "cause": "pace"}
        with pytest.raises(StudyNotOpen, match="may not go on"):
            give(rater, study, 1)
        resume(Rater.objects.get(pk=rater.pk), clock=clock(), by=None)
        assert [give(rater, study, 1)[1] for _ in range(3)] == ["recorded", "recorded", "told"]

    def test_who_reads_in_between_is_neither_told_nor_paused(self):
        """Without repeated tasks, whose texts are known and whose pace therefore says nothing."""
        study = make_study(tasks=40, probe_rate=0, reading_pace={"words": 1000, "told": 3, "paused": 2})
        texts(study, LONG)
        rater = make_rater(study)
        for number in range(30):
            _assignment, outcome = give(rater, study, 1800 if number % 3 == 2 else 1)
            assert outcome == "recorded"

    def test_reading_at_the_pace_of_most_adults_is_never_noticed_and_costs_no_statement(self):
        """10,000 words at 300 a minute take 2,000 seconds."""
        study = make_study(tasks=30)
        texts(study, LONG)
        rater = make_rater(study)
        give(rater, study, 2000)
        with CaptureQueriesContext(connection) as asked:
            give(rater, study, 2000)
        assert not any("annotation_standing" in one["sql"] and "UPDATE" in one["sql"] for one in asked)
        assert not Standing.objects.exists()

    def test_chinese_is_judged_by_its_characters(self):
        """4,000 characters are 2,514 words' worth of reading: two minutes are too short, three are not."""
        study = make_study(tasks=4)
        texts(study, CHINESE, words=1)
        rater = make_rater(study)
        assert give(rater, study, 120)[0].conditions["too_fast"] == pytest.approx(1257, abs=1)
        assert "too_fast" not in give(rater, study, 180)[0].conditions

    def test_only_the_part_shown_counts(self):
        study = make_study(tasks=3)
        texts(study, LONG)
        Task.objects.filter(study=study).update(part={"mark": "Week", "number": 1, "start": 0, "end": 1000})
        assert "too_fast" not in give(make_rater(study), study, 15)[0].conditions

    def test_both_texts_of_a_pair_count_and_one_of_two_near_copies(self):
        study = make_pairs(tasks=4)
        first, second = ["alpha beta gamma " * 200, "one two three " * 200]
        for task in Task.objects.filter(study=study):
            Response.objects.filter(pk=task.response_a_id).update(text=first, words=600)
            Response.objects.filter(pk=task.response_b_id).update(text=second, words=600)
        rater = make_rater(study)
        assert give(rater, study, 60)[0].conditions["too_fast"] == 1200
        Response.objects.filter(tasks_as_b__study=study).update(text=first + "delta")
        assert "too_fast" not in give(rater, study, 60)[0].conditions

    def test_a_text_read_before_may_be_answered_at_once(self):
        study = make_study(tasks=2)
        texts(study, LONG)
        rater = make_rater(study)
        done, _outcome = give(rater, study, 2000)
        again = Assignment.objects.create(task=done.task, rater=rater, repeat=1, shown_at=NOON)
        record_answer(assignment=again, answers=answers_to(again), clock=clock())
        again.refresh_from_db()
        assert "too_fast" not in again.conditions

    def test_a_lead_may_switch_it_off_and_no_limit_is_within_honest_reading(self):
        study = make_study(tasks=12, reading_pace={"words": 0})
        texts(study, LONG)
        rater = make_rater(study)
        assert {give(rater, study, 1)[1] for _ in range(12)} == {"recorded"}
        for senseless in ({"words": 200}, {"words": "fast"}, {"told": 0}, {"paused": 1.5}):
            study.policies["reading_pace"] = senseless
            with pytest.raises(BadPolicy, match="reading_pace"):
                pace_rule(study)

    def test_the_pages_tell_and_pause_and_the_lead_sees_why(self, client):
        study = make_study(tasks=30, reading_pace={"words": 1000, "told": 2, "paused": 2})
        texts(study, LONG)
        user = make_user("rater", study.workspace)
        client.force_login(user)
        answers = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5"}
        done = reverse("annotation:done", args=[study])
        seen = []
        for _number in range(4):
            client.post(reverse("annotation:start", args=[study]))
            now = Assignment.objects.get(status="open")
            told = client.post(reverse("annotation:rate", args=[now.public_id]), answers)
            seen.append(told["Location"] == done)
            page = markup(client.get(done))
        assert seen == [False, True, False, True]
        assert "Your work in this study is paused." in page
        assert "faster than their texts can be read" in page
        client.force_login(make_user("lead", study.workspace))
        for name, args in (("cohorts", []), ("rater", [Rater.objects.get().public_id])):
            html = markup(client.get(reverse(f"annotation:{name}", args=[study, *args])))
            assert "answered faster than the texts can be read" in html


def _raters_report(study):
    frame = score_frame(kinds=EVERY_KIND, study=study, repeats=True)
    names = {rater.pk: rater.name for rater in Rater.objects.filter(study=study)}
    return habits_part(study, frame, frame.of_criterion("overall"), circumstances(study), names, set())
