"""Trials of a prompt: what one would cost, its beginning, and its end.

A trial is a record for KEPT and then deleted: what it cost has to count until its month is over, its raw replies show how
a version of a prompt behaved for as long as somebody works on it, and none of it is a result that must last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_UP, Decimal

from django.db import transaction
from django.db.models import Avg, Sum
from django.utils.translation import gettext

from accounts.models import User
from annotation.models import Task
from core.background import send_after_commit
from core.clock import Clock
from core.errors import UserError
from core.messages.rendering import for_reader
from core.text import storable
from generation.endpoints.pricing import ModelPrice, currency_of, names_without_price, price_of
from generation.execution.monthly_limit import month_of
from generation.execution.progress import sums_of
from generation.execution.states import RunKind
from generation.execution.write_ahead_log import LoggedReply
from generation.llm.protocol.prices import NOTHING, Spend
from generation.llm.requests import Reply as ChatReply
from generation.models import LanguageModel
from judging.judges.judge_calls import shown
from judging.judges.making import judge_parameters
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.methods.parsing import Unscored
from judging.methods.prompts import estimated_tokens, prompt_hash
from judging.methods.registry import unanswerable
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import Judge, PlannedItem, PromptTrial, Reply, TrialItem
from judging.trials.chosen_tasks import about, task_of

TASK = "judging.try_prompt"
SIZES = (1, 5)
"""How many answers a trial may ask about."""
KEPT = timedelta(days=90)
EARLIER_REPLIES = 500
MICRO = Decimal("0.000001")


@dataclass(frozen=True)
class TrialPrice:
    """What asking once about each of `tasks` may cost. `most`: every answer has the maximum length.

    `likely` takes the length of this model's earlier answers by the same method; None if there are none. `problems` say
    why some of the tasks cannot be asked about, which costs nothing. Money is known only where `priced`.
    """

    tasks: int
    most: Spend
    likely: Spend | None
    problems: list[str]
    prices: list[ModelPrice]
    currency: str

    @property
    def unpriced(self) -> list[str]:
        return names_without_price(self.prices)

    @property
    def priced(self) -> bool:
        return not self.unpriced


def draft_judge(model: LanguageModel, method: str, prompt: str, parameters: Mapping[str, object]) -> Judge:
    """Return an unsaved judge with this version of the prompt."""
    return Judge(
        workspace=model.workspace,
        language_model=model,
        method=method,
        prompt=prompt,
        parameters=judge_parameters(model, parameters),
    )


def price_of_trial(judge: Judge, tasks: Sequence[Task]) -> TrialPrice:
    """Return what a trial of the unsaved judge would cost; nothing is sent."""
    transport, most, read, problems = ChatTransport(judge), NOTHING, 0, []
    for task in tasks:
        item = PlannedItem(pk=0, task=task, shown_first="a")
        try:
            question = shown(item, Questions.of(judge, task.study).about(task))
            begun = unanswerable(judge.method, question) or transport.begin(item, question)
        except (WrongScale, MixedScales) as error:
            problems.append(f"{about(task)}: {for_reader(error)}")
            continue
        if isinstance(begun, Unscored):
            problems.append(f"{about(task)}: {for_reader(begun.detail)}")
            continue
        transport.prepare(begun)
        most += begun.reserve
        read += sum(estimated_tokens(message["content"]) for message in begun.request.messages)
    written = _usual_length(judge)
    likely = None
    if written is not None and most.calls:
        written = min(round(written * most.calls), most.tokens - read)
        likely = Spend(most.calls, read + written, transport.prices.cost(read, written))
    model = transport.model
    return TrialPrice(len(tasks), most, likely, problems, [price_of(model)], currency_of(model.workspace_id))


def _usual_length(judge: Judge) -> float | None:
    """Return the mean tokens of the model's newest answers by the same method; None if it has none."""
    newest = Reply.objects.filter(
        item__run__judge__language_model=judge.language_model,
        item__run__judge__method=judge.method,
        reused_from=None,
        error="",
    ).order_by("-pk")
    pks = newest.values_list("pk", flat=True)[:EARLIER_REPLIES]
    found: float | None = Reply.objects.filter(pk__in=pks).aggregate(n=Avg("output_tokens"))["n"]
    if found is None:
        tried = TrialItem.objects.filter(
            run__language_model=judge.language_model, run__method=judge.method, output_tokens__gt=0
        )
        found = tried.aggregate(n=Avg("output_tokens"))["n"]
    return found


def begin_trial(
    judge: Judge, tasks: Sequence[Task], *, source: str, number: int, clock: Clock, user: User | None = None
) -> PromptTrial:
    """Store a trial of the unsaved judge and hand it to a worker. Raises UserError if the month has no room for it."""
    model = judge.language_model
    assert model is not None
    price = price_of_trial(judge, tasks)
    if not price.most.calls:
        raise UserError(gettext("None of these answers can be asked about, so there is nothing to try."))
    month = month_of(model.workspace_id, clock)
    if month is not None and month.room < price.most.money:
        raise UserError(
            gettext(
                "The trial might cost %(most)s, but only %(room)s of the workspace's limit for this month is left. Try "
                "fewer answers, or ask an owner to raise the limit."
            )
            % {"most": f"{price.most.money:.6f}", "room": f"{month.room:.6f}"}
        )
    with transaction.atomic():
        trial = PromptTrial.objects.create(
            language_model=model,
            method=judge.method,
            prompt=judge.prompt,
            prompt_hash=prompt_hash(judge.prompt),
            parameters=judge.parameters,
            source=source[:60],
            number=number,
            budget_money=price.most.money.quantize(MICRO, ROUND_UP) if price.most.money else None,
            created_by=user,
        )
        TrialItem.objects.bulk_create(
            TrialItem(
                run=trial,
                position=position,
                about=about(task)[:300],
                task=task if task.pk else None,
                response=task.response_a,
                rubric=task.answer_rubric,
            )
            for position, task in enumerate(tasks)
        )
        TRIALS.start(trial, clock=clock, user=user)
        send_after_commit(TASK, trial.pk, kept=False)
    return trial


def task_of_item(item: TrialItem) -> Task | None:
    """Return what the item asks about: its task, or its response as one; None if it was removed since."""
    if item.task is not None:
        return item.task
    if item.response is None or item.rubric is None:
        return None
    return task_of(item.run.language_model.workspace, item.response, item.rubric)


def spent_of(trial: PromptTrial) -> Spend:
    sums = sums_of(trial.items.all(), written="output_tokens", sent=Sum("calls", default=0))
    return Spend(sums["sent"], sums["read"] + sums["written"], Decimal(sums["money"]))


def store_replies(trial: PromptTrial, replies: Sequence[LoggedReply]) -> int:
    """Store replies from a write-ahead log in the items that have none yet; return how many were new.

    The worker that goes on reads them instead of asking again.
    """
    with transaction.atomic():
        items = trial.items.select_for_update().in_bulk([logged.item for logged in replies])
        new = [logged for logged in replies if logged.item in items and not items[logged.item].text]
        for logged in new:
            add_reply(items[logged.item], logged, Decimal(logged.cost), logged.request_hash)
            items[logged.item].save()
    return len(new)


def add_reply(item: TrialItem, reply: LoggedReply | ChatReply, cost: Decimal, request_hash: str) -> None:
    """Set a reply's text and add its tokens and cost; the item is not saved."""
    item.request_hash = request_hash
    item.text, item.finish_reason = storable(reply.text), storable(reply.finish_reason)[:30]
    item.input_tokens += reply.input_tokens
    item.output_tokens += reply.output_tokens
    item.calls += reply.calls
    item.cost += cost
    item.seconds += reply.seconds


def remove_old(clock: Clock) -> int:
    """Delete the trials that are older than KEPT and not under way; return their number."""
    old = PromptTrial.objects.filter(created_at__lt=clock() - KEPT)
    old = old.exclude(status=PromptTrial.Status.RUNNING)
    count = old.count()
    old.delete()
    return count


TRIALS = RunKind(PromptTrial, TASK, store_replies, lambda _trial: {}, lambda _trial: {})
