"""The number of calls a generation run would make and their cost, before anything is created, planned or sent."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Avg

from generation.endpoints.clients import context_of, endpoint_of
from generation.endpoints.pricing import ModelPrice, currency_of, names_without_price, price_of
from generation.llm.protocol.prices import NOTHING, Prices, Spend
from generation.llm.protocol.token_limits import allowed_tokens, estimated_tokens
from generation.llm.protocol.wrapping import NothingToWrap, chat_of
from generation.models import Instruction, LanguageModel, Response
from generation.responses.plan import GenerationRequest, NothingToGenerate, chosen_instructions
from generation.responses.queue import new_tokens_of

DRAWN = 50
EARLIER = 500


@dataclass(frozen=True)
class GenerationEstimate:
    """`most` has every text at its longest; `usual` is by the models' earlier texts, None if one of them has none.

    Money is only known where `unpriced`, the models without a price, is empty; it is in `currency`.
    """

    instructions: int
    most: Spend
    usual: Spend | None
    prices: list[ModelPrice]
    unpriced: list[str]
    currency: str

    @property
    def priced(self) -> bool:
        """Whether the price of every model that would be asked is known."""
        return not self.unpriced

    def as_json(self) -> dict[str, object]:
        return {
            "instructions": self.instructions,
            "most": self.most.as_json(priced=self.priced),
            "usual": self.usual.as_json(priced=self.priced) if self.usual else None,
            "unpriced": self.unpriced,
            "currency": self.currency,
        }


def estimate_generation(request: GenerationRequest) -> GenerationEstimate:
    """Estimate the requested run. Writes nothing. Raises NothingToGenerate, NoEndpoint."""
    pks = chosen_instructions(request)
    if not pks:
        raise NothingToGenerate(f"Benchmark {request.benchmark.slug} has no such instruction with a text.")
    step = max(1, len(pks) // DRAWN)
    drawn = list(Instruction.objects.filter(pk__in=pks[::step][:DRAWN]))
    times = len(pks) * request.samples
    prices = [price_of(model) for model in request.models]
    most, usual, complete = NOTHING, NOTHING, True
    for model, price in zip(request.models, prices, strict=True):
        read, written = _longest(model, drawn, request)
        most += _spend(times, read, written, price.prices)
        earlier = _earlier_tokens(model, request)
        complete = complete and earlier is not None
        usual += _spend(times, read, min(earlier or 0, written), price.prices)
    return GenerationEstimate(
        instructions=len(pks),
        most=most,
        usual=usual if complete else None,
        prices=prices,
        unpriced=names_without_price(prices),
        currency=currency_of(request.benchmark.workspace_id),
    )


def _longest(model: LanguageModel, drawn: list[Instruction], request: GenerationRequest) -> tuple[float, float]:
    """Return the mean tokens of a prompt and of the longest text that the model may write."""
    endpoint = endpoint_of(model)
    settings, sampling = request.settings(), request.sampling()
    prompts, texts = [], []
    for instruction in drawn:
        try:
            messages = chat_of(
                instruction.messages or [],
                request.experiment,
                language=instruction.language,
                of_instruction=instruction.words_asked,
            )
        except NothingToWrap:
            continue
        read = estimated_tokens(messages)
        _key, limit, _rest = new_tokens_of(model, instruction, sampling, settings)
        prompts.append(read)
        texts.append(allowed_tokens(limit, read, context_of(model, endpoint)))
    if not prompts:
        return 0.0, 0.0
    return sum(prompts) / len(prompts), sum(texts) / len(texts)


def _earlier_tokens(model: LanguageModel, request: GenerationRequest) -> float | None:
    """Return the mean tokens of the model's newest texts, of this benchmark if it has any; None if it has written none."""
    texts = Response.objects.filter(model=model, kind=Response.Kind.RESPONSE, tokens__gt=0, run__isnull=False)
    own = texts.filter(instruction__benchmark=request.benchmark, run__experiment=request.experiment)
    for found in (own, texts):
        newest = found.order_by("-pk").values_list("pk", flat=True)[:EARLIER]
        mean: float | None = Response.objects.filter(pk__in=list(newest)).aggregate(n=Avg("tokens"))["n"]
        if mean is not None:
            return mean
    return None


def _spend(times: int, read: float, written: float, prices: Prices) -> Spend:
    money = (prices.read * Decimal(read) + prices.written * Decimal(written)) * times / Decimal(1_000_000)
    return Spend(times, round((read + written) * times), money)
