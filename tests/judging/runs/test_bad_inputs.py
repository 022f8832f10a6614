"""Whatever stands in an address or a form of the judges' pages, the answer is a page with a sentence, in both languages."""

import itertools
import json

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Study
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.models import Judge, JudgeRun, Watch
from judging.monitoring.monitors import create_watch
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, make_user, plan_run

pytestmark = pytest.mark.django_db
NASTY = ("-1", "9" * 40, "²", "a\0b")
NO_JSON = ('{"a": NaN}', '{"a": 1e999}', '{"a": "\\u0000"}', "[" * 3000, "[1]", '"a"')
LANGUAGES = itertools.cycle(("en", "zh-hans"))
GOOD = json.dumps({f"item{n}": {"reason": "it is", "score": 0.5} for n in range(3)})


@pytest.fixture
def judged(monkeypatch):
    """A study with a finished run and a watch."""
    monkeypatch.setattr("judging.tasks.work.delay", lambda pk: None)
    study = make_checklist_study(instructions=4, models=2)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    judge = create_judge(model=model)
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)
    work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: GOOD))
    create_watch(judge=judge, study=study, every_hours=24, clock=timezone.now)
    return study


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead"))
    return client


def spoken(client):
    """The client, asking in the other language each time."""
    client.cookies["django_language"] = next(LANGUAGES)
    return client


def address(name, *parts):
    return reverse(f"judging:{name}", args=parts)


def asked_of(study):
    """(address, the names that it may be asked with, what else is asked so that it shows something)."""
    benchmark, judge = study.benchmark, Judge.objects.get().rater
    board = (
        "judge",
        "weights",
        "experiment",
        "measure",
        "category",
        "language",
        "tag",
        "family",
        "smallest",
        "largest",
        "least",
        "margin",
        "against",
        "sort",
        "rising",
        "file",
    )
    two = {"first": "model0", "second": "model1"}
    yield address("leaderboard", benchmark), board, {}
    yield address("compare_models", benchmark), (*board, "first", "second", "order", "page", "file"), two
    yield address("compare_item", benchmark), (*board, "first", "second", "order", "item"), two
    yield address("runs"), ("page",), {}
    yield address("run", JudgeRun.objects.get().public_id), ("seen",), {}
    yield address("watch", Watch.objects.get().public_id), ("file",), {}
    yield address("new_watch"), ("study", "judge"), {}
    yield address("new_judge"), ("method", "like"), {}
    yield address("judge_list"), ("page",), {}
    yield address("judge", judge.public_id), ("page",), {}
    yield address("start_run", study), ("experiment",), {}
    yield address("judge_benchmark", benchmark), ("experiment",), {}
    yield address("text_page", benchmark), ("experiment", "each", "file"), {}
    yield address("length_scores", benchmark), ("judge", "weights", "file"), {}
    yield address("judges_depth", study), ("one", "other", "file"), {}
    yield address("judges_methods", study), ("criterion", "file"), {}


def test_whatever_an_address_asks_is_answered_with_a_page(judged, lead):
    for place, names, others in asked_of(judged):
        for name in names:
            for value in NASTY:
                answer = spoken(lead).get(place, {**others, name: value})
                assert answer.status_code in (200, 302, 404), (place, name, value, answer.status_code)


def test_rows_that_are_not_there_are_said_not_to_be(judged, lead):
    for name in ("run", "judge", "watch", "leaderboard", "judge_benchmark", "start_run"):
        for value in ("nothing", "0", "x" * 500):
            answer = lead.get(address(name, value if name in ("run", "judge", "watch") else f"lab/{value}"))
            assert answer.status_code == 404
            assert b"<main" in answer.content


def forms_of(study):
    """(address, what makes sense to send, the names to spoil one by one)."""
    judge, model = Judge.objects.get(), LanguageModel.objects.get(name="scripted")
    run, watch = JudgeRun.objects.get(), Watch.objects.get()
    budget = {"budget_calls": "9", "budget_tokens": "9000", "budget_money": "2.5"}
    asked = {
        "judges": judge.pk,
        "model": model.pk,
        "method": "overall",
        "combine": "mean",
        "repeats": "1",
        "items": "all",
        "limit": "2",
        **budget,
    }
    for action in ("preview", "start"):
        for place in (address("start_run", study), address("judge_benchmark", study.benchmark)):
            yield place, {**asked, "action": action}
    for action in ("pause", "cancel", "resume", "budget", "retry"):
        yield address("control_run", run.public_id), {**budget, "action": action}
    yield address("review_run", run.public_id), {"sample": "2", "reviewers": "1"}
    yield address("draw_checks", run.public_id), {"sample": "2", "raters": "1"}
    yield address("control_watch", watch.public_id), {"action": "run"}
    yield (
        address("new_watch"),
        {"study": study.pk, "judge": judge.pk, "size": "4", "every_hours": "24", "budget_money": ""},
    )
    made = {
        "model": model.pk,
        "name": "Mine",
        "temperature": "0",
        "max_tokens": "",
        "others": "{}",
        "prompt": judge.prompt,
        "source": f"study:{study.pk}",
        "number": "1",
    }
    for action in ("preview", "make"):
        yield address("new_judge") + "?method=checklist", {**made, "action": action}


def test_whatever_a_form_sends_is_answered_with_a_page_and_a_sentence(judged, lead):
    for place, given in forms_of(judged):
        for name in given:
            for value in NO_JSON if name == "others" else NASTY:
                answer = spoken(lead).post(place, {**given, name: value})
                assert answer.status_code in (200, 302, 404, 422), (place, name, value, answer.status_code)
                if answer.status_code == 422:
                    assert b"errorlist" in answer.content or b'role="alert"' in answer.content
                Study.objects.exclude(pk=judged.pk).filter(status="open").update(status="closed")
