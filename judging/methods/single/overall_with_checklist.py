"""An analysis along the checklist, then one score. PURE. LLM-Eval-C in HelloBench (arXiv 2409.16191), figure 13."""

from judging.methods.single.one_score import ScoreMethod

METHOD = ScoreMethod(
    KEY="overall_with_checklist",
    TEMPLATE="overall_with_checklist.txt",
    texts=(("analysis", "Analysis: "), ("reason", "")),
    needs=("guides",),
)
