"""The question that a lead states before launch and whose answer says when labelling may stop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from core.messages.message import Wording

AGREEMENT, BETTER, LEADER, TOP_THREE, WEIGHTS = "agreement", "better", "leader", "top_three", "weights"
STOPPING_QUESTIONS = (AGREEMENT, BETTER, LEADER, TOP_THREE, WEIGHTS)
LEAST_ERROR, MOST_ERROR, USUAL_ERROR = 0.001, 0.2, 0.05

BAD_STOPPING = Wording(
    "study.bad_stopping",
    "Study %(study)s: stopping %(value)s needs a question of agreement, better, leader, top_three and weights, an error "
    "from 0.001 to 0.2, for agreement a threshold above 0 and below 1, and for better two models.",
)


@dataclass(frozen=True)
class StoppingRule:
    """`question` is one of STOPPING_QUESTIONS; `error` the probability (0..1) of ever giving a wrong answer.

    `threshold` is the share of agreeing pairs of raters that agreement has to reach (0..1), 0 for the other questions.
    `models` are the primary keys of the two models that are compared by "better", in this order; else empty.
    """

    question: str
    error: float = USUAL_ERROR
    threshold: float = 0.0
    models: tuple[int, ...] = ()

    @classmethod
    def read(cls, given: object) -> Self | None:
        """Read a stored rule; None if it makes no sense."""
        if not isinstance(given, Mapping):
            return None
        question, models = given.get("question"), given.get("models", [])
        error, threshold = given.get("error", USUAL_ERROR), given.get("threshold", 0.0)
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (error, threshold))
        if question not in STOPPING_QUESTIONS or not numbers or not isinstance(models, list | tuple):
            return None
        rule = cls(question, float(error), float(threshold), tuple(models))
        return rule if rule.is_sensible else None

    @property
    def is_sensible(self) -> bool:
        if not LEAST_ERROR <= self.error <= MOST_ERROR:
            return False
        if self.question == AGREEMENT and not 0 < self.threshold < 1:
            return False
        pks = all(isinstance(one, int) and not isinstance(one, bool) for one in self.models)
        return pks and (self.question != BETTER or len(set(self.models)) == 2 == len(self.models))

    def stored(self) -> dict[str, Any]:
        """The rule as the column `policies` holds it."""
        found: dict[str, Any] = {"question": self.question, "error": self.error}
        if self.question == AGREEMENT:
            found["threshold"] = self.threshold
        if self.question == BETTER:
            found["models"] = list(self.models)
        return found
