"""The page, command and addresses of routed draws: what they say, in both languages, and what they refuse."""

import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Assignment, Study
from judging.comparison.routing.draws import freeze_draw, make_tasks
from judging.models import RoutedDraw
from tests.factories import make_user, make_workspace
from tests.judging.comparison.test_routing import asked, judged_by_two, judges_of, rate
from tests.judging.comparison.test_run_pairs import text
from tests.page_files import check_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    cache.clear()
    return judged_by_two()


def address(study, **query):
    return reverse("judging:routing", args=[study], query=query)


def given(study, **more):
    judges = [judge.public_id for judge in judges_of(study)]
    return {"judges": judges, "instructions": 30, "overlap": 1, "spread": "", "strata": "spread", "seed": 3, **more}


def test_from_the_form_to_the_estimate(client, study):
    client.force_login(make_user("lead"))
    page = text(client.get(address(study)))
    assert "No instructions have been drawn for people to rate." in page
    assert address(study) in text(client.get(reverse("judging:judges", args=[study])))
    shown = client.post(address(study), given(study, action="preview"))
    words = text(shown)
    assert "About 30 of 50 instructions would be drawn, with 60 responses, which takes about 60 ratings" in words
    assert (
        "such draws saved nothing, so a uniform draw is the safe choice" in words and "Fifth 5 of the spread" in words
    )
    assert not RoutedDraw.objects.exists(), "a preview stores nothing"
    part = text(client.post(address(study), given(study, action="preview"), headers={"HX-Request": "true"}))
    assert "About 30 of 50" in part and "<html" not in part
    for _twice in range(2):
        answer = client.post(address(study), given(study, action="draw"))
        assert answer.status_code == 302 and answer["Location"] == address(study)
    made = RoutedDraw.objects.get()
    rated_in = made.rated_in
    drawn = sum(unit["drawn"] for unit in made.frame)
    page = text(client.get(address(study)))
    assert f"0 of {2 * drawn} ratings are in" in page and "Go to the study that rates the draw" in page
    assert reverse("annotation:desk", args=[rated_in]) in page
    rate(rated_in)
    page = text(client.get(address(study)))
    assert "People rate model1 higher than model0, by" in page and "A uniform draw of the same size" in page
    assert "rated by exactly this rater" in page and "have no probability" in page
    table = client.get(address(study, file="means.json")).json()
    assert {row[0] for row in table["rows"]} == {"model0", "model1"}
    assert client.get(address(study, file="nothing.csv")).status_code == 404


def test_answers_that_are_left_out_are_counted_in_words_where_they_would_have_counted(client, study):
    rated_in = make_tasks(freeze_draw(asked(study, seed=3)), by=None)
    rate(rated_in)
    n = rated_in.tasks.count()
    client.force_login(make_user("lead"))
    words = f"{n} answers of people are not counted here: their tasks were drawn with probabilities of their own"
    page = text(client.get(reverse("calibration:agreement", args=[rated_in])))
    assert words in page and address(rated_in) in page
    assert client.get(address(rated_in))["Location"] == address(study)
    assert words in text(client.get(reverse("judging:leaderboard", args=[study.benchmark])))
    assert words not in text(client.get(reverse("calibration:agreement", args=[study])))
    chinese = text(
        client.get(reverse("calibration:agreement", args=[rated_in]), headers={"accept-language": "zh-hans"})
    )
    assert f"有 {n} 份人工作答" in chinese


def test_the_page_speaks_chinese(client, study):
    made = freeze_draw(asked(study, seed=3))
    client.force_login(make_user("lead"))
    chinese = {"accept-language": "zh-hans"}
    page = text(client.get(address(study), headers=chinese))
    assert "评判模型没有把握之处的人工评分" in page and "为这次抽取生成任务" in page
    client.post(address(study), {"action": "make", "draw": made.public_id})
    made.refresh_from_db()
    rate(made.rated_in)
    page = text(client.get(address(study), headers=chinese))
    assert "人对 model1 的评分高于 model0" in page
    assert "Ratings" not in page.partition("<main")[2]
    assert "评分齐全" in page


def test_an_incomplete_draw_is_reported_as_such(client, study):
    rated_in = make_tasks(freeze_draw(asked(study, seed=3)), by=None)
    Study.objects.filter(pk=rated_in.pk).update(status="closed")
    client.force_login(make_user("lead"))
    page = text(client.get(address(study)))
    assert "The draw stays incomplete: its study is closed" in page and "1 draw stays incomplete" in page
    assert "Open the study of the draw again" in page


def test_the_page_takes_at_most_30_queries_whatever_the_number_of_draws(client, study, django_assert_max_num_queries):
    for seed in range(4):
        rate(make_tasks(freeze_draw(asked(study, seed=seed, instructions=30)), by=None))
    client.force_login(make_user("lead"))
    client.get(address(study))
    with django_assert_max_num_queries(30):
        assert "4 draws of this pool are combined" in text(client.get(address(study)))


def test_who_may_not_draw(client, study):
    client.force_login(make_user("analyst"))
    assert "A lead of this workspace draws instructions." in text(client.get(address(study)))
    assert client.post(address(study), given(study, action="draw")).status_code == 403
    client.force_login(make_user("lead", workspace=make_workspace("elsewhere")))
    assert client.get(address(study)).status_code == 404
    assert not RoutedDraw.objects.exists()


def test_what_cannot_be_drawn_is_said_beside_the_form(client, study):
    client.force_login(make_user("lead"))
    for wrong, words in (
        ({"instructions": 51}, "ask for at most 50"),
        ({"instructions": 5}, "with 40 of their responses"),
        ({"instructions": ""}, "one of the two"),
        ({"judges": [judges_of(study)[0].public_id]}, "at least 2 judges"),
    ):
        answer = client.post(address(study), given(study, action="draw", **wrong))
        assert answer.status_code == 422 and words in text(answer)
        part = client.post(address(study), given(study, action="preview", **wrong), headers={"HX-Request": "true"})
        assert words in text(part)
    assert client.post(address(study), given(study, action="draw", judges=[])).status_code == 422
    assert client.post(address(study), {"action": "make", "draw": "nothing"}).status_code == 404


def test_without_a_judge_the_page_says_so(client, study):
    Assignment.objects.filter(task__study=study).update(status="unscored")
    client.force_login(make_user("lead"))
    page = text(client.get(address(study)))
    assert "No judge has scored the responses of this study." in page and "Ask a judge" in page


def told(*args):
    out = StringIO()
    call_command("review", *args, stdout=out)
    return out.getvalue()


def test_the_command_and_the_api_say_the_same(client, study):
    judges = ("--judge", "one", "--judge", "two")
    dry = told(study.slug, *judges, "--draw", "30", "--dry-run")
    assert "About 30 of 50 instructions would be drawn" in dry and "Fifth 5 of the spread" in dry
    client.force_login(make_user("lead"))
    path = reverse("api:draw_for_people", args=[study.workspace.slug, study.slug])

    def posted(**more):
        body = {"judges": ["one", "two"], **more}
        return client.post(path, json.dumps(body), content_type="application/json")

    plan = json.loads(told(study.slug, *judges, "--draw", "30", "--dry-run", "--json"))
    assert posted(instructions=30, dry_run=True).json() == plan
    assert plan["ratings"] == pytest.approx(60) and plan["saving"]["measured"] is None
    assert "is open for people" in told(study.slug, *judges, "--responses", "60", "--seed", "5")
    answer = posted(instructions=30, seed=6, spread="none")
    assert answer.status_code == 201 and {unit["probability"] for unit in answer.json()["frame"]} == {0.6}
    for made in RoutedDraw.objects.all():
        rate(made.rated_in)
    found = json.loads(told(study.slug, "--estimate", "--json"))
    address = reverse("api:routing", args=[study.workspace.slug, study.slug])
    assert client.get(address).json() == found
    assert "means.svg" in check_files(client, address, reverse("judging:routing", args=[study]))
    assert [one["state"] for one in found["batches"]] == ["complete", "complete"]
    assert found["population"] == "such instructions, these raters" and len(found["groups"]) == 1
    assert "People rate model1 higher than model0" in told(study.slug, "--estimate")
    for body in ({"instructions": 51}, {"instructions": 30, "seed": 6}, {}, {"instructions": 30, "judges": ["nobody"]}):
        assert posted(**body).status_code == 400
    for wrong, words in (
        ((study.slug, *judges, "--draw", "51"), "at most 50"),
        ((study.slug, *judges, "--draw", "30", "--seed", "5"), "choose another seed"),
        ((study.slug, "--draw", "30"), "at least one judge"),
        (("nothing", *judges, "--draw", "30"), "There is no study 'nothing'"),
        ((study.slug, *judges), "say with --draw"),
    ):
        with pytest.raises(CommandError, match=words):
            told(*wrong)


def test_commands_say_how_many_answers_they_leave_out(study):
    rated_in = make_tasks(freeze_draw(asked(study, seed=3)), by=None)
    rate(rated_in)
    words = f"Drawn with unequal probability and not counted here: {rated_in.tasks.count()} answers of people."
    for command in ("report_agreement", "report_raters", "fit_weights"):
        err = StringIO()
        with pytest.raises(CommandError):
            call_command(command, rated_in.slug, stdout=StringIO(), stderr=err)
        assert words in err.getvalue(), command
    out = StringIO()
    call_command("leaderboard", study.benchmark.slug, "--judge", "one", stdout=out)
    assert words in out.getvalue()
