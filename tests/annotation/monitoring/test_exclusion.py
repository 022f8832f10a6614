"""A lead excludes a rater's answers: others get their seats, the rater notices nothing, and lifting gives all back."""

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.answers.recording import record_answer
from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.next_task import next_assignment
from annotation.assignment.rater_status import pause
from annotation.models import Assignment, Exclusion, Rater, Seat
from annotation.monitoring.exclusion import exclude, excluded_in, lift, preview_exclusion, standing_exclusion
from annotation.monitoring.progress import rater_rows, study_rows
from annotation.studies.life_cycle import set_status
from core.errors import UserError
from tests.annotation.raters_at_work import NOON, answers_to, clock, make_study, work
from tests.annotation.tables import load, written
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db
WHY = "The same answer to every item."


@pytest.fixture
def study():
    """Four tasks of two seats, no checks."""
    return make_study(tasks=4, overlap=2, probe_rate=0, gold_rate=0, control_rate=0)


@pytest.fixture
def ann(study):
    """A rater who has answered all four tasks, as bob has."""
    ann, bob = (make_rater(study, label=name, user=make_user("rater", study.workspace)) for name in ("ann", "bob"))
    for rater in (ann, bob):
        assert len(work(rater, study)) == 4
    return ann


def statuses(rater):
    return sorted(rater.assignments.values_list("status", flat=True))


def seats_of(study):
    return sorted(study.seats.values_list("task", "place", "state", "holder", "assignment"))


def test_others_get_the_seats(study, ann):
    carl = make_rater(study, label="carl")
    assert work(carl, study) == []
    exclude(study, ann, since=None, reason=WHY, by=None)
    assert statuses(ann) == ["excluded"] * 4
    assert Seat.objects.filter(state="free").count() == 4
    assert [row.people for row in study_rows([study])] == [4]
    assert work(ann, study) == []
    assert len(work(carl, study)) == 4
    assert not Seat.objects.exclude(state="taken").exists()
    (row,) = study_rows([study])
    assert (row.seats, row.taken, row.people) == (8, 8, 8)
    assert excluded_in(task__study=study).answers == 4


def test_lifting_gives_everything_back(study, ann):
    before = seats_of(study), list(Assignment.objects.order_by("pk").values())
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    assert seats_of(study) != before[0]
    back = lift(exclusion, by=None)
    assert (back.answers, back.unseated) == (4, 0)
    assert (seats_of(study), list(Assignment.objects.order_by("pk").values())) == before


def test_lifting_after_others_took_the_seats_says_so(study, ann, client):
    lead = make_user("lead", study.workspace)
    client.force_login(lead)
    exclude(study, ann, since=None, reason=WHY, by=lead)
    work(make_rater(study, label="carl"), study, most=3)
    page = client.get(reverse("annotation:exclusion", args=[study, ann.public_id]))
    posted = {"exclusion": standing_exclusion(ann).public_id}
    assert posted["exclusion"] in page.content.decode()
    answer = client.post(reverse("annotation:lift_exclusion", args=[study, ann.public_id]), posted, follow=True)
    said = answer.content.decode()
    assert "4 answers count again. On 3 tasks other raters have taken the slot since" in said
    assert statuses(ann) == ["submitted"] * 4
    (row,) = study_rows([study])
    assert (row.seats, row.taken, row.people) == (8, 8, 11)
    again = client.post(reverse("annotation:lift_exclusion", args=[study, ann.public_id]), posted, follow=True)
    assert "already been lifted" in again.content.decode()


def test_answers_given_while_excluded_are_excluded_and_hold_no_seat(study):
    ann = make_rater(study, label="ann")
    work(ann, study, most=1)
    opened, _progress = next_assignment(ann, study, clock=clock())
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    assert record_answer(assignment=opened, answers=answers_to(opened), clock=clock(1)) == "recorded"
    assert statuses(ann) == ["excluded"] * 2
    assert opened.status == "excluded"
    assert Seat.objects.filter(state="free").count() == 8
    assert record_answer(assignment=opened, answers=answers_to(opened, 0.9), clock=clock(2)) == "revised"
    lift(exclusion, by=None)
    assert statuses(ann) == ["submitted"] * 2
    assert ann.seats.filter(state="taken").count() == 2


def test_from_a_moment_on(study):
    ann = make_rater(study, label="ann")
    given = [next_assignment(ann, study, clock=clock())[0]]
    record_answer(assignment=given[0], answers=answers_to(given[0]), clock=clock(0))
    for minute in (5, 10):
        given.append(next_assignment(ann, study, clock=clock())[0])
        record_answer(assignment=given[-1], answers=answers_to(given[-1]), clock=clock(minute))
    touched = preview_exclusion(ann, NOON + timedelta(minutes=5))
    assert (touched.answers, touched.tasks, touched.seats) == (2, 2, 2)
    exclude(study, ann, since=NOON + timedelta(minutes=5), reason=WHY, by=None)
    assert list(ann.assignments.order_by("pk").values_list("status", flat=True)) == [
        "submitted",
        "excluded",
        "excluded",
    ]
    assert preview_exclusion(ann, None).answers == 1


def test_checks_and_repeats_go_and_come_back(study, ann):
    known = study.tasks.create(
        kind="single",
        key="gold",
        response_a=study.tasks.first().response_a,
        answer_rubric=study.tasks.first().answer_rubric,
    )
    mark_gold(known, {"item0": 1.0})
    for task, repeat in ((known, 0), (study.tasks.first(), 1)):
        assignment = Assignment.objects.create(task=task, rater=ann, repeat=repeat)
        record_answer(assignment=assignment, answers=answers_to(assignment), clock=clock())
    before = statuses(ann)
    assert before == ["checked"] + ["submitted"] * 5
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    assert statuses(ann) == ["excluded"] * 6
    lift(exclusion, by=None)
    assert statuses(ann) == before


def test_what_came_too_late_stays_surplus(study):
    ann = make_rater(study, label="ann")
    opened, _progress = next_assignment(ann, study, clock=clock())
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    pause(ann, message="", by=None)
    ann.refresh_from_db()
    opened.rater = ann
    assert record_answer(assignment=opened, answers=answers_to(opened), clock=clock()) == "late"
    lift(exclusion, by=None)
    assert statuses(ann) == ["surplus"]


def test_the_rater_sees_their_own_work_as_before(study, ann, client):
    client.force_login(ann.user)
    page, newest = reverse("annotation:done", args=[study]), ann.assignments.order_by("-pk")[0]
    rate = reverse("annotation:rate", args=[newest.public_id])

    def bytes_of(address):
        answer = client.get(address)
        assert answer.status_code == 200
        return b"\n".join(line for line in answer.content.splitlines() if b"csrf" not in line and b"nonce" not in line)

    seen = [bytes_of(address) for address in (page, rate)]
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    assert [bytes_of(address) for address in (page, rate)] == seen
    assert not any(b"xclu" in one for one in seen)
    corrected = client.post(
        reverse("annotation:correct_time", args=[newest.public_id]), {"minutes": "1", "reason": "tea"}
    )
    assert corrected.status_code == 302
    assert newest.time_corrections.count() == 1
    lift(exclusion, by=None)


@pytest.mark.parametrize(
    ("since", "reason", "said"),
    [(None, "  ", "Give a reason"), (None, "x" * 1001, "too long"), (timedelta(hours=1), WHY, "in the future")],
)
def test_refusals(study, ann, since, reason, said):
    moment = timezone.now() + since if since else None
    with pytest.raises(UserError, match=said):
        exclude(study, ann, since=moment, reason=reason, by=None)
    assert not Exclusion.objects.exists() and not Event.objects.filter(verb="exclude_answers").exists()


def test_one_exclusion_stands_at_a_time(study, ann):
    exclude(study, ann, since=None, reason=WHY, by=None)
    with pytest.raises(UserError, match="already excluded"):
        exclude(study, ann, since=None, reason=WHY, by=None)
    with pytest.raises(IntegrityError):
        Exclusion.objects.create(study=study, rater=ann, reason=WHY)


def test_judges_keys_and_raters_of_other_studies_are_refused(study, ann):
    other = make_checklist_study(slug="other")
    key = Rater.objects.create(workspace=study.workspace, study=study, kind="key", label="lead")
    for rater in (make_judge_rater(study.workspace), key, make_rater(other)):
        with pytest.raises(UserError, match="own raters"):
            exclude(study, rater, since=None, reason=WHY, by=None)


def test_imported_answers_are_excluded_without_seats_and_come_back_without(study, ann):
    made = make_rater(study, label="imported")
    for task in study.tasks.all():
        make_answer(task, made, {"item0": 1.0})
    free = study.seats.filter(state="taken").first()
    Seat.objects.filter(pk=free.pk).update(state="free", holder=None)
    Assignment.objects.filter(seat=free).update(seat=None)
    exclusion = exclude(study, made, since=None, reason=WHY, by=None)
    assert statuses(made) == ["excluded"] * 4
    assert lift(exclusion, by=None).unseated == 0
    assert not made.assignments.exclude(seat=None).exists()


def test_the_page_previews_excludes_and_logs(study, ann, client):
    lead = make_user("lead", study.workspace)
    client.force_login(lead)
    page = reverse("annotation:exclusion", args=[study, ann.public_id])
    said = " ".join(client.get(page).content.decode().split())
    assert "4 answers would be excluded, on 4 tasks. Assignment slots that others can then take: 4." in said
    said = " ".join(client.get(f"{page}?since=2030-01-01T00:00").content.decode().split())
    assert "0 answers would be excluded" in said
    assert client.get(f"{page}?since=nonsense").status_code == 200
    assert client.post(page, {"reason": ""}).status_code == 422
    assert client.post(page, {"reason": WHY, "since": "soon"}).status_code == 422
    assert client.post(page, {"reason": WHY, "since": "2999-01-01T00:00"}).status_code == 422
    assert not Exclusion.objects.exists()
    answer = client.post(page, {"reason": WHY}, follow=True)
    said = " ".join(answer.content.decode().split())
    assert "4 answers are excluded from results. Their assignment slots are free for other raters." in said
    assert "All answers of this rater are excluded from results." in said and WHY in said
    assert client.post(page, {"reason": WHY}).status_code == 422
    lift(standing_exclusion(ann), by=lead)
    history = client.get(reverse("annotation:history", args=[study])).content.decode()
    assert "excluded a rater&#x27;s answers from results" in history
    assert "lifted the exclusion of a rater&#x27;s answers" in history and WHY in history
    assert "Earlier exclusions" in client.get(page).content.decode()
    verbs = list(Event.objects.filter(object_type="rater").order_by("pk").values_list("verb", "actor"))
    assert verbs == [("exclude_answers", lead.pk), ("lift_exclusion", lead.pk)]


def test_only_the_studys_leads_exclude_and_lift(study, ann, client):
    page = reverse("annotation:exclusion", args=[study, ann.public_id])
    undo = reverse("annotation:lift_exclusion", args=[study, ann.public_id])
    assert client.get(page).status_code == client.post(undo).status_code == 302
    strangers = [make_user("lead", make_workspace("elsewhere")), make_user("analyst", study.workspace), ann.user]
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    for user in strangers:
        client.force_login(user)
        expected = 403 if user == ann.user else 404
        assert client.get(page).status_code == expected
        assert client.post(page, {"reason": WHY}).status_code == expected
        assert client.post(undo, {"exclusion": exclusion.public_id}).status_code == expected
    client.force_login(make_user("lead", study.workspace))
    bob = study.raters.get(label="bob")
    other = reverse("annotation:lift_exclusion", args=[study, bob.public_id])
    assert client.post(other, {"exclusion": exclusion.public_id}).status_code == 404
    assert client.post(undo, {"exclusion": "\x00"}).status_code == 404
    assert client.get(undo).status_code == 405
    exclusion.refresh_from_db()
    assert exclusion.lifted_at is None


def test_the_desk_counts_excluded_answers_apart(study, ann, client):
    exclude(study, ann, since=None, reason=WHY, by=None)
    rows = {row.name: (row.answered, row.excluded) for row in rater_rows(study)}
    assert rows == {"ann": (0, 4), "bob": (4, 0)}
    client.force_login(make_user("lead", study.workspace))
    assert "4 excluded" in " ".join(
        client.get(reverse("annotation:live_raters", args=[study])).content.decode().split()
    )


def test_a_closed_study_can_still_be_cleaned(study, ann):
    set_status(study, "closed", by=make_user("lead", study.workspace))
    exclusion = exclude(study, ann, since=None, reason=WHY, by=None)
    assert statuses(ann) == ["excluded"] * 4
    lift(exclusion, by=None)
    assert statuses(ann) == ["submitted"] * 4


def test_what_is_imported_of_an_excluded_rater_is_excluded(tmp_path):
    """A second load adds answers past the rating screen; they do not count either, and lifting counts them all."""
    names = {"item": "item", "model": "system", "rater": "who", "criterion": "criterion", "value": "score"}
    columns = [part for name, column in names.items() for part in ("--column", f"{name}={column}")]

    def load_items(*items):
        rows = "".join(f"{item},m1,{who},overall,5\n" for item in items for who in ("ann", "bob"))
        path = written(tmp_path, "item,system,who,criterion,score\n" + rows, "r.csv")
        load("ratings", path, "--study", "tea", *columns, "--scale", "overall=0:10:1", "--overall", "overall")

    load_items("x")
    ann = Rater.objects.get(study__slug="tea", label="ann")
    exclusion = exclude(ann.study, ann, since=None, reason=WHY, by=None)
    load_items("x", "y")
    assert statuses(ann) == ["excluded"] * 2
    assert statuses(Rater.objects.get(label="bob")) == ["submitted"] * 2
    assert lift(exclusion, by=None).answers == 2


def test_the_command_previews_excludes_and_lifts(study, ann):
    def said(*arguments, **options):
        out = io.StringIO()
        call_command("exclude_rater", study.slug, *arguments, stdout=out, **options)
        return out.getvalue()

    assert said("ann", preview=True) == "4 answers on 4 tasks would be excluded; 4 slots are freed.\n"
    for arguments, options in (
        (["ann"], {}),
        (["nobody"], {"reason": WHY}),
        (["ann"], {"reason": WHY, "since": "soon"}),
    ):
        with pytest.raises(CommandError):
            said(*arguments, **options)
    with pytest.raises(CommandError):
        said("ann", lift=True)
    assert not Exclusion.objects.exists()
    assert said(ann.public_id, reason=WHY) == "4 answers on 4 tasks are excluded; 4 slots are freed.\n"
    assert statuses(ann) == ["excluded"] * 4
    assert said("ann", lift=True) == "4 answers count again; 0 tasks now have more ratings than planned.\n"
    assert statuses(ann) == ["submitted"] * 4
