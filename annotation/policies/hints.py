"""Whether a rater sees the hints of a study's instructions: the policy "hints" is "hidden", "shown" or "split".

In a split, raters are assigned to two halves at random as they join; each answer records its condition.
"""

from random import Random

from annotation.models import Rater, Study
from annotation.policies.policies import Policies

CONDITION = "hint"


def sees_hint(study: Study, rater: int) -> bool:
    """Whether this rater sees hints; the result is stable. In a split, one of two raters with neighboring ids does."""
    policy = Policies.of(study).hints
    if policy != "split":
        return policy == "shown"
    first = Random(f"{study.seed}:hints:{rater // 2}").getrandbits(1)
    return bool(first) == (rater % 2 == 0)


def hint_conditions(study: Study, rater: Rater) -> dict[str, bool]:
    """The hint condition stored with the rater's answers; empty if the study has no hints policy."""
    return {CONDITION: sees_hint(study, rater.pk)} if "hints" in Policies.of(study).stated else {}
