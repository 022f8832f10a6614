"""The registry of judging methods by key: a new one is a file with its SPECS, and a line here. PURE."""

from collections.abc import Mapping

from core.errors import UserError
from judging.methods import weighted
from judging.methods.guided import what_lacks
from judging.methods.pairs import (
    choice_of_five as five,
    choice_of_four as four,
    choice_of_three as three,
    composite,
    embedding,
    heuristics,
    perplexity,
)
from judging.methods.parsing import Unscored
from judging.methods.prompts import Question
from judging.methods.single import checklist, graded_score, instruction_check, overall, overall_with_checklist, stars
from judging.methods.spec import ChatMethod, MethodSpec, Transport

METHODS: Mapping[str, MethodSpec] = {
    spec.key: spec
    for specs in (
        checklist.SPECS,
        overall.SPECS,
        overall_with_checklist.SPECS,
        stars.SPECS,
        three.SPECS,
        four.SPECS,
        five.SPECS,
        graded_score.SPECS,
        instruction_check.SPECS,
        embedding.SPECS,
        perplexity.SPECS,
        heuristics.SPECS,
        composite.SPECS,
        weighted.SPECS,
    )
    for spec in specs
}
"""The methods in the order in which pages list them, those with a prompt first."""
OFFERED: Mapping[str, MethodSpec] = {key: spec for key, spec in METHODS.items() if key not in weighted.FITTED}
"""The methods of which anybody can make a judge; that of a panel with weights is made from a fit."""
PROMPTED: Mapping[str, ChatMethod] = {key: spec.chat for key, spec in METHODS.items() if spec.chat is not None}
"""The methods that have a prompt."""


def chat_method(key: str) -> ChatMethod:
    """Return how a method with a prompt is asked. Raises UserError for any other name."""
    if key not in PROMPTED:
        raise UserError(f"There is no judging method {key!r}; there are: {', '.join(PROMPTED)}.")
    return PROMPTED[key]


def needs_no_call(method: str) -> bool:
    """Whether the method makes no call: rules, and the choice among stored verdicts."""
    return METHODS[method].transport in (Transport.NONE, Transport.VERDICTS)


def unanswerable(method: str, question: Question) -> Unscored | None:
    """Return why the method cannot be asked this question, before anything is sent; otherwise None."""
    spec = METHODS[method]
    if spec.problem_with is not None:
        return spec.problem_with(question)
    return what_lacks(question, spec.parts, 2 if spec.task_kind == "pair" else 1)
