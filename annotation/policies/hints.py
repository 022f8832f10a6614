"""Whether a rater sees the hints of a study's instructions: the policy "hints" is "hidden", "shown" or "split".

In a split, raters are drawn into two halves as they come; what each answer was given under is kept with it.
"""

from random import Random

from annotation.models import Rater, Study

CHOICES = ("hidden", "shown", "split")
CONDITION = "hint"


def sees_hint(study: Study, rater: int) -> bool:
    """Whether this rater is shown hints; the same answer every time. Of two raters with neighbouring ids one is."""
    policy = study.policies.get("hints", "hidden")
    if policy != "split":
        return bool(policy == "shown")
    first = Random(f"{study.seed}:hints:{rater // 2}").getrandbits(1)
    return bool(first) == (rater % 2 == 0)


def hint_conditions(study: Study, rater: Rater) -> dict[str, bool]:
    """What is kept with the rater's answers about hints; nothing where the study never chose."""
    return {CONDITION: sees_hint(study, rater.pk)} if "hints" in study.policies else {}
