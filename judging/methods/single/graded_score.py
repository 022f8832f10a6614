"""Strengths and weaknesses along the checklist, then 1 to 10. PURE. WildBench (arXiv 2406.04770), appendix B."""

from judging.methods.single.one_score import ScoreMethod

METHOD = ScoreMethod(
    KEY="graded_score",
    TEMPLATE="graded_score.txt",
    texts=(("strengths", "Strengths: "), ("weaknesses", "Weaknesses: ")),
    needs=("guides",),
)
