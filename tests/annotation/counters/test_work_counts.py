"""The counts that triggers keep by rater and by category are those of the rows, whatever happens to a study."""

import threading
from collections import Counter
from io import StringIO
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import IntegrityError, connection, connections, transaction
from django.db.migrations import Migration
from django.utils import timezone

from annotation.answers.recording import Answer, NotOpen, record_answer, skip
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.counters import triggers
from annotation.counters.counts import check, check_work, fold
from annotation.counters.work import work_of
from annotation.importing.undo import undo_import
from annotation.models import Assignment, CheckOutcome, Exclusion, Rater, RaterCounter, Seat, Study, Task, WorkChange
from annotation.monitoring.exclusion import exclude, lift
from annotation.monitoring.progress import StudyRow, _counted_rows, counted_tally, study_rows, tally_of
from annotation.privacy.erasure import erase_rater
from annotation.studies.deletion import delete
from annotation.studies.life_cycle import release_rater
from core.errors import UserError
from generation.models import Category, Import, Instruction
from tests.annotation.tables import RATINGS, load, written
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, remove

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6}
STATUSES = ["submitted", "skipped", "surplus", "unscored", "derived", "absent", "checked", "excluded", "open"]
on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'")


def counted_by_hand(study):
    """The tally from every row of the study in plain Python: categories, work and checks."""
    categories, work, checks = {}, {}, Counter()
    judges = set(Rater.objects.filter(kind="judge", study=None).values_list("pk", flat=True))

    def category(task):
        return categories.setdefault(task.response_a.instruction.category_id, Counter())

    for task in study.tasks.select_related("response_a__instruction"):
        category(task)["tasks"] += task.gold is None
        for seat in task.seats.all():
            category(task)["seats"] += 1
            category(task)["taken"] += seat.state == "taken"
        for one in task.assignments.select_related("rater"):
            judge = one.rater_id in judges
            if judge and task.gold is not None:
                continue
            given = ("submitted", "derived") if judge else ("submitted",)
            counts = one.repeat == 0 and one.status in given
            category(task)["judges" if judge else "people"] += counts and one.rater.kind != "key"
            row = work.setdefault(one.rater_id, Counter(times=[], last=[]))
            row["answered"] += counts
            row["skipped"] += one.status == "skipped"
            row["unscored"] += one.status == "unscored" and not (judge and one.repeat)
            row["surplus"] += one.status == "surplus"
            row["open"] += one.status == "open"
            row["discredited"] += counts and bool(one.discredited)
            row["excluded"] += one.status == "excluded" and one.repeat == 0
            row["times"] += [one.active_seconds] if counts and one.active_seconds is not None else []
            row["last"] += [one.submitted_at] if one.submitted_at else []
            outcome = CheckOutcome.objects.filter(assignment=one, purpose__in=["gold", "control"]).first()
            if outcome and not judge:
                checks[one.rater_id, "given"] += 1
                checks[one.rater_id, "failed"] += not outcome.passed
    return categories, work, checks


COLUMNS = ("tasks", "seats", "taken", "people", "judges")
NAMES = ("answered", "skipped", "unscored", "surplus", "open", "discredited", "excluded")


def agree(study):
    """The kept counts are those of the rows, by rater and by category; returns them."""
    assert check_work() == {} and check() == {}
    tally, (categories, work, checks) = tally_of(study), counted_by_hand(study)
    kept = {pk: Counter({name: getattr(row, name) for name in COLUMNS}) for pk, row in tally.categories.items()}
    assert {pk: +row for pk, row in kept.items() if +row} == {pk: +row for pk, row in categories.items() if +row}
    assert tally.work.keys() == work.keys()
    for pk, row in work.items():
        assert {name: tally.work[pk][name] for name in NAMES} == {name: row[name] for name in NAMES}
        assert tally.work[pk]["last"] == max(row["last"], default=None)
        mean = sum(row["times"]) / len(row["times"]) if row["times"] else None
        assert tally.work[pk]["seconds"] == (mean if mean is None else pytest.approx(mean))
    assert tally.checks == {pk: (checks[pk, "given"], checks[pk, "failed"]) for pk, what in checks if what == "given"}
    rows, counted = study_rows([study]), _counted_rows({study.pk: StudyRow(study)})
    assert [vars(row) for row in rows] == [vars(row) for row in counted]
    return tally


class Events:
    """What can happen to a study, drawn at random."""

    def __init__(self, random, folder):
        self.random, self.folder, self.clock = random, folder, timezone.now
        self.study = make_checklist_study(instructions=5, models=2)
        self.study.policies = {"overlap": 2}
        self.study.save()
        make_seats(self.study)
        self.elsewhere = Category.objects.create(benchmark=self.study.benchmark, key="tale", names={"en": "Tale"})
        self.raters = [make_rater(self.study, label=f"r{place}", user=make_user()) for place in range(3)]
        self.judges = [make_judge_rater(self.study.workspace, name) for name in ("judge", "other judge")]
        self.others = 0

    def _task(self):
        return self.random.choice(list(self.study.tasks.order_by("pk")))

    def _one(self):
        return Assignment.objects.filter(task__study=self.study).order_by("?").first()

    def answer(self):
        found, _progress = next_assignment(self.random.choice(self.raters), self.study, clock=self.clock)
        given = {key: Answer(self.random.choice([0.0, 1.0]) if key != "overall" else 6) for key in VALUES}
        record_answer(assignment=found, answers=given, clock=self.clock)

    def skip(self):
        found, _progress = next_assignment(self.random.choice(self.raters), self.study, clock=self.clock)
        skip(assignment=found, reason="broken", clock=self.clock)

    def claim(self):
        next_assignment(self.random.choice(self.raters), self.study, clock=self.clock)

    def release(self):
        release_rater(self.study, self.random.choice(self.raters).pk, by=None)

    def exclude(self):
        exclude(self.study, self.random.choice(self.raters), since=None, reason="careless", by=None)

    def lift(self):
        lift(self.random.choice(list(Exclusion.objects.standing())), by=None)

    def erase(self):
        erase_rater(self.random.choice(self.raters), by=None)

    def verdict(self):
        judge = self.random.choice(self.judges)
        make_answer(
            self._task(),
            judge,
            VALUES,
            status=self.random.choice(["submitted", "derived", "unscored"]),
            repeat=self.random.choice([0, 0, 1]),
            active_seconds=self.random.choice([None, 2.5, 7.0]),
            submitted_at=self.clock(),
        )

    def discredit(self):
        found = Assignment.objects.filter(task__study=self.study, rater__in=self.judges)
        found.update(discredited=self.random.choice([None, True, False]))

    def mark(self):
        gold = self.random.choice([None, {"purpose": "gold", "expected": {}}])
        Task.objects.filter(pk=self._task().pk).update(gold=gold)

    def check(self):
        purpose = self.random.choice(["gold", "control", "training"])
        CheckOutcome.objects.create(assignment=self._one(), purpose=purpose, passed=self.random.random() < 0.5)

    def check_again(self):
        CheckOutcome.objects.update(purpose=self.random.choice(["gold", "training"]), passed=self.random.random() < 0.5)

    def change(self):
        some = Assignment.objects.filter(pk=self._one().pk).exclude(status="open")
        at = self.random.choice([None, self.clock()])
        status = self.random.choice(STATUSES[:-1])
        some.update(status=status, active_seconds=self.random.choice([None, 3.25, 90.0]), submitted_at=at)

    def remove(self):
        remove(self._one())

    def move(self):
        target = self.random.choice([None, self.elsewhere])
        pk = self.random.choice(list(self.study.tasks.values_list("response_a__instruction", flat=True)))
        Instruction.objects.filter(pk=pk).update(category=target)

    def bring(self):
        self.others += 1
        rows = [f"{item},x{self.others},clear,{self.random.randint(1, 6)}" for item in "abc"]
        load(
            "ratings",
            written(self.folder, "item,rater,criterion,value\n" + "\n".join(rows), f"{self.others}.csv"),
            *(("--workspace", self.study.workspace.slug) + RATINGS),
        )

    def undo(self):
        undo_import(Import.objects.filter(undone_at=None).latest("pk"), by=None, clock=self.clock)

    def delete(self):
        other = make_checklist_study(slug=f"gone{self.others}", workspace=self.study.workspace, instructions=1)
        self.others += 1
        make_seats(other)
        make_answer(other.tasks.first(), self.judges[0], VALUES)
        make_answer(other.tasks.first(), make_rater(other), VALUES)
        agree(other)
        Study.objects.filter(pk=other.pk).update(status="closed")
        delete(other, by=make_user())

    def fold(self):
        fold()

    def roll_back(self):
        with transaction.atomic():
            self.verdict()
            transaction.set_rollback(True)


FREQUENT = ("answer", "answer", "answer", "verdict", "skip")
EVENTS = [name for name in vars(Events) if not name.startswith("_")]


@pytest.mark.parametrize("seed", range(6))
def test_after_any_events_the_counts_are_those_of_the_rows(seed, tmp_path):
    random = Random(seed)
    events, happened = Events(random, tmp_path), Counter()
    for _number in range(70):
        name = random.choice([*EVENTS, *FREQUENT])
        try:
            with transaction.atomic():
                getattr(events, name)()
        except (IntegrityError, NotOpen, LookupError, AttributeError, UserError, ValueError):
            continue
        except Exception as refusal:
            if not hasattr(refusal, "code") and type(refusal).__module__.split(".")[0] not in (
                "annotation",
                "generation",
            ):
                raise
            continue
        happened[name] += 1
        agree(events.study)
        for imported in Study.objects.filter(slug="s"):
            agree(imported)
    assert len(happened) > 12
    assert happened["answer"] > 3


def test_each_event_can_happen(tmp_path):
    """So that none of the random events is always refused, and the test above says nothing of it."""
    events = Events(Random(1), tmp_path)
    for name in ["answer", "verdict", *EVENTS]:
        if name == "lift" and not Exclusion.objects.standing().exists():
            events.exclude()
        if name == "undo":
            events.bring()
        getattr(events, name)()
        agree(events.study)


def test_counting_from_the_rows_says_the_same():
    events = Events(Random(3), None)
    for name in ("answer", "verdict", "skip", "answer", "claim", "check", "mark"):
        getattr(events, name)()
    kept, rows = tally_of(events.study), counted_tally(events.study)
    assert (kept.categories, kept.checks) == (rows.categories, rows.checks)
    assert kept.work == rows.work
    triggers.remove(connection)
    assert work_of(events.study) is None and tally_of(events.study) == rows


def test_a_migration_that_rebuilds_a_table_leaves_the_counts_right():
    events = Events(Random(4), None)
    events.answer()
    emit_pre_migrate_signal(0, False, "default", plan=[(Migration("rebuilds", "annotation"), False)])
    assert work_of(events.study) is None
    events.answer()
    remove(Assignment.objects.filter(status="submitted").order_by("submitted_at").last())
    events.verdict()
    emit_post_migrate_signal(0, False, "default", plan=[])
    agree(events.study)
    events.answer()
    assert agree(events.study).work


def test_wrong_counts_are_found_and_repaired():
    events, out = Events(Random(5), None), StringIO()
    events.answer()
    events.answer()
    fold()
    RaterCounter.objects.update(answered=40, last=timezone.now(), removed=0)
    assert check_work() == {events.study.pk: RaterCounter.objects.filter(given__gt=0).count()}
    with pytest.raises(CommandError, match="check_counts --repair"):
        call_command("check_counts", stdout=out)
    assert "raters and instructions are wrong" in out.getvalue()
    call_command("check_counts", "--repair", stdout=out)
    agree(events.study)


def test_more_answers_cost_a_dashboard_no_more_queries(django_assert_max_num_queries):
    events = Events(Random(6), None)
    events.answer()
    with django_assert_max_num_queries(9) as few:
        tally_of(events.study)
    for number in range(20):
        make_answer(events.study.tasks.first(), make_rater(events.study, label=f"more {number}"), VALUES)
    with django_assert_max_num_queries(len(few)):
        tally_of(events.study)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_raters_who_answer_at_once_do_not_wait_for_each_other():
    study = make_checklist_study(instructions=1, models=2)
    first, second = study.tasks.all()
    raters = [make_rater(study, label="one"), make_rater(study, label="two")]
    make_seats(study)
    done = threading.Event()

    def answer():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            make_answer(second, raters[1], VALUES)
            Seat.objects.filter(task=second).update(state="taken")
            fold()
            done.set()
        finally:
            connections.close_all()

    with transaction.atomic():
        make_answer(first, raters[0], VALUES)
        Seat.objects.filter(task=first).update(state="taken")
        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()
        assert done.is_set()
    assert WorkChange.objects.exists()
    agree(study)
