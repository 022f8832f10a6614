"""Strengths and weaknesses along the checklist, then a score from 1 to 10. PURE. WildBench (arXiv 2406.04770), appendix
B.
"""

from core.messages.message import marked
from judging.methods.single.one_score import ScoreMethod
from judging.methods.spec import WILDBENCH, chat_spec

METHOD = ScoreMethod(
    KEY="graded_score",
    TEMPLATE="graded_score.txt",
    texts=(("strengths", "Strengths: "), ("weaknesses", "Weaknesses: ")),
    needs=("guides",),
)

SPECS = (
    chat_spec(
        METHOD,
        name=marked("Graded score"),
        asks=marked("Strengths and weaknesses along the checklist, then a score."),
        source=WILDBENCH,
    ),
)
