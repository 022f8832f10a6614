"""Judging by perplexity: which of the two models that wrote the texts finds the human reference likelier. PURE.

HREF (arXiv 2412.15524), 3.2. The texts themselves are not read. Each writer's endpoint is called twice: with
`prefix_messages` to count the tokens before the reference, and with `scoring_messages` for the log-probabilities of all
tokens.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.errors import UserError
from core.messages.message import marked
from judging.methods import messages as reply_messages
from judging.methods.guided import guided, require, what_lacks
from judging.methods.pairs.base import preference
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.prompts import Question
from judging.methods.scales import only_item
from judging.methods.spec import HREF, MethodSpec, Transport

KEY = "perplexity"
TASK_KIND = "pair"
ROLE = "preference"
PREFIX_PARAMETERS: Mapping[str, object] = {"max_tokens": 1, "temperature": 0.0}
SCORING_PARAMETERS: Mapping[str, object] = {
    "max_tokens": 1,
    "temperature": 0.0,
    "prompt_logprobs": 0,
    "add_generation_prompt": False,
    "continue_final_message": True,
}
"""vLLM's names: the log-probability of each token of the prompt, whose last message is left open."""


class By(StrEnum):
    """TOKEN compares the mean per token, which is perplexity; TOTAL the sum, which different tokenizers share."""

    TOKEN = "token"  # nosec B105 # a token of a text
    TOTAL = "total"


class NoLogProbabilities(UserError):
    """The endpoint's answer holds no usable log-probabilities of the reference."""


@dataclass(frozen=True)
class LogProbability:
    """The natural logarithm, at most 0, of the probability of the reference's `tokens` tokens together."""

    total: float
    tokens: int

    @property
    def perplexity(self) -> float:
        return math.exp(-self.total / self.tokens)


def prefix_messages(question: Question) -> list[dict[str, str]]:
    """Return the conversation that the reference answers; its prompt_tokens are passed to `reference_log_probability`."""
    return [{"role": role, "content": text} for role, text in question.conversation]


def scoring_messages(question: Question) -> list[dict[str, str]]:
    """Return the conversation with the human reference as its last message. Raises UserError."""
    whole = guided(require(question, ("reference",), 2))
    return [*prefix_messages(whole), {"role": "assistant", "content": whole.reference}]


def reference_log_probability(prompt_logprobs: object, prefix_tokens: int) -> LogProbability:
    """Sum the prompt_logprobs of the reply to `scoring_messages` after the first `prefix_tokens` tokens.

    `prompt_logprobs` has one entry per token: null for the first, else {token id: {"logprob", ...}} or the number
    itself. Raises NoLogProbabilities.
    """
    if not isinstance(prompt_logprobs, list) or not 0 < prefix_tokens < len(prompt_logprobs):
        found = f"{len(prompt_logprobs)} entries" if isinstance(prompt_logprobs, list) else "none"
        raise NoLogProbabilities(reply_messages.OTHER_SCORES(found=found, n=prefix_tokens))
    values = [_log_probability(entry) for entry in prompt_logprobs[prefix_tokens:]]
    return LogProbability(math.fsum(values), len(values))


def _log_probability(entry: object) -> float:
    """Return the value of an entry, whose first token is the one in the prompt."""
    if isinstance(entry, Mapping) and entry:
        entry = next(iter(entry.values()))
    if isinstance(entry, Mapping):
        entry = entry.get("logprob")
    if isinstance(entry, bool) or not isinstance(entry, int | float) or not math.isfinite(entry) or entry > 1e-6:
        raise NoLogProbabilities(reply_messages.NO_LOG_PROBABILITY(entry=repr(str(entry)[:40])))
    return float(entry)


def not_served(model: str) -> Unscored:
    """Return the outcome for a writer without an endpoint, or whose endpoint gives no log-probabilities."""
    return Unscored(Why.ENDPOINT, reply_messages.NOT_SERVED(model=model))


def decide(
    question: Question, first: LogProbability | Unscored, second: LogProbability | Unscored, *, by: By = By.TOKEN
) -> Verdict | Unscored:
    """Prefer the text whose writer finds the reference likelier; exactly equal is a tie.

    Raises WrongScale if the item has no levels 1, 0 and -1.
    """
    if (lack := what_lacks(question, ("reference",), 2)) is not None:
        return lack
    if isinstance(first, Unscored):
        return first
    if isinstance(second, Unscored):
        return second
    one, other = (_compared(writer, by) for writer in (first, second))
    side = 0 if one == other else (1 if one > other else -1)
    total = by is By.TOTAL
    reason = reply_messages.LOG_PROBABILITIES if total else reply_messages.LOG_PROBABILITIES_A_TOKEN
    return preference(only_item(question.items), side, reason(first=f"{one:.6f}", second=f"{other:.6f}"))


def _compared(writer: LogProbability, by: By) -> float:
    return writer.total if by is By.TOTAL else writer.total / writer.tokens


SPECS = (
    MethodSpec(
        key=KEY,
        name=marked("More likely human reference"),
        asks=marked("The model under which the human reference is more likely. Asks the models that wrote the pair."),
        source=HREF,
        task_kind=TASK_KIND,
        role=ROLE,
        transport=Transport.LOG_PROBABILITIES,
        parts=("reference",),
    ),
)
