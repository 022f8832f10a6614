"""An analysis along the checklist, then one score. PURE. LLM-Eval-C in HelloBench (arXiv 2409.16191), figure 13."""

from core.messages.message import marked
from judging.methods.single.one_score import ScoreMethod
from judging.methods.spec import HELLOBENCH, chat_spec

METHOD = ScoreMethod(
    KEY="overall_with_checklist",
    TEMPLATE="overall_with_checklist.txt",
    texts=(("analysis", "Analysis: "), ("reason", "")),
    needs=("guides",),
)

SPECS = (
    chat_spec(
        METHOD,
        name=marked("Overall score, guided by the checklist"),
        asks=marked("An analysis along the checklist, then one score from 0 to 10."),
        source=HELLOBENCH,
    ),
)
