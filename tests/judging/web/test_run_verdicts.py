"""The verdicts of a run as a list with filters, and one verdict in full with its raw replies."""

import json

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Criterion, Score
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.models import PlannedItem, Reply
from judging.runs.life_cycle import start_run
from judging.runs.verdict_lists import FARTHEST, LOWEST, UNUSABLE, people_on, verdict_list
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db
PROSE = "Prose, <b>not</b> JSON."


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def study():
    return make_checklist_study(instructions=4, models=1)


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)


@pytest.fixture
def run(study, model):
    """Instructions 0 to 3: prose, and items of 0.25, 0.5 and 1."""
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    scores = {f"essays-{n}": score for n, score in ((1, 0.25), (2, 0.5), (3, 1))}

    def said(request):
        score = scores.get(request.subject["instruction"])
        if score is None:
            return PROSE
        return json.dumps({f"item{n}": {"reason": f"because {n}", "score": score} for n in range(3)})

    return work_on(run, chat_for=lambda _model: ScriptedChat(said))


def names(run, shown, q=""):
    found = verdict_list(run, shown, q)
    items = PlannedItem.objects.select_related("task__response_a__instruction").in_bulk(found.pks(0, 50))
    return [items[pk].task.response_a.instruction.external_id for pk in found.pks(0, 50)]


def answered(study, instruction, **values):
    """A person's answer to the task of an instruction."""
    task = study.tasks.get(response_a__instruction__external_id=instruction)
    return make_answer(task, make_rater(study, pseudonym="Heron"), values)


def address(run, name="judging:verdicts", *parts):
    return reverse(name, args=[run.public_id, *parts])


def item_of(run, instruction):
    return run.items.get(task__response_a__instruction__external_id=instruction)


def test_filters_show_what_they_say_in_their_order(study, run):
    assert names(run, UNUSABLE) == ["essays-0"]
    assert names(run, LOWEST) == ["essays-1", "essays-2", "essays-3"]
    assert sorted(names(run, "all")) == [f"essays-{n}" for n in range(4)]
    assert names(run, "all", "-2") == names(run, LOWEST, "-2") == ["essays-2"]
    assert names(run, FARTHEST) == []
    answered(study, "essays-1", item0=0.25, item1=0.25, item2=0.5, overall=9)
    answered(study, "essays-3", item0=0, item1=0.25, item2=0.5)
    cache.clear()
    assert names(run, FARTHEST) == ["essays-3", "essays-1"]


def test_people_count_once_each_by_their_latest_scores_and_only_if_they_count(study):
    task = study.tasks.first()
    for label, value in (("a", 0.5), ("b", 1)):
        make_answer(task, make_rater(study, label=label), dict.fromkeys(("item0", "item1", "item2"), value))
    make_answer(task, make_rater(study, label="c"), {"item0": 0}, status="excluded")
    make_answer(task, make_rater(study, label="d"), {"item0": 0}, repeat=1)
    assert people_on([task.pk]) == {task.pk: {"item": 0.75}}
    first = task.assignments.get(rater__label="a")
    criterion = Criterion.objects.get(rubric=task.answer_rubric, key="item0")
    Score.objects.create(assignment=first, criterion=criterion, revision=1, value=0)
    assert people_on([task.pk])[task.pk]["item"] == pytest.approx((1 / 3 + 1) / 2)


def test_the_list_says_its_counts_and_why_an_item_is_unusable(client, study, run):
    answered(study, "essays-3", item0=0, item1=0.25, item2=0.5)
    client.force_login(make_user("analyst"))
    assert address(run) in markup(client.get(reverse("judging:run", args=[run.public_id])))
    page = markup(client.get(address(run)))
    assert "3 of 4 questions have a verdict; unusable: 1." in page
    assert "Prose instead of a structured answer" in page
    assert '<td class="num">+0.75</td>' in page
    assert [row.score for row in client.get(address(run), {"show": LOWEST}).context["rows"]] == ["0.25", "0.5", "1"]
    nothing = client.get(address(run), {"q": "nothing has this"})
    assert "No verdicts to show" in markup(nothing)
    assert client.get(address(run), {"show": "nonsense", "page": "99"}).status_code == 200


def test_one_verdict_shows_scores_reasons_people_and_the_raw_reply(client, study, run):
    answered(study, "essays-3", item0=0, item1=0.25, item2=0.5)
    client.force_login(make_user("analyst"))
    item = item_of(run, "essays-3")
    page = markup(client.get(address(run, "judging:verdict", item.pk), {"show": LOWEST}))
    for said in (
        "because 0",
        "because 2",
        "Is quality 1 there?",
        "Heron",
        "Some words about it.",
        "Write about topic 3.",
    ):
        assert said in page
    assert "&quot;reason&quot;: &quot;because 1&quot;" in page
    assert "3 of 3" in page
    earlier = address(run, "judging:verdict", item_of(run, "essays-2").pk)
    assert f'rel="prev" href="{earlier}?show=lowest"' in page
    assert 'rel="next"' not in page
    assert f'href="{address(run)}?show=lowest&amp;page=1#item-{item.pk}"' in page


def test_every_attempt_of_an_unusable_item_is_shown_as_plain_text(client, run):
    client.force_login(make_user("lead"))
    item = item_of(run, "essays-0")
    page = markup(client.get(address(run, "judging:verdict", item.pk)))
    assert (
        page.count('tabindex="0">Prose, &lt;b&gt;not&lt;/b&gt; JSON.</pre>')
        == Reply.objects.filter(item=item).count()
        == 3
    )
    assert "<b>not</b>" not in page
    # A verdict that the filter does not show is found among all.
    page = client.get(address(run, "judging:verdict", item.pk), {"show": LOWEST})
    assert (page.status_code, page.context["of"], page.context["query"]) == (200, 4, "")


def test_canary_texts_are_apart(client, study, model):
    model.endpoint.kind = Endpoint.Kind.OPENAI  # a scripted judge is shown no canary texts
    model.endpoint.save()
    run = plan_run(judge=create_judge(model=model), study=study, canaries=True)
    planted = run.items.exclude(canary="").count()
    assert planted
    client.force_login(make_user("lead"))
    page = client.get(address(run))
    assert len(page.context["rows"]) == run.items.count() - planted
    assert f"{planted} questions about canary texts are listed apart." in markup(page)
    page = client.get(address(run), {"show": "canaries"})
    assert len(page.context["rows"]) == planted
    assert all(row.canary for row in page.context["rows"])
    assert client.get(address(run, "judging:verdict", run.items.exclude(canary="").first().pk)).status_code == 200


def test_more_items_on_the_page_cost_no_more_queries(client, study, run):
    client.force_login(make_user("lead"))

    def asked(**query):
        client.get(address(run), query)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address(run), query).status_code == 200
        return len(queries)

    assert asked(q="essays-3") == asked() <= 30
    assert asked(show=FARTHEST) <= 30


def test_simulated_people_are_named_as_such(client, study, run):
    client.force_login(make_user("lead"))
    pages = (address(run), address(run, "judging:verdict", item_of(run, "essays-3").pk))
    assert not any("simulated raters" in markup(client.get(page)) for page in pages)
    task = study.tasks.first()
    make_answer(task, make_rater(study, provenance="simulated"), {"item0": 1})
    assert all("simulated raters" in markup(client.get(page)) for page in pages)


def test_only_those_who_read_results_see_verdicts(client, run):
    item = item_of(run, "essays-3")
    pages = (address(run), address(run, "judging:verdict", item.pk))
    for role in ("rater", "reviewer"):
        client.force_login(make_user(role))
        assert [client.get(page).status_code for page in pages] == [403, 403]
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert [client.get(page).status_code for page in pages] == [404, 404]


def test_a_verdict_of_another_run_is_not_found(client, study, model, run):
    other = plan_run(judge=create_judge(model=model, name="other"), study=study, limit=2)
    client.force_login(make_user("lead"))
    assert client.get(address(run, "judging:verdict", other.items.first().pk)).status_code == 404
