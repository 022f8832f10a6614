"""Whole runs of the methods beside the checklist: pairs in both orders, juries, repeats, rules, vectors, likelihood."""

import json
import math
import re
import time
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.models import Assignment, Criterion, Rater, Rubric, Score, Study, Task
from generation.execution.engine import Retry
from generation.execution.worker import WorkerOptions
from generation.llm.protocol.prices import Ceiling
from generation.models import Benchmark, Endpoint, Instruction, LanguageModel, Response
from judging.judges.making import create_judge, create_rule_judge
from judging.methods.combining import How
from judging.methods.pairs.base import SCORES
from judging.models import Reply
from judging.runs.life_cycle import progress_of, retry_unscored, start_run
from judging.runs.panels import PanelRefused
from judging.runs.worker import work_on
from judging.studies.benchmarks import NothingToJudge
from tests.factories import make_answer, make_checklist_study, make_rater, make_workspace, plan_run
from tests.generation.hostile_server import Act, HostileServer, fails, good_answer, says

pytestmark = pytest.mark.django_db
QUICK = WorkerOptions(concurrency=4, retry=Retry(tries=2, first_wait=0.01, longest_wait=0.05, try_seconds=5.0))
TEXTS = ("A long and careful answer that says much about it.", "Short.")
NAMES = {"a_much": "A++", "a": "A", "tie": "tie", "both_bad": "both bad", "b": "B", "b_much": "B++"}


def make_pair_study(levels=("b", "tie", "both_bad", "a"), instructions=4):
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="pairs-benchmark")
    rubric = Rubric.objects.create(workspace=workspace, key="pairs")
    Criterion.objects.create(
        rubric=rubric,
        key="better",
        role="preference",
        position=0,
        questions={"en": "Which text is better?"},
        levels=[{"key": key, "value": SCORES[key], "label": {"en": NAMES[key]}, "description": {}} for key in levels],
    )
    study = Study.objects.create(workspace=workspace, slug="pairs", kind="pair", benchmark=benchmark, status="open")
    writers = [LanguageModel.objects.create(workspace=workspace, name=f"writer{n}") for n in range(2)]
    for number in range(instructions):
        instruction = Instruction.objects.create(
            benchmark=benchmark,
            external_id=f"pair-{number}",
            messages=[{"role": "user", "content": f"Say something about {number}."}],
            reference=f"A long and careful answer, number {number}.",
        )
        sides = [
            Response.objects.create(instruction=instruction, model=writer, text=f"{text} {number}")
            for writer, text in zip(writers, TEXTS, strict=True)
        ]
        Task.objects.create(
            study=study, kind="pair", key=f"p:{number}", response_a=sides[0], response_b=sides[1], answer_rubric=rubric
        )
    return study


def served(study, server, name="m", **endpoint):
    where, _ = Endpoint.objects.get_or_create(
        workspace=study.workspace, name=f"at {name}", defaults={"base_url": server.base_url, **endpoint}
    )
    return LanguageModel.objects.get_or_create(workspace=study.workspace, name=name, defaults={"endpoint": where})[0]


def judged(run):
    start_run(run, clock=timezone.now)
    return work_on(run, options=QUICK)


def texts_of(request):
    """The two texts of a pair prompt, as shown."""
    user = next(m["content"] for m in request["messages"] if m["role"] == "user")
    marks = re.findall(r"^(=== text [AB] [0-9a-f]{16} ===)$", user, re.MULTILINE)
    first, second = marks[0], next(mark for mark in marks if mark != marks[0])
    return [user.split(mark + "\n")[1].split("\n" + mark)[0] for mark in (first, second)]


def prefers_length(request, n):
    first, second = texts_of(request)
    return says(json.dumps({"better": {"reason": "longer", "choice": "A" if len(first) > len(second) else "B"}}))


def always_first(request, n):
    return says(json.dumps({"better": {"reason": "the first", "choice": "A"}}))


def test_both_orders_agree_on_the_tasks_own_side_whatever_was_shown_first():
    study = make_pair_study()
    with HostileServer(prefers_length) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        run = judged(plan_run(judge=judge, study=study, both_orders=True))
    assert run.status == "finished", run.message
    assert len(server.requests) == 8
    parts = Assignment.objects.filter(rater=judge.rater, status="submitted")
    assert sorted(parts.values_list("repeat", flat=True)) == [0] * 4 + [1] * 4
    assert {(row.task_id, row.shown_first) for row in parts} == {
        (task.pk, side) for task in study.tasks.all() for side in "ab"
    }
    assert set(Score.objects.filter(assignment__in=parts).values_list("value", "level")) == {(1.0, "a")}
    derived = Assignment.objects.filter(rater=run.judge.rater)
    assert set(derived.values_list("status", "repeat")) == {("derived", 0)}
    assert set(Score.objects.filter(assignment__in=derived).values_list("value", "level")) == {(1.0, "a")}


def test_a_judge_that_takes_the_first_flips_and_ties():
    study = make_pair_study()
    with HostileServer(always_first) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        run = judged(plan_run(judge=judge, study=study, both_orders=True))
    derived = Score.objects.filter(assignment__rater=run.judge.rater)
    assert set(derived.values_list("value", "level")) == {(0.0, "tie")}
    assert len(derived) == 4


@pytest.mark.parametrize(
    ("before", "calls"), [({"repeats": 2}, 4), ({"repeats": 3}, 4), ({}, 4), ({"both_orders": True}, 0)]
)
def test_what_was_answered_in_one_order_is_not_taken_for_the_other(before, calls):
    """A repeat in the same order stands under the number that the other order would have had."""
    study = make_pair_study()
    with HostileServer(always_first) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        judged(plan_run(judge=judge, study=study, **before))
        begun = len(server.requests)
        asked = {"both_orders": True, "combine": How.MAJORITY, "reuse": False}
        run = judged(plan_run(judge=judge, study=study, **asked))
    assert run.status == "finished", run.message
    assert len(server.requests) - begun == calls
    for item in run.items.select_related("assignment"):
        assert item.assignment.shown_first == item.shown_first
    derived = Score.objects.filter(assignment__rater=run.judge.rater)
    assert set(derived.values_list("value", "level")) == {(0.0, "tie")}
    assert len(derived) == 4


def test_repeats_in_one_order_leave_out_what_was_answered_in_the_other():
    study = make_pair_study()
    with HostileServer(always_first) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        judged(plan_run(judge=judge, study=study, both_orders=True))
        run = judged(plan_run(judge=judge, study=study, repeats=2))
    first = {row.task_id: row.shown_first for row in Assignment.objects.filter(rater=judge.rater, repeat=0)}
    assert {item.assignment.shown_first == first[item.task_id] for item in run.items.all()} == {True}
    derived = Score.objects.filter(assignment__rater=run.judge.rater)
    assert {score.level for score in derived} == set(first.values())


def test_both_bad_is_stored_as_itself_and_not_as_a_tie():
    study = make_pair_study(instructions=1)
    with HostileServer(lambda r, n: says('{"better": {"reason": "r", "choice": "both bad"}}')) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        judged(plan_run(judge=judge, study=study))
    assert Score.objects.values_list("value", "level").get() == (0.0, "both_bad")


def test_a_jury_decides_by_majority_and_its_parts_stand_beside():
    study = make_pair_study(levels=("b", "tie", "a"), instructions=2)
    plays = [prefers_length, prefers_length, always_first]
    servers = [HostileServer(play) for play in plays]
    for server in servers:
        server.__enter__()
    try:
        judges = [
            create_judge(model=served(study, server, f"m{n}"), method="pair_of_three")
            for n, server in enumerate(servers)
        ]
        asked = {"jurors": tuple(judges[1:]), "combine": How.MAJORITY, "both_orders": True}
        run = judged(plan_run(judge=judges[0], study=study, **asked))
    finally:
        for server in servers:
            server.__exit__()
    assert run.status == "finished", run.message
    assert [len(server.requests) for server in servers] == [4, 4, 4]
    derived = Score.objects.filter(assignment__rater=run.judge.rater)
    # two of three prefer A in both orders, the third ties: A
    assert list(derived.values_list("level", flat=True)) == ["a", "a"]
    assert run.judge.rater.label.startswith("m0 pair_of_three + m1 pair_of_three + m2")
    assert "majority" in derived.first().reason


def test_repeats_of_scores_are_averaged_and_kept():
    study = make_checklist_study(instructions=1, models=1)
    with HostileServer(lambda request, n: good_answer(request, [0.5, 1, 0.75][n])) as server:
        judge = create_judge(model=served(study, server))
        run = judged(plan_run(judge=judge, study=study, repeats=3, concurrency=1))
    assert len(server.requests) == 3
    own = Score.objects.filter(assignment__rater=judge.rater, criterion__key="item0")
    assert sorted(own.values_list("value", flat=True)) == [0.5, 0.75, 1.0]
    assert {s.value for s in Score.objects.filter(assignment__rater=run.judge.rater)} == {0.75}


@pytest.mark.parametrize(("rule", "level"), [("longer", "a"), ("shorter", "b"), ("rouge", "a")])
def test_rules_need_no_endpoint(rule, level):
    study = make_pair_study()
    judge = create_rule_judge(workspace=study.workspace, method=rule)
    run = judged(plan_run(judge=judge, study=study))
    assert run.status == "finished", run.message
    assert set(Score.objects.values_list("level", flat=True)) == {level}
    assert not Reply.objects.exists()
    assert Assignment.objects.filter(status="submitted").count() == 4


def test_always_first_by_rule_ties_in_both_orders():
    study = make_pair_study()
    judge = create_rule_judge(workspace=study.workspace, method="first")
    run = judged(plan_run(judge=judge, study=study, both_orders=True))
    assert set(Score.objects.filter(assignment__rater=run.judge.rater).values_list("level", flat=True)) == {"tie"}


def test_embeddings_prefer_the_text_nearer_to_the_reference():
    def vectors(request, n):
        def vector(text):
            return [1.0, 0.1 * len(text)] if "careful" in text else [1.0, -5.0]

        data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(request["input"])]
        return Act(body={"data": data, "usage": {"prompt_tokens": 30}})

    study = make_pair_study()
    with HostileServer(vectors) as server:
        judge = create_judge(model=served(study, server, input_price=Decimal(1)), method="embedding")
        run = judged(plan_run(judge=judge, study=study))
    assert run.status == "finished", run.message
    assert set(Score.objects.values_list("level", flat=True)) == {"a"}
    assert progress_of(run, clock=timezone.now).input_tokens == 120
    stored = json.loads(Reply.objects.first().text)
    assert stored["dimensions"] == 2
    assert all(math.isclose(math.hypot(*vector), 1.0) for vector in stored["vectors"])


def test_likelihood_asks_each_writers_endpoint_and_says_who_is_not_served():
    def scores(request, n):
        act = says("", read=3)
        if "prompt_logprobs" in request:
            each = -0.5 if request["model"] == "writer0" else -2.0
            act.body["prompt_logprobs"] = [None, *[{"7": {"logprob": each}}] * 9]
        return act

    study = make_pair_study(instructions=2)
    judge = create_rule_judge(workspace=study.workspace, method="perplexity")
    with HostileServer(scores) as server:
        where = Endpoint.objects.create(workspace=study.workspace, name="writers", base_url=server.base_url)
        LanguageModel.objects.filter(name__startswith="writer").update(endpoint=where)
        run = judged(plan_run(judge=judge, study=study))
    assert run.status == "finished", run.message
    assert set(Score.objects.values_list("level", flat=True)) == {"a"}
    # two instructions, two writers, two calls each
    assert len(server.requests) == 8
    other = make_checklist_study(slug="unused")
    assert other.tasks.count()
    # One of the two pairs is of a model that is not served.
    absent = LanguageModel.objects.create(workspace=study.workspace, name="absent")
    Response.objects.filter(pk=study.tasks.first().response_b_id).update(model=absent)
    again = create_rule_judge(workspace=study.workspace, method="perplexity", name="second")
    with HostileServer(scores) as server:
        Endpoint.objects.filter(pk=where.pk).update(base_url=server.base_url)
        unserved = judged(plan_run(judge=again, study=study))
    assert progress_of(unserved, clock=timezone.now).unscored == 1
    assert "model not served: absent" in unserved.items.get(status="unscored").reason


def test_likelihood_counts_what_a_writer_cost_though_the_other_failed_or_refused():
    failures = []

    def scores(request, n):
        if request["model"] == "writer1" and not failures:
            failures.append(n)
            return fails(500, "away")
        if "prompt_logprobs" not in request:
            return says("", read=3)
        if request["model"] == "writer1":
            return fails(400, "prompt_logprobs is not known here")
        act = says("", read=3)
        act.body["prompt_logprobs"] = [None, *[{"7": {"logprob": -0.5}}] * 9]
        return act

    study = make_pair_study(instructions=1)
    judge = create_rule_judge(workspace=study.workspace, method="perplexity")
    with HostileServer(scores) as server:
        where = Endpoint.objects.create(
            workspace=study.workspace, name="writers", base_url=server.base_url, input_price=Decimal(1000)
        )
        LanguageModel.objects.filter(name__startswith="writer").update(endpoint=where)
        progress = progress_of(judged(plan_run(judge=judge, study=study)), clock=timezone.now)
    # Two calls to the first writer and the first of two to the other, three tokens each.
    assert (progress.unscored, progress.input_tokens) == (1, 9)
    assert progress.money == Decimal("0.009")
    assert progress.calls == len(server.requests) == 5


def test_a_likelihood_is_as_many_calls_as_are_made_for_it_and_a_budget_holds_for_all_of_them():
    def scores(request, n):
        return says("", read=3)

    study = make_pair_study(instructions=2)
    judge = create_rule_judge(workspace=study.workspace, method="perplexity")
    with HostileServer(scores) as server:
        where = Endpoint.objects.create(
            workspace=study.workspace, name="writers", base_url=server.base_url, input_price=Decimal(1000)
        )
        LanguageModel.objects.filter(name__startswith="writer").update(endpoint=where)
        budget = Ceiling(calls=9)
        run = judged(plan_run(judge=judge, study=study, budget=budget))
        progress = progress_of(run, clock=timezone.now)
        # None of the answers has the log-probabilities that were asked for; each was paid all the same.
        assert progress.calls == len(server.requests) <= 9
        assert progress.input_tokens == 3 * len(server.requests)
        assert progress.money == 3 * len(server.requests) * Decimal("0.001")
    assert run.status in ("paused", "failed") and progress.scored == 0


def test_an_answer_of_no_use_costs_what_it_says():
    def useless(request, n):
        return Act(body={"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})

    study = make_checklist_study(instructions=1)
    with HostileServer(useless) as server:
        judge = create_judge(model=served(study, server, input_price=Decimal(1000)))
        progress = progress_of(judged(plan_run(judge=judge, study=study)), clock=timezone.now)
    assert progress.calls == len(server.requests) > 0
    assert progress.input_tokens + progress.output_tokens == 15 * progress.calls
    assert progress.money == progress.calls * Decimal("0.01")


def test_likelihood_keeps_to_each_writers_own_limit():
    sent = []

    def scores(request, n):
        sent.append(time.monotonic())
        act = says("", read=3)
        if "prompt_logprobs" in request:
            act.body["prompt_logprobs"] = [None, *[{"7": {"logprob": -0.5}}] * 9]
        return act

    study = make_pair_study(instructions=3)
    judge = create_rule_judge(workspace=study.workspace, method="perplexity")
    with HostileServer(scores) as server:
        where = Endpoint.objects.create(
            workspace=study.workspace, name="writers", base_url=server.base_url, requests_per_minute=600
        )
        LanguageModel.objects.filter(name__startswith="writer").update(endpoint=where)
        assert judged(plan_run(judge=judge, study=study)).status == "finished"
    # three instructions by two writers, two calls each at a tenth of a second; the last begins after eleven of them
    assert len(sent) == 12
    assert sent[-1] - sent[0] >= 0.95


def test_the_composite_takes_the_method_that_agrees_best_with_people():
    study = make_pair_study(instructions=8)
    person = make_rater(study)
    for task in study.tasks.all():
        make_answer(task, person, {"better": 1.0})
    for rule in ("longer", "shorter"):
        judged(plan_run(judge=create_rule_judge(workspace=study.workspace, method=rule), study=study))
    judge = create_rule_judge(workspace=study.workspace, method="composite")
    run = judged(plan_run(judge=judge, study=study))
    assert run.status == "finished", run.message
    assert set(Score.objects.filter(assignment__rater=judge.rater).values_list("level", flat=True)) == {"a"}


def test_only_what_people_rated_is_judged():
    study = make_pair_study()
    judge = create_rule_judge(workspace=study.workspace, method="longer")
    with pytest.raises(NothingToJudge, match="--only-rated"):
        plan_run(judge=judge, study=study, only_rated=True)
    make_answer(study.tasks.first(), make_rater(study), {"better": 1.0})
    run = plan_run(judge=judge, study=study, only_rated=True)
    assert [item.task_id for item in run.items.all()] == [study.tasks.first().pk]


@pytest.mark.parametrize("first", [True, False])
def test_a_rule_sits_on_no_jury(first):
    study = make_pair_study()
    rule = create_rule_judge(workspace=study.workspace, method="longer")
    with HostileServer(prefers_length) as server:
        model = create_judge(model=served(study, server), method="pair_of_four")
    one, other = (rule, model) if first else (model, rule)
    with pytest.raises(PanelRefused, match="rule: longer is a rule and cannot be part of a panel"):
        plan_run(judge=one, study=study, jurors=(other,))
    assert plan_run(judge=rule, study=study, both_orders=True).items.count() == 8


def test_only_jurors_that_read_are_shown_planted_texts():
    """What compares vectors or likelihoods has no verdict on them, which is no sign that it is misled."""

    study = make_pair_study()
    with HostileServer(prefers_length) as server:
        reader = create_judge(model=served(study, server), method="pair_of_four")
        vectors = create_judge(model=served(study, server, "vectors"), method="embedding")
        for one, other, number in ((reader, vectors, 0), (vectors, reader, 1)):
            run = plan_run(judge=one, study=study, jurors=(other,), canaries=True)
            assert set(run.items.exclude(canary="").values_list("juror", flat=True)) == {number}
            assert run.items.exclude(canary="").count() == 8


def test_a_canary_that_is_preferred_fails_the_run_loudly():
    study = make_pair_study(instructions=4)
    with HostileServer(always_first) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        run = judged(plan_run(judge=judge, study=study, canaries=True))
    assert run.status == "failed"
    assert "believed 4 canary text" in run.message
    assert len(server.requests) == 4 + 8
    progress = progress_of(run, clock=timezone.now)
    assert (progress.total, progress.scored) == (4, 4)
    assert Assignment.objects.filter(status="checked").count() == 8
    assert Assignment.objects.filter(rater=judge.rater).answered().count() == 4


def test_a_judge_that_sees_through_canaries_finishes():
    study = make_pair_study(instructions=4)

    def play(request, n):
        first, second = texts_of(request)
        worth = [text.startswith(TEXTS) for text in (first, second)]
        return says(json.dumps({"better": {"reason": "r", "choice": "A" if worth[0] else "B"}}))

    with HostileServer(play) as server:
        judge = create_judge(model=served(study, server), method="pair_of_four")
        run = judged(plan_run(judge=judge, study=study, canaries=True))
    assert run.status == "finished", run.message


def test_the_unscored_are_tried_again_and_what_they_cost_stays_counted():
    study = make_checklist_study(instructions=2, models=1)
    good = []

    def play(request, n):
        return good_answer(request) if good else says("prose")

    with HostileServer(play) as server:
        run = judged(plan_run(judge=create_judge(model=served(study, server)), study=study))
        assert (run.status, len(server.requests)) == ("finished", 6)
        good.append(True)
        assert retry_unscored(run, clock=timezone.now) == 2
        run = judged(run)
    assert run.status == "finished"
    progress = progress_of(run, clock=timezone.now)
    assert (progress.scored, progress.unscored, progress.calls) == (2, 0, 8)
    assert retry_unscored(run, clock=timezone.now) == 0


def test_a_budget_is_exact_with_a_jury_working_at_once():
    study = make_checklist_study(instructions=10, models=1)
    with HostileServer(lambda request, n: good_answer(request)) as server:
        judges = [create_judge(model=served(study, server, f"m{n}")) for n in range(3)]
        run = plan_run(judge=judges[0], study=study, jurors=tuple(judges[1:]), budget=Ceiling(calls=17))
        run = judged(run)
        assert run.status == "paused"
        assert len(server.requests) == Reply.objects.filter(reused_from=None).count()
        assert len(server.requests) <= 17
    assert not run.shares.exists()
    assert Rater.objects.filter(label__contains="m0 checklist + m1").exists()
