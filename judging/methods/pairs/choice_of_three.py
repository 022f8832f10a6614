"""A choice of A, B or tie by the guideline that raters see, with or without the human reference. PURE.

HREF (arXiv 2412.15524), figures 9 and 10.
"""

from core.messages.message import marked
from judging.methods.pairs.base import THREE, PairMethod
from judging.methods.spec import HREF, chat_spec

PLAIN = PairMethod(
    KEY="pair_of_three", TEMPLATE="pair_of_three.txt", options=THREE, texts=(("reason", ""),), shown=("guideline",)
)
WITH_REFERENCE = PairMethod(
    KEY="pair_of_three_reference",
    TEMPLATE="pair_of_three_reference.txt",
    options=THREE,
    texts=(("reason", ""),),
    needs=("reference",),
    shown=("guideline", "reference"),
)

SPECS = (
    chat_spec(
        PLAIN,
        name=marked("Pair: A, B or tie"),
        asks=marked("Which of two responses is better, with the guideline that raters are given."),
        source=HREF,
    ),
    chat_spec(
        WITH_REFERENCE,
        name=marked("Pair: A, B or tie, with human reference"),
        asks=marked("Which of two responses is better, with the same guideline and the human reference."),
        source=HREF,
    ),
)
