"""Judging by similarity: which of two texts is nearer to the human reference. PURE. HREF (arXiv 2412.15524), D.3.

One call to /v1/embeddings with `texts` gives three vectors for `decide`. There is no prompt and no sampling.
"""

import math
from collections.abc import Sequence

from core.messages.message import marked
from judging.methods import messages as reply_messages
from judging.methods.guided import guided, require, what_lacks
from judging.methods.pairs.base import preference
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.prompts import Question
from judging.methods.scales import only_item
from judging.methods.spec import HREF, MethodSpec, Transport

KEY = "embedding"
TASK_KIND = "pair"
ROLE = "preference"
SAME = 1e-12


def problem_with(question: Question) -> Unscored | None:
    """Say why nothing can be embedded: no reference, or an empty text, which has no vector."""
    lack = what_lacks(question, ("reference",), 2)
    if lack is None and not all(text.strip() for text in question.responses):
        return Unscored(Why.NO_TEXT, reply_messages.EMPTY_EMBEDDED())
    return lack


def texts(question: Question) -> tuple[str, str, str]:
    """Return what is embedded, in this order: the reference, the text shown first, the other. Raises UserError."""
    whole = guided(require(question, ("reference",), 2))
    return whole.reference, whole.responses[0], whole.responses[1]


def decide(question: Question, vectors: Sequence[Sequence[float]]) -> Verdict | Unscored:
    """Return the nearer text by cosine; exactly equal is a tie. `vectors` are those of `texts`, all of one length.

    Unscored if a vector is missing, not finite, of another length or zero. Raises WrongScale if the item has no levels
    1, 0 and -1.
    """
    if (lack := problem_with(question)) is not None:
        return lack
    if len(vectors) != 3 or not vectors[0] or len({len(vector) for vector in vectors}) != 1:
        return Unscored(Why.UNREADABLE, reply_messages.OTHER_VECTORS(found=str([len(v) for v in vectors])))
    lengths = [math.hypot(*vector) for vector in vectors]
    if not all(math.isfinite(length) and length > 0 for length in lengths):
        return Unscored(Why.UNREADABLE, reply_messages.ZERO_VECTOR())
    first, second = (_cosine(vectors[0], vectors[n], lengths[0], lengths[n]) for n in (1, 2))
    side = 0 if abs(first - second) <= SAME else (1 if first > second else -1)
    reason = reply_messages.COSINES(first=f"{first:.6f}", second=f"{second:.6f}")
    return preference(only_item(question.items), side, reason)


def _cosine(one: Sequence[float], other: Sequence[float], length: float, other_length: float) -> float:
    return math.fsum(a / length * (b / other_length) for a, b in zip(one, other, strict=True))


SPECS = (
    MethodSpec(
        key=KEY,
        name=marked("Closer embedding"),
        asks=marked("The response whose embedding is closer to that of the human reference."),
        source=HREF,
        task_kind=TASK_KIND,
        role=ROLE,
        transport=Transport.EMBEDDINGS,
        parts=("reference",),
        problem_with=problem_with,
    ),
)
