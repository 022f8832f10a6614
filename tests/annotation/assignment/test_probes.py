"""Earlier tasks come back at exactly the study's rate, after enough others, and look like any other task."""

import itertools
import re
from fractions import Fraction
from random import Random

import pytest
from django.urls import reverse
from hypothesis import given, strategies as st

from annotation.answers.recording import save_draft, skip
from annotation.assignment.next_task import Coming, _first_side, next_assignment
from annotation.models import Assignment, Draft, Rater, Seat
from annotation.policies.policies import BadPolicy
from annotation.policies.quality_checks import plan_of
from annotation.recruitment.participation import rater_in
from annotation.rules.sides import ShownSide, draw_side
from annotation.rules.spacing import Given, Rate, due, is_due, kinds_due, phase_of
from calibration.data.frames import EVERY_KIND
from calibration.data.scores import score_frame
from tests.annotation.raters_at_work import NOON, answer, clock, make_pairs, make_study, work
from tests.factories import make_rater, make_user, remove
from tests.markup import markup

rates = st.sampled_from([Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(3, 40), Fraction(1, 4)])
phases = st.fractions(0, 1).filter(lambda phase: phase < 1)


@given(rates, phases, st.integers(0, 10_000))
def test_any_stretch_of_tasks_holds_its_share_to_within_one(share, phase, start):
    rate = Rate(share, phase)
    for length in (1, 7, 50, 333):
        within = due(start + length, rate) - due(start, rate)
        assert abs(within - length * share) < 1


@given(phases, st.integers(0, 10_000))
def test_at_two_per_cent_any_fifty_tasks_hold_exactly_one(phase, start):
    rate = Rate(Fraction(1, 50), phase)
    assert due(start + 50, rate) - due(start, rate) == 1


def given_out(rate, length, insist=True, possible=lambda number: True):
    """The numbers of the tasks that were checks, where each one due and `possible` is given."""
    numbers = []
    for number in range(1, length + 1):
        had = Given(len(numbers), numbers[-1] if numbers else 0)
        if is_due(number, rate, had, insist=insist) and possible(number):
            numbers.append(number)
    return numbers


@given(rates, phases, st.integers(0, 60))
def test_what_came_late_is_made_up_for_exactly_and_without_a_burst(share, phase, gap):
    rate = Rate(share, phase)
    numbers = given_out(rate, 1000, possible=lambda number: number > gap)
    assert len(numbers) == due(1000, rate)
    apart = [later - earlier for earlier, later in itertools.pairwise(numbers)]
    assert min(apart, default=1000) >= int(1 / (2 * share))
    settled = [n for n in numbers if n > 4 * gap + 200]
    assert all(abs(b - a - 1 / share) < 1 for a, b in itertools.pairwise(settled))


def test_without_insistence_a_check_is_tried_for_only_in_its_place():
    rate = Rate(Fraction(1, 20), Fraction(0))
    tried = [n for n in range(1, 61) if is_due(n, rate, Given(0, 0), insist=False)]
    assert tried == [20, 21, 22, 40, 41, 42, 60]


@given(st.lists(st.tuples(rates, phases), min_size=3, max_size=3))
def test_two_checks_never_follow_one_another(chosen):
    rates_of = {kind: Rate(*pair) for kind, pair in zip(("probe", "gold", "control"), chosen, strict=True)}
    had = dict.fromkeys(rates_of, Given(0, 0))
    numbers = []
    for number in range(1, 400):
        kinds = kinds_due(number, rates_of, had, insist=frozenset({"probe"}))
        if kinds:
            numbers.append(number)
            had[kinds[0]] = Given(had[kinds[0]].count + 1, number)
    assert all(later - earlier > 1 for earlier, later in itertools.pairwise(numbers))


def test_phases_of_a_studys_raters_fill_the_unit_evenly():
    """Of 100 raters, every tenth of [0, 1) holds about ten: 25 tasks each hold 2 % of 2,500 = 50 probes."""
    phases_ = [phase_of(7, rater, "probe") for rater in range(501, 601)]
    tenths = [sum(int(phase * 10) == tenth for phase in phases_) for tenth in range(10)]
    assert all(8 <= n <= 12 for n in tenths), tenths
    assert abs(sum(due(25, Rate(Fraction(1, 50), phase)) for phase in phases_) - 50) <= 2


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 9), st.integers(0, 9), st.randoms(use_true_random=False))
def test_a_raters_sides_stay_balanced_whatever_the_tasks_have_had(a, b, task_a, task_b, random):
    side = draw_side(ShownSide(a, b), ShownSide(task_a, task_b), random)
    if abs(a - b) >= 3:
        assert side == ("b" if a > b else "a")
    elif task_a != task_b:
        assert side == ("b" if task_a > task_b else "a")
    elif a != b:
        assert side == ("b" if a > b else "a")


def replace_seed(study, seed):
    study.seed = seed
    return study


def test_a_tie_is_drawn():
    """Of 400 draws a half, give or take four standard deviations of 10."""
    sides = [draw_side(ShownSide(2, 2), ShownSide(1, 1), Random(seed)) for seed in range(400)]
    assert 160 <= sides.count("a") <= 240


@pytest.mark.django_db
class TestProbes:
    def test_the_rate_is_exact_for_every_rater(self):
        """5 raters, 100 ordinary tasks each, one in twenty a probe: n tasks in all hold floor(n / 20 + phase)."""
        study = make_study(tasks=100, overlap=5, probe_rate=0.05, probe_gap=10)
        for _ in range(5):
            rater = make_rater(study)
            done = work(rater, study)
            probes = [a for a in done if a.repeat]
            assert len(done) - len(probes) == 100
            rate = Rate(Fraction(1, 20), phase_of(study.seed, rater.pk, "probe"))
            assert len(probes) == due(len(done), rate) in (5, 6)
            assert [a.order for a in done] == list(range(1, len(done) + 1))
            assert all(a.conditions == {"probe": True} and a.seat_id is None for a in probes)
        assert Seat.objects.filter(study=study, state="taken").count() == 500

    def test_two_in_a_hundred_is_the_default_and_exactly_so(self):
        study = make_study(tasks=160)
        done = work(make_rater(study), study, most=150)
        assert sum(a.repeat > 0 for a in done) == 3
        assert sum(a.repeat > 0 for a in done[30:130]) == 2

    def test_a_probe_was_answered_at_least_the_gap_ago(self):
        study = make_study(tasks=60, probe_rate=0.2, probe_gap=15)
        rater = make_rater(study)
        done = work(rater, study)
        probes = [a for a in done if a.repeat]
        # Of 74 to 76 tasks: where the rater's phase is late, the last one is a probe more.
        rate = Rate(Fraction(1, 5), phase_of(study.seed, rater.pk, "probe"))
        assert len(probes) == due(len(done), rate) and len(probes) in (14, 15, 16)
        first = {a.task_id: a.order for a in done if a.repeat == 0}
        assert min(a.order - first[a.task_id] for a in probes) >= 15
        assert {a.repeat for a in probes} == {1}
        assert len({a.task_id for a in probes}) == len(probes)

    def test_a_task_comes_back_several_times_where_the_study_says_so(self):
        study = make_study(tasks=40, probe_rate=0.25, probe_gap=2, probe_times=3)
        done = work(make_rater(study), study)
        assert max(a.repeat for a in done) in (2, 3)
        for task in study.tasks.all():
            orders = list(Assignment.objects.filter(task=task).order_by("repeat").values_list("repeat", "order"))
            assert [repeat for repeat, _ in orders] == list(range(len(orders)))
            assert all(later - earlier >= 2 for (_, earlier), (_, later) in itertools.pairwise(orders))

    def test_no_rate_no_probe(self):
        study = make_study(tasks=30, probe_rate=0)
        assert not any(a.repeat for a in work(make_rater(study), study))

    def test_probes_count_nowhere(self):
        study = make_study(tasks=30, probe_rate=0.2, probe_gap=3)
        work(make_rater(study), study)
        assert Assignment.objects.filter(repeat__gt=0).count() >= 6
        assert Assignment.objects.answered().count() == 30
        assert len(score_frame(kinds=EVERY_KIND, study=study)) == 30 * 4
        assert len(score_frame(kinds=EVERY_KIND, study=study, repeats=True)) > 30 * 4

    def test_sides_are_balanced_and_drawn_afresh_for_a_probe(self):
        study = make_pairs(tasks=40, overlap=4, probe_rate=0.25, probe_gap=3)
        redrawn = 0
        for _ in range(4):
            done = work(make_rater(study), study)
            sides = [a.shown_first for a in done]
            for length in range(1, len(sides) + 1):
                assert abs(sides[:length].count("a") - sides[:length].count("b")) <= 3
            first = {a.task_id: a.shown_first for a in done if not a.repeat}
            redrawn += sum(a.shown_first != first[a.task_id] for a in done if a.repeat)
        assert redrawn >= 10
        for task in study.tasks.all():
            sides = list(task.assignments.filter(repeat=0).values_list("shown_first", flat=True))
            assert abs(sides.count("a") - sides.count("b")) <= 2

    def test_the_first_pairs_of_raters_are_drawn_apart(self):
        study = make_pairs(tasks=40, overlap=1)
        sides = [next_assignment(make_rater(study), study, clock=clock())[0].shown_first for _ in range(40)]
        assert 8 <= sides.count("a") <= 32

    def test_a_tasks_sides_are_evened_out_over_its_raters(self):
        """Four raters a pair: two see either side first, wherever no rater was three ahead."""
        study = make_pairs(tasks=12, overlap=4, order="finish", probe_rate=0)
        raters = [make_rater(study) for _ in range(4)]
        for _ in range(12):
            for rater in raters:
                answer(next_assignment(rater, study, clock=clock())[0])
        even = 0
        for task in study.tasks.all():
            sides = list(task.assignments.order_by("pk").values_list("shown_first", flat=True))
            assert len(sides) == 4
            even += sides.count("a") == 2
        assert even >= 10

    def test_a_probes_side_neither_follows_nor_moves_what_others_see(self):
        """Others saw A first three times: a newcomer sees B, but the side of a probe is drawn for its rater alone."""
        study = make_pairs(tasks=30, overlap=5, probe_rate=0.25, probe_gap=2)
        rater = make_rater(study)
        work(rater, study)
        probes = Assignment.objects.filter(repeat=1)
        assert probes.count() >= 8
        ordinary = Assignment.objects.filter(rater=rater, repeat=0)
        for probe in probes:
            for _ in range(3):
                Assignment.objects.create(task=probe.task, rater=make_rater(study), shown_first=probe.shown_first)
            first = ordinary.get(task=probe.task)
            counts = {"shown_a": 0, "shown_b": 0, "handed": probe.order - 1}
            coming = Coming(counts, {}, clock())
            redrawn = {
                _first_side(rater, replace_seed(study, seed), probe.task_id, coming, "probe") for seed in range(20)
            }
            assert redrawn == {"a", "b"}
            other = "b" if probe.shown_first == "a" else "a"
            for seed in range(5):
                assert _first_side(make_rater(study), replace_seed(study, seed), probe.task_id, coming, "") == other
            # Without the three, what counts is the first answers: the probe itself moves nothing.
            remove(Assignment.objects.filter(task=probe.task).exclude(rater=rater))
            even = "b" if first.shown_first == "a" else "a"
            assert _first_side(make_rater(study), study, probe.task_id, coming, "") == even

    def test_a_skipped_probe_is_not_offered_again_and_frees_nothing(self):
        study = make_study(tasks=40, probe_rate=0.25, probe_gap=2, probe_times=5)
        rater = make_rater(study)
        while True:
            assignment, _ = next_assignment(rater, study, clock=clock())
            if assignment.repeat:
                break
            answer(assignment)
        skip(assignment=assignment, reason="other", clock=clock())
        assert Seat.objects.filter(task=assignment.task, state="taken").count() == 1
        rest = work(rater, study)
        assert assignment.task_id not in {a.task_id for a in rest}

    def test_an_open_probe_is_resumed_without_a_seat(self):
        study = make_study(tasks=40, probe_rate=0.25, probe_gap=2)
        rater = make_rater(study)
        while not (assignment := next_assignment(rater, study, clock=clock())[0]).repeat:
            answer(assignment)
        again, _ = next_assignment(rater, study, clock=clock(600))
        assert again == assignment
        assert again.seat_id is None
        assert not Seat.objects.filter(state="held").exists()

    @pytest.mark.parametrize(
        "policies",
        [{"probe_rate": 0.5}, {"probe_rate": -0.1}, {"probe_rate": "2%"}, {"probe_gap": 0}, {"probe_times": 1.5}],
    )
    def test_nonsense_is_named(self, policies):
        study = make_study(tasks=1, seats=False, **policies)
        with pytest.raises(BadPolicy, match="Study essays: probe_"):
            plan_of(study)


@pytest.mark.django_db
class TestOnTheWire:
    @pytest.fixture
    def at_probe(self, client):
        """A signed-in rater at a probe: (client, the probe, the first answer to the same task)."""
        study = make_study(tasks=40, probe_rate=0.25, probe_gap=2)
        user = make_user("rater", study.workspace)
        rater = rater_in(study, user)
        while not (assignment := next_assignment(rater, study, clock=clock())[0]).repeat:
            answer(assignment)
        client.force_login(user)
        return client, assignment, Assignment.objects.get(task=assignment.task, rater=rater, repeat=0)

    def shape(self, client, assignment):
        """The page, without what is different on every page: ids, tokens and how many answers came before."""
        html = markup(client.get(reverse("annotation:rate", args=[assignment.public_id])))
        html = html.replace(assignment.public_id, "ID")
        html = re.sub(r'value="[A-Za-z0-9]{64}"', "TOKEN", html)
        html = re.sub(r'nonce="[^"]*"', "", html)
        return re.sub(r"\d+ answered", "N answered", html)

    def test_a_probes_page_is_that_of_the_task_when_it_was_new(self, at_probe):
        client, probe, first = at_probe
        page = self.shape(client, probe)
        remove(Assignment.objects.filter(pk=probe.pk))
        remove(first.scores.all())
        Assignment.objects.filter(pk=first.pk).update(status="open", submitted_at=None)
        assert self.shape(client, first) == page
        for word in ("probe", "repeat", "again", "known"):
            assert word not in page.lower().replace("try again", "").replace("sign in again", "")

    def test_a_draft_of_the_first_answer_does_not_show_in_the_probe(self, at_probe):
        client, probe, first = at_probe
        save_draft(assignment=first, answers={"c-item0": "1", "note": "I said so before"}, serial=5)
        assert Draft.objects.get().repeat == 0
        page = markup(client.get(reverse("annotation:rate", args=[probe.pk and probe.public_id])))
        assert "I said so before" not in page
        assert " checked" not in page

    def test_the_raters_page_lists_too_few_answers_to_look_one_up(self, at_probe):
        client, probe, first = at_probe
        page = markup(client.get(reverse("annotation:done", args=[probe.task.study])))
        assert first.public_id not in page
        assert Rater.objects.count() == 1
        assert first.submitted_at == NOON
