"""A, B, tie or both bad, with a hint where there is one. PURE. LLMEval (arXiv 2312.07398), figure 10."""

from judging.methods.pairs.base import FOUR, PairMethod

METHOD = PairMethod(
    KEY="pair_of_four",
    TEMPLATE="pair_of_four.txt",
    options=FOUR,
    texts=(("reason", ""),),
    shown=("hint",),
)
