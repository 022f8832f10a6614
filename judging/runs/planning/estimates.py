"""The number of calls a run would make and their cost, before anything is created, planned or sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Avg

from annotation.models import Study, Task
from generation.endpoints.pricing import ModelPrice, currency_of, names_without_price, price_of
from generation.llm.protocol.prices import NOTHING, Spend
from generation.models import LanguageModel
from judging.judges.judge_calls import shown
from judging.judges.questions import Questions
from judging.judges.transports import transport_of
from judging.methods.parsing import Unscored
from judging.methods.registry import needs_no_call, unanswerable
from judging.models import Judge, PlannedItem, Reply
from judging.runs.planning.canary_placement import CANARIES, takes_canaries
from judging.runs.planning.preview import prospect
from judging.runs.planning.request import RunRequest
from judging.runs.planning.requirements import Lack

EARLIER_REPLIES = 500


@dataclass(frozen=True)
class Estimate:
    """`most` is an upper estimate: the longest allowed answers, no reused replies, no repeated questions.

    `usual` uses the mean of the judges' earlier replies; None if one of them has none. `unanswerable` is the share,
    0..1, of the sampled questions that lack something and therefore cost no call; `lacks` says what is missing in how
    many. Money is in `currency` and only known where `unpriced`, the models without a price, is empty.
    """

    tasks: int
    canaries: int
    most: Spend
    usual: Spend | None
    unanswerable: float
    lacks: list[Lack]
    prices: list[ModelPrice]
    unpriced: list[str]
    currency: str

    @property
    def priced(self) -> bool:
        """Whether the price of every model that would be asked is known."""
        return bool(self.prices) and not self.unpriced

    def as_json(self) -> dict[str, object]:
        priced = not self.unpriced  # a judge that asks no model costs nothing
        return {
            "tasks": self.tasks,
            "canaries": self.canaries,
            "unanswerable": self.unanswerable,
            "most": self.most.as_json(priced=priced),
            "usual": self.usual.as_json(priced=priced) if self.usual else None,
            "unpriced": self.unpriced,
            "currency": self.currency,
        }


def estimate_run(request: RunRequest) -> Estimate:
    """Estimate the requested run. Writes nothing unless the panel of its judges is new. Raises what planning raises."""
    judges, found = request.judges, prospect(request)
    drawn = found.drawn
    times = request.repeats * request.orders
    planted = CANARIES * (2 if request.pairs else 1) if request.canaries and found.tasks else 0
    most, usual, lacking, canaries = NOTHING, NOTHING, 0, 0
    complete = True
    for judge in judges:
        mean, lacks = _mean_reserve(judge, found.study, drawn)
        added = planted if takes_canaries(judge) else 0
        canaries += added
        asked = round(found.tasks * times * (1 - lacks / len(drawn))) + added if drawn else 0
        if needs_no_call(judge.method):
            asked = 0
        most += _times(mean, asked)
        earlier = _mean_reply(judge)
        complete = complete and (earlier is not None or asked == 0)
        usual += _times(earlier or NOTHING, asked)
        lacking += lacks
    prices = [price_of(model) for model in _models_asked(judges, drawn)]
    return Estimate(
        tasks=found.tasks,
        canaries=canaries,
        most=most,
        usual=usual if complete and most.calls else None,
        unanswerable=lacking / (len(drawn) * len(judges)) if drawn else 0.0,
        lacks=found.lacks,
        prices=prices,
        unpriced=names_without_price(prices),
        currency=currency_of(request.target.workspace.pk),
    )


def _mean_reserve(judge: Judge, study: Study, tasks: Sequence[Task]) -> tuple[Spend, int]:
    """Return the maximum mean cost of a call, and the number of tasks that cannot be asked about."""
    if needs_no_call(judge.method):
        return NOTHING, 0
    questions, transport = Questions.of(judge, study), transport_of(judge)
    questions.learn(tasks)
    total, asked = NOTHING, 0
    for task in tasks:
        item = PlannedItem(task=task, shown_first="a")
        question = shown(item, questions.about(task))
        begun = unanswerable(judge.method, question) or transport.begin(item, question)
        if not isinstance(begun, Unscored):
            transport.prepare(begun)
            total += begun.reserve
            asked += 1
    if not asked:
        return NOTHING, len(tasks)
    mean = Spend(round(total.calls / asked), round(total.tokens / asked), total.money / asked)
    return mean, len(tasks) - asked


def _mean_reply(judge: Judge) -> Spend | None:
    """Return the mean usage of the judge's newest paid replies."""
    newest = Reply.objects.filter(item__assignment__rater=judge.rater_id, reused_from=None, error="")
    means = Reply.objects.filter(
        pk__in=newest.order_by("-pk").values_list("pk", flat=True)[:EARLIER_REPLIES]
    ).aggregate(calls=Avg("calls"), read=Avg("input_tokens"), written=Avg("output_tokens"), money=Avg("cost"))
    if means["read"] is None:
        return None
    return Spend(round(means["calls"]), round(means["read"] + means["written"]), Decimal(means["money"]))


def _times(spend: Spend, count: int) -> Spend:
    return Spend(spend.calls * count, spend.tokens * count, spend.money * count)


def _models_asked(judges: Sequence[Judge], drawn: Sequence[Task]) -> list[LanguageModel]:
    """Return the models that the judges call, each once: their own, or those that wrote the sampled responses."""
    asked: dict[int, LanguageModel] = {}
    for judge in judges:
        if needs_no_call(judge.method):
            continue
        own = judge.language_model
        writers = (side.model for task in drawn for side in (task.response_a, task.response_b) if side is not None)
        asked |= {model.pk: model for model in ([own] if own is not None else writers) if model is not None}
    return list(asked.values())
