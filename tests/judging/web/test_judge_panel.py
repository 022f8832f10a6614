"""The page, command and address of a panel of judges: what they say, what they count, and what they refuse."""

import json
from html import unescape
from io import StringIO

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Task
from generation.models import Endpoint, LanguageModel
from judging.models import Judge, Reply
from tests.calibration.pair_studies import pair_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.judging.comparison.test_run_pairs import text
from tests.judging.web.test_judge_table import judged

pytestmark = pytest.mark.django_db
LEVELS = (0, 0.25, 0.5, 0.75, 1)


def judged_study(qualities, *, instructions=24, models=3, raters=3, rated=None, items=1):
    """Judges whose scores go with the truth to these degrees; people rate the first `rated` instructions."""
    study = make_checklist_study(instructions=instructions, models=models, items=items)
    judges = [make_judge_rater(study.workspace, f"judge{place}") for place in range(len(qualities))]
    people = [make_rater(study) for _ in range(raters)]
    rng = np.random.default_rng(0)
    for place, task in enumerate(Task.objects.filter(study=study).select_related("answer_rubric").order_by("pk")):
        truth = rng.normal()
        for quality, judge in zip(qualities, judges, strict=True):
            seen = quality * truth + np.sqrt(1 - quality**2) * rng.normal()
            make_answer(task, judge, {"item0": LEVELS[int(np.clip(np.floor(2.5 + seen), 0, 4))]})
        for rater in people:
            score = int(np.clip(round(5 + 2 * truth + rng.normal()), 0, 10))
            if rated is None or place // models < rated:
                make_answer(task, rater, {"item0": 0.5, "overall": score})
    return study


def address(study, **query):
    return reverse("judging:judge_panel", args=[study], query=query)


def opened(client, study, **query):
    client.force_login(make_user("lead"))
    return unescape(text(client.get(address(study, **query))))


def test_a_gain_is_stated_with_its_interval_and_what_can_be_saved(client, django_assert_max_num_queries):
    study = judged_study([0.6, 0.6, 0.6], instructions=60, models=4, rated=50)
    page = opened(client, study)
    assert (
        "The panel of 3 judges predicts people's differences between models better than the best single judge" in page
    )
    assert "95 % interval for raters like these" in page and "for exactly these raters" in page
    assert "People scored 200 responses of 4 models to 50 instructions, which every judge scored as well." in page
    assert (
        "With people's labels on 50 of the 60 instructions that all judges scored, the panel can save at most" in page
    )
    assert "What it costs is unknown: no price is known of" in page
    whole = client.get(address(study, file="page.json")).json()
    assert [block["key"] for block in whole["blocks"]] == ["gain", "members", "labels", "ways"]
    for suffix in ("csv", "json", "tex", "svg", "png"):
        assert client.get(address(study, file=f"gain.{suffix}")).status_code == 200
    with django_assert_max_num_queries(30):
        client.get(address(study))
    links = text(client.get(reverse("judging:judges", args=[study])))
    assert reverse("judging:judge_panel", args=[study]) in links


def test_no_gain_is_not_shown_and_a_judge_without_relation_has_little_weight(client):
    study = judged_study([0.9, 0.0])
    page = opened(client, study)
    assert "better than the best single judge (judge0) is not shown" in page
    rows = client.get(address(study, file="members.json")).json()["rows"]
    assert rows[0][0] == "judge0" and rows[0][1] > 0.8 and rows[0][1] + rows[1][1] == pytest.approx(1)
    assert "People rated every instruction that all judges scored, so the judges save no label here" in page


def test_the_page_the_command_and_the_api_give_one_panel(client):
    study = judged_study([0.8, 0.7, 0.6])
    opened(client, study)
    row = client.get(address(study, file="gain.json")).json()["rows"][0]
    out = StringIO()
    call_command("panel", study.slug, "--json", stdout=out)
    told = json.loads(out.getvalue())
    path = reverse("api:panel", args=[study.workspace.slug, study.slug])
    assert client.get(path).json() == told and told["panel"]["found"]["panel"]["value"] == row[1]
    assert [cost["judge"] for cost in told["costs"]["members"]] == ["judge0", "judge1", "judge2"]
    two = client.get(path, {"judge": ["judge0", "judge2"]}).json()
    assert two["panel"]["judges"] == ["judge0", "judge2"]
    assert two["panel"]["left_out"] == [{"judge": "judge1", "why": "not_asked", "n": 72}]
    for shape in ("--csv", "--latex", "--markdown", "--workspace=lab"):
        out = StringIO()
        call_command("panel", study.slug, "--judge", "judge0", "--judge", "judge2", shape, stdout=out)
        assert "judge2" in out.getvalue() and "judge1" not in out.getvalue()
    for wrong in ({"judge": "nobody"}, {"judge": "judge0"}):
        assert client.get(path, wrong).status_code == 400
    client.force_login(make_user("lead", workspace=make_workspace("elsewhere")))
    assert client.get(path).status_code == client.get(address(study)).status_code == 404


def test_all_but_one_judge_can_be_chosen_and_what_nobody_knows_changes_nothing(client):
    study = judged_study([0.8, 0.7, 0.6])
    judges = {one.label: one for one in study.workspace.raters.filter(kind="judge")}
    page = opened(client, study, without=judges["judge1"].public_id)
    assert "The panel of 2 judges" in page or "Whether the panel of 2 judges" in page
    assert "all but judge1" in page and "it was not chosen" in page
    assert "panel of 3 judges" in opened(client, study, without="nobody")


def test_what_is_missing_is_one_sentence_with_the_number_needed(client):
    one = judged_study([0.8])
    wanted = "A panel needs at least 2 judges that scored the responses which people rated; there is 1."
    assert wanted in opened(client, one)
    with pytest.raises(CommandError, match="at least 2 judges"):
        call_command("panel", one.slug)
    path = reverse("api:panel", args=[one.workspace.slug, one.slug])
    refused = client.get(path)
    assert refused.status_code == 400 and wanted in refused.content.decode()


def test_too_few_instructions_people_or_differences_are_named(client):
    few = judged_study([0.8, 0.7], instructions=21, rated=7)
    assert "What a panel gains is stated from 20 instructions on" in opened(client, few)
    assert "there are 7." in opened(client, few)


def test_without_people_or_with_constant_scores_it_is_said(client):
    study = make_checklist_study(instructions=22, models=2, items=1)
    judges = [make_judge_rater(study.workspace, f"judge{place}") for place in range(2)]
    rater = make_rater(study)
    tasks = list(study.tasks.select_related("answer_rubric").order_by("pk"))
    for place, task in enumerate(tasks):
        make_answer(task, judges[0], {"item0": LEVELS[place * 7 % 5]})
        make_answer(task, judges[1], {"item0": 0.5})
    assert "People gave neither preferences nor overall scores" in opened(client, study)
    for place, task in enumerate(tasks):
        make_answer(task, rater, {"item0": 0.5, "overall": place * 3 % 7})
    assert "judge1 sees no difference between models on any instruction" in opened(client, study)


def test_people_without_differences_leave_nothing_to_predict(client):
    study = make_checklist_study(instructions=22, models=2, items=1)
    judges = [make_judge_rater(study.workspace, f"judge{place}") for place in range(2)]
    rater = make_rater(study)
    for place, task in enumerate(study.tasks.select_related("answer_rubric").order_by("pk")):
        for number, judge in enumerate(judges):
            make_answer(task, judge, {"item0": LEVELS[(place * 7 + number * place) % 5]})
        make_answer(task, rater, {"item0": 0.5, "overall": 6})
    assert "People saw no difference between models on any instruction" in opened(client, study)


def test_preferences_of_pairs_make_a_panel_too(client):
    study = pair_study(models=3, instructions=24, raters=3)
    rng = np.random.default_rng(0)
    judges = [make_judge_rater(study.workspace, f"judge{place}") for place in range(2)]
    for task in study.tasks.all():
        for judge in judges:
            make_answer(task, judge, {"preference": int(rng.integers(-1, 2))}, shown_first="a")
    page = opened(client, study)
    assert "pairs of 3 models on 24 instructions, which every judge compared as well." in page
    assert "Do several judges together predict people better than the best of them?" in page


def test_calls_and_money_of_each_judge_stand_beside_its_weight(client):
    cache.clear()
    study = judged_study([0.6], models=2, items=3)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="far", base_url="http://127.0.0.1:9/v1")
    for name, price, step in (("cheap", 10, 1), ("dear", 300, 3)):
        model = LanguageModel.objects.create(
            workspace=study.workspace,
            name=name,
            endpoint=endpoint,
            input_price=price,
            output_price=price,
            currency="USD",
        )
        judged(study, model, name, lambda n, step=step: LEVELS[n * n * step % 5], of_model=step)
    page = opened(client, study)
    rows = {row[0]: row for row in client.get(address(study, file="members.json")).json()["rows"]}
    assert rows["judge0"][-3:] == [None, None, None]
    for name in ("cheap", "dear"):
        judge = Judge.objects.get(language_model__name=name)
        paid = [reply.cost for reply in Reply.objects.filter(item__run__judge=judge)]
        assert len(paid) == 48 and rows[judge.rater.name][-3] == 1000
        assert rows[judge.rater.name][-2] == pytest.approx(1000 * float(sum(paid)) / 48)
    assert "The cost of a judge is unknown where its verdicts were imported" in page
