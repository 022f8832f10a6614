"""A, B or tie, by the guideline that people see, with or without the human reference. PURE.

HREF (arXiv 2412.15524), figures 9 and 10.
"""

from judging.methods.pairs.base import THREE, PairMethod

PLAIN = PairMethod(
    KEY="pair_of_three",
    TEMPLATE="pair_of_three.txt",
    options=THREE,
    texts=(("reason", ""),),
    shown=("guideline",),
)
WITH_REFERENCE = PairMethod(
    KEY="pair_of_three_reference",
    TEMPLATE="pair_of_three_reference.txt",
    options=THREE,
    texts=(("reason", ""),),
    needs=("reference",),
    shown=("guideline", "reference"),
)
