"""A choice of A, B, tie or both bad, with the hint if there is one. PURE. LLMEval (arXiv 2312.07398), figure 10."""

from core.messages.message import marked
from judging.methods.pairs.base import FOUR, PairMethod
from judging.methods.spec import LLMEVAL, chat_spec

METHOD = PairMethod(
    KEY="pair_of_four", TEMPLATE="pair_of_four.txt", options=FOUR, texts=(("reason", ""),), shown=("hint",)
)

SPECS = (
    chat_spec(
        METHOD,
        name=marked("Pair: A, B, tie or both bad"),
        asks=marked("Which of two responses is better; both may be bad. A hint is shown if there is one."),
        source=LLMEVAL,
    ),
)
