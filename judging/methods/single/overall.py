"""One score for the whole text, with a reason. PURE. LLM-Eval in HelloBench (arXiv 2409.16191), figure 12."""

from judging.methods.single.one_score import ScoreMethod

METHOD = ScoreMethod(KEY="overall", TEMPLATE="overall.txt", texts=(("reason", ""),))
