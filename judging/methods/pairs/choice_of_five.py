"""An examination of both texts along the checklist, reasons, then A++ to B++. PURE. WildBench (arXiv 2406.04770),
appendix A.
"""

from core.messages.message import marked
from judging.methods.pairs.base import FIVE, PairMethod
from judging.methods.spec import WILDBENCH, chat_spec

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

SPECS = (
    chat_spec(
        METHOD,
        name=marked("Pair: from A much better to B much better"),
        asks=marked("An analysis of both responses along the checklist, then one of five preferences."),
        source=WILDBENCH,
    ),
)
