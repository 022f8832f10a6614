"""An answer that arrives while an import is undone or a study is deleted is stored before it, or refused in a sentence."""

import threading

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.answers import recording
from annotation.answers.recording import Answer, AnswerRefused, TaskRemoved, record_answer, skip
from annotation.assignment.next_task import next_assignment
from annotation.importing import undo
from annotation.importing.undo import undo_import
from annotation.models import Assignment, Criterion, LateChange, Score, Study
from annotation.studies import deletion
from annotation.studies.deletion import delete
from core.errors import UserError
from generation.models import Import
from tests.annotation.raters_at_work import answers_to, make_study
from tests.annotation.tables import RATINGS, load, written
from tests.factories import make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)
CLEAR = "item,rater,criterion,value\nx,ann,clear,3\n"
DEEP = "item,rater,criterion,value\nx,ann,deep,4\nx,ann,clear,3\n"
AFTER_PLAN = [(undo, "plan_undo"), (undo, "_created")]
IN_ANSWER = [(recording, "_row"), (recording, "drafts_of")]


@pytest.fixture
def one_within_the_other(at_once, monkeypatch):
    """Runs `first` up to the end of a function of its module, then `second` as far as nothing holds it back, then both."""

    def run(first, second, within):
        reached, ended = threading.Event(), threading.Event()
        module, name = within
        real = getattr(module, name)

        def stopping(*given, **named):
            found = real(*given, **named)
            if not reached.is_set():
                reached.set()
                ended.wait(1)
            return found

        def follows():
            reached.wait(30)
            try:
                return second()
            finally:
                ended.set()

        monkeypatch.setattr(module, name, stopping)
        results = at_once(first, follows)
        assert reached.is_set()
        return results

    return run


def outcome_of(call, *refusals):
    try:
        call()
    except refusals as refusal:
        return type(refusal) if str(refusal) else "without a word"
    return None


def undoes(number):
    found = Import.objects.get(pk=number)
    return outcome_of(lambda: undo_import(found, by=None, clock=timezone.now), UserError)


@pytest.fixture
def imported(tmp_path):
    """An imported answer in a study that is open."""
    make_workspace("main")
    load("ratings", written(tmp_path, CLEAR), *RATINGS)
    Study.objects.update(status="open")
    return Assignment.objects.select_related("task__study", "rater").get()


@pytest.mark.parametrize("status", ["open", "closed"])
@pytest.mark.parametrize("within", [*AFTER_PLAN, *IN_ANSWER])
def test_a_change_of_an_imported_answer_and_the_undo(one_within_the_other, at_once, imported, within, status):
    Study.objects.update(status=status)
    imported.task.study.status = status
    number = Import.objects.get().pk
    if status == "closed" and within == IN_ANSWER[0]:
        pytest.skip("a change that does not count makes no score")

    def change():
        given = {"clear": Answer(5.0)}
        return outcome_of(lambda: record_answer(assignment=imported, answers=given, clock=timezone.now), TaskRemoved)

    calls = [lambda: undoes(number), change]
    if within in AFTER_PLAN:
        undone, changed = one_within_the_other(*calls, within)
    else:
        changed, undone = one_within_the_other(*reversed(calls), within)
    kept = at_once(
        lambda: (Score.objects.filter(revision=1).count() + LateChange.objects.count(), Score.objects.count())
    )
    if undone is None:
        assert (changed, kept) == (TaskRemoved, [(0, 0)])
    else:
        assert (changed, kept[0][0]) == (None, 1)


@pytest.mark.parametrize("within", [*AFTER_PLAN, (recording, "_take_seat"), (recording, "_row")])
def test_an_answer_to_an_imported_question_and_the_undo(one_within_the_other, at_once, imported, tmp_path, within):
    load("ratings", written(tmp_path, DEEP, "deep.csv"), *RATINGS)
    number = Import.objects.latest("pk").pk
    begun = Assignment.objects.create(task=imported.task, rater=make_rater(imported.task.study), queue_place=1)
    begun = Assignment.objects.select_related("task__study", "rater").get(pk=begun.pk)
    criteria = list(Criterion.objects.all())
    assert len(criteria) == 2

    def answers():
        given = {one.key: Answer(2.0) for one in criteria}
        return outcome_of(
            lambda: record_answer(assignment=begun, answers=given, clock=timezone.now, criteria=criteria), AnswerRefused
        )

    calls = [lambda: undoes(number), answers]
    if within in AFTER_PLAN:
        undone, answered = one_within_the_other(*calls, within)
    else:
        answered, undone = one_within_the_other(*reversed(calls), within)

    def kept():
        return Assignment.objects.get(pk=begun.pk).status, Score.objects.filter(assignment=begun).count()

    if answered is None:
        assert at_once(kept) in ([("submitted", 2)], [("surplus", 2)])
    else:
        assert (undone, at_once(kept)) == (None, [("open", 0)])


@pytest.mark.parametrize("gone", [AnswerRefused, TaskRemoved])
def test_what_is_refused_is_said(imported, tmp_path, gone):
    criteria = list(Criterion.objects.all())
    if gone is AnswerRefused:
        load("ratings", written(tmp_path, DEEP, "deep.csv"), *RATINGS)
        criteria = list(Criterion.objects.all())
        imported = Assignment.objects.create(task=imported.task, rater=make_rater(imported.task.study), queue_place=1)
    undo_import(Import.objects.latest("pk"), by=None, clock=timezone.now)
    given = {one.key: Answer(2.0) for one in criteria}
    with pytest.raises(gone, match="removed"):
        record_answer(assignment=imported, answers=given, clock=timezone.now, criteria=criteria)


@pytest.mark.parametrize("how", ["begun before", "changed since"])
def test_an_answer_about_a_text_that_the_import_added_keeps_it(imported, how):
    """Whether the answer was begun before the text came, or an answer from before was changed since."""
    found = Import.objects.get()
    response = imported.task.response_a
    added = Import.objects.create(
        workspace=found.workspace,
        command="load_responses",
        former=[{"model": "generation.Response", "ids": [[response.pk, response.pk]], "fields": {"text": ""}}],
    )
    assert undo.plan_undo(added).dependents == {}
    if how == "begun before":
        made = Assignment.objects.create(task=imported.task, rater=make_rater(imported.task.study), queue_place=1)
        Assignment.objects.filter(pk=made.pk).update(created_at=added.at - timezone.timedelta(days=1))
    else:
        record_answer(assignment=imported, answers={"clear": Answer(5.0)}, clock=timezone.now)
    assert undo.plan_undo(added).dependents == {"annotation.Assignment": 1}
    with pytest.raises(UserError, match="1 answer"):
        undo_import(added, by=None, clock=timezone.now)


@pytest.mark.parametrize(
    "within",
    [(deletion, "what_goes"), (recording, "_take_seat"), (recording, "_row"), (recording, "set_aside_if_excluded")],
)
def test_an_answer_and_the_deletion_of_its_study(one_within_the_other, at_once, within):
    study = make_study(tasks=2, probe_rate=0)
    begun, _progress = next_assignment(make_rater(study), study, clock=timezone.now)
    given = answers_to(begun)
    Study.objects.update(status="paused")

    def answers():
        return outcome_of(lambda: record_answer(assignment=begun, answers=given, clock=timezone.now), TaskRemoved)

    def deletes():
        return outcome_of(lambda: delete(Study.objects.get(), by=None), UserError)

    if within[0] is deletion:
        deleted, answered = one_within_the_other(deletes, answers, within)
    else:
        answered, deleted = one_within_the_other(answers, deletes, within)

    def state():
        event = Event.objects.filter(verb="delete_study").first()
        return Score.objects.count(), (event.after.get("annotation.Score", 0) if event else None)

    ((left, gone),) = at_once(state)
    if deleted is not None:
        assert (answered, left, gone) == (None, 4, None)
    else:
        assert (left, gone) == (0, 4 if answered is None else 0)


@pytest.fixture
def removed_meanwhile(monkeypatch):
    """The task goes between the reading of the request's assignment and the answer or the skip."""

    def arrange(study, *, whole):
        real = {name: getattr(recording, name) for name in ("record_answer", "skip")}

        def first_goes(name):
            def act(**given):
                if whole:
                    Study.objects.update(status="paused")
                    delete(Study.objects.get(pk=study.pk), by=None)
                else:
                    given["assignment"].task.seats.all().delete()
                    given["assignment"].task.delete()
                return real[name](**given)

            return act

        for name in real:
            monkeypatch.setattr(recording, name, first_goes(name))

    return arrange


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("how", ["page", "htmx", "alone", "skip"])
def test_the_rater_is_told_that_the_task_is_gone(removed_meanwhile, whole, how):
    study = make_study(tasks=2, probe_rate=0)
    user = make_user("rater", study.workspace)
    begun, _progress = next_assignment(make_rater(study, user), study, clock=timezone.now)
    client = Client()
    client.force_login(user)
    removed_meanwhile(study, whole=whole)
    fields = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5"} | (
        {"alone": "1"} if how == "alone" else {}
    )
    name = "skip_task" if how == "skip" else "rate"
    address = reverse(f"annotation:{name}", args=[begun.public_id])
    headers = {"HX-Request": "true"} if how in ("htmx", "skip") else {}
    reply = client.post(address, {"reason": "broken"} if how == "skip" else fields, headers=headers)
    if how == "alone":
        assert reply.json() == {"stored": begun.public_id, "refused": True}
    else:
        there = reply["HX-Redirect"] if headers else reply["Location"]
        assert there == (reverse("home") if whole else reverse("annotation:done", args=[study]))
    page = client.get(reverse("home") if whole else reverse("annotation:done", args=[study]), follow=True)
    assert "This task has been removed from the study" in page.content.decode()


def test_a_skip_of_a_removed_task_is_refused():
    study = make_study(tasks=1, probe_rate=0)
    begun, _progress = next_assignment(make_rater(study), study, clock=timezone.now)
    Study.objects.update(status="paused")
    delete(Study.objects.get(), by=None)
    with pytest.raises(TaskRemoved):
        skip(assignment=begun, reason="broken", clock=timezone.now)
