"""One score for the whole text, with a reason. PURE. LLM-Eval in HelloBench (arXiv 2409.16191), figure 12."""

from core.messages.message import marked
from judging.methods.single.one_score import ScoreMethod
from judging.methods.spec import HELLOBENCH, chat_spec

METHOD = ScoreMethod(KEY="overall", TEMPLATE="overall.txt", texts=(("reason", ""),))

SPECS = (
    chat_spec(
        METHOD, name=marked("Overall score"), asks=marked("One score from 0 to 10 with a reason."), source=HELLOBENCH
    ),
)
