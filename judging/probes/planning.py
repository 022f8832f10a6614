"""The price of a run of probes before it starts, and the run itself: a judging run like any other, with its own tasks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Avg

from annotation.models import Task
from core.clock import Clock
from generation.endpoints.clients import sampling_parameters
from generation.endpoints.pricing import ModelPrice, currency_of, names_without_price, price_of
from generation.llm.protocol.prices import NOTHING, Spend
from generation.models import Response
from judging.judges.judge_calls import shown
from judging.judges.making import create_judge, judge_parameters
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.methods.parsing import Unscored
from judging.methods.prompts import estimated_tokens, prompt_hash
from judging.models import Judge, JudgeRun, PlannedItem, Reply
from judging.probes.design import ProbeDesign, ProbeQuestion, design_of
from judging.probes.request import ProbeRequest
from judging.runs.queue import ATTEMPTS

A_MINUTE = timedelta(minutes=1)
EARLIER_REPLIES = 500
LONGEST_NAME = 180


@dataclass(frozen=True)
class ProbePrice:
    """What the probes would cost: `most`, if every answer has the maximum length, for the questions without a stored reply.

    `usual` takes the mean length of this judge's earlier replies; None if there are none. `stored` questions are answered
    from stored replies at no cost, and `unanswerable` ones are too long for the model's context. Money is known only
    where `priced`.
    """

    design: ProbeDesign
    questions: int
    stored: int
    unanswerable: int
    most: Spend
    usual: Spend | None
    prices: list[ModelPrice]
    currency: str

    @property
    def unpriced(self) -> list[str]:
        return names_without_price(self.prices)

    @property
    def priced(self) -> bool:
        return not self.unpriced

    def as_json(self) -> dict[str, object]:
        """Return the price as the command and the API give it; money as text, null where a price is unknown."""
        return {
            "probes": [asdict(arm) for arm in self.design.arms],
            "left_out": [{"probe": key, "why": str(why)} for key, why in self.design.left_out],
            "responses": self.design.responses,
            "instructions": self.design.instructions,
            "questions": self.questions,
            "stored": self.stored,
            "unanswerable": self.unanswerable,
            "most": self._spend(self.most),
            "usual": self._spend(self.usual) if self.usual else None,
            "currency": self.currency,
        }

    def _spend(self, spend: Spend) -> dict[str, object]:
        return {"calls": spend.calls, "tokens": spend.tokens, "money": f"{spend.money:f}" if self.priced else None}


def price_of_probes(request: ProbeRequest) -> ProbePrice:
    """Return what the requested probes would cost; nothing is written or sent. Raises ProbesRefused."""
    design, judge = design_of(request), request.judge
    judges = [judge, *(_draft(judge, prompt) for prompt in request.prompts)]
    transports = [ChatTransport(one) for one in judges]
    questions = Questions.of(judge, request.study)
    hashes: dict[str, list[tuple[Spend, int]]] = {}
    unanswerable = 0
    for one in design.questions:
        item = PlannedItem(pk=0, task=one.task, shown_first=one.first, repeat=one.repeat)
        transport = transports[one.juror]
        call = transport.begin(item, shown(item, questions.about(one.task)))
        if isinstance(call, Unscored):
            unanswerable += 1
            continue
        transport.prepare(call)
        read = sum(estimated_tokens(message["content"]) for message in call.request.messages)
        hashes.setdefault(call.request_hash, []).append((call.reserve, read))
    known = _stored(judge, hashes) if request.reuse else set()
    paid = [cost for hashed, costs in hashes.items() if hashed not in known for cost in costs]
    most = sum((spend for spend, _read in paid), NOTHING)
    model = transports[0].model
    return ProbePrice(
        design=design,
        questions=len(design.questions),
        stored=len(design.questions) - unanswerable - len(paid),
        unanswerable=unanswerable,
        most=most,
        usual=_usual(judge, transports[0], paid, most),
        prices=[price_of(model)],
        currency=currency_of(model.workspace_id),
    )


def _draft(judge: Judge, prompt: str) -> Judge:
    return Judge(
        workspace=judge.workspace,
        language_model=judge.language_model,
        method=judge.method,
        prompt=prompt,
        prompt_hash=prompt_hash(prompt),
        parameters=judge.parameters,
    )


def _stored(judge: Judge, hashes: Iterable[str]) -> set[str]:
    """Return those of the questions that a stored reply of the workspace answers."""
    replies = Reply.objects.filter(
        request_hash__in=list(hashes),
        error="",
        item__status=PlannedItem.Status.SCORED,
        item__run__judge__workspace_id=judge.workspace_id,
    )
    return set(replies.values_list("request_hash", flat=True))


def _usual(judge: Judge, transport: ChatTransport, paid: Sequence[tuple[Spend, int]], most: Spend) -> Spend | None:
    newest = Reply.objects.filter(item__run__judge=judge, reused_from=None, error="").order_by("-pk")
    pks = list(newest.values_list("pk", flat=True)[:EARLIER_REPLIES])
    length = Reply.objects.filter(pk__in=pks).aggregate(n=Avg("output_tokens"))["n"]
    if length is None or not paid:
        return None
    read = sum(tokens for _spend, tokens in paid)
    written = min(round(length * len(paid)), max(0, most.tokens - read))
    return Spend(len(paid), read + written, transport.prices.cost(read, written))


def create_probe_run(request: ProbeRequest) -> JudgeRun:
    """Create the run with its judges, tasks and items, not yet started. Raises ProbesRefused, JudgeRefused."""
    design = design_of(request)
    with transaction.atomic():
        judges = [request.judge, *(wording_of(request.judge, prompt) for prompt in request.prompts)]
        run = JudgeRun.objects.create(
            judge=request.judge,
            study=request.study,
            budget_calls=request.budget.calls,
            budget_tokens=request.budget.tokens,
            budget_money=request.budget.money,
            seed=request.seed,
            created_by=request.user,
            manifest={"settings": _settings(request, judges)},
            probes=stored_design(design),
        )
        tasks = _store_tasks(design)
        PlannedItem.objects.bulk_create(
            PlannedItem(
                run=run,
                task_id=tasks[one.task.key],
                shown_first=one.first,
                repeat=one.repeat,
                juror=one.juror,
                position=place,
            )
            for place, one in enumerate(design.questions)
        )
    return run


def stored_design(design: ProbeDesign) -> dict[str, object]:
    """Return what a run keeps of its design; the sentences on probes that were left out are for the price page only."""
    request = design.request
    return {
        "arms": [{"key": arm.key, "growth": round(arm.growth, 4)} for arm in design.arms],
        "author": request.author.strip() if "author" in request.keys else "",
        "wordings": [prompt_hash(prompt) for prompt in request.prompts],
        "responses": design.responses,
        "instructions": design.instructions,
        "left_out": [key for key, _why in design.left_out],
    }


def sent_just_now(request: ProbeRequest, *, clock: Clock) -> JudgeRun | None:
    """Return the same run if the same person asked for it within the last minute, because the form was sent twice."""
    lately = JudgeRun.objects.filter(
        judge=request.judge,
        study=request.study,
        created_by=request.user,
        seed=request.seed,
        created_at__gte=clock() - A_MINUTE,
        probes__isnull=False,
    ).exclude(status__in=[JudgeRun.Status.CANCELLED, JudgeRun.Status.FAILED])
    wanted = stored_design(design_of(request))
    return next((run for run in lately if run.probes == wanted), None)


def wording_of(judge: Judge, prompt: str) -> Judge:
    """Return the judge with this prompt and otherwise as `judge`, an existing or a new one. Raises JudgeRefused."""
    model = judge.language_model
    assert model is not None
    without = dict.fromkeys({*judge_parameters(model, {}), *sampling_parameters(model)} - set(judge.parameters))
    name = f"{judge.rater.label[:LONGEST_NAME]}, wording {prompt_hash(prompt)[:6]}"
    given = {**without, **judge.parameters}
    return create_judge(model=model, method=judge.method, prompt=prompt, parameters=given, name=name)


def _settings(request: ProbeRequest, judges: Sequence[Judge]) -> dict[str, object]:
    return {
        "attempts": ATTEMPTS,
        "limit": request.size,
        "concurrency": request.concurrency,
        "reuse": request.reuse,
        "only_rated": False,
        "jurors": [judge.pk for judge in judges],
        "both_orders": False,
        "repeats": 1,
        "combine": "",
        "canaries": False,
        "probe": True,
    }


def _store_tasks(design: ProbeDesign) -> Mapping[str, int]:
    """Store the changed copies and the tasks of the questions that are not there yet; return the tasks' pks by key."""
    study = design.request.study
    copies = _stored_copies(design.questions)
    by_key = {one.task.key: one.task for one in design.questions}
    for task in by_key.values():
        task.study = study
        for side in ("response_a", "response_b"):
            response = getattr(task, side)
            if response is not None and response.pk is None:
                setattr(task, side, copies[response.instruction_id, response.external_id])
    Task.objects.bulk_create(by_key.values(), ignore_conflicts=True)
    return dict(Task.objects.filter(study=study, key__in=by_key).values_list("key", "pk"))


def _stored_copies(questions: Sequence[ProbeQuestion]) -> Mapping[tuple[int, str], Response]:
    new: dict[tuple[int, str], Response] = {}
    for one in questions:
        for side in (one.task.response_a, one.task.response_b):
            if side is not None and side.pk is None:
                new[side.instruction_id, side.external_id] = side
    Response.objects.bulk_create(new.values(), ignore_conflicts=True)
    found = Response.objects.filter(
        model=None,
        instruction__in={instruction for instruction, _name in new},
        external_id__in=[name for _instruction, name in new],
    )
    return {(response.instruction_id, response.external_id): response for response in found}
