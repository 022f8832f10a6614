"""What runs would cost over the API, what comes with the program, and all filters of a leaderboard."""

import pytest

from annotation.models import Rubric
from core.models import RequestedTask
from generation.models import GenerationRun, Response
from judging.demonstration.making import SLUG
from judging.models import Judge, JudgeRun
from tests.factories import make_answer, make_judge_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


def test_a_run_is_priced_and_not_started(study, model, call):
    sent = {"model": "scripted", "method": "checklist", "price_only": True}
    for name, of in (("run_on_study", study.slug), ("run_on_benchmark", study.benchmark.slug)):
        found = call("post", name, "lab", of, sent=sent).json()
        assert found["tasks"] == 8 and found["most"]["calls"] == 8 + found["canaries"]
        assert found["most"]["money"] is not None and found["usual"] is None
    assert not JudgeRun.objects.exists() and not Judge.objects.exists()
    refused = call("post", "run_on_study", "lab", study.slug, sent={"price_only": True}, status=400)
    assert refused.json()["detail"]
    rated = {**sent, "items": "rated"}
    assert "not rated" in call("post", "run_on_study", "lab", study.slug, sent=rated, status=400).json()["detail"]
    ana = make_user("analyst", study.workspace, username="ana")
    call("post", "run_on_study", "lab", study.slug, sent=sent, user=ana, status=403)


def test_a_generation_run_is_priced_and_not_started(study, model, call):
    sent = {"models": ["scripted"], "samples": 2, "price_only": True}
    found = call("post", "start_generation", "lab", study.benchmark.slug, sent=sent).json()
    assert (found["instructions"], found["most"]["calls"], found["usual"]) == (4, 8, None)
    assert not GenerationRun.objects.exists()
    Response.objects.update(text=None)
    study.benchmark.instructions.update(messages=[])
    refused = call("post", "start_generation", "lab", study.benchmark.slug, sent=sent, status=400)
    assert "no instruction with a text" in refused.json()["detail"]


def test_the_files_of_a_generation_run(study, model, call):
    sent = {"models": ["scripted"], "samples": 1}
    run = call("post", "start_generation", "lab", study.benchmark.slug, sent=sent, status=201).json()["id"]
    assert call("get", "generation_file", run, "manifest.json").json()["run"] == run
    assert call("get", "generation_file", run, "report.json").json()["models"][0]["total"] == 4
    call("get", "generation_file", run, "items.csv", status=404)
    eve = make_user("lead", make_workspace("else"), username="eve")
    call("get", "generation_file", run, "report.json", user=eve, status=404)


def test_the_library_is_loaded_once(study, call):
    first = call("post", "load_library", "lab").json()
    assert first["created"] > 0 and Rubric.objects.filter(workspace=study.workspace).count() > 1
    assert call("post", "load_library", "lab").json()["created"] == 0
    call("post", "load_library", "lab", user=make_user("analyst", study.workspace, username="ana"), status=403)
    call("post", "load_library", "lab", user=make_user("lead", make_workspace("else"), username="eve"), status=404)


def test_the_demonstration_is_asked_for(study, call):
    assert call("get", "demonstration", "lab").json()["study"] is None
    found = call("post", "demonstration", "lab", status=202).json()
    assert (found["under_way"], found["complete"], found["to_judge"]) == (True, False, 0)
    assert RequestedTask.objects.filter(task="judging.make_demonstration").count() == 1
    call("get", "demonstration", "lab", user=make_user("analyst", study.workspace, username="ana"), status=403)


def test_a_demonstration_does_not_take_the_name_of_a_study(study, call):
    type(study).objects.filter(pk=study.pk).update(slug=SLUG)
    assert "Delete" in call("post", "demonstration", "lab", status=400).json()["detail"]


def test_a_leaderboard_takes_the_filters_of_its_page(study, call):
    judge = make_judge_rater(study.workspace, "judge")
    for number, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {"item0": number % 5 / 4, "item1": 0.5, "item2": 0.5})
    short = study.benchmark.instructions.order_by("pk").first()
    short.tags = ["short"]
    short.save()
    asked = {"judge": "judge"}
    of = ("lab", study.benchmark.slug)
    whole = call("get", "board", *of, sent=asked).json()
    part = call("get", "board", *of, sent={**asked, "tag": "short"}).json()
    assert whole["models"] != part["models"]
    for wrong in ({"measure": "charm"}, {"smallest": "-1"}, {"least": "x"}, {"groups": "all"}, {"against": ["m"] * 9}):
        (name,) = wrong
        assert call("get", "board", *of, sent={**asked, **wrong}, status=400).json()["detail"].startswith(name)
    for none in ({"tag": "long"}, {"weights": "none such"}, {"judge": "nobody"}):
        assert call("get", "board", *of, sent={**asked, **none}, status=400).json()["detail"]


def test_a_judge_is_read_with_its_prompt(study, model, call):
    sent = {"method": "checklist", "model": "scripted"}
    made = call("post", "make_judge", "lab", sent=sent, status=201).json()
    assert made["prompt"] and call("get", "judges").json()["results"][0]["prompt"] == made["prompt"]
