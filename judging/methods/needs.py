"""What every method answers, on which scale, over which kind of call, and what it cannot do without. PURE."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from judging.methods.guided import what_lacks
from judging.methods.pairs import (
    composite,
    embedding,
    five as pair_of_five,
    four as pair_of_four,
    heuristics,
    perplexity,
    three as pair_of_three,
)
from judging.methods.pairs.base import PairMethod
from judging.methods.parsing import Unscored
from judging.methods.prompts import Question
from judging.methods.single import (
    checklist,
    graded_score,
    instruction_check,
    overall,
    overall_with_checklist,
    stars,
)
from judging.methods.single.one_score import ScoreMethod
from judging.methods.single.stars import StarsMethod


class Transport(StrEnum):
    """CHAT: one chat call. EMBEDDINGS: one call to /v1/embeddings. LOG_PROBABILITIES: two chat calls to each
    writer's endpoint. NONE: no call. VERDICTS: other methods' stored verdicts."""

    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    LOG_PROBABILITIES = "log_probabilities"
    NONE = "none"
    VERDICTS = "verdicts"


@dataclass(frozen=True)
class Needs:
    """`role` is the role of the criteria it answers, `parts` the fields of GuidedQuestion that must not be empty."""

    task_kind: str
    role: str
    transport: Transport
    parts: tuple[str, ...] = ()


def _asked(method: ScoreMethod | PairMethod | StarsMethod) -> Needs:
    return Needs(method.TASK_KIND, method.ROLE, Transport.CHAT, method.needs)


def _heuristic(rule: heuristics.Rule) -> Needs:
    parts = ("reference",) if rule in heuristics.NEEDS_REFERENCE else ()
    return Needs(heuristics.TASK_KIND, heuristics.ROLE, Transport.NONE, parts)


ASKED = (
    overall.METHOD,
    overall_with_checklist.METHOD,
    stars.SUBJECTIVE,
    stars.OBJECTIVE,
    pair_of_three.PLAIN,
    pair_of_three.WITH_REFERENCE,
    pair_of_four.METHOD,
    pair_of_five.METHOD,
    graded_score.METHOD,
)
NEEDS: Mapping[str, Needs] = {
    checklist.KEY: Needs(checklist.TASK_KIND, "item", Transport.CHAT),
    **{method.KEY: _asked(method) for method in ASKED},
    instruction_check.KEY: Needs(instruction_check.TASK_KIND, instruction_check.ROLE, Transport.CHAT),
    embedding.KEY: Needs(embedding.TASK_KIND, embedding.ROLE, Transport.EMBEDDINGS, ("reference",)),
    perplexity.KEY: Needs(perplexity.TASK_KIND, perplexity.ROLE, Transport.LOG_PROBABILITIES, ("reference",)),
    **{str(rule): _heuristic(rule) for rule in heuristics.Rule},
    composite.KEY: Needs(composite.TASK_KIND, composite.ROLE, Transport.VERDICTS),
}


def needs_no_call(method: str) -> bool:
    """Plain rules, and the choice among verdicts that are stored already."""
    return NEEDS[method].transport in (Transport.NONE, Transport.VERDICTS)


def unanswerable(method: str, question: Question) -> Unscored | None:
    """Why the method cannot be asked this question, before anything is sent; None where it can."""
    if method == embedding.KEY:
        return embedding.problem_with(question)
    needs = NEEDS[method]
    return what_lacks(question, needs.parts, 2 if needs.task_kind == "pair" else 1)
