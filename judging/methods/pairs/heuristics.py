"""Baselines that call no model, which any judge has to beat. PURE. HREF (arXiv 2412.15524), table 1."""

import hashlib
import random
from enum import StrEnum

from core.messages.message import marked
from judging.methods import messages as reply_messages
from judging.methods.guided import guided, what_lacks
from judging.methods.pairs.base import preference
from judging.methods.parsing import Unscored, Verdict
from judging.methods.prompts import Question
from judging.methods.scales import only_item
from judging.methods.single.overlap import rouge_1, rouge_l
from judging.methods.spec import HREF, MethodSpec, Transport

TASK_KIND = "pair"
ROLE = "preference"
SAME = 1e-12


class Rule(StrEnum):
    """A rule; FIRST and SECOND always take the text shown on that side, so that asked in both orders they tie."""

    RANDOM = "random"
    SHORTER = "shorter"
    LONGER = "longer"
    ROUGE = "rouge"
    ROUGE_1 = "rouge_1"
    FIRST = "first"
    SECOND = "second"


NEEDS_REFERENCE = (Rule.ROUGE, Rule.ROUGE_1)


def decide(rule: Rule, question: Question, *, seed: int) -> Verdict | Unscored:
    """Return the preference between the two texts as shown, A first; equal texts tie. Length is counted in characters.

    RANDOM draws A or B with equal chance from the seed and what is shown, so that a run can be repeated. Raises
    WrongScale if the item has no levels 1, 0 and -1.
    """
    lack = what_lacks(question, ("reference",) if rule in NEEDS_REFERENCE else (), 2)
    if lack is not None:
        return lack
    item = only_item(question.items)
    if rule is Rule.RANDOM:
        return preference(item, _drawn(question, seed), reply_messages.DRAWN())
    if rule in (Rule.FIRST, Rule.SECOND):
        return preference(item, 1 if rule is Rule.FIRST else -1, reply_messages.ALWAYS[rule]())
    one, other = (_measure(rule, text, guided(question).reference) for text in question.responses)
    side = 0 if abs(one - other) <= SAME else (1 if one > other else -1)
    measured = reply_messages.MEASURED[rule if rule in NEEDS_REFERENCE else "characters"]
    return preference(item, side, measured(first=f"{abs(one):g}", second=f"{abs(other):g}"))


def _measure(rule: Rule, text: str, reference: str) -> float:
    """Return the figure that is compared; the larger one wins."""
    match rule:
        case Rule.ROUGE:
            return rouge_l(text, reference)
        case Rule.ROUGE_1:
            return rouge_1(text, reference)
        case Rule.LONGER:
            return float(len(text.strip()))
        case _:
            return -float(len(text.strip()))


def _drawn(question: Question, seed: int) -> int:
    shown = "\x00".join((str(seed), *(text for _role, text in question.conversation), *question.responses))
    digest = hashlib.sha256(shown.encode(errors="surrogatepass")).digest()
    return random.Random(digest).choice((1, -1))


_WORDS = {
    Rule.RANDOM: (marked("Rule: random"), marked("A random side. Calls no model.")),
    Rule.SHORTER: (marked("Rule: shorter"), marked("The shorter response. Calls no model.")),
    Rule.LONGER: (marked("Rule: longer"), marked("The longer response. Calls no model.")),
    Rule.ROUGE: (
        marked("Rule: ROUGE-L"),
        marked("The response that shares the longer sequence of words with the human reference. Calls no model."),
    ),
    Rule.ROUGE_1: (
        marked("Rule: ROUGE-1"),
        marked("The response that shares more words with the human reference. Calls no model."),
    ),
    Rule.FIRST: (marked("Rule: first"), marked("Always the response that is shown first. Calls no model.")),
    Rule.SECOND: (marked("Rule: second"), marked("Always the response that is shown second. Calls no model.")),
}
SPECS = tuple(
    MethodSpec(
        key=str(rule),
        name=_WORDS[rule][0],
        asks=_WORDS[rule][1],
        source=HREF,
        task_kind=TASK_KIND,
        role=ROLE,
        transport=Transport.NONE,
        parts=("reference",) if rule in NEEDS_REFERENCE else (),
    )
    for rule in Rule
)
