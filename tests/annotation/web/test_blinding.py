"""Nothing that a rater can reach says which model wrote a text, what others or judges answered, or who they are.

Every answer of the server to a rater is searched, body and headers, whatever the address: those of the work itself, and
every other address of the program, which a rater is to be refused.
"""

import re
from itertools import count

import pytest
from django.db import connection
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from accounts.models import Membership, User, Workspace
from annotation.assignment.attention_checks import make_controls, mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.assignment.rater_status import pause
from annotation.models import (
    Assignment,
    Cohort,
    Criterion,
    Draft,
    Flag,
    Rater,
    RaterIdentity,
    Rubric,
    Score,
    Seat,
    Study,
    Task,
)
from annotation.policies.quality_checks import TRAINING
from annotation.rules.subtasks import subtasks_in
from generation.models import Benchmark, Instruction, LanguageModel, Response
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, remove
from tests.screen_studies import make_pair_study, make_review_study, make_stars_study

pytestmark = pytest.mark.django_db(transaction=True)
FIRST_ID = 81_000_000
TEXT = "\n\n".join(
    f"## Week {n}\n\nIt rained on the harbour, and nobody minded, not even the {n} gulls." for n in range(1, 9)
)
SECRETS = {
    "a model": ["zephyrine-9b", "quokkalm-70b", "zephyr-family"],
    "another rater": ["R-wombat", "wombat-label", "wombat-account", "prolific:wombat77"],
    "what another rater wrote": ["wombat says so", "wombat note", "wombat draft"],
    "a judge": ["stern-judge-4"],
    "a judge's reason": ["verdict of the stern one"],
}
ROWS = [
    Workspace,
    User,
    Benchmark,
    Instruction,
    LanguageModel,
    Response,
    Rubric,
    Criterion,
    Study,
    Task,
    Seat,
    Rater,
    Assignment,
    Score,
    Draft,
    Flag,
    Cohort,
]
ID = re.compile(r"(?<![0-9A-Za-z_-])8[1-9][,.\u202f ]?0\d\d[,.\u202f ]?\d{3}(?![0-9A-Za-z_-])")


class Leak(AssertionError):
    pass


class WatchedClient(Client):
    """Searches all that it is sent."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = 0
        self.may_say = set()

    def request(self, **environment):
        response = super().request(**environment)
        body = b"".join(response) if getattr(response, "streaming", False) else response.content
        sent = body.decode("utf-8", "replace") + "\n".join(f"{key}: {value}" for key, value in response.items())
        place = f"{environment.get('REQUEST_METHOD')} {environment.get('PATH_INFO')} ({response.status_code})"
        for what, words in SECRETS.items():
            for word in words:
                if what not in self.may_say and word.casefold() in sent.casefold():
                    raise Leak(f"{place} names {what}: {word}")
        # What was asked for, a redirect to the sign-in page repeats.
        found = ID.search(sent.replace(environment.get("PATH_INFO", ""), ""))
        if found:
            raise Leak(f"{place} holds a database id: {sent[max(0, found.start() - 60) : found.end() + 20]}")
        # No worker lives beside a test, which is what /health/ready/ tells.
        if response.status_code >= 500 and environment.get("PATH_INFO") != "/health/ready/":
            raise Leak(f"{place} broke")
        self.seen += 1
        return response


@pytest.fixture
def distinct_ids():
    """Database ids of eight digits that occur nowhere else; each table has its own range."""
    with connection.cursor() as cursor:
        for number, model in enumerate(ROWS):
            table, first = model._meta.db_table, FIRST_ID + 1_000_000 * (number % 9) + 1000 * number
            if connection.vendor == "postgresql":
                cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), %s)", [first])
            else:
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, first])


def make_check_study():
    study = make_checklist_study(slug="checks", instructions=2, models=2)
    study.kind = "check"
    study.save()
    rubric = Rubric.objects.create(workspace=study.workspace, key="rain")
    Criterion.objects.create(
        rubric=rubric,
        key="rain",
        position=0,
        role="check",
        questions={"en": "Does it rain?"},
        levels=[{"key": "no", "value": 0, "label": {"en": "No"}}, {"key": "yes", "value": 1, "label": {"en": "Yes"}}],
    )
    part = subtasks_in(TEXT, "Week")[3]
    where = {"number": 3, "start": part.start, "end": part.end, "mark": "Week", "kind": "single"}
    study.tasks.update(kind="check", answer_rubric=rubric, part=where)
    return study


KINDS = {
    "checklist": lambda: make_checklist_study(instructions=3, models=2),
    "stars": lambda: make_stars_study(instructions=3, models=2),
    "pair": lambda: make_pair_study(instructions=4),
    "review": lambda: make_review_study(instructions=4, judge=None),
    "check": make_check_study,
}


def lowest(criteria):
    """A complete answer as the form sends it."""
    sent = {}
    for criterion in criteria:
        low = criterion.levels[0]["key"] if criterion.levels else int(criterion.minimum)
        sent[f"c-{criterion.key}"] = str(low)
        sent[f"w-{criterion.key}"] = "Because it is not so."
        sent[f"r-{criterion.key}"] = "Because it is not so."
    return sent


def dress(study):
    """Secrets in every place from which they might leak: models, other raters and their work, judges."""
    near = iter(count())
    for response in Response.objects.order_by("pk"):
        # Near-copies, so that a pair offers its differences.
        Response.objects.filter(pk=response.pk).update(text=f"{TEXT}\n\nThe end, number {next(near)}.", words=90)
    for model, name in zip(LanguageModel.objects.order_by("pk"), ("zephyrine-9b", "quokkalm-70b"), strict=False):
        LanguageModel.objects.filter(pk=model.pk).update(name=name, family="zephyr-family")
    Instruction.objects.update(hint="Look at the gulls.")
    account = make_user("rater", study.workspace, username="wombat-account")
    other = make_rater(study, account, label="wombat-label", pseudonym="R-wombat")
    crowd = Cohort.objects.create(study=study, name="crowd", kind="crowd")
    RaterIdentity.objects.create(rater=other, cohort=crowd, key="prolific:wombat77", name="wombat-account")
    judge = Rater.objects.filter(kind="judge").first() or make_judge_rater(study.workspace, "stern-judge-4")
    for task in study.tasks.all():
        first = task.answer_rubric.criteria.first()
        for rater, reason in ((other, "wombat says so"), (judge, "verdict of the stern one")):
            given = make_answer(task, rater, {})
            value = float(first.levels[0]["value"]) if first.levels else 1.0
            Score.objects.create(assignment=given, criterion=first, value=value, reason=reason)
        Draft.objects.create(task=task, rater=other, answers={"note": "wombat draft"}, serial=3)
        Flag.objects.create(task=task, rater=other, kind="note", text="wombat note")
    return other


@pytest.fixture(params=KINDS)
def study(request, distinct_ids):
    study = KINDS[request.param]()
    dress(study)
    study.policies = {
        "overlap": 3,
        "hints": "shown",
        "probe_gap": 1,
        "show_gold": True,
        "training": True,
        "mask_self_naming": True,
    }
    study.status = "open"
    study.save()
    gold = Task.objects.filter(study=study).first()
    remove(Assignment.objects.filter(task=gold).exclude(rater__kind="judge"))
    criterion = gold.answer_rubric.criteria.first()
    high = max(float(level["value"]) for level in criterion.levels)
    mark_gold(gold, {criterion.key: high}, purpose=TRAINING, why={"en": "It is so."})
    if request.param != "check":
        make_controls(study, 1)
    make_seats(study)
    return study


@pytest.fixture
def rosa(study):
    make_user("rater", study.workspace, username="rosa")
    client = WatchedClient()
    client.login(username="rosa", password="plumb line 12")
    return client


def open_one(rosa, study):
    response = rosa.post(reverse("annotation:start", args=[study]))
    name = response["Location"].rstrip("/").rsplit("/", 1)[-1]
    return Assignment.objects.filter(public_id=name).select_related("task__answer_rubric").first()


def rated(assignment):
    criteria = list(assignment.task.answer_rubric.criteria.all())
    return lowest(criteria)


def pages_of(assignment):
    """Every address of one task."""
    names = ("rate", "save_draft", "skip_task", "hold", "differences", "feedback", "correct_time")
    return {name: reverse(f"annotation:{name}", args=[assignment.public_id]) for name in names}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_nothing_in_a_raters_work_names_model_rater_or_judge(rosa, study, language):
    if study.kind == "review":
        # The verdict under review is what is rated; here it says no more than that.
        assert SECRETS["a judge's reason"][0] not in str(study.tasks.first().reviews.scores.first().reason)
    rosa.post(reverse("set_language"), {"language": language, "next": "/"})
    rosa.get("/")
    done = reverse("annotation:done", args=[study])
    for turn in range(4):
        assignment = open_one(rosa, study)
        if assignment is None:
            break
        to = pages_of(assignment)
        for headers in ({}, {"HX-Request": "true"}):
            page = rosa.get(to["rate"], headers=headers)
            assert page.status_code == 200
            assert b"harbour" in page.content
            rosa.get(to["differences"], headers=headers)
            rosa.post(to["rate"], {"note": "not complete"}, headers=headers)
            rosa.post(to["hold"], headers=headers)
        rosa.post(to["save_draft"], {"serial": str(turn + 1), **rated(assignment)})
        rosa.post(to["save_draft"], {"serial": "x"})
        rosa.get(to["feedback"])
        if turn == 2:
            rosa.post(to["skip_task"], {"reason": "no reason at all"})
            rosa.post(to["skip_task"], {"reason": "broken"}, follow=True)
            continue
        sent = rosa.post(to["rate"], rated(assignment), headers={"HX-Request": "true"} if turn else {}, follow=True)
        assert sent.status_code == 200
        assignment.refresh_from_db()
        assert assignment.status in ("submitted", "checked", "surplus")
        rosa.get(to["rate"])
        rosa.get(to["feedback"])
        rosa.post(to["correct_time"], {"minutes": "3", "reason": "I read it twice."}, follow=True)
        rosa.get(done)
    mine = Rater.objects.get(user__username="rosa")
    pause(mine, message="", by=None)
    rosa.post(reverse("annotation:appeal", args=[study]), {"text": "I read with care."}, follow=True)
    rosa.post(reverse("annotation:start", args=[study]), follow=True)
    rosa.get(done)
    for other in Assignment.objects.exclude(rater=mine)[:3]:
        for address in pages_of(other).values():
            assert rosa.get(address).status_code in (404, 405)
            assert rosa.post(address).status_code in (404, 405)
    assert rosa.seen > 40


def addresses(study):
    """Every address of the program, filled in with what the study has of each kind."""
    values = {
        "slug": study.slug,
        "workspace": study.workspace.slug,
        "assignment_id": Assignment.objects.exclude(rater__user=None).first().public_id,
        "study_id": study.public_id,
        "number": 1,
        "token": Cohort.objects.first().entry_token,
        "task_id": study.tasks.first().public_id,
        "rater_id": Rater.objects.get(label="wombat-label").public_id,
        "flag_id": Flag.objects.first().pk,
        "cohort_id": Cohort.objects.first().pk,
    }

    def walk(patterns, before=""):
        for pattern in patterns:
            route = (before + str(pattern.pattern)).replace("<study:slug>", f"w/lab/studies/{study.slug}")
            if route.startswith(("admin/doc", "^")):
                continue
            if isinstance(pattern, URLPattern):
                yield re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(values.get(found[1], 1)), route)
            else:
                yield from walk(pattern.url_patterns, route)

    plain = [route for route in walk(get_resolver().url_patterns) if not re.search(r"[\\^$(?]", route)]
    return ["/" + route for route in plain]


@pytest.mark.parametrize("study", ["pair"], indirect=True)
def test_no_other_address_tells_a_rater_more(rosa, study):
    everything = addresses(study)
    assert len(everything) > 80
    open_one(rosa, study)
    for address in everything:
        if "sign-out" in address or "logout" in address:
            continue
        for method in (rosa.get, rosa.post):
            method(address)
            method(address, headers={"HX-Request": "true"})
    assert Membership.objects.get(user__username="rosa").role == "rater"


@pytest.mark.parametrize("study", ["review"], indirect=True)
def test_who_comes_by_a_link_learns_no_more(study):
    cohort = Cohort.objects.create(study=study, name="open", kind="public")
    visitor = WatchedClient()
    door = reverse("annotation:join", args=[cohort.entry_token])
    for step in ({}, {"answer": "yes", "nickname": "Nia"}, {"read": "1"}):
        visitor.get(door)
        if step:
            visitor.post(door, step, follow=True)
    visitor.get(reverse("annotation:join", args=["no-such-door"]))
    Cohort.objects.filter(pk=cohort.pk).update(revoked_at=timezone.now())
    WatchedClient().get(door)
    assignment = open_one(visitor, study)
    assert assignment is not None
    visitor.get(pages_of(assignment)["rate"])
    for address in addresses(study):
        visitor.get(address)
        WatchedClient().get(address)
    assert visitor.seen > 80


@pytest.mark.parametrize(
    "leak",
    [
        lambda task: Instruction.objects.filter(pk=task.response_a.instruction_id).update(hint="As zephyrine-9b said."),
        lambda task: (
            Rubric.objects.filter(pk=task.answer_rubric_id).first().criteria.update(questions={"en": "R-wombat?"})
        ),
        lambda task: Instruction.objects.update(hint=f"See {task.pk}."),
        lambda task: Study.objects.update(names={"en": "stern-judge-4's"}),
    ],
)
def test_the_search_finds_a_leak(distinct_ids, leak):
    study = make_checklist_study(instructions=1, models=2)
    study.policies = {"hints": "shown"}
    study.save()
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    client = WatchedClient()
    client.login(username="rosa", password="plumb line 12")
    leak(study.tasks.first())
    with pytest.raises(Leak):
        client.get(pages_of(open_one(client, study))["rate"])
