"""Both texts examined along the checklist, reasons, then A++ to B++. PURE. WildBench (arXiv 2406.04770), appendix A."""

from judging.methods.pairs.base import FIVE, PairMethod

METHOD = PairMethod(
    KEY="pair_of_five",
    TEMPLATE="pair_of_five.txt",
    options=FIVE,
    texts=(
        ("analysis_a", "A: "),
        ("analysis_b", "B: "),
        ("for_neither", "For neither: "),
        ("for_a", "For A: "),
        ("for_b", "For B: "),
    ),
    needs=("guides",),
    shown=("checklist",),
)
