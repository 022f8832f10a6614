"""Where raters differ, a lead's own answer as the key, and more answers where they differ most."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.answers.recording import Answer, AnswerRefused
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Assignment, Criterion, Rater, Score, Seat
from annotation.monitoring.adjudication import adjudicate, comparison_of
from annotation.monitoring.disagreements import disagreements, widest_spreads
from annotation.monitoring.progress import study_rows, tally_of
from calibration.data.frames import EVERY_KIND
from calibration.data.scores import score_frame
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
KEYS = ("item0", "item1", "item2")


def values(overall):
    return dict.fromkeys(KEYS, 0.5) | {"overall": overall}


def answers(overall):
    return {key: Answer(value) for key, value in values(overall).items()}


@pytest.fixture
def study():
    """Four tasks; two raters give 0 and 10, 4 and 6, 5 and 5, and one answer alone."""
    study = make_checklist_study(instructions=4, models=1)
    ann, bob = make_rater(study, label="ann"), make_rater(study, label="bob")
    tasks = list(study.tasks.order_by("pk"))
    for task, (first, second) in zip(tasks, [(0, 10), (4, 6), (5, 5), (7, None)], strict=True):
        make_answer(task, ann, values(first))
        if second is not None:
            make_answer(task, bob, values(second))
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


@pytest.fixture
def as_lead(client, lead):
    client.force_login(lead)
    return client


def tasks_of(study):
    return list(study.tasks.order_by("pk"))


def to(name, study, *more):
    return reverse(f"annotation:{name}", args=[study, *more])


def sent(overall="8"):
    return {f"c-{key}": "2" for key in KEYS} | {"c-overall": overall}


def test_spreads_by_hand(study):
    """0 and 10 on 0..10: deviations of 5 from 5, a standard deviation of 5, half of the scale; 4 and 6: 1, a tenth."""
    first, second, _third, _fourth = tasks_of(study)
    found = widest_spreads(study, least=0.0, most=10)
    assert [(task, n) for task, _spread, n in found] == [(first.pk, 2), (second.pk, 2)]
    assert [spread for _task, spread, _n in found] == pytest.approx([0.5, 0.1])
    assert len(widest_spreads(study, least=0.2, most=10)) == 1
    assert len(widest_spreads(study, least=0.0, most=1)) == 1


def test_changed_answers_count_as_they_are_now(study):
    first = tasks_of(study)[0]
    score = Score.objects.get(assignment__task=first, assignment__rater__label="bob", criterion__key="overall")
    Score.objects.create(assignment=score.assignment, criterion=score.criterion, revision=1, value=0)
    assert first.pk not in [task for task, _spread, _n in widest_spreads(study, least=0.0, most=10)]


def test_judges_repeats_surplus_and_keys_are_left_out(study, lead):
    third = tasks_of(study)[2]
    make_answer(third, make_judge_rater(study.workspace), values(0))
    make_answer(third, study.raters.get(label="ann"), values(0), repeat=1)
    make_answer(third, make_rater(study), values(0), status="surplus")
    adjudicate(third, answers(0), criteria=third.answer_rubric.criteria.all(), by=lead, clock=timezone.now)
    assert third.pk not in [task for task, _spread, _n in widest_spreads(study, least=0.0, most=10)]


def test_answers_to_what_measures_raters_are_no_disagreement(study):
    """Nobody is to decide a gold item whose answer is known, nor to ask more answers to it."""
    first, second, _third, _fourth = tasks_of(study)
    for purpose in ("gold", "control"):
        first.gold = {"purpose": purpose, "expected": {"overall": 0}}
        first.save()
        assert [one.task for one in disagreements(study)] == [second]


def test_without_an_overall_score_items_are_measured_on_their_own_scales():
    """Items of 0..1 (0 and 1: half) and of 0..100 (0 and 20: a tenth): the root of the mean variance, 0.3606."""
    study = make_checklist_study(instructions=1, models=1, items=1)
    task = study.tasks.get()
    Criterion.objects.filter(rubric=task.answer_rubric, key="overall").update(role="item", maximum=100)
    for item, overall in ((0.0, 0), (1.0, 20)):
        make_answer(task, make_rater(study), {"item0": item, "overall": overall})
    [(_task, spread, n)] = widest_spreads(study, least=0.0, most=5)
    assert (spread, n) == (pytest.approx(0.3606, abs=1e-4), 2)


def test_a_decision_is_a_keys_and_counts_in_no_result(study, lead):
    first = tasks_of(study)[0]
    before = (
        len(score_frame(kinds=EVERY_KIND, study=study)),
        tally_of(study).categories,
        study_rows([study])[0].people,
    )
    made = adjudicate(first, answers(8), criteria=first.answer_rubric.criteria.all(), by=lead, clock=timezone.now)
    assert (made.rater.kind, made.seat, made.rater.user) == (Rater.Kind.KEY, None, None)
    assert (
        len(score_frame(kinds=EVERY_KIND, study=study)),
        tally_of(study).categories,
        study_rows([study])[0].people,
    ) == before
    assert next(one.decided for one in disagreements(study) if one.task == first)


def test_a_decision_takes_no_seat_and_leaves_the_lead_free_to_rate(study, lead):
    fourth = tasks_of(study)[3]
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    adjudicate(fourth, answers(8), criteria=fourth.answer_rubric.criteria.all(), by=lead, clock=timezone.now)
    assert not Seat.objects.exclude(state="free").exists()
    own = make_rater(study, user=lead)
    assert next_assignment(own, study, clock=timezone.now)[0].rater == own


def test_a_changed_decision_is_a_revision(study, lead):
    first = tasks_of(study)[0]
    criteria = list(first.answer_rubric.criteria.all())
    for overall in (8, 8, 3):
        adjudicate(first, answers(overall), criteria=criteria, by=lead, clock=timezone.now)
    scores = Score.objects.filter(assignment__rater__kind="key", criterion__key="overall").order_by("revision")
    assert [score.value for score in scores] == [8, 3]
    assert Assignment.objects.filter(rater__kind="key").count() == 1
    assert Event.objects.filter(verb="adjudicate", actor=lead).count() == 2
    with pytest.raises(AnswerRefused):
        adjudicate(first, {"overall": Answer(3)}, criteria=criteria, by=lead, clock=timezone.now)


def test_every_answer_stands_beside_the_others(study, lead, django_assert_max_num_queries):
    first = tasks_of(study)[0]
    make_answer(first, make_judge_rater(study.workspace), values(9))
    criteria = list(first.answer_rubric.criteria.all())
    adjudicate(first, answers(8), criteria=criteria, by=lead, clock=timezone.now)
    with django_assert_max_num_queries(3):
        found = comparison_of(first, criteria)
    assert [column.name for column in found.columns] == ["ann", "bob", "lena", "gpt-4o"]
    overall = next(texts for criterion, texts in found.rows if criterion.key == "overall")
    assert [text for text, _reason in overall] == ["0", "10", "8", "9"]


def test_a_verdict_of_a_failed_run_is_marked_beside_the_others(study):
    first = tasks_of(study)[0]
    for label, discredited in (("sound", None), ("misled", True)):
        make_answer(
            first, make_judge_rater(study.workspace, label), values(9), status="derived", discredited=discredited
        )
    notes = {one.name: one.note for one in comparison_of(first, []).columns}
    assert notes["misled"] == "failed its canary texts" != notes["sound"]


# Pages
def test_the_queue_and_its_threshold(as_lead, study, django_assert_max_num_queries):
    first, second, _third, _fourth = tasks_of(study)
    with django_assert_max_num_queries(20):
        html = markup(as_lead.get(to("disagreements", study)))
    assert html.index(first.public_id) < html.index(second.public_id)
    assert "2 tasks on which raters disagree need a decision." in html
    part = markup(as_lead.get(to("disagreements", study) + "?least=20", headers=HTMX))
    assert "<html" not in part and first.public_id in part and second.public_id not in part


@pytest.mark.parametrize("least", ["", "x", "-5", "1e9", "nan"])
def test_any_threshold_is_survived(as_lead, study, least):
    assert as_lead.get(to("disagreements", study), {"least": least}).status_code == 200


def test_a_decision_in_the_browser(as_lead, study, django_assert_max_num_queries):
    task = tasks_of(study)[0]
    with django_assert_max_num_queries(24):
        html = markup(as_lead.get(to("task", study, task.public_id)))
    assert "This task has 2 ratings." in html and "model0" in html and "Some words about it" in html
    assert as_lead.post(to("task", study, task.public_id), {}).status_code == 422
    assert as_lead.post(to("task", study, task.public_id), sent())["Location"] == to("task", study, task.public_id)
    html = markup(as_lead.get(to("task", study, task.public_id)))
    assert "Your own answer is shown beside them." in html and "This task has 3 ratings." in html
    assert "decided" in markup(as_lead.get(to("disagreements", study)))


@pytest.mark.parametrize(
    ("role", "seen", "decided"), [("lead", 200, 302), ("analyst", 200, 404), ("rater", 403, 403), (None, 403, 403)]
)
def test_who_reads_and_who_decides(client, study, role, seen, decided):
    client.force_login(make_user(role, study.workspace) if role else make_user())
    address = to("task", study, tasks_of(study)[0].public_id)
    assert client.get(to("disagreements", study)).status_code == seen
    assert client.get(address).status_code == seen
    assert client.post(address, sent()).status_code == decided
    assert Rater.objects.filter(kind="key").exists() == (role == "lead")


def test_another_workspace_finds_nothing(client, study):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    task = tasks_of(study)[0]
    for address in (to("disagreements", study), to("task", study, task.public_id)):
        assert client.get(address).status_code == 404
    assert client.post(to("more_answers", study), {"task": task.public_id}).status_code == 404
    assert client.post(to("release", study, task.public_id)).status_code == 404


def test_one_more_answer_to_one_task(as_lead, study):
    task = tasks_of(study)[1]
    as_lead.post(to("more_answers", study), {"task": task.public_id})
    assert Seat.objects.filter(task=task).count() == 1
    assert Event.objects.filter(verb="add_overlap", object_id=study.public_id).count() == 1


def test_more_answers_where_raters_differ_most(as_lead, study, lead):
    """Above 5 % are two tasks; one of them is decided, and the other gets its places once only."""
    first, second, _third, _fourth = tasks_of(study)
    adjudicate(first, answers(8), criteria=first.answer_rubric.criteria.all(), by=lead, clock=timezone.now)
    for _twice in range(2):
        as_lead.post(to("more_answers", study), {"least": "5", "more": "2"})
    assert list(Seat.objects.values_list("task", flat=True)) == [second.pk, second.pk]


@pytest.mark.parametrize("more", ["0", "21", "x", "-1"])
def test_a_number_of_answers_that_cannot_be(as_lead, study, more):
    as_lead.post(to("more_answers", study), {"least": "0", "more": more})
    assert not Seat.objects.exists()


def test_taking_back_a_held_task(as_lead, study):
    study.policies = {"overlap": 3}
    study.save()
    make_seats(study)
    held, _progress = next_assignment(make_rater(study), study, clock=timezone.now)
    address = to("task", study, held.task.public_id)
    assert "Release from 1 rater" in markup(as_lead.get(address))
    as_lead.post(to("release", study, held.task.public_id))
    assert not Seat.objects.filter(state="held").exists()
    assert Event.objects.filter(verb="release_task", object_id=held.task.public_id).count() == 1
