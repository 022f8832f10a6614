"""The migrations that read stored sentences once more, on a database with rows from before messages had codes."""

import re

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import translation

from annotation.models import Assignment, Score, Study
from core.messages.message import stored_text
from core.messages.rendering import stored_for_reader
from generation.endpoints.probing import in_words
from generation.models import Endpoint, GenerationItem, GenerationRun, LanguageModel
from judging.judges.making import create_judge
from judging.methods.parsing import Why
from judging.models import JudgeRun, PlannedItem, Reply
from judging.runs.aggregation import unscored_of
from tests.factories import make_answer, make_checklist_study, make_rater, make_user

BEFORE = [("generation", "0009_endpoint_grants"), ("annotation", "0012_discredited_verdicts")]
BEFORE += [("judging", "0009_replies_append_only_again")]
CHINESE = re.compile(r"[\u4e00-\u9fff]")
OURS = "no reply in 5 seconds"
THEIRS = "401: no such key"
CANARY = "it scored 1.00 where the median of the run is 0.50"
FELL = f"The judge fell for 1 planted text(s) that deserve nothing (empty: {CANARY}). Change the prompt or the model "
FELL += "before trusting this run."
SEVERAL = (
    "Model a has no endpoint; say first where it is served. Model b has no endpoint; say first where it is served."
)
COMBINED = "The median of 0.5, 1 (1 of 3 gave no verdict). [1] It holds."
SAME = "The same in both orders. [A first] Drawn at random. [B first] Drawn at random."
REFUSED = "Study s: order 'sideways' is not one of random, spread, finish."


@pytest.fixture
def filled(transactional_db):
    """Rows with texts alone, in every column that may hold a sentence of the program."""
    study = make_checklist_study(instructions=3, models=1)
    study.policies["refused"] = REFUSED
    study.save()
    endpoint = Endpoint.objects.create(
        workspace=study.workspace,
        name="e",
        probed_at=study.created_at,
        capabilities={"words": {"chat": OURS, "embeddings": THEIRS}},
    )
    model = LanguageModel.objects.create(workspace=study.workspace, name="m", endpoint=endpoint)
    judge = create_judge(model=model)
    for n, message in enumerate((SEVERAL, THEIRS, SEVERAL + " " + THEIRS)):
        run = GenerationRun.objects.create(benchmark=study.benchmark, name=f"run{n}", message=message)
    instructions = list(study.benchmark.instructions.order_by("pk"))
    for instruction, error in zip(instructions, (OURS, THEIRS, ""), strict=True):
        GenerationItem.objects.create(run=run, instruction=instruction, model=model, error=error)
    canaries = [{"text": "empty", "what": CANARY}]
    judged = JudgeRun.objects.create(judge=judge, study=study, message=FELL, believed_canaries=canaries)
    reasons = ("off_scale: 'item0' has '7', which is none of 0, 1", "refused: I would rather not.", "no colon here")
    person = make_rater(study, make_user())
    for task, reason, verdict in zip(study.tasks.order_by("pk"), reasons, (COMBINED, SAME, "Fine."), strict=True):
        item = PlannedItem.objects.create(run=judged, task=task, status="unscored", reason=reason)
        for attempt, error in enumerate((OURS, THEIRS)):
            Reply.objects.create(item=item, attempt=attempt, request_hash="h", error=error)
        make_answer(task, judge.rater, {}, status="unscored", reason=reason)
        make_answer(task, person, {}, status="submitted", reason="no verdict")
        for rater, said in ((judge.rater, verdict), (person, "Drawn at random.")):
            answer = Assignment.objects.get(task=task, rater=rater)
            criterion = task.answer_rubric.criteria.filter(role="item").first()
            Score.objects.create(assignment=answer, criterion=criterion, value=0.5, reason=said)
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    executor.migrate(BEFORE)
    try:
        yield latest
    finally:
        MigrationExecutor(connection).migrate(latest)


def codes(rows, name):
    """The code in each row's column, in order; None where the text is somebody else's."""
    found = [getattr(row, f"{name}_json") for row in rows.order_by("pk")]
    return [message and message["code"] for message in found]


def test_rows_of_before_are_read_once_shown_in_both_languages_and_append_only_again(filled):
    MigrationExecutor(connection).migrate(filled)
    assert codes(GenerationRun.objects, "message") == ["sentences", None, None]
    assert codes(GenerationItem.objects, "error") == ["call.no_reply", None, None]
    assert codes(JudgeRun.objects, "message") == ["judge.judge_fell"]
    assert codes(Reply.objects, "error") == ["call.no_reply", None] * 3
    assert codes(PlannedItem.objects, "reason") == ["judge.unscored", "judge.unscored", None]
    judges = Assignment.objects.filter(rater__kind="judge")
    assert codes(judges, "reason") == ["judge.unscored", "judge.unscored", None]
    assert codes(Score.objects.filter(assignment__in=judges), "reason") == [
        "judge.combined_silent_why",
        "judge.same_level",
        None,
    ]
    people = Assignment.objects.exclude(rater__kind="judge")
    assert set(codes(people, "reason")) == {None}
    assert set(codes(Score.objects.filter(assignment__in=people), "reason")) == {None}

    run = JudgeRun.objects.get()
    assert run.message == FELL and run.believed_canaries[0]["what"] == CANARY
    assert run.believed_canaries[0]["what_json"]["code"] == "judge.scored_above"
    assert Study.objects.get().policies["refused_json"]["code"] == "study.bad_order"
    unscored = [unscored_of(item) for item in PlannedItem.objects.order_by("pk")]
    assert [outcome.why for outcome in unscored] == [Why.OFF_SCALE, Why.REFUSED, Why.MISSING]
    assert unscored[1].detail == "I would rather not."
    assert stored_text(PlannedItem.objects.order_by("pk").last(), "reason") == "no colon here"
    same = Score.objects.get(reason=SAME)
    assert stored_text(same, "reason").params["first"].code == "judge.drawn"

    with translation.override("zh-hans"):
        shown = stored_for_reader(run, "message")
        assert CHINESE.search(shown) and "1.00" in shown and not re.search("[a-z]{3}", shown)
        assert "seconds" not in stored_for_reader(Reply.objects.filter(error=OURS).first(), "error")
        assert stored_for_reader(Reply.objects.filter(error=THEIRS).first(), "error") == THEIRS
        details = [line.detail for line in in_words(Endpoint.objects.get().capabilities)]
        assert THEIRS in details and any(CHINESE.search(detail) and "5" in detail for detail in details)
    with translation.override("en"):
        assert stored_for_reader(Reply.objects.filter(error=OURS).first(), "error") == OURS
    for rows, name in ((Score.objects, "reason_json"), (Reply.objects, "error_json"), (Reply.objects, "error")):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            rows.update(**{name: None if name.endswith("json") else ""})
