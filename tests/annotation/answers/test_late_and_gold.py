"""Gold cannot be found out by changing answers, and what comes after a pause or a close does not count."""

import csv
import io
import json
import zipfile
from random import Random

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.answers.recording import record_answer
from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import StudyNotOpen, next_assignment
from annotation.assignment.rater_status import pause, resume
from annotation.models import Assignment, CheckOutcome, LateChange, Rater, Score, Seat, Standing, Task, latest_scores
from annotation.monitoring.adjudication import adjudicate
from annotation.recruitment.cohorts import make_cohort
from annotation.recruitment.minimum import part_of
from annotation.recruitment.participation import rater_in
from annotation.web.rating.feedback import agreement_with_gold
from calibration.data.frames import EVERY_KIND
from calibration.data.scores import score_frame
from judging.archive.export import export_study
from tests.annotation.raters_at_work import answers_to, clock, give, make_study, work
from tests.factories import make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


def gold_study(tasks=60, **policies):
    """Some tasks, 20 of them gold with 5 of 10 expected."""
    study = make_study(tasks=tasks, seats=False, probe_rate=0, gold_rate=0.25, **policies)
    for task in study.tasks.order_by("pk")[:20]:
        mark_gold(task, {"overall": 5})
    make_seats(study)
    return study


class TestGoldStaysHidden:
    """A rater changes one answer after another and watches what changes."""

    def test_revising_changes_no_outcome(self):
        study = gold_study(checks={"window": 100, "failed": 100})
        rater = make_rater(study)
        done = [give(rater, study, 5, share=1.0)[0] for _ in range(20)]
        before = list(CheckOutcome.objects.order_by("pk").values_list("pk", "passed", "missed"))
        assert before
        assert not any(passed for _pk, passed, _missed in before)
        for assignment in done:
            record_answer(assignment=assignment, answers=answers_to(assignment), clock=clock(9))
        assert list(CheckOutcome.objects.order_by("pk").values_list("pk", "passed", "missed")) == before

    @pytest.mark.parametrize("planned", [{"gold_rate": 0.25}, {"probe_rate": 0.25, "probe_gap": 3, "probe_times": 3}])
    def test_where_nothing_else_is_left_no_check_comes(self, planned):
        study = make_study(tasks=40, seats=False, **{"probe_rate": 0, "gold_rate": 0} | planned)
        for task in study.tasks.order_by("pk")[:15] if "gold_rate" in planned else ():
            mark_gold(task, {"overall": 5})
        make_seats(study)
        ordinary = Seat.objects.filter(study=study).values("task").distinct().count()
        checks = [one.repeat > 0 or one.task.gold is not None for one in work(make_rater(study), study)]
        assert checks.count(False) == ordinary
        assert 0 < checks.count(True) < len(checks)
        assert not checks[-1]

    def test_a_check_is_answered_with_hardly_more_statements_than_another_task(self):
        """What the time of an answer could tell."""
        study = gold_study(checks={"window": 100, "failed": 100})
        rater = make_rater(study)
        spent = {}
        drawn = Random(4)
        for _ in range(50):
            share = drawn.choice((0.5, 1.0))
            assignment, _progress = next_assignment(rater, study, clock=clock())
            kind = (assignment.task.gold is not None, share)
            answers = answers_to(assignment, share=share)
            with CaptureQueriesContext(connection) as asked:
                record_answer(assignment=assignment, answers=answers, clock=clock(1))
            spent.setdefault(kind, []).append(len(asked))
        assert len(spent) == 4
        ordinary = min(spent[False, 0.5] + spent[False, 1.0])
        passed, missed = spent[True, 0.5], spent[True, 1.0]
        assert max(passed) == ordinary
        assert max(missed) - ordinary <= 4

    def test_revising_wrongly_pauses_nobody(self):
        study = gold_study(checks={"window": 2, "failed": 2})
        rater = make_rater(study)
        for assignment in [give(rater, study, 5)[0] for _ in range(20)]:
            record_answer(assignment=assignment, answers=answers_to(assignment, 1.0), clock=clock(9))
        assert not Standing.objects.filter(state="paused").exists()
        give(rater, study, 5)

    def test_agreement_with_gold_changes_only_after_every_fifty_answers(self):
        study = gold_study(tasks=80, show_gold=True, checks={"window": 100, "failed": 100})
        rater = make_rater(study)
        told = []
        for number in range(59):
            give(rater, study, 5, share=0.5 if number % 8 < 4 else 1.0)
            told.append(agreement_with_gold(rater, study))
        assert set(told[:49]) == {None}
        assert len(set(told[49:])) == 1
        passed, of = told[-1]
        assert 10 <= of <= 13
        assert 0 < passed < of
        for assignment in Assignment.objects.filter(rater=rater):
            record_answer(assignment=assignment, answers=answers_to(assignment), clock=clock(9))
        assert agreement_with_gold(rater, study) == (passed, of)

    def test_the_pages_answer_a_change_of_gold_as_any_other(self, client):
        """Status, address, headers and size of what comes back, and the page after it, with ids taken out."""
        study = gold_study(show_gold=True, checks={"window": 100, "failed": 100})
        user = make_user("rater", study.workspace)
        rater = rater_in(study, user)
        while not (
            Assignment.objects.filter(rater=rater, status="checked").exists()
            and Assignment.objects.filter(rater=rater, status="submitted").count() > 3
        ):
            give(rater, study, 5, share=1.0)
        client.force_login(user)
        client.post(reverse("annotation:start", args=[study]))
        answers = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5"}
        seen = []
        for status in ("checked", "submitted"):
            one = Assignment.objects.filter(rater=rater, status=status).order_by("pk").last()
            reply = client.post(reverse("annotation:rate", args=[one.public_id]), answers)
            sent_alone = client.post(
                reverse("annotation:rate", args=[one.public_id]), answers | {"alone": "1", "c-overall": "6"}
            )
            page = client.get(reverse("annotation:rate", args=[one.public_id])).content
            seen.append(
                (
                    reply.status_code,
                    reply["Location"],
                    sorted(reply.headers),
                    sent_alone.status_code,
                    len(sent_alone.content),
                    sorted(sent_alone.headers),
                    page.count(b"<"),
                )
            )
        assert seen[0] == seen[1]

    def test_a_pause_does_not_point_at_the_task_that_decided_it(self):
        """The pause begins one to five tasks after the failure; where, differs from rater to rater."""
        study = gold_study(checks={"window": 1, "failed": 1}, overlap=12)
        delays = []
        for _ in range(12):
            rater, failed, number = make_rater(study), None, 0
            try:
                while True:
                    assignment, _outcome = give(rater, study, 5, share=1.0)
                    number += 1
                    if failed is None and assignment.status == "checked":
                        failed = number
            except StudyNotOpen:
                delays.append(number - failed)
        assert all(1 <= delay <= 5 for delay in delays)
        assert len(set(delays)) > 1

    def test_a_pause_that_is_decided_begins_where_the_work_ends(self):
        study = gold_study(checks={"window": 1, "failed": 1})
        rater, given = make_rater(study), 0
        while not CheckOutcome.objects.filter(passed=False).exists():
            give(rater, study, 5, share=1.0)
            given += 1
        Standing.objects.update(stops_at=1000)
        study.policies["quota"] = given
        study.save()
        with pytest.raises(StudyNotOpen, match="may not go on"):
            give(rater, study, 5)
        assert Standing.objects.get().state == "paused"


class TestLateAnswers:
    """Answers after a pause, and changes after the study closed."""

    @pytest.fixture
    def begun(self):
        study = make_study(tasks=4, overlap=2)
        rater = make_rater(study)
        counted, _outcome = give(rater, study, 60)
        current, _progress = next_assignment(rater, study, clock=clock())
        return study, rater, counted, current

    @pytest.mark.parametrize("how", ["paused", "closed"])
    def test_an_open_task_answered_too_late_is_kept_and_counts_nowhere(self, begun, how):
        study, rater, _counted, current = begun
        before = score_frame(kinds=EVERY_KIND, study=study).value.tolist()
        self._end(study, rater, how)
        late = Assignment.objects.get(pk=current.pk)
        seat = late.seat_id
        assert record_answer(assignment=late, answers=answers_to(late, 1.0), clock=clock(3)) == "late"
        late.refresh_from_db()
        assert (late.status, late.reason) == ("surplus", how)
        assert late.scores.count() == 4
        assert part_of(rater).answered == 1  # nor does it for the completion code
        assert score_frame(kinds=EVERY_KIND, study=study).value.tolist() == before
        assert Seat.objects.get(pk=seat).state == "free"

    @pytest.mark.parametrize("how", ["paused", "closed"])
    def test_a_change_too_late_is_kept_and_changes_no_score(self, begun, how):
        study, rater, counted, _current = begun
        before = score_frame(kinds=EVERY_KIND, study=study).value.tolist()
        self._end(study, rater, how)
        late = Assignment.objects.get(pk=counted.pk)
        for _twice in range(2):
            record_answer(assignment=late, answers=answers_to(late, 1.0), clock=clock(3))
        kept = LateChange.objects.get()
        assert (kept.cause, kept.answers["overall"]["value"]) == (how, 10.0)
        assert score_frame(kinds=EVERY_KIND, study=study).value.tolist() == before
        assert not Score.objects.filter(revision__gt=0).exists()
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            LateChange.objects.update(cause="")

    def test_the_same_answer_again_is_no_change(self, begun):
        study, rater, counted, _current = begun
        self._end(study, rater, "closed")
        late = Assignment.objects.get(pk=counted.pk)
        assert record_answer(assignment=late, answers=answers_to(late), clock=clock(3)) == "unchanged"
        assert not LateChange.objects.exists()

    def test_who_is_let_go_on_and_whose_study_opens_again_changes_answers_as_before(self, begun):
        study, rater, counted, _current = begun
        self._end(study, rater, "paused")
        resume(Rater.objects.get(pk=rater.pk), clock=clock(4), by=None)
        again = Assignment.objects.get(pk=counted.pk)
        assert record_answer(assignment=again, answers=answers_to(again, 1.0), clock=clock(5)) == "revised"
        study.status = "closed"
        study.save()
        study.status = "open"
        study.save()
        again = Assignment.objects.get(pk=counted.pk)
        assert record_answer(assignment=again, answers=answers_to(again, 0.25), clock=clock(6)) == "revised"

    def test_a_lead_decides_disagreements_in_a_closed_study(self, begun):
        study, rater, counted, _current = begun
        self._end(study, rater, "closed")
        lead = make_user("lead", study.workspace)
        criteria = list(counted.task.answer_rubric.criteria.all())
        given = answers_to(counted, 1.0)
        task = Task.objects.get(pk=counted.task_id)
        decided = adjudicate(task, given, criteria=criteria, by=lead, clock=clock(5))
        assert {score.value for score in latest_scores(decided.scores.all()).values()} == {1.0, 10.0}

    @pytest.mark.parametrize("how", ["paused", "closed"])
    def test_the_pages_say_so(self, client, how):
        study = make_study(tasks=4)
        user = make_user("rater", study.workspace)
        rater = rater_in(study, user)
        counted, _outcome = give(rater, study, 60)
        current, _progress = next_assignment(rater, study, clock=timezone.now)
        self._end(study, rater, how)
        client.force_login(user)
        answers = {"c-item0": "4", "c-item1": "4", "c-item2": "4", "c-overall": "9"}
        said = "it does not count in the results"
        for assignment in (current, counted):
            address = reverse("annotation:rate", args=[assignment.public_id])
            assert said in markup(client.get(address))
            reply = client.post(address, answers)
            assert reply["Location"] == reverse("annotation:done", args=[study])
            page = markup(client.get(reply["Location"]))
            assert "Your answer is saved, but it does not count" in page
        assert ">does not count<" in page
        assert ">your last change does not count<" in page
        shown = markup(client.get(reverse("annotation:rate", args=[counted.public_id])))
        assert 'value="9" checked' in shown or 'value="9"' in shown

    def test_an_answer_that_does_not_count_leaves_its_place_in_the_quota(self, client):
        """Quota three: one answer came while its rater was paused, and three that count end in the code for all."""
        study = make_study(tasks=6, probe_rate=0, quota=3)
        crowd = make_cohort(study, "prolific", "crowd")
        address = reverse("annotation:join", args=[crowd.entry_token])
        client.post(address + "?PROLIFIC_PID=5f1a&STUDY_ID=s1&SESSION_ID=abc", {"answer": "yes"})
        start = reverse("annotation:start", args=[study])
        done = reverse("annotation:done", args=[study])
        answers = {"c-item0": "4", "c-item1": "4", "c-item2": "4", "c-overall": "9"}
        client.post(client.post(start)["Location"], answers)
        pause(Rater.objects.get(), message="", by=None)
        late = reverse("annotation:rate", args=[Assignment.objects.get(status="open").public_id])
        client.post(late, answers)
        resume(Rater.objects.get(), clock=timezone.now, by=None)
        while "/rate/" in (task := client.post(start)["Location"]):
            assert crowd.codes["pass"] not in markup(client.get(done))
            client.post(task, answers)
        assert Assignment.objects.filter(status="submitted").count() == 3
        assert Assignment.objects.filter(status="surplus", reason="paused").count() == 1
        assert crowd.codes["pass"] in markup(client.get(done))

    def test_what_an_offline_browser_sends_after_the_pause_is_kept(self, client):
        study = make_study(tasks=4)
        user = make_user("rater", study.workspace)
        rater = rater_in(study, user)
        current, _progress = next_assignment(rater, study, clock=timezone.now)
        pause(Rater.objects.get(pk=rater.pk), message="", by=None)
        client.force_login(user)
        answers = {"c-item0": "4", "c-item1": "4", "c-item2": "4", "c-overall": "9", "alone": "1"}
        reply = client.post(reverse("annotation:rate", args=[current.public_id]), answers)
        assert reply.json() == {"stored": current.public_id}
        current.refresh_from_db()
        assert (current.status, current.reason) == ("surplus", "paused")
        page = markup(client.get(reverse("annotation:done", args=[study])))
        assert "Your answer is saved, but it does not count" in page

    def test_a_check_answered_too_late_says_nothing_of_its_rater(self):
        study = gold_study()
        rater = make_rater(study)
        current, _progress = next_assignment(rater, study, clock=clock())
        while current.task.gold is None:
            record_answer(assignment=current, answers=answers_to(current), clock=clock(1))
            current, _progress = next_assignment(Rater.objects.get(pk=rater.pk), study, clock=clock())
        pause(rater, message="", by=None)
        late = Assignment.objects.get(pk=current.pk)
        assert record_answer(assignment=late, answers=answers_to(late, 1.0), clock=clock(3)) == "late"
        assert not CheckOutcome.objects.exists()

    def test_the_export_marks_what_does_not_count(self, begun, tmp_path):
        study, rater, counted, current = begun
        self._end(study, rater, "closed")
        for one in (counted, current):
            late = Assignment.objects.get(pk=one.pk)
            record_answer(assignment=late, answers=answers_to(late, 1.0), clock=clock(3))
        counts = export_study(study, tmp_path / "study.zip")
        assert counts["annotation.latechange"] == 1
        with zipfile.ZipFile(tmp_path / "study.zip") as archive:
            table = archive.read("tables/scores.csv").decode()
            rows = list(csv.DictReader(io.StringIO(table)))
            change = json.loads(archive.read("rows/annotation.latechange.jsonl"))
        assert sorted(row["not_counted"] for row in rows) == [""] * 4 + ["closed"] * 4
        assert change["answers"]["overall"]["value"] == 10.0

    def _end(self, study, rater, how):
        if how == "paused":
            pause(Rater.objects.get(pk=rater.pk), message="", by=None)
        else:
            study.status = "closed"
            study.save()
