"""A panel whose weights were fitted to people: its verdict is the weighted mean of its members' stored verdicts. PURE.

The weights of an instruction are those that were fitted without its fold, so that no verdict rests on what people said of
the same instruction.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from core.messages.message import marked
from judging.methods import messages as reply_messages
from judging.methods.combining import Scale, nearest_level
from judging.methods.pairs.base import BOTH_BAD, chosen, level_of
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import number_text
from judging.methods.spec import MethodSpec, Transport

FOLDS = 5
NAME = marked("Weighted panel")
ASKS = marked("The mean of other judges' verdicts with weights that were fitted to people. Calls no model.")
SOURCE = "Breiman (1996)"

ITEMS, SCORE, PREFERENCE = "weighted_items", "weighted_score", "weighted_preference"


def fold_of(instruction: str) -> int:
    """Return the fold, 0 to FOLDS - 1, of the instruction with this name."""
    return int.from_bytes(sha256(instruction.encode()).digest()[:4]) % FOLDS


def weighted(
    verdicts: Mapping[str, Verdict], weights: Mapping[str, float], scales: Sequence[Scale]
) -> Verdict | Unscored:
    """Return the mean of the members' verdicts with `weights`, which sum to 1; a preference is rounded to a level.

    Unscored where a member with a weight gave no verdict, or none on a criterion.
    """
    members = [name for name, weight in weights.items() if weight > 0]
    for name in members:
        if name not in verdicts:
            return Unscored(Why.MISSING, reply_messages.METHOD_WITHOUT_VERDICT(method=name))
    answers: list[Answer] = []
    for scale in scales:
        key = scale.item.key
        given = {name: {answer.key: answer for answer in verdicts[name].answers}.get(key) for name in members}
        silent = next((name for name, answer in given.items() if answer is None), None)
        if silent is not None:
            return Unscored(Why.MISSING, reply_messages.METHOD_WITHOUT_VERDICT(method=silent))
        known = {name: answer for name, answer in given.items() if answer is not None}
        score = sum(weights[name] * answer.value for name, answer in known.items())
        reason = reply_messages.WEIGHTED(
            values=[
                reply_messages.WEIGHTED_VALUE(
                    judge=name, weight=f"{weights[name]:.2f}", value=number_text(round(answer.value, 3))
                )
                for name, answer in known.items()
            ]
        )
        if scale.is_preference:
            bad = sum(weights[name] for name, answer in known.items() if level_of(answer) == BOTH_BAD)
            level = nearest_level(score, scale.item)
            answers.append(chosen(key, BOTH_BAD if score == 0 and bad > 0.5 else level, reason))
        else:
            answers.append(Answer(key, float(score), reason))
    return Verdict(tuple(answers))


SPECS = tuple(
    MethodSpec(key=key, name=NAME, asks=ASKS, source=SOURCE, task_kind=kind, role=role, transport=Transport.VERDICTS)
    for key, kind, role in ((ITEMS, "single", "item"), (SCORE, "single", "overall"), (PREFERENCE, "pair", "preference"))
)
FITTED = frozenset(spec.key for spec in SPECS)
